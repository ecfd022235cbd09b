//! Positions in an agent's inbox, and the opaque text for clients. Pure.
//! Must not know: the item at a position.

use std::{fmt, str::FromStr};

use plenary_kernel::{AgentHandle, Position, json::digest};
use serde::{Deserialize, Serialize};

use crate::kind::{Kind, Kinds};

/// Bytes of the checksum at the end of a cursor.
const CHECK_BYTES: usize = 8;

/// A position in the log, with an order among the items of one position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct ItemPosition(pub(crate) Position, pub(crate) u64);

impl ItemPosition {
    /// The place after everything at a position.
    pub(crate) const fn end_of(position: Position) -> Self {
        Self(position, u64::MAX)
    }

    /// The previous place.
    pub(crate) const fn before(self) -> Self {
        match self {
            Self(Position(0), 0) => self,
            Self(Position(position), 0) => Self::end_of(Position(position - 1)),
            Self(position, nth) => Self(position, nth - 1),
        }
    }
}

/// A reader's cursor: in the log, and on the ephemeral lane of the agent's owner, which has its own
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The kinds that it covers.
    pub(crate) kinds: Kinds,
    /// All items of those kinds up to here were returned.
    pub(crate) position: ItemPosition,
    /// All frames up to this number were returned.
    pub(crate) lane: u64,
    /// All offers of strangers up to here were returned.
    pub(crate) offers: ItemPosition,
    /// The number of returns from coding agents when it was read: items that were returned later are not
    /// covered.
    pub(crate) returns: u64,
}

impl Cursor {
    /// The position for a kind; `None` if the cursor does not cover it.
    pub(crate) fn of(&self, kind: Kind) -> Option<ItemPosition> {
        let position = match kind {
            Kind::Frame => ItemPosition(Position(self.lane), 0),
            Kind::SessionOffered => self.offers,
            Kind::SessionMessage
            | Kind::SessionInvited
            | Kind::ContactRequested
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting
            | Kind::RequestAnswered => self.position,
        };
        self.kinds.has(kind).then_some(position)
    }

    /// The text of the cursor, which only the same agent can use.
    pub(crate) fn text(&self, handle: &AgentHandle) -> String {
        let (ItemPosition(position, nth), ItemPosition(offered, offer)) = (self.position, self.offers);
        let (kinds, lane, returns) = (self.kinds.bits(), self.lane, self.returns);
        let body = format!("{kinds:x}.{position}.{nth:x}.{lane}.{offered}.{offer:x}.{returns:x}");
        let check = check(handle, &body);
        format!("{body}.{check}")
    }

    /// Parses a text; `None` if it is not a cursor of this agent.
    pub(crate) fn read(text: &str, handle: &AgentHandle) -> Option<Self> {
        let (body, actual_check) = text.rsplit_once('.')?;
        if check(handle, body) != actual_check {
            return None;
        }
        let mut parts = body.split('.');
        let kinds = Kinds::of_bits(u16::from_str_radix(parts.next()?, 16).ok()?)?;
        let position = read_position(&mut parts)??;
        let lane = parts.next()?.parse().ok()?;
        // An older cursor has one position for both the log and the offers of strangers.
        let offers = match read_position(&mut parts) {
            Some(offers) => offers?,
            None => position,
        };
        // An older cursor has no number of returns.
        let returns = parts.next().map_or(Some(0), |returns| u64::from_str_radix(returns, 16).ok())?;
        parts.next().is_none().then_some(Self { kinds, position, lane, offers, returns })
    }
}

/// The next position; the outer `None` if there is no more text, the inner one if it is invalid.
fn read_position<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Option<ItemPosition>> {
    let position = parts.next()?.parse().ok().map(Position);
    let nth = parts.next().and_then(|nth| u64::from_str_radix(nth, 16).ok());
    Some(position.zip(nth).map(|(position, nth)| ItemPosition(position, nth)))
}

/// The position of an item. Its text is the id for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum ItemId {
    Log(ItemPosition),
    /// In the log, as an offer of a stranger.
    Offer(ItemPosition),
    /// On the lane of the agent's owner.
    Frame(u64),
}

impl ItemId {
    pub(crate) fn of(kind: Kind, position: ItemPosition) -> Self {
        match kind {
            Kind::SessionOffered => Self::Offer(position),
            Kind::Frame => Self::Frame(position.0.0),
            Kind::SessionMessage
            | Kind::SessionInvited
            | Kind::ContactRequested
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting
            | Kind::RequestAnswered => Self::Log(position),
        }
    }

    /// Whether items of a kind have this sort of place.
    pub(crate) fn is_in_line_of(self, kind: Kind) -> bool {
        match self {
            Self::Log(_) => kind.is_in_line(),
            Self::Offer(_) => kind == Kind::SessionOffered,
            Self::Frame(_) => kind == Kind::Frame,
        }
    }

    /// The position in its order.
    pub(crate) fn position(self) -> ItemPosition {
        match self {
            Self::Log(position) | Self::Offer(position) => position,
            Self::Frame(number) => ItemPosition(Position(number), 0),
        }
    }

    /// Whether a page from `after` to `to` certainly contains it. Its kind is not stored, so all
    /// possible kinds must agree.
    pub(crate) fn is_between(self, after: Option<&Cursor>, to: &Cursor) -> bool {
        let mut kinds = Kind::ALL.into_iter().filter(|kind| self.is_in_line_of(*kind));
        kinds.all(|kind| {
            let is_reached = to.of(kind).is_some_and(|to| self.position() <= to);
            is_reached && after.and_then(|after| after.of(kind)).is_none_or(|after| self.position() > after)
        })
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(ItemPosition(position, nth)) => write!(f, "{position}.{nth:x}"),
            Self::Offer(ItemPosition(position, nth)) => write!(f, "{position}.{nth:x}.s"),
            Self::Frame(number) => write!(f, "f{number}"),
        }
    }
}

/// The text is not the id of an item.
#[derive(Debug, thiserror::Error)]
#[error("no piece of news has this id")]
pub(crate) struct InvalidItemId;

impl FromStr for ItemId {
    type Err = InvalidItemId;

    fn from_str(text: &str) -> Result<Self, InvalidItemId> {
        if let Some(number) = text.strip_prefix('f') {
            return number.parse().map(Self::Frame).map_err(|_| InvalidItemId);
        }
        let (text, is_offer) = text.strip_suffix(".s").map_or((text, false), |text| (text, true));
        let (position, nth) = text.split_once('.').ok_or(InvalidItemId)?;
        let position = position.parse().map_err(|_| InvalidItemId)?;
        let position =
            ItemPosition(Position(position), u64::from_str_radix(nth, 16).map_err(|_| InvalidItemId)?);
        Ok(if is_offer { Self::Offer(position) } else { Self::Log(position) })
    }
}

impl TryFrom<String> for ItemId {
    type Error = InvalidItemId;

    fn try_from(text: String) -> Result<Self, InvalidItemId> {
        text.parse()
    }
}

impl From<ItemId> for String {
    fn from(spot: ItemId) -> Self {
        spot.to_string()
    }
}

fn check(handle: &AgentHandle, body: &str) -> String {
    let whole = digest(format!("inbox {handle} {body}").as_bytes());
    hex::encode(&whole[..CHECK_BYTES])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn me() -> AgentHandle {
        "@nick.cc".parse().unwrap()
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(bits in 1_u16..512, number: u64, nth: u64, lane: u64, offer: u64, returns: u64) {
            let kinds = Kinds::of_bits(bits).unwrap();
            let offers = ItemPosition(Position(offer), number);
            let cursor = Cursor { kinds, position: ItemPosition(Position(number), nth), lane, offers, returns };
            prop_assert_eq!(Cursor::read(&cursor.text(&me()), &me()), Some(cursor));
        }

        #[test]
        fn no_other_text_is_a_cursor(text in "[0-9a-f.]{0,40}") {
            prop_assert_eq!(Cursor::read(&text, &me()), None);
        }
    }

    #[test]
    fn a_cursor_belongs_to_one_agent_and_cannot_be_changed() {
        let position = ItemPosition(Position(7), 0);
        let cursor = Cursor { kinds: Kinds::ALL, position, lane: 3, offers: position, returns: 0 };
        let before = format!("7f.7.0.3.{}", check(&me(), "7f.7.0.3"));
        let read = Cursor::read(&before, &me()).unwrap();
        assert_eq!((read.position, read.offers, read.lane), (position, position, 3), "an older cursor");
        assert_eq!(read.of(Kind::SessionOffered), None);
        let text = cursor.text(&me());
        assert_eq!(Cursor::read(&text, &"@bob.cli".parse().unwrap()), None);
        assert_eq!(Cursor::read(&text.replacen(".7.", ".8.", 1), &me()), None);
    }
}
