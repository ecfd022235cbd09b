//! The operations by which coding agents report their sessions: parse, call, translate the answer.
//! Must not know: the effects of a report.

use axum::{Json, extract::State as With};
use http::Method;
use plenary_accounts::AgentCaller;
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, TimestampMs};

use crate::{
    Inbox,
    handovers::SessionPresence,
    marks::Marks,
    refusals::{InboxRefusal, Rejection},
    wire::{
        AddressRequest, AttentionRequest, AttentionView, CodingEvent, CodingSession, CodingSessions,
        MomentRequest, SessionView, ShownReport, ShownRequest,
    },
};

/// Why they are not tools.
const HOOKS: &str = "only the hooks of coding agents report their sessions";

pub(crate) fn operations() -> Vec<Operation<Inbox>> {
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary).no_tool(HOOKS).needs_token(Auth::Agent)
    };
    let session_doc = doc(
        "inbox.session",
        Method::POST,
        "/inbox/session",
        "Report an event of a coding session",
    )
    .description(
        "Items shown to the session are in context at its next `prompt`, `tool` or `stop`, and unread \
                 again if it is summarised or ends first. `alive` and `gone` report the state of its program.",
    )
    .request::<MomentRequest>()
    .reply::<SessionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body"]);
    let shown_doc = doc(
        "inbox.shown",
        Method::POST,
        "/inbox/shown",
        "Report that items of a page were handed to a coding session",
    )
    .description("No other session is shown these items until their outcome is known. Those in `cut` stay `shown` until \
         the rest is read.")
    .request::<ShownRequest>()
    .reply::<SessionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_cursor"])
    .errors(Class::TooMany, &["too_many_shown"]);
    let sessions_doc = doc("inbox.sessions", Method::GET, "/inbox/sessions", "List your coding sessions")
        .reply::<CodingSessions>();
    let address_doc = OperationDoc::new(
        "inbox.address",
        Method::POST,
        "/inbox/address",
        "Deliver a session's messages to one coding session",
    )
    .no_tool("`send` addresses a coding session by `@owner.name/SESSION`")
    .description(
        "Messages in `session_id` go to that live coding session until another one of the agent writes there.",
    )
    .request::<AddressRequest>()
    .reply::<SessionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body"])
    .needs_token(Auth::Agent)
    .errors(Class::NotFound, &["not_found"])
    .errors(Class::Conflict, &["session_not_live"]);
    vec![
        address_doc.handled_by(address),
        session_doc.handled_by(session),
        shown_doc.handled_by(shown),
        sessions_doc.handled_by(sessions),
        attention_doc().handled_by(attend),
    ]
}

fn attention_doc() -> OperationDoc {
    OperationDoc::new(
        "inbox.attention",
        Method::PUT,
        "/inbox/session/attention",
        "Set what may disturb one coding session",
    )
    .no_tool("`me` sets what may disturb the agent")
    .description(
        "What may not disturb it stays unread, and goes to another live session if it is for any of them.",
    )
    .request::<AttentionRequest>()
    .reply::<AttentionView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body"])
    .needs_token(Auth::Agent)
    .errors(Class::Conflict, &["session_not_live"])
}

impl Inbox {
    /// Wakes waiting readers, because an item may be unread again.
    fn wake(&self, me: &AgentHandle) {
        self.0.feeds.of(std::iter::once(me)).iter().for_each(|feed| feed.wake());
    }

    fn session_view(&self, marks: &Marks, session: String) -> Json<SessionView> {
        let now = self.0.clock.now();
        let live = marks
            .handovers
            .sessions()
            .iter()
            .any(|presence| presence.session == session && presence.is_live(now));
        Json(SessionView { session, live })
    }
}

async fn session(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<SessionView>, InboxRefusal> {
    let sent: MomentRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let CodingEvent { session, client, event, spoke_in } = sent.check()?;
    let change = |marks: &mut Marks, now| {
        let has_changed = marks.event(&session, &client, event, now);
        let has_spoken = spoke_in.as_ref().is_some_and(|id| marks.handovers.note_spoke(&session, id));
        Ok::<_, InboxRefusal>(has_changed || has_spoken)
    };
    let (marks, changed) = inbox.change(&caller.handle, change).await?;
    if changed {
        inbox.wake(&caller.handle);
    }
    Ok(inbox.session_view(&marks, session))
}

async fn shown(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<SessionView>, InboxRefusal> {
    let sent: ShownRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let ShownReport { event, cursor, item_ids, held, cut, digest } = sent.check()?;
    let CodingEvent { session, client, event: moment, .. } = event;
    let to = inbox.cursor(&caller.handle, &cursor).await?;
    let settled = inbox.settled_since(&caller.handle).await?;
    let (marks, _) = inbox
        .change(&caller.handle, |marks, now| {
            marks.handovers.settle(&settled);
            let is_accepted = marks.show((&session, &client), moment, (item_ids.clone(), &held), &to, now);
            if is_accepted {
                marks.handovers.note_cut(cut.clone());
                if digest {
                    marks.handovers.note_digest(&session, now);
                }
            }
            if is_accepted { Ok(true) } else { Err(InboxRefusal::from(Rejection::TooManyShown)) }
        })
        .await?;
    Ok(inbox.session_view(&marks, session))
}

async fn address(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<SessionView>, InboxRefusal> {
    let sent: AddressRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let AddressRequest { agent, coding_session, session_id } = sent;
    let sessions = &inbox.0.rooms.sessions;
    let is_sibling = agent.owner() == caller.handle.owner();
    let both_take_part = sessions.takes_part(&caller.handle, &session_id).await?
        && sessions.takes_part(&agent, &session_id).await?;
    if !(is_sibling && both_take_part) {
        return Err(Rejection::NotFound.into());
    }
    let change = |marks: &mut Marks, now| {
        let is_addressee = |presence: &SessionPresence| {
            presence.session == coding_session && presence.hooks && presence.is_live(now)
        };
        if !marks.handovers.sessions().iter().any(is_addressee) {
            return Err(InboxRefusal::from(Rejection::SessionNotLive));
        }
        Ok(marks.handovers.note_spoke(&coding_session, &session_id))
    };
    let (_, changed) = inbox.change(&agent, change).await?;
    if changed {
        inbox.wake(&agent);
    }
    Ok(Json(SessionView { session: coding_session, live: true }))
}

async fn attend(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<AttentionView>, InboxRefusal> {
    let sent: AttentionRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let attention_change = sent.change(inbox.0.clock.now())?;
    let change = |marks: &mut Marks, now| {
        let changed = marks.handovers.attend(&sent.session, attention_change, now);
        changed.ok_or_else(|| InboxRefusal::from(Rejection::SessionNotLive))
    };
    let (_, changed) = inbox.change(&caller.handle, change).await?;
    if changed {
        inbox.wake(&caller.handle);
    }
    let attention_until = attention_change.until.map(TimestampMs::rfc3339);
    Ok(Json(AttentionView { session: sent.session, attention: attention_change.level, attention_until }))
}

async fn sessions(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
) -> Result<Json<CodingSessions>, InboxRefusal> {
    let marks = inbox.settled_marks(&caller.handle).await?;
    Ok(Json(listed(marks.handovers.sessions(), inbox.0.clock.now())))
}

/// Most recently active first.
fn listed(sessions: &[SessionPresence], now: TimestampMs) -> CodingSessions {
    let mut sessions: Vec<&SessionPresence> = sessions.iter().collect();
    sessions.sort_by_key(|coding| std::cmp::Reverse(coding.worked));
    let listed = sessions.into_iter().map(|coding| {
        let live = coding.is_live(now);
        let period = coding.attention.filter(|period| period.is_running(now));
        CodingSession {
            session: coding.session.clone(),
            client: coding.client.clone(),
            live,
            hooks: coding.hooks,
            working: live && coding.is_working(now),
            began_at: coding.began.rfc3339(),
            worked_at: coding.worked.rfc3339(),
            ended_at: (!live).then(|| coding.ended_at().rfc3339()),
            attention: period.map(|period| period.level),
            attention_until: period.and_then(|period| period.until).map(TimestampMs::rfc3339),
        }
    });
    CodingSessions { sessions: listed.collect() }
}
