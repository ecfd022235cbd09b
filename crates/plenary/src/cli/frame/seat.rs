//! Which session of the principal this is: instrument, session id, tool class. The session id stays the same in one
//! terminal or coding session, so that others can address it.
//! Must not know: what is said.

use clap::Args;
use plenary_client::{
    Client,
    frames::{Scope, Seat, Subscription},
};
use plenary_kernel::{AgentHandle, SovereignHandle};

use crate::cli::{context::Context, failure::Failure, surroundings::Surroundings};

/// Longest session id made here; room is left below the 128 octets of the protocol for a question's own.
const SESSION_CHARS_MAX: usize = 100;

/// Who is sitting here.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "This session")]
pub(crate) struct SeatArgs {
    /// Its instrument [env: PLENARY_INSTRUMENT] [default: the agent's name]
    #[arg(long, value_name = "NAME")]
    instrument: Option<String>,
    /// Its id [env: PLENARY_SESSION] [default: made of host and terminal]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Its tool class [env: PLENARY_TOOL] [default: the instrument up to its first hyphen]
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

/// An agent in one of its sessions.
pub(super) struct Speaker {
    /// Speaks with the agent's token.
    pub(super) client: Client,
    /// The agent.
    pub(super) agent: AgentHandle,
    /// Its principal.
    pub(super) handle: SovereignHandle,
    /// The session; instrument and id are there.
    pub(super) seat: Seat,
}

impl Speaker {
    /// Resolves who speaks, and where; the server is asked only when nothing but a token says who it is.
    pub(super) async fn of(context: &Context, args: &SeatArgs) -> Result<Self, Failure> {
        let client = context.agent_client()?;
        let agent = match context.identity()? {
            Some(identity) => identity.handle,
            None => client.me().await?.value.handle,
        };
        let handle = sovereign(&agent);
        let or = |given: &Option<String>, name| given.clone().or_else(|| context.around.var(name));
        let instrument =
            or(&args.instrument, "PLENARY_INSTRUMENT").unwrap_or_else(|| agent.name().to_owned());
        let session = or(&args.session, "PLENARY_SESSION").unwrap_or_else(|| session_id(&context.around));
        let tool = or(&args.tool, "PLENARY_TOOL");
        let seat = Seat { instrument: Some(instrument), session_id: Some(session), tool };
        Ok(Self { client, agent, handle, seat })
    }

    /// The session's id.
    pub(super) fn session(&self) -> &str {
        self.seat.session_id.as_deref().unwrap_or_default()
    }

    /// All sessions of the principal: the default scope of an advisory (FO-90), and of all else here.
    pub(super) fn own_sessions(&self) -> Scope {
        Scope::everyone(&self.handle)
    }

    /// The same agent in a session of its own beside this one, for answers that only it should get.
    pub(super) fn aside(&self, tag: &str) -> Seat {
        Seat { session_id: Some(format!("{}.{tag}", self.session())), ..self.seat.clone() }
    }

    /// A stream of this principal's frames.
    pub(super) fn subscription(&self) -> Subscription {
        Subscription::of(self.handle.clone(), self.seat.clone())
    }
}

fn sovereign(agent: &AgentHandle) -> SovereignHandle {
    format!("~{}", agent.owner()).parse().expect("an owner is the body of a handle")
}

/// What tells terminals apart, most telling first: variables that terminals set for all that runs in them.
const TERMINAL_VARS: [&str; 3] = ["TERM_SESSION_ID", "WT_SESSION", "TMUX_PANE"];

/// Host and terminal; without a terminal, the login session's first process.
fn session_id(around: &Surroundings) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = host.split('.').next().unwrap_or_default();
    let terminal = TERMINAL_VARS.iter().find_map(|name| around.var(name));
    let session = terminal.unwrap_or_else(|| login_session().to_string());
    plain(&format!("{host}.{session}"))
}

/// The login session's first process, 0 where that lies outside of this container; where the system has no
/// `/proc`, the parent.
///
/// Read by hand: `rustix::process::getsid` takes 0 for impossible.
fn login_session() -> u32 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    session_of(&stat).unwrap_or_else(std::os::unix::process::parent_id)
}

/// The session in a line of `/proc/PID/stat`: the fourth after the name, which may hold blanks and brackets itself.
fn session_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(3)?.parse().ok()
}

/// Letters, digits, `.`, `_` and `-`; all else becomes a hyphen.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.chars().take(SESSION_CHARS_MAX).map(|c| if allowed(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_the_same_in_one_terminal_and_fits_a_scope() {
        let around = |vars: &[(&str, &str)]| Surroundings::of_test(std::path::Path::new("/"), vars);
        let tab = around(&[("TERM_SESSION_ID", "w0t1/p0*@")]);
        assert_eq!(session_id(&tab), session_id(&tab));
        assert!(session_id(&tab).ends_with(".w0t1-p0--"), "{}", session_id(&tab));
        assert_ne!(session_id(&tab), session_id(&around(&[("TMUX_PANE", "%3")])));
        let bare = session_id(&around(&[]));
        assert_eq!(bare, session_id(&around(&[])));
        assert!(!bare.contains(['/', '*', '@']) && !bare.is_empty());
        assert!(plain(&"ü".repeat(500)).len() <= SESSION_CHARS_MAX);
    }

    #[test]
    fn a_session_led_from_outside_of_the_container_is_a_session_too() {
        assert_eq!(session_of("27904 (a b) c) S 27900 27904 0 0 -1 4194304"), Some(0));
        assert_eq!(session_of("27904 (plenary) S 27900 27904 311 0"), Some(311));
        assert_eq!(session_of(""), None);
    }
}
