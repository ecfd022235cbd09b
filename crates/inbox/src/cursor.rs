//! Places in an agent's inbox, and the opaque text that carries one to a client and back. Pure.
//! Must not know: what stands at a place.

use plenary_kernel::{AgentHandle, Position, json::digest};
use serde::{Deserialize, Serialize};

use crate::kind::{Kind, Kinds};

/// Octets of the check that stands at the end of a cursor.
const CHECK_OCTETS: usize = 8;

/// A place among what the log holds: a position, and at one position an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Place(pub(crate) Position, pub(crate) u64);

impl Place {
    /// Behind everything at a position.
    pub(crate) const fn behind(position: Position) -> Self {
        Self(position, u64::MAX)
    }
}

/// How far somebody has got: in the log, and on the ephemeral lane of the agent's owner, whose numbers are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The kinds that were looked at; of others it says nothing.
    pub(crate) kinds: Kinds,
    /// Everything of those kinds up to here was given.
    pub(crate) place: Place,
    /// The same for frames.
    pub(crate) lane: u64,
    /// The same for what strangers offer.
    pub(crate) offers: Place,
}

impl Cursor {
    /// Where it stands for a kind; `None` where it says nothing of it.
    pub(crate) fn of(&self, kind: Kind) -> Option<Place> {
        let place = match kind {
            Kind::Frame => Place(Position(self.lane), 0),
            Kind::SessionOffered => self.offers,
            Kind::SessionMessage
            | Kind::SessionInvited
            | Kind::ContactRequested
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting => self.place,
        };
        self.kinds.has(kind).then_some(place)
    }

    /// The text, which only the same agent can give back.
    pub(crate) fn text(&self, handle: &AgentHandle) -> String {
        let (Place(position, nth), Place(offered, offer)) = (self.place, self.offers);
        let (kinds, lane) = (self.kinds.bits(), self.lane);
        let body = format!("{kinds:x}.{position}.{nth:x}.{lane}.{offered}.{offer:x}");
        let check = check(handle, &body);
        format!("{body}.{check}")
    }

    /// Reads a text; `None` when no cursor of this agent looks like it.
    pub(crate) fn read(text: &str, handle: &AgentHandle) -> Option<Self> {
        let (body, given) = text.rsplit_once('.')?;
        if check(handle, body) != given {
            return None;
        }
        let mut parts = body.split('.');
        let kinds = Kinds::of_bits(u16::from_str_radix(parts.next()?, 16).ok()?)?;
        let place = read_place(&mut parts)??;
        let lane = parts.next()?.parse().ok()?;
        // A cursor from before strangers had a shelf of their own is one for both.
        let offers = match read_place(&mut parts) {
            Some(offers) => offers?,
            None => place,
        };
        parts.next().is_none().then_some(Self { kinds, place, lane, offers })
    }
}

/// The place that comes next; the outer `None` when nothing does, the inner when it is none.
fn read_place<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Option<Place>> {
    let position = parts.next()?.parse().ok().map(Position);
    let nth = parts.next().and_then(|nth| u64::from_str_radix(nth, 16).ok());
    Some(position.zip(nth).map(|(position, nth)| Place(position, nth)))
}

fn check(handle: &AgentHandle, body: &str) -> String {
    let whole = digest(format!("inbox {handle} {body}").as_bytes());
    hex::encode(&whole[..CHECK_OCTETS])
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
        fn a_cursor_comes_back_as_it_went(bits in 1_u16..256, at: u64, nth: u64, lane: u64, offer: u64) {
            let kinds = Kinds::of_bits(bits).unwrap();
            let cursor = Cursor { kinds, place: Place(Position(at), nth), lane, offers: Place(Position(offer), at) };
            prop_assert_eq!(Cursor::read(&cursor.text(&me()), &me()), Some(cursor));
        }

        #[test]
        fn no_other_text_is_a_cursor(text in "[0-9a-f.]{0,40}") {
            prop_assert_eq!(Cursor::read(&text, &me()), None);
        }
    }

    #[test]
    fn a_cursor_is_its_agents_own_and_cannot_be_changed() {
        let place = Place(Position(7), 0);
        let cursor = Cursor { kinds: Kinds::ALL, place, lane: 3, offers: place };
        let before = format!("7f.7.0.3.{}", check(&me(), "7f.7.0.3"));
        let read = Cursor::read(&before, &me()).unwrap();
        assert_eq!((read.place, read.offers, read.lane), (place, place, 3), "one from before");
        assert_eq!(read.of(Kind::SessionOffered), None);
        let text = cursor.text(&me());
        assert_eq!(Cursor::read(&text, &"@bob.cli".parse().unwrap()), None);
        assert_eq!(Cursor::read(&text.replacen(".7.", ".8.", 1), &me()), None);
    }
}
