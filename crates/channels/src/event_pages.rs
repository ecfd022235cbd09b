//! Pages of a channel's events, newest first, read from the log (CH-11, CH-24, CH-26).
//! Must not know: HTTP.

use plenary_engine::Room;
use plenary_kernel::{Position, Version};
use plenary_log::{Fault, Order, PageSize, StreamName};

use crate::{
    Channels, PAGE_BYTES_MAX, SCAN_BYTES_MAX,
    id::ChannelId,
    room::{ChannelRoom, KINDS, kind_prefix, run_key},
    state::{RUN, run_of},
    wire::Event,
};

/// The parameters of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventQuery<'a> {
    pub(crate) kind: Option<&'a str>,
    pub(crate) limit: usize,
    /// Only events with a lower id.
    pub(crate) before: Option<u64>,
    /// Only events with a higher id. Without `before`, the page has the events directly after this id, so that a client that
    /// continues from its newest event misses none.
    pub(crate) after: Option<u64>,
}

/// Events, newest first, and the start of the next page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) events: Vec<Event>,
    pub(crate) next: Option<Next>,
}

/// The parameter of the next page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Before(u64),
    After(u64),
}

/// The versions `low < v <= high`.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: Version,
    high: Version,
}

/// The order in which events are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadOrder {
    Newest,
    Oldest,
}

/// The result of reading one range: the matching events in order, the first and last position, and the bytes read.
#[derive(Default)]
struct Window {
    events: Vec<Event>,
    first: u64,
    last: u64,
    bytes: usize,
}

impl Channels {
    /// A page of events of a channel at version `head`.
    pub(crate) async fn page(
        &self,
        id: &ChannelId,
        head: Version,
        query: EventQuery<'_>,
    ) -> Result<Page, Fault> {
        let stream = ChannelRoom::stream(id.as_str());
        let mut range = self.range(&stream, head, query).await?;
        let from = match (query.after, query.before) {
            (Some(_), None) => ReadOrder::Oldest,
            _ => ReadOrder::Newest,
        };
        let (mut page, mut size) = (Page::default(), PageSize::default());
        let (mut bytes, mut scanned) = (0, 0);
        while let Some(part) = self.window_of(id, range, query, from, size, page.events.len()).await? {
            let window = self.window(id, &stream, part, query.kind, &mut size).await?;
            scanned += window.bytes;
            let (mut edge, mut events) = match from {
                ReadOrder::Newest => {
                    (window.first, window.events.into_iter().rev().collect::<Vec<_>>().into_iter())
                }
                ReadOrder::Oldest => (window.last, window.events.into_iter()),
            };
            for event in events.by_ref() {
                bytes += event.payload.get().len();
                let last = event.id;
                page.events.push(event);
                if page.events.len() >= query.limit || bytes >= PAGE_BYTES_MAX {
                    edge = last;
                    break;
                }
            }
            match from {
                ReadOrder::Newest => range.high = part.low,
                ReadOrder::Oldest => range.low = part.high,
            }
            let full =
                page.events.len() >= query.limit || bytes >= PAGE_BYTES_MAX || scanned >= SCAN_BYTES_MAX;
            let more = events.next().is_some() || range.low < range.high;
            if full && more {
                page.next = Some(match from {
                    ReadOrder::Newest => Next::Before(edge),
                    ReadOrder::Oldest => Next::After(edge),
                });
            }
            if full {
                break;
            }
        }
        if from == ReadOrder::Oldest {
            page.events.reverse();
        }
        Ok(page)
    }

    /// The event at a version of the channel's stream; `None` if it is not an event of the protocol.
    pub(crate) async fn event_at(&self, id: &ChannelId, version: Version) -> Result<Option<Event>, Fault> {
        let Some(before) = version.0.checked_sub(1) else { return Ok(None) };
        let stream = ChannelRoom::stream(id.as_str());
        match self.log().read_stream(&stream, Version(before), 1).await?.first() {
            Some(stored) if stored.version == version => Event::of(id, stored),
            _ => Ok(None),
        }
    }

    /// The newest version whose event has an id of at most `id`.
    pub(crate) async fn version_at(
        &self,
        stream: &StreamName,
        head: Version,
        id: u64,
    ) -> Result<Version, Fault> {
        let news = self.log().streams_after(std::slice::from_ref(stream), Position(id)).await?;
        Ok(news.first().map_or(head, |news| Version(news.first.0.saturating_sub(1)).min(head)))
    }

    /// Converts ids to versions. Version 1 is the creation, which is not an event of the protocol.
    async fn range(&self, stream: &StreamName, head: Version, query: EventQuery<'_>) -> Result<Range, Fault> {
        let low = match query.after {
            Some(after) => self.version_at(stream, head, after).await?.max(Version(1)),
            None => Version(1),
        };
        let high = match query.before {
            Some(0) => Version::ZERO,
            Some(before) => self.version_at(stream, head, before - 1).await?,
            None => head,
        };
        Ok(Range { low, high })
    }

    /// The next part of a range to read; `None` if there is nothing more.
    async fn window_of(
        &self,
        id: &ChannelId,
        range: Range,
        query: EventQuery<'_>,
        from: ReadOrder,
        size: PageSize,
        gathered: usize,
    ) -> Result<Option<Range>, Fault> {
        let Range { low, high } = range;
        if low >= high {
            return Ok(None);
        }
        let Some(kind) = query.kind else {
            let most = size.events().min(query.limit.saturating_sub(gathered)).max(1) as u64;
            return Ok(Some(match from {
                ReadOrder::Newest => Range { low: low.max(Version(high.0.saturating_sub(most))), high },
                ReadOrder::Oldest => Range { low, high: high.min(low.plus(most)) },
            }));
        };
        // Read only the runs that have an event of this kind.
        let prefix = kind_prefix(id.as_str(), kind);
        let (beyond, order) = match from {
            ReadOrder::Newest => (Some(run_of(high) + 1), Order::Descending),
            ReadOrder::Oldest => (run_of(low.next()).checked_sub(1), Order::Ascending),
        };
        let beyond = beyond.map(|run| run_key(&prefix, run));
        let rows = self.log().read_index(KINDS, &prefix, beyond.as_deref(), 1, order).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let run: u64 =
            row.key[prefix.len()..].parse().map_err(|_| Fault::Corrupt(format!("{} in {KINDS}", row.key)))?;
        let part = Range { low: low.max(Version(run * RUN)), high: high.min(Version((run + 1) * RUN)) };
        Ok((part.low < part.high).then_some(part))
    }

    /// Reads a part of the stream, in pages whose length adapts to the size of the events.
    async fn window(
        &self,
        id: &ChannelId,
        stream: &StreamName,
        part: Range,
        kind: Option<&str>,
        size: &mut PageSize,
    ) -> Result<Window, Fault> {
        let (mut window, mut cursor) = (Window::default(), part.low);
        while cursor < part.high {
            let most = usize::try_from(part.high.0 - cursor.0).unwrap_or(usize::MAX);
            let stored = self.log().read_stream(stream, cursor, size.events().min(most)).await?;
            size.learn(&stored);
            let Some(last) = stored.last() else { break };
            cursor = last.version;
            for stored in &stored {
                if window.first == 0 {
                    window.first = stored.position.0;
                }
                window.last = stored.position.0;
                window.bytes += stored.payload.len() + stored.envelope.len();
                let event = Event::of(id, stored)?;
                window.events.extend(event.filter(|event| kind.is_none_or(|kind| event.kind == kind)));
            }
        }
        Ok(window)
    }
}
