//! The identity of this session of the principal: instrument, session id, tool class. The session id stays the same
//! in one terminal or coding session, so that others can address it.
//! Must not know: the frames.

use clap::Args;
use plenary_client::{
    Client,
    frames::{Scope, Seat, Subscription},
};
use plenary_kernel::{AgentHandle, SovereignHandle};

use crate::cli::{context::Context, failure::Failure, terminal};

/// The arguments that identify this session.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "This session")]
pub(crate) struct SeatArgs {
    /// Instrument of this session [env: PLENARY_INSTRUMENT] [default: the agent's name]
    #[arg(long, value_name = "NAME")]
    instrument: Option<String>,
    /// Id of this session [env: PLENARY_SESSION] [default: derived from host and terminal]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Tool class of this session [env: PLENARY_TOOL] [default: the instrument up to its first hyphen]
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

/// An agent in one of its sessions.
pub(super) struct Speaker {
    /// A client with the agent's token.
    pub(super) client: Client,
    pub(super) agent: AgentHandle,
    /// Its principal.
    pub(super) handle: SovereignHandle,
    /// The session, with its instrument and id.
    pub(super) seat: Seat,
}

impl Speaker {
    /// Resolves the agent and its session; asks the server only if the token alone identifies the agent.
    pub(super) async fn of(context: &Context, args: &SeatArgs) -> Result<Self, Failure> {
        let client = context.agent_client()?;
        let agent = match context.identity()? {
            Some(identity) => identity.handle,
            None => client.me().await?.value.handle,
        };
        let handle = sovereign(&agent);
        let option_or_variable =
            |given: &Option<String>, name| given.clone().or_else(|| context.environment.var(name));
        let instrument = option_or_variable(&args.instrument, "PLENARY_INSTRUMENT")
            .unwrap_or_else(|| agent.name().to_owned());
        let session = option_or_variable(&args.session, "PLENARY_SESSION")
            .unwrap_or_else(|| terminal::session_id(&context.environment));
        let tool = option_or_variable(&args.tool, "PLENARY_TOOL");
        let seat = Seat { instrument: Some(instrument), session_id: Some(session), tool };
        Ok(Self { client, agent, handle, seat })
    }

    /// The session's id.
    pub(super) fn session(&self) -> &str {
        self.seat.session_id.as_deref().unwrap_or_default()
    }

    /// All sessions of the principal: the default scope of an advisory (FO-90), and of every other frame here.
    pub(super) fn own_sessions(&self) -> Scope {
        Scope::everyone(&self.handle)
    }

    /// Another session of the same agent, for answers that only this command should get.
    pub(super) fn aside(&self, tag: &str) -> Seat {
        Seat { session_id: Some(format!("{}.{tag}", self.session())), ..self.seat.clone() }
    }

    /// A subscription to this principal's frames.
    pub(super) fn subscription(&self) -> Subscription {
        Subscription::of(self.handle.clone(), self.seat.clone())
    }
}

fn sovereign(agent: &AgentHandle) -> SovereignHandle {
    format!("~{}", agent.owner()).parse().expect("an owner is the body of a handle")
}
