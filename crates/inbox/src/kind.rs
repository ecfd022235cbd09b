//! Sets of kinds of news. Pure.
//! Must not know: the content of news.

use std::str::FromStr;

pub use plenary_room::Kind;

/// A set of kinds; never an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u16);

impl Kinds {
    /// Every kind.
    pub(crate) const ALL: Self = Self((1 << Kind::ALL.len()) - 1);

    pub(crate) const fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// The included kinds of the set; `None` if there are none.
    pub(crate) fn only(self, is_included: impl Fn(Kind) -> bool) -> Option<Self> {
        let bits = self.iter().filter(|kind| is_included(*kind)).fold(0, |bits, kind| bits | kind.bit());
        Self::of_bits(bits)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn of_bits(bits: u16) -> Option<Self> {
        if bits != 0 && bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }
}

impl FromStr for Kinds {
    type Err = String;

    /// Parses names separated by commas; the error is an unknown name.
    fn from_str(text: &str) -> Result<Self, String> {
        let bits = text.split(',').map(str::trim).try_fold(0, |bits, name| {
            let kinds = Kind::ALL.into_iter().filter(|kind| kind.shown().as_str() == name);
            let matching = kinds.fold(0, |bits, kind| bits | kind.bit());
            if matching == 0 { Err(name.to_owned()) } else { Ok(bits | matching) }
        });
        bits.map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_an_unknown_name_is_returned() {
        let both: Kinds = "frame, session.message".parse().unwrap();
        assert_eq!(both.iter().collect::<Vec<_>>(), [Kind::SessionMessage, Kind::Frame]);
        let invited: Kinds = "session.invited".parse().unwrap();
        assert_eq!(invited.iter().collect::<Vec<_>>(), [Kind::SessionInvited, Kind::SessionOffered]);
        assert_eq!("session.offered".parse::<Kinds>(), Err("session.offered".to_owned()));
        assert_eq!("frame,mail".parse::<Kinds>(), Err("mail".to_owned()));
        assert_eq!("".parse::<Kinds>(), Err(String::new()));
        assert_eq!(Kinds::of_bits(both.bits()), Some(both));
        assert_eq!((Kinds::of_bits(0), Kinds::of_bits(0x200)), (None, None));
    }
}
