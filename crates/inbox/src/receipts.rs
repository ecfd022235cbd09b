//! The receipts of a message as a stream: the state of every recipient, then each change.
//! Must not know: how a state is determined.

use std::{collections::HashMap, time::Duration};

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::StatusCode;
use plenary_accounts::AgentCaller;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::Fault;
use plenary_room::{
    KEEPALIVE_MS,
    sse::{KEEPALIVE, Pieces, pieces},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    Inbox, RECEIPTS_SECONDS_MAX, WAITS_PER_AGENT_MAX,
    feed::Wait,
    handovers::Reason,
    marks::State,
    refusals::{InboxRefusal, Rejection},
    wait::LOOK_AT_MARKS_AFTER,
    wire::{MessageStatus, RecipientStatus},
};

/// The id of the end of a stream. A client that comes back with it gets 204, without which a browser would open the stream again
/// for ever.
const END: &str = "end";
/// The end, which is no event.
const END_BLOCK: &str = "id: end\n\n";

/// The reported states of recipients, with the reasons why the message waits.
#[derive(Default)]
struct KnownStates(HashMap<AgentHandle, (State, Option<Reason>)>);

impl KnownStates {
    /// The recipients whose state differs from the last report.
    fn news(&mut self, recipients: Vec<RecipientStatus>) -> Vec<RecipientStatus> {
        let is_news = |recipient: &RecipientStatus| {
            let known = (recipient.state, recipient.waiting.as_ref().map(|waiting| waiting.reason));
            self.0.insert(recipient.agent.clone(), known) != Some(known)
        };
        recipients.into_iter().filter(is_news).collect()
    }
}

/// One stream.
struct Receipts {
    inbox: Inbox,
    caller: AgentCaller,
    message: (SessionId, u64),
    reported: KnownStates,
    changed: watch::Receiver<()>,
    closed: watch::Receiver<bool>,
    end: Instant,
    last_sent: Instant,
    is_over: bool,
    _wait: Wait,
}

impl Inbox {
    /// The stream of a message's receipts. It ends when every recipient has acknowledged it or can never get it, with the
    /// caller's token or participation, with the server, and after [`RECEIPTS_SECONDS_MAX`]. `last_event` is the id of the last
    /// event that the client has.
    pub(crate) async fn receipts(
        &self,
        caller: AgentCaller,
        message: (SessionId, u64),
        last_event: Option<&str>,
    ) -> Result<Response, InboxRefusal> {
        let Some(status) = self.status(&caller.handle, &message.0, message.1).await? else {
            return Err(Rejection::NotFound.into());
        };
        if last_event == Some(END) && is_over(&status) {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        let feed = self.0.feeds.open(&caller.handle);
        let Some(wait) = feed.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        let (changed, closed, last_sent) = (feed.listen(), self.0.closed.subscribe(), Instant::now());
        if *closed.borrow() {
            return Err(Rejection::Stopping.into());
        }
        Ok(pieces(Receipts {
            inbox: self.clone(),
            caller,
            message,
            reported: KnownStates::default(),
            changed,
            closed,
            end: last_sent + Duration::from_secs(RECEIPTS_SECONDS_MAX),
            last_sent,
            is_over: false,
            _wait: wait,
        }))
    }
}

impl Receipts {
    /// The current status; `None` if the caller may no longer see it.
    async fn read_status(&mut self) -> Result<Option<MessageStatus>, Fault> {
        self.changed.mark_unchanged();
        if *self.closed.borrow_and_update() || !self.inbox.is_valid(&self.caller).await? {
            return Ok(None);
        }
        self.inbox.status(&self.caller.handle, &self.message.0, self.message.1).await
    }
}

impl Pieces for Receipts {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        while !self.is_over && Instant::now() < self.end {
            let Some(status) = self.read_status().await? else { return Ok(None) };
            self.is_over = is_over(&status);
            let mut news: String = self.reported.news(status.recipients).iter().map(event).collect();
            if self.is_over {
                news.push_str(END_BLOCK);
            }
            if !news.is_empty() {
                self.last_sent = Instant::now();
                return Ok(Some(news.into()));
            }
            let due = self.last_sent + Duration::from_millis(KEEPALIVE_MS);
            if Instant::now() >= due {
                self.last_sent = Instant::now();
                return Ok(Some(Bytes::from_static(KEEPALIVE.as_bytes())));
            }
            // Marks at other processes wake no reader here, so they are polled.
            tokio::select! {
                _ = self.changed.changed() => {}
                _ = self.closed.changed() => {}
                () = sleep_until((Instant::now() + LOOK_AT_MARKS_AFTER).min(due).min(self.end)) => {}
            }
        }
        Ok(None)
    }
}

/// Whether no state can change any more.
fn is_over(status: &MessageStatus) -> bool {
    status.recipients.iter().all(|recipient| recipient.state >= State::Acknowledged)
}

fn event(recipient: &RecipientStatus) -> String {
    serde_json::to_string(recipient)
        .map(|json| format!("event: receipt\ndata: {json}\n\n"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DeliveryDelay;

    fn status(agent: &str, state: State, reason: Option<Reason>) -> RecipientStatus {
        let waiting = reason.map(|reason| DeliveryDelay { reason, since: None, until: None });
        let agent = agent.parse().unwrap();
        RecipientStatus { agent, state, at: None, waiting, shown_characters: None, characters: None }
    }

    #[test]
    fn a_state_or_a_reason_that_changes_is_news_and_nothing_else() {
        let mut reported = KnownStates::default();
        let mut news = |state, reason| {
            let recipients = vec![status("@a.b", State::Accepted, None), status("@c.d", state, reason)];
            reported.news(recipients).iter().map(|news| news.agent.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(news(State::Accepted, Some(Reason::NotJoined)), ["@a.b", "@c.d"]);
        assert_eq!(news(State::Accepted, Some(Reason::NotJoined)), [""; 0]);
        assert_eq!(news(State::Accepted, Some(Reason::Dnd)), ["@c.d"]);
        assert_eq!(news(State::InContext, None), ["@c.d"]);
        assert_eq!(news(State::InContext, None), [""; 0]);
    }

    #[test]
    fn an_event_is_a_name_and_one_line_of_json() {
        let text = event(&status("@a.b", State::Acknowledged, None));
        assert_eq!(text, "event: receipt\ndata: {\"agent\":\"@a.b\",\"state\":\"acknowledged\"}\n\n");
    }
}
