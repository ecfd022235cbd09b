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
    pub(crate) place: ItemPosition,
    /// All frames up to this number were returned.
    pub(crate) lane: u64,
    /// All offers of strangers up to here were returned.
    pub(crate) offers: ItemPosition,
    /// The number of returns from coding agents when it was read: items that were returned later are not
    /// covered.
    pub(crate) turn: u64,
}

impl Cursor {
    /// The place for a kind; `None` if the cursor does not cover it.
    pub(crate) fn of(&self, kind: Kind) -> Option<ItemPosition> {
        let place = match kind {
            Kind::Frame => ItemPosition(Position(self.lane), 0),
            Kind::SessionOffered => self.offers,
            Kind::SessionMessage
            | Kind::SessionInvited
            | Kind::ContactRequested
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting
            | Kind::RequestAnswered => self.place,
        };
        self.kinds.has(kind).then_some(place)
    }

    /// The text of the cursor, which only the same agent can use.
    pub(crate) fn text(&self, handle: &AgentHandle) -> String {
        let (ItemPosition(position, nth), ItemPosition(offered, offer)) = (self.place, self.offers);
        let (kinds, lane, turn) = (self.kinds.bits(), self.lane, self.turn);
        let body = format!("{kinds:x}.{position}.{nth:x}.{lane}.{offered}.{offer:x}.{turn:x}");
        let check = check(handle, &body);
        format!("{body}.{check}")
    }

    /// Parses a text; `None` if it is not a cursor of this agent.
    pub(crate) fn read(text: &str, handle: &AgentHandle) -> Option<Self> {
        let (body, given) = text.rsplit_once('.')?;
        if check(handle, body) != given {
            return None;
        }
        let mut parts = body.split('.');
        let kinds = Kinds::of_bits(u16::from_str_radix(parts.next()?, 16).ok()?)?;
        let place = read_place(&mut parts)??;
        let lane = parts.next()?.parse().ok()?;
        // An older cursor has one place for both the log and the offers of strangers.
        let offers = match read_place(&mut parts) {
            Some(offers) => offers?,
            None => place,
        };
        // An older cursor has no turn.
        let turn = parts.next().map_or(Some(0), |turn| u64::from_str_radix(turn, 16).ok())?;
        parts.next().is_none().then_some(Self { kinds, place, lane, offers, turn })
    }
}

/// The next place; the outer `None` if there is no more text, the inner one if it is invalid.
fn read_place<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Option<ItemPosition>> {
    let position = parts.next()?.parse().ok().map(Position);
    let nth = parts.next().and_then(|nth| u64::from_str_radix(nth, 16).ok());
    Some(position.zip(nth).map(|(position, nth)| ItemPosition(position, nth)))
}

/// The place of an item. Its text is the id for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum ItemId {
    /// In the log.
    Log(ItemPosition),
    /// In the log, as an offer of a stranger.
    Offer(ItemPosition),
    /// On the lane of the agent's owner.
    Frame(u64),
}

impl ItemId {
    pub(crate) fn of(kind: Kind, place: ItemPosition) -> Self {
        match kind {
            Kind::SessionOffered => Self::Offer(place),
            Kind::Frame => Self::Frame(place.0.0),
            Kind::SessionMessage
            | Kind::SessionInvited
            | Kind::ContactRequested
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting
            | Kind::RequestAnswered => Self::Log(place),
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

    /// The place in its order.
    pub(crate) fn place(self) -> ItemPosition {
        match self {
            Self::Log(place) | Self::Offer(place) => place,
            Self::Frame(number) => ItemPosition(Position(number), 0),
        }
    }

    /// Whether a page from `after` to `to` certainly contains it. Its kind is not stored, so all
    /// possible kinds must agree.
    pub(crate) fn is_between(self, after: Option<&Cursor>, to: &Cursor) -> bool {
        let mut kinds = Kind::ALL.into_iter().filter(|kind| self.is_in_line_of(*kind));
        kinds.all(|kind| {
            let is_passed = to.of(kind).is_some_and(|to| self.place() <= to);
            is_passed && after.and_then(|after| after.of(kind)).is_none_or(|after| self.place() > after)
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
        let place =
            ItemPosition(Position(position), u64::from_str_radix(nth, 16).map_err(|_| InvalidItemId)?);
        Ok(if is_offer { Self::Offer(place) } else { Self::Log(place) })
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
        fn a_cursor_comes_back_as_it_went(bits in 1_u16..512, at: u64, nth: u64, lane: u64, offer: u64, turn: u64) {
            let kinds = Kinds::of_bits(bits).unwrap();
            let offers = ItemPosition(Position(offer), at);
            let cursor = Cursor { kinds, place: ItemPosition(Position(at), nth), lane, offers, turn };
            prop_assert_eq!(Cursor::read(&cursor.text(&me()), &me()), Some(cursor));
        }

        #[test]
        fn no_other_text_is_a_cursor(text in "[0-9a-f.]{0,40}") {
            prop_assert_eq!(Cursor::read(&text, &me()), None);
        }
    }

    #[test]
    fn a_cursor_is_its_agents_own_and_cannot_be_changed() {
        let place = ItemPosition(Position(7), 0);
        let cursor = Cursor { kinds: Kinds::ALL, place, lane: 3, offers: place, turn: 0 };
        let before = format!("7f.7.0.3.{}", check(&me(), "7f.7.0.3"));
        let read = Cursor::read(&before, &me()).unwrap();
        assert_eq!((read.place, read.offers, read.lane), (place, place, 3), "one from before");
        assert_eq!(read.of(Kind::SessionOffered), None);
        let text = cursor.text(&me());
        assert_eq!(Cursor::read(&text, &"@bob.cli".parse().unwrap()), None);
        assert_eq!(Cursor::read(&text.replacen(".7.", ".8.", 1), &me()), None);
    }
}
