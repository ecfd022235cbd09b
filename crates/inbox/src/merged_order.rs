//! Merges two orders: the log, and the retained frames, by time. Each keeps its own order.
//! Must not know: the presentation.

use plenary_frames::news::RetainedFrame;
use plenary_kernel::Position;

use crate::{
    Inbox, cursor::ItemPosition, inbox_read::InboxQuery, items::Reader, kind::Kind, marks::Marks, shelf::Stub,
};

/// The requested retained frames.
#[derive(Debug, Default)]
pub(crate) struct RetainedNews {
    pub(crate) news: Vec<RetainedFrame>,
    pub(crate) unread: u64,
    start: u64,
}

impl RetainedNews {
    pub(crate) fn of(inbox: &Inbox, reader: &Reader, query: &InboxQuery<'_>, marks: &Marks) -> Self {
        let start = query.start(Kind::Frame, marks).0.0;
        if !query.kinds.has(Kind::Frame) {
            return Self { start, ..Self::default() };
        }
        let unread_from = marks.unread_from(Kind::Frame).0.0;
        let mut retained = inbox.0.rooms.frames.retained(&reader.me.handle, start.min(unread_from));
        retained.retain(|frame| !reader.is_blocked(&frame.from));
        let is_unread =
            |frame: &RetainedFrame| marks.is_unread(Kind::Frame, ItemPosition(Position(frame.number), 0));
        let unread = retained.iter().filter(|frame| is_unread(frame)).count();
        let is_requested =
            |frame: &RetainedFrame| frame.number > start && (query.after.is_some() || is_unread(frame));
        let news = retained.into_iter().filter(is_requested).collect();
        Self { news, unread: u64::try_from(unread).unwrap_or(u64::MAX), start }
    }

    /// The number up to which all frames are covered.
    pub(crate) fn passed(&self, returned: usize) -> u64 {
        returned.checked_sub(1).and_then(|last| self.news.get(last)).map_or(self.start, |frame| frame.number)
    }
}

/// The next item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// An item of the log, and the number of newer ones of the same place.
    Stub(ItemPosition, &'a Stub, u64),
    /// A frame, and the number of newer ones.
    Frame(&'a RetainedFrame, u64),
}

impl Next<'_> {
    pub(crate) fn is_stub(&self) -> bool {
        matches!(self, Self::Stub(..))
    }
}

/// The first items of both.
pub(crate) fn merged<'a>(
    stubs: &'a [(ItemPosition, Stub, u64)],
    frames: &'a [RetainedFrame],
    limit: usize,
) -> Vec<Next<'a>> {
    let (mut stubs, mut frames) = (stubs.iter().peekable(), frames.iter().peekable());
    let mut merged = Vec::with_capacity(limit);
    while merged.len() < limit {
        let is_frame = match (stubs.peek(), frames.peek()) {
            (Some((_, stub, _)), Some(frame)) => frame.at < stub.at,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => break,
        };
        if is_frame {
            let newer = u64::try_from(frames.len().saturating_sub(1)).unwrap_or(u64::MAX);
            merged.extend(frames.next().map(|frame| Next::Frame(frame, newer)));
        } else {
            merged.extend(stubs.next().map(|(position, stub, newer)| Next::Stub(*position, stub, *newer)));
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    fn stub(at: u64) -> (ItemPosition, Stub, u64) {
        let (stream, at) = (StreamName::new("t.t", "a"), TimestampMs(at));
        let stub = Stub {
            kind: Kind::SessionMessage,
            stream,
            version: Version(1),
            at,
            from: None,
            reminds_of: None,
            about: None,
        };
        (ItemPosition(Position(at.0), 0), stub, 0)
    }

    fn frame(number: u64, at: u64) -> RetainedFrame {
        let (from, at) = ("@bob.cli".parse().unwrap(), TimestampMs(at));
        RetainedFrame {
            number,
            from,
            at,
            frame_id: String::new(),
            kind: String::new(),
            payload: String::new(),
        }
    }

    #[test]
    fn stubs_and_frames_are_merged_by_time() {
        let stubs = [stub(1), stub(5), stub(3)];
        let frames = [frame(1, 2), frame(2, 1), frame(3, 9)];
        let order = |limit| -> Vec<String> {
            let describe = |next: &Next<'_>| match next {
                Next::Stub(position, ..) => format!("log {}", position.0),
                Next::Frame(frame, newer) => format!("frame {} -{newer}", frame.number),
            };
            merged(&stubs, &frames, limit).iter().map(describe).collect()
        };
        let all = ["log 1", "frame 1 -2", "frame 2 -1", "log 5", "log 3", "frame 3 -0"];
        assert_eq!(order(10), all);
        assert_eq!(order(4), all[..4]);
    }
}
