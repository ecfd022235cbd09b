//! The channel operations (wire.md 3.2, D.6). Writes carry an `Idempotency-Key` and are repeated on transient
//! failures.
//! Must not know: the transport of calls.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ChannelEvent, Presence};
use crate::{
    Client, IdempotencyKey, RawReply, Reply, Result,
    client::{json, segment},
    query::Query,
};

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Four characters, in upper case.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// The creator, by its stable name.
    pub created_by: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC; `None` while it is open.
    pub closed_at: Option<String>,
    /// Its URL with the key that grants access.
    pub url: String,
}

/// An event to append.
#[derive(Debug, Clone, Serialize)]
pub struct NewEvent {
    /// 1 to 64 characters.
    pub kind: String,
    /// A stable name; default: the handle of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// A JSON object, sent unchanged.
    pub payload: Box<RawValue>,
}

/// The result of validating an event.
#[derive(Debug, Clone, Deserialize)]
pub struct Verdict {
    /// Whether the event is valid.
    pub valid: bool,
    /// All problems.
    pub problems: Vec<Problem>,
}

/// A problem of an event.
#[derive(Debug, Clone, Deserialize)]
pub struct Problem {
    /// The path of the member: `concepts[2].status`.
    pub field: String,
    /// The problem and its remedy.
    pub problem: String,
}

/// Selects events of a channel.
#[derive(Debug, Clone, Default)]
pub struct EventsQuery {
    /// Only events of this kind.
    pub kind: Option<String>,
    /// The maximum number, clamped to 1 to 500; absent: 50.
    pub limit: Option<u32>,
    /// Only events with a lower id.
    pub before: Option<u64>,
    /// Only events with a higher id; alone, the events that follow it directly.
    pub after: Option<u64>,
}

/// The position of the next page of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// The page before this id.
    Before(u64),
    /// The page after this id.
    After(u64),
}

/// Events of a channel, newest first.
#[derive(Debug)]
pub struct EventPage {
    /// The page.
    pub reply: Reply<Vec<ChannelEvent>>,
    /// The position of the next page, if there is one.
    pub next: Option<Older>,
}

/// Parses `<…?limit=50&before_id=7>; rel="next"`.
fn next(link: &str) -> Option<Older> {
    let (url, rel) = link.strip_prefix('<')?.split_once('>')?;
    let parameter = |name: &str| {
        let query = url.split_once('?')?.1;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    };
    let older = parameter("before_id").map(Older::Before);
    older.or_else(|| parameter("after_id").map(Older::After)).filter(|_| rel.contains("next"))
}

impl Client {
    /// A path below a channel, with the link's key if there is one.
    pub(super) fn channel_path(&self, id: &str, rest: &str) -> String {
        Query::of(format!("/agent-channel/{}{rest}", segment(id))).with("key", self.channel_key()).path()
    }

    /// `POST /agent-channel`.
    pub async fn create_channel(&self, title: &str, created_by: Option<&str>) -> Result<Reply<Channel>> {
        let body = serde_json::json!({"title": title, "created_by": created_by});
        Reply::read(
            self.post_once("/agent-channel", Some(body.to_string().into()), &IdempotencyKey::random())
                .await?,
        )
    }

    /// `GET /agent-channel`: the channels that the token's owner created or appended to, newest first.
    pub async fn channels(&self, limit: Option<u32>, include_closed: bool) -> Result<Reply<Vec<Channel>>> {
        let query = Query::of("/agent-channel").with("include_closed", Some(include_closed));
        self.get(&query.with("limit", limit).path()).await
    }

    /// `GET /agent-channel/{id}`: the view in which a channel explains itself (CH-5, CH-22), as `markdown`, `yaml` or `json`.
    pub async fn channel_view(&self, id: &str, format: &str) -> Result<RawReply> {
        let path = self.channel_path(id, &format!("?format={format}"));
        self.raw(Method::GET, &path, None).await?.into_success()
    }

    /// `GET …/spec`, `GET …/state`: the newest payload of that kind alone (CH-23); 404 `no_event_yet` without one.
    pub async fn channel_newest(&self, id: &str, kind: &str) -> Result<Reply<Box<RawValue>>> {
        self.get(&self.channel_path(id, &format!("/{}", segment(kind)))).await
    }

    /// `GET …/events`, newest first (CH-11, CH-24).
    pub async fn channel_events(&self, id: &str, query: &EventsQuery) -> Result<EventPage> {
        let EventsQuery { kind, limit, before, after } = query;
        let query = Query::of("/events").with("kind", kind.as_ref()).with("limit", *limit);
        let path = self.channel_path(id, &query.with("before_id", *before).with("after_id", *after).path());
        let raw = self.raw(Method::GET, &path, None).await?.into_success()?;
        let next = raw.header("link").and_then(next);
        Ok(EventPage { reply: Reply::read(raw)?, next })
    }

    /// `POST …/event` (CH-9, CH-25).
    ///
    /// # Errors
    /// 409 `channel_closed` if the server accepts no events after closing.
    pub async fn append_event(&self, id: &str, event: &NewEvent) -> Result<Reply<ChannelEvent>> {
        Reply::read(
            self.post_once(&self.channel_path(id, "/event"), Some(json(event)?), &IdempotencyKey::random())
                .await?,
        )
    }

    /// `POST …/event?validate=1`: validates an event and stores nothing (CH-31, CH-32).
    pub async fn check_event(&self, id: &str, event: &NewEvent) -> Result<Reply<Verdict>> {
        self.post(&self.channel_path(id, "/event?validate=1"), event).await
    }

    /// `GET …/presence`: the last status of each agent, and whether it is presumed dead (CH-2).
    pub async fn channel_presence(&self, id: &str) -> Result<Reply<Presence>> {
        self.get(&self.channel_path(id, "/presence")).await
    }

    /// `POST …/close` (CH-27).
    pub async fn close_channel(&self, id: &str) -> Result<Reply<Channel>> {
        Reply::read(self.post_once(&self.channel_path(id, "/close"), None, &IdempotencyKey::random()).await?)
    }

    /// `POST …/key`: replaces the key in the channel's link (wire.md D.6); with `revoke`, owners that have used an earlier
    /// key lose their access.
    ///
    /// # Errors
    /// 403 `not_its_owner` if the channel belongs to another owner.
    pub async fn change_channel_key(&self, id: &str, revoke: bool) -> Result<Reply<Channel>> {
        let path = self.channel_path(id, if revoke { "/key?revoke=true" } else { "/key" });
        Reply::read(self.post_once(&path, None, &IdempotencyKey::random()).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_24_a_link_says_how_to_go_on() {
        let link =
            |query: &str| next(&format!("<https://h/agent-channel/VHGC/events?{query}>; rel=\"next\""));
        assert_eq!(link("limit=50&kind=a%26before%5Fid%3D1&before_id=7&after_id=3"), Some(Older::Before(7)));
        assert_eq!(link("limit=50&after_id=3"), Some(Older::After(3)));
        assert_eq!(link("limit=50"), None);
        assert_eq!(next("<x?before_id=1>; rel=\"prev\""), None);
        assert_eq!(next("nonsense"), None);
    }

    #[test]
    fn ch_25_a_payload_goes_out_as_it_was_given() {
        let payload = RawValue::from_string(r#"{"b": 1.10, "a": 1e400}"#.to_owned()).unwrap();
        let event = NewEvent { kind: "comms".into(), author: None, payload };
        assert_eq!(json(&event).unwrap(), r#"{"kind":"comms","payload":{"b": 1.10, "a": 1e400}}"#);
    }
}
