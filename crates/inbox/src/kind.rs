//! The kinds of news, and sets of them. Pure.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a piece of news is. The names are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// Another agent's message in a session.
    #[serde(rename = "session.message")]
    SessionMessage,
    /// The agent was invited to a session.
    #[serde(rename = "session.invited")]
    SessionInvited,
    /// Another agent asks for contact.
    #[serde(rename = "contact.requested")]
    ContactRequested,
    /// A frame that concerns the agent.
    #[serde(rename = "frame")]
    Frame,
    /// A channel's event that names the agent.
    #[serde(rename = "channel.mention")]
    ChannelMention,
    /// A package waits for a review that the agent may give.
    #[serde(rename = "review.requested")]
    ReviewRequested,
    /// A run that the agent started waits for input.
    #[serde(rename = "run.waiting")]
    RunWaiting,
    /// A stranger invited the agent, which has not answered. It stands on a shelf of its own with marks of its own; shown
    /// and asked for it is a `session.invited`.
    #[serde(rename = "session.offered")]
    #[schemars(skip)]
    SessionOffered,
}

impl Kind {
    /// Every kind, in the order of their bits.
    pub(crate) const ALL: [Self; 8] = [
        Self::SessionMessage,
        Self::SessionInvited,
        Self::ContactRequested,
        Self::Frame,
        Self::ChannelMention,
        Self::ReviewRequested,
        Self::RunWaiting,
        Self::SessionOffered,
    ];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionMessage => "session.message",
            Self::SessionInvited => "session.invited",
            Self::ContactRequested => "contact.requested",
            Self::Frame => "frame",
            Self::ChannelMention => "channel.mention",
            Self::ReviewRequested => "review.requested",
            Self::RunWaiting => "run.waiting",
            Self::SessionOffered => "session.offered",
        }
    }

    /// As what it is shown.
    pub(crate) const fn shown(self) -> Self {
        match self {
            Self::SessionOffered => Self::SessionInvited,
            Self::SessionMessage
            | Self::SessionInvited
            | Self::ContactRequested
            | Self::Frame
            | Self::ChannelMention
            | Self::ReviewRequested
            | Self::RunWaiting => self,
        }
    }

    /// Whether its places are among those of the log that a cursor has one for.
    pub(crate) const fn is_in_line(self) -> bool {
        !matches!(self, Self::Frame | Self::SessionOffered)
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn of_bits(bits: u16) -> Option<Self> {
        if bits != 0 && bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }
}

impl FromStr for Kinds {
    type Err = String;

    /// Names with commas between them; the error is the name that no kind has.
    fn from_str(text: &str) -> Result<Self, String> {
        let bits = text.split(',').map(str::trim).try_fold(0, |bits, name| {
            let asked = Kind::ALL.into_iter().filter(|kind| kind.shown().as_str() == name);
            let named = asked.fold(0, |named, kind| named | kind.bit());
            if named == 0 { Err(name.to_owned()) } else { Ok(bits | named) }
        });
        bits.map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_a_strange_name_is_said() {
        let both: Kinds = "frame, session.message".parse().unwrap();
        assert_eq!(both.iter().collect::<Vec<_>>(), [Kind::SessionMessage, Kind::Frame]);
        let invited: Kinds = "session.invited".parse().unwrap();
        assert_eq!(invited.iter().collect::<Vec<_>>(), [Kind::SessionInvited, Kind::SessionOffered]);
        assert_eq!("session.offered".parse::<Kinds>(), Err("session.offered".to_owned()));
        assert_eq!("frame,mail".parse::<Kinds>(), Err("mail".to_owned()));
        assert_eq!("".parse::<Kinds>(), Err(String::new()));
        assert_eq!(Kinds::of_bits(both.bits()), Some(both));
        assert_eq!((Kinds::of_bits(0), Kinds::of_bits(0x100)), (None, None));
    }

    #[test]
    fn the_name_of_the_wire_is_the_stored_one() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }
}
