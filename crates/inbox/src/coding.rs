//! The operations that coding agents tell of their sessions by: parse, ask, translate the answer.
//! Must not know: what follows from a moment.

use axum::{Json, extract::State as With};
use http::Method;
use plenary_accounts::AgentCaller;
use plenary_edge::{Operation, OperationDoc, Received};
use plenary_kernel::{AgentHandle, Class, TimestampMs};

use crate::{
    Inbox,
    marks::Marks,
    refusals::{Refused, Rejection},
    routes::UNAUTHENTICATED,
    showing::Coding,
    wire::{CodingSession, CodingSessions, MomentRequest, SessionView, ShownRequest, Told},
};

/// Why they are no tools.
const HOOKS: &str = "the hooks of coding agents tell of their sessions, never a model";

/// The operations.
pub(crate) fn operations() -> Vec<Operation<Inbox>> {
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary)
            .no_tool(HOOKS)
            .errors(Class::Unauthenticated, UNAUTHENTICATED)
    };
    let session_doc = doc(
        "inbox.session",
        Method::POST,
        "/inbox/session",
        "Tell of a moment in a coding agent's session",
    )
    .description(
        "What the session was shown before is in context at its next `prompt`, `tool` or `stop`, and unread \
                 again where it was summarised or ended first. `alive` and `gone` tell of its program.",
    )
    .request::<MomentRequest>()
    .reply::<SessionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body"]);
    let shown_doc = doc(
        "inbox.shown",
        Method::POST,
        "/inbox/shown",
        "Say that a coding agent's session was handed items of a page",
    )
    .description("No other session is shown them until it is known what became of them.")
    .request::<ShownRequest>()
    .reply::<SessionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_cursor"])
    .errors(Class::TooMany, &["too_many_shown"]);
    let sessions_doc =
        doc("inbox.sessions", Method::GET, "/inbox/sessions", "List the sessions of your coding agents")
            .reply::<CodingSessions>();
    vec![
        Operation::new(session_doc, session),
        Operation::new(shown_doc, shown),
        Operation::new(sessions_doc, sessions),
    ]
}

impl Inbox {
    /// Tells whoever waits that something may be unread again.
    fn wake(&self, me: &AgentHandle) {
        self.0.desks.of(std::iter::once(me)).iter().for_each(|desk| desk.wake());
    }

    fn told(&self, marks: &Marks, session: String) -> Json<SessionView> {
        let now = self.0.clock.now();
        let live = marks.shown.sessions().iter().any(|known| known.session == session && known.is_live(now));
        Json(SessionView { session, live })
    }
}

async fn session(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<SessionView>, Refused> {
    let sent: MomentRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let Told { session, client, event } = sent.told()?;
    let (marks, changed) = inbox
        .change(&caller.handle, |marks, now| Ok::<_, Refused>(marks.event(&session, &client, event, now)))
        .await?;
    if changed {
        inbox.wake(&caller.handle);
    }
    Ok(inbox.told(&marks, session))
}

async fn shown(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<SessionView>, Refused> {
    let sent: ShownRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let (Told { session, client, event }, cursor, spots) = sent.told()?;
    let to = inbox.cursor(&caller.handle, &cursor).await?;
    let (marks, _) = inbox
        .change(&caller.handle, |marks, now| {
            let is_taken = marks.show((&session, &client), event, spots.clone(), &to, now);
            if is_taken { Ok(true) } else { Err(Refused::from(Rejection::TooManyShown)) }
        })
        .await?;
    Ok(inbox.told(&marks, session))
}

async fn sessions(With(inbox): With<Inbox>, caller: AgentCaller) -> Result<Json<CodingSessions>, Refused> {
    let marks = inbox.settled_marks(&caller.handle).await?;
    Ok(Json(listed(marks.shown.sessions(), inbox.0.clock.now())))
}

/// Those that worked last first.
fn listed(sessions: &[Coding], now: TimestampMs) -> CodingSessions {
    let mut sessions: Vec<&Coding> = sessions.iter().collect();
    sessions.sort_by_key(|coding| std::cmp::Reverse(coding.worked));
    let shown = sessions.into_iter().map(|coding| {
        let live = coding.is_live(now);
        CodingSession {
            session: coding.session.clone(),
            client: coding.client.clone(),
            live,
            hooks: coding.hooks,
            began_at: coding.began.rfc3339(),
            worked_at: coding.worked.rfc3339(),
            ended_at: (!live).then(|| coding.gone_since().rfc3339()),
        }
    });
    CodingSessions { sessions: shown.collect() }
}
