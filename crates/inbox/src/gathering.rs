//! How news are found: which streams may have some behind a position, and what one of them has. A reader waits for so much
//! of that as is done at once; what is left is done beside it.
//! Must not know: what has been seen of it.

use plenary_accounts::{INBOX, contact_asked, inbox_of};
use plenary_channels::news::is_channel;
use plenary_context::news::is_package;
use plenary_kernel::{AgentHandle, Position, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_runs::news::is_thread;
use plenary_sessions::news::{NewsKind, session_of};

use crate::{
    Inbox, NEWS_KEPT_MAX,
    cursor::Place,
    kind::Kind,
    shelf::{Gathered, Listing, Shelf, Stub},
};

/// What one more listing counts for, beside the look at one stream.
const LISTING_WORK: usize = 4;

/// Which shelf is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// See [`crate::shelf::Shelves::known`].
    Known,
    /// See [`crate::shelf::Shelves::offered`].
    Offered,
}

/// Whose stream it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Session(SessionId),
    Contacts,
    Channel,
    Package,
    Thread,
}

impl Source {
    /// The source that a stream is; `None` of one that has no news.
    pub(crate) fn of(stream: &StreamName) -> Option<Self> {
        if let Some(id) = session_of(stream) {
            return Some(Self::Session(id));
        }
        let sources = [
            (stream.category() == INBOX, Self::Contacts),
            (is_channel(stream), Self::Channel),
            (is_package(stream), Self::Package),
            (is_thread(stream), Self::Thread),
        ];
        sources.into_iter().find_map(|(is_it, source)| is_it.then_some(source))
    }
}

/// An event that is news, whole.
fn stub(kind: Kind, event: &StoredEvent, from: Option<AgentHandle>) -> (Place, Stub) {
    let (stream, version, at) = (event.stream.clone(), event.version, event.at);
    (Place(event.position, 0), Stub { kind, stream, version, at, from })
}

impl Inbox {
    /// Looks for all news of an agent behind a position anew.
    pub(crate) async fn begin_known(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        after: Position,
    ) -> Result<(), Fault> {
        let rooms = &self.0.rooms;
        let own = rooms.sessions.with_news(me, after).await?;
        let listing = if own.is_some() { Listing::Whole } else { Listing::UpTo(after) };
        let mut found = own.unwrap_or_default();
        let mut others = vec![inbox_of(me)];
        others.extend(rooms.channels.naming(me).await?);
        others.extend(rooms.context.awaiting_review_of(me).await?);
        others.extend(rooms.runs.threads_of(me).await?);
        for some in others.chunks(READ_ROWS_MAX) {
            found.extend(self.0.log.streams_after(some, after).await?);
        }
        shelf.begin(after, found, listing);
        Ok(())
    }

    /// Looks for everything that strangers offer to an agent behind a position anew.
    pub(crate) async fn begin_offered(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        after: Position,
    ) -> Result<(), Fault> {
        shelf.begin(after, Vec::new(), Listing::Behind(None));
        self.list_further(me, shelf).await
    }

    /// Lists some more of the streams that may have something new for an agent.
    async fn list_further(&self, me: &AgentHandle, shelf: &mut Shelf) -> Result<(), Fault> {
        let sessions = &self.0.rooms.sessions;
        match shelf.listing().clone() {
            Listing::Whole => {}
            Listing::UpTo(listed) => {
                let head = self.0.log.head().await?;
                let until = Position(listed.0.saturating_add(shelf.window())).min(head);
                let found = sessions.with_news_between(me, listed, until).await?;
                // What comes behind the head is noted when it comes.
                let listing = if until >= head { Listing::Whole } else { Listing::UpTo(until) };
                shelf.list(found, listing);
            }
            Listing::Behind(last) => {
                let (found, last) = sessions.offers_with_news(me, last.as_deref(), shelf.from()).await?;
                let listing = last.map_or(Listing::Whole, |last| Listing::Behind(Some(last)));
                shelf.list(found, listing);
            }
        }
        Ok(())
    }

    /// Looks at pending streams, the oldest news first, as long as there is something to look at and `work` is left.
    pub(crate) async fn look(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        on: On,
        work: &mut usize,
    ) -> Result<(), Fault> {
        while *work > 0 && !shelf.is_whole() {
            if let Some((stream, after)) = shelf.next() {
                self.look_at(me, shelf, on, &stream, after).await?;
                *work -= 1;
            } else {
                self.list_further(me, shelf).await?;
                *work = work.saturating_sub(LISTING_WORK);
            }
        }
        Ok(())
    }

    /// Looks at one stream.
    pub(crate) async fn look_at(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        on: On,
        stream: &StreamName,
        after: Version,
    ) -> Result<(), Fault> {
        let gathered = self.gather(me, stream, after).await;
        let gathered = Fault::past_damage(gathered, "a damaged stream is left out of an inbox")?;
        let mut gathered = gathered.unwrap_or_else(|| Gathered { read: after, ..Gathered::default() });
        gathered.stubs.retain(|(_, stub)| (stub.kind == Kind::SessionOffered) == (on == On::Offered));
        shelf.take(stream, gathered, NEWS_KEPT_MAX);
        Ok(())
    }

    /// What a stream has for an agent behind a version.
    pub(crate) async fn gather(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
    ) -> Result<Gathered, Fault> {
        match Source::of(stream) {
            Some(Source::Session(id)) => self.gather_session(me, &id, stream, after).await,
            Some(Source::Contacts) => self.gather_contacts(stream, after).await,
            Some(Source::Channel) => {
                let max = NEWS_KEPT_MAX + 1;
                let (found, read) = self.0.rooms.channels.naming_behind(me, stream, after, max).await?;
                let stubs = found.into_iter().map(|(event, from)| stub(Kind::ChannelMention, &event, from));
                Ok(Gathered { stubs: stubs.collect(), read, ..Gathered::default() })
            }
            Some(Source::Package) => {
                let asked = self.0.rooms.context.review_asked(me, stream).await?;
                let stubs =
                    asked.into_iter().map(|asked| stub(Kind::ReviewRequested, &asked.event, asked.by));
                Ok(Gathered { stubs: stubs.collect(), read: after, ..Gathered::default() })
            }
            Some(Source::Thread) => {
                let runs = &self.0.rooms.runs;
                let waiting = match runs.waits_for(stream).await? {
                    Some((_, since)) => runs.waiting(me, stream, since).await?,
                    None => None,
                };
                let stubs = waiting.into_iter().map(|waiting| stub(Kind::RunWaiting, &waiting.event, None));
                Ok(Gathered { stubs: stubs.collect(), read: after, ..Gathered::default() })
            }
            None => Ok(Gathered { read: after, ..Gathered::default() }),
        }
    }

    async fn gather_session(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        stream: &StreamName,
        after: Version,
    ) -> Result<Gathered, Fault> {
        let found = self.0.rooms.sessions.news(me, id, after, NEWS_KEPT_MAX + 1).await?;
        let stubs = found.news.into_iter().map(|news| {
            let kind = match news.kind {
                NewsKind::Message => Kind::SessionMessage,
                NewsKind::Invitation => Kind::SessionInvited,
                NewsKind::Offer => Kind::SessionOffered,
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
                gathered.stubs.push(stub(Kind::ContactRequested, event, Some(asked.from)));
            }
            if events.len() < READ_ROWS_MAX {
                return Ok(gathered);
            }
        }
    }
}
