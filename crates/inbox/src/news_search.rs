//! Finds news: the streams that may have some after a position, and the news of one stream. A reader waits for a
//! bounded part of this work; the rest runs in the background.
//! Must not know: marks.

use std::sync::{Arc, atomic::Ordering};

use plenary_kernel::{AgentHandle, Position, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StreamName, StreamNews};
use plenary_room::{News, StreamOfNews};

use crate::{
    Inbox, NEWS_KEPT_MAX,
    cursor::ItemPosition,
    feed::AgentFeed,
    kind::Kind,
    shelf::{Shelf, ShelfCoverage, Shelves, Stub, UnreadStream},
};

/// The work of one more listing, relative to reading one stream.
const LISTING_WORK: usize = 4;
/// How many streams are read at the same time.
const READ_TOGETHER_MAX: usize = 64;
/// How many streams the background search reads before readers get their turn.
const READ_IN_BACKGROUND_MAX: usize = 16;

/// The shelf of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShelfLookup {
    /// See [`crate::shelf::Shelves::known`].
    Known,
    /// See [`crate::shelf::Shelves::offered`].
    Offered,
}

/// Marks a background search of an agent as ended when it is dropped, also by a panic.
struct GatheringGuard(Arc<AgentFeed>);

impl Drop for GatheringGuard {
    fn drop(&mut self) {
        self.0.is_gathering.store(false, Ordering::Release);
        self.0.wake();
    }
}

impl Inbox {
    /// Starts a new search for an agent's news, or for the offers of strangers to it, after a position.
    pub(crate) async fn begin_shelf(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        lookup: ShelfLookup,
        after: Position,
    ) -> Result<(), Fault> {
        match lookup {
            ShelfLookup::Known => {
                let (streams, listing) = self.list_known(me, after).await?;
                shelf.begin(after, streams, listing);
                Ok(())
            }
            ShelfLookup::Offered => {
                shelf.begin(after, Vec::new(), ShelfCoverage::UpToKey(None));
                self.list_further(me, shelf).await
            }
        }
    }

    /// The streams that may have news for an agent after a position, and the extent of this list.
    pub(crate) async fn list_known(
        &self,
        me: &AgentHandle,
        after: Position,
    ) -> Result<(Vec<StreamNews>, ShelfCoverage), Fault> {
        let rooms = &self.0.rooms;
        let with_news = rooms.sessions.with_news(me, after).await?;
        let listing = if with_news.is_some() { ShelfCoverage::Whole } else { ShelfCoverage::UpTo(after) };
        let mut streams = with_news.unwrap_or_default();
        let mut others = Vec::new();
        for source in &rooms.sources {
            others.extend(source.streams(me).await?);
        }
        for chunk in others.chunks(READ_ROWS_MAX) {
            streams.extend(self.0.log.streams_after(chunk, after).await?);
        }
        Ok((streams, listing))
    }

    /// Lists more streams that may have news for an agent.
    async fn list_further(&self, me: &AgentHandle, shelf: &mut Shelf) -> Result<(), Fault> {
        let sessions = &self.0.rooms.sessions;
        match shelf.listing().clone() {
            ShelfCoverage::Whole => {}
            ShelfCoverage::UpTo(listed) => {
                let head = self.0.log.head().await?;
                let until = Position(listed.0.saturating_add(shelf.window())).min(head);
                let streams = sessions.with_news_between(me, listed, until).await?;
                // Streams that grow after the head are marked as they grow.
                let listing = if until >= head { ShelfCoverage::Whole } else { ShelfCoverage::UpTo(until) };
                shelf.list(streams, listing);
            }
            ShelfCoverage::UpToKey(last) => {
                let (offers, last) = sessions.offers_with_news(me, last.as_deref(), shelf.from()).await?;
                let listing = last.map_or(ShelfCoverage::Whole, |last| ShelfCoverage::UpToKey(Some(last)));
                shelf.list(offers, listing);
            }
        }
        Ok(())
    }

    /// Reads pending streams, the oldest news first, until there are none or `work` is used up.
    pub(crate) async fn read_pending(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        lookup: ShelfLookup,
        work: &mut usize,
    ) -> Result<(), Fault> {
        while *work > 0 && !shelf.is_whole() {
            let first = shelf.first(READ_TOGETHER_MAX.min(*work));
            if first.is_empty() {
                self.list_further(me, shelf).await?;
                *work = work.saturating_sub(LISTING_WORK);
                continue;
            }
            *work -= first.len();
            for ((stream, _), unread) in first.iter().zip(self.read_streams(me, lookup, &first).await?) {
                // An earlier one of them may have filled the shelf.
                if shelf.is_pending(stream) {
                    shelf.take(stream, unread, NEWS_KEPT_MAX);
                }
            }
        }
        Ok(())
    }

    /// What streams have for the shelf, each after a version.
    pub(crate) async fn read_streams(
        &self,
        me: &AgentHandle,
        lookup: ShelfLookup,
        streams: &[(StreamName, Version)],
    ) -> Result<Vec<UnreadStream>, Fault> {
        let nothing = |(_, after): &(_, Version)| UnreadStream { read: *after, ..UnreadStream::default() };
        let mut unread: Vec<_> = streams.iter().map(nothing).collect();
        for source in &self.0.rooms.sources {
            let own: Vec<_> = (0..streams.len()).filter(|nth| source.has(&streams[*nth].0)).collect();
            let of_source: Vec<_> = own.iter().map(|nth| streams[*nth].clone()).collect();
            let found = source.news_of_several(me, &of_source, NEWS_KEPT_MAX + 1).await;
            for (nth, found) in own.into_iter().zip(found) {
                let found = Fault::skip_corrupt(found, "a damaged stream is left out of an inbox")?;
                if let Some(found) = found {
                    unread[nth] = on_shelf(&streams[nth].0, found, lookup);
                }
            }
        }
        Ok(unread)
    }

    /// Looks for the rest in the background; readers are notified as more is found.
    pub(crate) fn search_in_background(&self, me: &AgentHandle, feed: &Arc<AgentFeed>) {
        if feed.is_gathering.swap(true, Ordering::AcqRel) {
            return;
        }
        let (inbox, feed, me) = (Arc::downgrade(&self.0), GatheringGuard(feed.clone()), me.clone());
        let permits = self.0.gathering.clone();
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            while let Some(inner) = inbox.upgrade() {
                let inbox = Self(inner);
                match inbox.search_some(&me, &feed.0).await {
                    Ok(true) if !*inbox.0.closed.borrow() => {}
                    Ok(_) => break,
                    Err(fault) => {
                        tracing::warn!(%fault, "news cannot be checked now; the next read checks it");
                        break;
                    }
                }
            }
        });
    }

    /// Searches some of the rest; returns whether there is more.
    async fn search_some(&self, me: &AgentHandle, feed: &AgentFeed) -> Result<bool, Fault> {
        let mut shelves = feed.shelves.lock().await;
        let Shelves { known, offered, .. } = &mut *shelves;
        for (shelf, lookup) in [(known, ShelfLookup::Known), (offered, ShelfLookup::Offered)] {
            if shelf.has_more() {
                let mut work = READ_IN_BACKGROUND_MAX;
                self.read_pending(me, shelf, lookup, &mut work).await?;
            }
        }
        let has_more = shelves.known.has_more() || shelves.offered.has_more();
        drop(shelves);
        feed.wake();
        // Readers have priority.
        tokio::task::yield_now().await;
        Ok(has_more)
    }
}

/// What a stream has for one shelf.
fn on_shelf(stream: &StreamName, found: StreamOfNews, lookup: ShelfLookup) -> UnreadStream {
    let StreamOfNews { news, read, answered, joined } = found;
    let news = news.into_iter();
    let news = news.filter(|news| (news.kind == Kind::SessionOffered) == (lookup == ShelfLookup::Offered));
    let stubs = news.map(|news| {
        let News { kind, position, nth, version, at, from, reminds_of, about } = news;
        let reminds_of = reminds_of.map(|position| ItemPosition(position, 0));
        let stub = Stub { kind, stream: stream.clone(), version, at, from, reminds_of, about };
        (ItemPosition(position, nth), stub)
    });
    UnreadStream { stubs: stubs.collect(), read, answered, joined }
}
