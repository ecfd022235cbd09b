//! `plenary context session`: sessions of work, started automatically at the first deposit of a terminal.
//! Must not know: the deposits.

use clap::{Args, Subcommand};
use plenary_client::{
    Error,
    context::{Creator, NewSession, Session, SessionPage, SessionQuery},
    frames::now,
};

use super::{
    remembered::{Key, Memory, SavedSession},
    render,
    target::ProjectTarget,
};
use crate::{
    cli::{context::Context, failure::Failure, terminal},
    out::{Table, clean, second},
    paths,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a session in this terminal; the first deposit starts one automatically
    Start,
    /// End a session
    End(SessionArgument),
    /// Show a session and its packages
    Show(SessionArgument),
    /// List sessions, newest first
    List(List),
}

/// One session.
#[derive(Debug, Args)]
pub(crate) struct SessionArgument {
    /// Id or callsign of the session, e.g. coral-heron [default: the session of this terminal]
    session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only sessions with this callsign
    #[arg(long, value_name = "NAME")]
    callsign: Option<String>,
    /// Number of sessions at most, up to 1000 [default: 100]
    #[arg(long)]
    limit: Option<u32>,
    /// Continue an earlier list from this cursor
    #[arg(long)]
    cursor: Option<String>,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, command: Command) -> Result<(), Failure> {
    match command {
        Command::Start => {
            let reply = target.client.start_context_session(target.project()?, &new_session(target)).await?;
            remember(context, target, &reply)?;
            context.answer(&reply, |session| Ok(context.out.line(&describe(session))?))
        }
        Command::List(args) => list(context, target, args).await,
        Command::Show(which) => {
            let id = session_id_of(context, target, which.session).await?;
            let reply = target.client.context_session(target.project()?, &id).await?;
            context.answer(&reply, |session| {
                context.out.line(&describe(session))?;
                let packages = &session.packages_deposited;
                Ok(packages.iter().try_for_each(|id| context.out.line(&format!("  {}", clean(id))))?)
            })
        }
        Command::End(which) => {
            let id = session_id_of(context, target, which.session).await?;
            let reply = target.client.end_context_session(target.project()?, &id).await?;
            if let Some(memory) = memory(context) {
                memory.forget(&id).map_err(|error| unwritable(&error))?;
            }
            context.answer(&reply, |session| Ok(context.out.line(&describe(session))?))
        }
    }
}

async fn list(context: &Context, target: &ProjectTarget, args: List) -> Result<(), Failure> {
    let List { callsign, limit, cursor } = args;
    let query = SessionQuery { callsign, limit, cursor };
    let reply = target.client.context_sessions(target.project()?, &query).await?;
    context.answer(&reply, |SessionPage { sessions, next_cursor }| {
        let mut table = Table::new(&["CALLSIGN", "BY", "STARTED", "ENDED", "PACKAGES", "SESSION"]);
        for session in sessions {
            table.row([
                session.callsign.as_deref().unwrap_or_default(),
                &session.actor_id,
                &second(&session.started_at),
                &session.ended_at.as_deref().map(second).unwrap_or_default(),
                &session.packages_deposited.len().to_string(),
                &session.session_id,
            ]);
        }
        context.out.table(&table, "no sessions yet; the first deposit starts one")?;
        render::more(&context.out, next_cursor.as_deref());
        Ok(())
    })
}

fn describe(session: &Session) -> String {
    let callsign = session.callsign.as_deref().unwrap_or(&session.session_id);
    let end =
        session.ended_at.as_deref().map(|ended_at| format!(" to {}", second(ended_at))).unwrap_or_default();
    format!(
        "{} of {} in {}, since {}{end}  {}",
        clean(callsign),
        clean(&session.actor_id),
        clean(&session.project_id),
        second(&session.started_at),
        clean(&session.session_id)
    )
}

fn memory(context: &Context) -> Option<Memory> {
    paths::state_dir(&|name| context.environment.var(name)).map(|directory| Memory::in_dir(&directory))
}

fn unwritable(error: &std::io::Error) -> Failure {
    Failure::local(format!("the session of this terminal cannot be saved: {error}"))
}

fn key(context: &Context, target: &ProjectTarget) -> Result<Key, Failure> {
    let terminal = context
        .environment
        .var("PLENARY_SESSION")
        .unwrap_or_else(|| terminal::session_id(&context.environment));
    Ok(Key {
        server: target.server.to_string(),
        project: target.project()?.to_owned(),
        voice: target.voice.clone(),
        terminal,
    })
}

fn remember(context: &Context, target: &ProjectTarget, session: &Session) -> Result<(), Failure> {
    let Some(memory) = memory(context) else { return Ok(()) };
    let key = key(context, target)?;
    let used = SavedSession { key, session_id: session.session_id.clone(), used_at_ms: now().0 };
    memory.remember(used).map_err(|error| unwritable(&error))
}

fn new_session(target: &ProjectTarget) -> NewSession {
    let actor = target.actor.clone();
    NewSession {
        actor_id: actor.as_ref().map(|actor| actor.id.clone()),
        actor_type: actor.map(|actor| actor.kind),
    }
}

/// A session by its id or callsign, else the one of this terminal.
async fn session_id_of(
    context: &Context,
    target: &ProjectTarget,
    reference: Option<String>,
) -> Result<String, Failure> {
    let Some(reference) = reference else {
        let recalled = match memory(context) {
            Some(memory) => memory.recall(&key(context, target)?, now().0),
            None => None,
        };
        return recalled.ok_or_else(|| {
            Failure::usage(
                "this terminal has no session",
                "name a session, or start one with `plenary context session start`",
            )
        });
    };
    if reference.starts_with("sess_") {
        return Ok(reference);
    }
    let query = SessionQuery { callsign: Some(reference.clone()), limit: Some(1), cursor: None };
    let page = target.client.context_sessions(target.project()?, &query).await?;
    Ok(page.sessions.first().map_or(reference, |session| session.session_id.clone()))
}

/// The creator of a deposit, with the session of this terminal. Starts a session if there is none, and prints a note
/// unless `quiet`.
pub(super) async fn creator(
    context: &Context,
    target: &ProjectTarget,
    quiet: bool,
) -> Result<Creator, Failure> {
    let project = target.project()?;
    let recalled = match memory(context) {
        Some(memory) => memory.recall(&key(context, target)?, now().0),
        None => None,
    };
    let session = match &recalled {
        Some(id) => match target.client.context_session(project, id).await {
            Ok(reply) => Some(reply.value).filter(|session| session.ended_at.is_none()),
            Err(Error::Refused(refused)) if refused.status == 404 => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let session = match session {
        Some(session) => session,
        None => {
            let started = target.client.start_context_session(project, &new_session(target)).await;
            let session = match (started, &target.actor) {
                (Ok(reply), _) => reply.value,
                // The deposit creates the project, where the server allows it; the next one starts the session.
                (Err(Error::Refused(refused)), Some(actor)) if refused.code == "project_not_found" => {
                    return Ok(actor.clone());
                }
                (Err(error), _) => return Err(error.into()),
            };
            if let Some(callsign) = session.callsign.as_ref().filter(|_| !quiet) {
                context.out.note(&format!(
                    "this terminal is now called {} in the project {}",
                    clean(callsign),
                    clean(project)
                ));
            }
            session
        }
    };
    if let Err(Failure::Local { what, .. }) = remember(context, target, &session) {
        context.out.note(&what);
    }
    Ok(Creator {
        id: session.actor_id,
        kind: session.actor_type,
        session_id: Some(session.session_id),
        ..Creator::default()
    })
}
