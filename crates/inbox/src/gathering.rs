//! How news are found: which streams may have some behind a position, and what one of them has.
//! Must not know: what has been seen of it.

use plenary_accounts::{INBOX, contact_asked, inbox_of};
use plenary_kernel::{AgentHandle, Position, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StreamName, StreamNews};
use plenary_sessions::news::{NewsKind, session_of};

use crate::{
    Inbox, NEWS_KEPT_MAX,
    cursor::Place,
    kind::Kind,
    shelf::{Gathered, Stub},
};

impl Inbox {
    /// The streams that may have something new for an agent behind a position.
    pub(crate) async fn streams(&self, me: &AgentHandle, after: Position) -> Result<Vec<StreamNews>, Fault> {
        let mut found = self.0.rooms.sessions.with_news(me, after).await?;
        found.extend(self.0.log.streams_after(&[inbox_of(me)], after).await?);
        Ok(found)
    }

    /// What a stream has for an agent behind a version.
    pub(crate) async fn gather(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
    ) -> Result<Gathered, Fault> {
        if session_of(stream).is_some() {
            return self.gather_session(me, stream, after).await;
        }
        if stream.category() == INBOX {
            return self.gather_contacts(stream, after).await;
        }
        Ok(Gathered { read: after, ..Gathered::default() })
    }

    async fn gather_session(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
    ) -> Result<Gathered, Fault> {
        let Some(id) = session_of(stream) else { return Ok(Gathered::default()) };
        let found = self.0.rooms.sessions.news(me, &id, after, NEWS_KEPT_MAX + 1).await?;
        let stubs = found.news.into_iter().map(|news| {
            let kind = match news.kind {
                NewsKind::Message => Kind::SessionMessage,
                NewsKind::Invitation => Kind::SessionInvited,
            };
            let (stream, version, at) = (stream.clone(), news.version, news.at);
            let stub = Stub { kind, stream, version, at, from: Some(news.from) };
            (Place(news.position, news.nth), stub)
        });
        let (read, answered, joined) = (found.read, found.answered, found.joined);
        Ok(Gathered { stubs: stubs.collect(), read, answered, joined })
    }

    async fn gather_contacts(&self, stream: &StreamName, after: Version) -> Result<Gathered, Fault> {
        let mut gathered = Gathered { read: after, ..Gathered::default() };
        loop {
            let events = self.0.log.read_stream(stream, gathered.read, READ_ROWS_MAX).await?;
            for event in &events {
                gathered.read = event.version;
                let Some(asked) = contact_asked(event)? else { continue };
                let stub = Stub {
                    kind: Kind::ContactRequested,
                    stream: stream.clone(),
                    version: event.version,
                    at: event.at,
                    from: Some(asked.from),
                };
                gathered.stubs.push((Place(event.position, 0), stub));
            }
            if events.len() < READ_ROWS_MAX {
                return Ok(gathered);
            }
        }
    }
}
