//! The names of owners and agents, and the entries of allowlists (wire.md D.1, ASP-1, ASP-7).
//! Must not know: whether a name exists, or who may contact it.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that does not match its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} must look like {expected}")]
pub struct MalformedText {
    /// The kind of text that was parsed, e.g. `agent handle`.
    pub what: &'static str,
    /// The expected form, for people.
    pub expected: &'static str,
}

/// The name of the agent from which `plenary doctor` sends its test message. It answers nobody.
pub const DOCTOR_NAME: &str = "plenary-doctor";

/// `[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?`: the grammar of owners, agent names, organisations and roles.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) if bytes.len() <= 64 => {
            alphanumeric(first)
                && alphanumeric(last)
                && bytes.iter().all(|b| alphanumeric(b) || *b == b'_' || *b == b'-')
        }
        _ => false,
    }
}

macro_rules! text_type {
    ($name:ident, $pattern:literal, $description:literal) => {
        impl $name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<&str> for $name {
            type Error = MalformedText;
            fn try_from(text: &str) -> Result<Self, MalformedText> {
                text.parse()
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json::parse_text(deserializer, str::parse)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern, "description": $description})
            }
        }
    };
}

/// A person or organisation that owns agents: `nick`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerName(Arc<str>);
text_type!(OwnerName, "^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$", "A person or organisation that owns agents");

impl FromStr for OwnerName {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        if is_name(text) {
            Ok(Self(text.into()))
        } else {
            Err(MalformedText {
                what: "owner",
                expected: "1 to 64 of a-z 0-9 _ -, beginning and ending with a letter or digit",
            })
        }
    }
}

/// Separates an owner of another network from the local name of that network.
const AT: &str = "-at-";

/// Begins the stand-in for an owner of another network whose name is too long here.
const LONG: &str = "long-";
/// The hex digits of a stand-in, of a SHA-256.
const LONG_DIGITS: usize = 20;
/// Longest name of another network, in characters: a stand-in for each of its owners fits before it.
pub const PEER_NAME_CHARS_MAX: usize = 32;

impl OwnerName {
    /// The local name of a peer's owner, `owner-at-peer`. If that would be too long, a stand-in for the owner comes before
    /// `-at-`, always the same one. `None` if that does not fit either.
    pub fn elsewhere(owner: &Self, peer: &Self) -> Option<Self> {
        let name = format!("{owner}{AT}{peer}").parse().ok().filter(|_| !owner.is_stand_in());
        name.or_else(|| format!("{}{AT}{peer}", owner.stand_in()).parse().ok())
    }

    fn stand_in(&self) -> String {
        let digest = crate::json::digest(self.0.as_bytes());
        let digits: String = digest.iter().take(LONG_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        format!("{LONG}{digits}")
    }

    /// Whether this looks like a stand-in. An owner with such a name gets a stand-in, too, so that it is taken for nobody else.
    pub fn is_stand_in(&self) -> bool {
        let digits = self.0.strip_prefix(LONG).unwrap_or_default();
        digits.len() == LONG_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// Whether this is the local name of an owner of another network.
    pub fn is_elsewhere(&self) -> bool {
        self.0.contains(AT)
    }

    /// Splits the local name of a foreign owner into the owner, or its stand-in, and the peer; the reverse of
    /// [`Self::elsewhere`].
    pub fn of_peer(&self) -> Option<(Self, Self)> {
        // The last `-at-` is the separator: no peer's name contains `-at-` or begins with `at-`.
        let (owner, peer) = self.0.rsplit_once(AT)?;
        Some((owner.parse().ok()?, peer.parse().ok()?))
    }

    /// Whether a peer may have this name: in `owner-at-peer`, the last `-at-` must be the one before the peer.
    pub fn may_name_peer(&self) -> bool {
        !format!("-{self}").contains(AT)
    }
}

/// An agent's canonical address, `@owner.name` (ASP-1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentHandle(Arc<str>);
text_type!(
    AgentHandle,
    "^@[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?\\.[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$",
    "An agent's address, @owner.name"
);

impl AgentHandle {
    /// The handle of a recipient: `@owner.name`, or `@owner` for the owner's own person, `@owner.owner`. The person of
    /// `@owner-at-peer` is `@owner-at-peer.owner`.
    ///
    /// # Errors
    /// The text has neither form.
    pub fn of_recipient(text: &str) -> Result<Self, MalformedText> {
        match text.strip_prefix('@') {
            Some(owner) if is_name(owner) => {
                let person = owner.rsplit_once(AT).map_or(owner, |(own, _)| own);
                format!("@{owner}.{person}").parse()
            }
            Some(_) | None => text.parse(),
        }
    }
    fn parts(&self) -> (&str, &str) {
        self.0[1..].split_once('.').expect("checked at construction")
    }
    /// The owner, without the `@`.
    pub fn owner(&self) -> &str {
        self.parts().0
    }
    /// The agent's name, without its owner.
    pub fn name(&self) -> &str {
        self.parts().1
    }
    /// The owner as an [`OwnerName`].
    pub fn owner_name(&self) -> OwnerName {
        OwnerName(self.owner().into())
    }
}

impl AgentHandle {
    /// The local handle of a peer's agent, see [`OwnerName::elsewhere`].
    pub fn elsewhere(&self, peer: &OwnerName) -> Option<Self> {
        let owner = OwnerName::elsewhere(&self.owner_name(), peer)?;
        format!("@{owner}.{}", self.name()).parse().ok()
    }

    /// Splits the local handle of a foreign agent into its handle in its own network and that network's local name.
    pub fn of_peer(&self) -> Option<(Self, OwnerName)> {
        if !self.is_elsewhere() {
            return None;
        }
        let (owner, peer) = self.owner_name().of_peer()?;
        Some((format!("@{owner}.{}", self.name()).parse().ok()?, peer))
    }

    /// Whether this is the local handle of an agent of another network.
    pub fn is_elsewhere(&self) -> bool {
        self.owner().contains(AT)
    }
}

impl FromStr for AgentHandle {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        let parts = text.strip_prefix('@').and_then(|rest| rest.split_once('.'));
        match parts {
            Some((owner, name)) if is_name(owner) && is_name(name) => Ok(Self(text.into())),
            _ => Err(MalformedText {
                what: "agent handle",
                expected: "@owner.name in lower case, e.g. @nick.assistant",
            }),
        }
    }
}

/// An entry of an allowlist: one agent, or every agent of an owner (ASP-7).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllowEntry(Arc<str>);
text_type!(
    AllowEntry,
    "^@[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?\\.(?:[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?|\\*)$",
    "An agent handle, or @owner.* for every agent of an owner"
);

impl AllowEntry {
    /// Whether the entry names this agent, by handle or by owner glob.
    pub fn matches(&self, agent: &AgentHandle) -> bool {
        match self.0.strip_suffix(".*") {
            Some(owner) => agent.owner() == &owner[1..],
            None => *self.0 == *agent.0,
        }
    }

    /// The owner of the named agents.
    pub fn owner(&self) -> &str {
        self.0[1..].split_once('.').map_or("", |(owner, _)| owner)
    }

    /// Whether the entry names agents of another network.
    pub fn is_elsewhere(&self) -> bool {
        self.0.split_once('.').is_some_and(|(owner, _)| owner.contains(AT))
    }
}

impl From<&AgentHandle> for AllowEntry {
    fn from(handle: &AgentHandle) -> Self {
        Self(handle.0.clone())
    }
}

impl FromStr for AllowEntry {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        let parts = text.strip_prefix('@').and_then(|rest| rest.split_once('.'));
        match parts {
            Some((owner, name)) if is_name(owner) && (name == "*" || is_name(name)) => Ok(Self(text.into())),
            _ => Err(MalformedText { what: "allowlist entry", expected: "@owner.name or @owner.*" }),
        }
    }
}

/// The handle of a principal of frames: `~` and an owner (wire.md D.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SovereignHandle(Arc<str>);
text_type!(SovereignHandle, "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$", "A principal's handle, ~owner");

impl SovereignHandle {
    /// The owner, without the `~`.
    pub fn owner(&self) -> &str {
        &self.0[1..]
    }
}

impl FromStr for SovereignHandle {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        match text.strip_prefix('~') {
            Some(owner) if is_name(owner) => Ok(Self(text.into())),
            _ => Err(MalformedText { what: "handle", expected: "~owner, e.g. ~nick" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_of_another_network_has_a_name_here() {
        let name = |text: &str| text.parse::<OwnerName>().unwrap();
        let there = OwnerName::elsewhere(&name("nick"), &name("acme")).unwrap();
        assert_eq!(there.as_str(), "nick-at-acme");
        assert!(there.is_elsewhere() && !name("nick").is_elsewhere() && !name("at-home").is_elsewhere());
        let entry = |text: &str| text.parse::<AllowEntry>().unwrap().is_elsewhere();
        assert!(entry("@nick-at-acme.cc") && entry("@nick-at-acme.*") && !entry("@nick.c-at-c"));
        // `nick-at-a-at-b` would read as an owner of `b`, and `nick-at-at-a` as `nick-at` of `a`.
        assert!(name("acme").may_name_peer() && name("at").may_name_peer());
        assert!(!name("a-at-b").may_name_peer() && !name("at-a").may_name_peer());
    }

    #[test]
    fn an_owner_whose_name_is_too_long_here_has_a_stand_in_that_is_nobody_elses() {
        let name = |text: &str| text.parse::<OwnerName>().unwrap();
        let here = |owner: &str, peer: &str| OwnerName::elsewhere(&name(owner), &name(peer));
        let (long, acme) = ("x".repeat(57), name("acme"));
        assert_eq!(here(&"x".repeat(56), "acme").unwrap().as_str(), format!("{}-at-acme", "x".repeat(56)));
        let stand_in = here(&long, "acme").unwrap();
        assert_eq!(stand_in.as_str(), "long-ae14a2563ccf969d99ac-at-acme");
        let (own, at) = stand_in.of_peer().unwrap();
        assert_eq!(at, acme, "it is one of that network");
        assert!(stand_in.is_elsewhere());
        let impostor = here(own.as_str(), "acme").unwrap();
        assert_ne!(impostor, stand_in, "an owner with the name of a stand-in is another one");
        assert_eq!(
            here("long-ae14a2563ccf969d99a", "acme").unwrap().as_str(),
            "long-ae14a2563ccf969d99a-at-acme"
        );
        assert!(here(&"x".repeat(64), &"p".repeat(PEER_NAME_CHARS_MAX)).is_some());
        assert_eq!(here("x", &"p".repeat(60)), None);
    }

    #[test]
    fn a_name_from_elsewhere_is_read_back() {
        let handle = |text: &str| text.parse::<AgentHandle>().unwrap();
        let (nick, acme) = (handle("@nick.cc"), "acme".parse().unwrap());
        let here = nick.elsewhere(&acme).unwrap();
        assert_eq!(here, handle("@nick-at-acme.cc"));
        assert_eq!(nick.of_peer(), None);
        assert_eq!(here.of_peer(), Some((nick, acme)));
        assert_eq!(handle("@nick.c-at-c").of_peer(), None, "its own name says nothing");
        let third = here.elsewhere(&"rose".parse().unwrap()).unwrap();
        assert_eq!(third.of_peer(), Some((here, "rose".parse().unwrap())));
    }

    #[test]
    fn an_owner_alone_is_written_to_as_its_person() {
        let recipient = |text| AgentHandle::of_recipient(text).map(|handle| handle.to_string());
        assert_eq!(recipient("@nick").as_deref(), Ok("@nick.nick"));
        assert_eq!(recipient("@nick.bot").as_deref(), Ok("@nick.bot"));
        assert_eq!(
            recipient("@ida-at-rose").as_deref(),
            Ok("@ida-at-rose.ida"),
            "in its own network @ida.ida"
        );
        for bad in ["nick", "@", "@Nick", "@nick.", "~nick", "@a.b.c"] {
            assert!(recipient(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn asp_1_a_handle_is_an_owner_and_a_name() {
        let handle: AgentHandle = "@nick.cc-laptop".parse().unwrap();
        assert_eq!((handle.owner(), handle.name()), ("nick", "cc-laptop"));
        for bad in [
            "",
            "@",
            "nick.a",
            "~nick",
            "@nick",
            "@nick.",
            "@.a",
            "@Nick.a",
            "@nick.A",
            "@nick..a",
            "@nick.a.b",
            "@-nick.a",
            "@nick-.a",
            "@nick.-a",
            "@nick._a",
            "@nick.a-",
            "@nick.a ",
            " @nick.a",
            "@nick.a\n",
            "@nick.a b",
            "@n\u{456}ck.a",
            "@nick.*",
            "@nick.a@b.example",
        ] {
            assert!(bad.parse::<AgentHandle>().is_err(), "{bad}");
        }
        let long = "x".repeat(64);
        assert!(format!("@{long}.{long}").parse::<AgentHandle>().is_ok());
        assert!(format!("@{long}x.a").parse::<AgentHandle>().is_err());
    }

    #[test]
    fn asp_7_an_entry_is_a_handle_or_an_owner_glob() {
        let agent: AgentHandle = "@acme.support".parse().unwrap();
        let matches = |entry: &str| entry.parse::<AllowEntry>().unwrap().matches(&agent);
        assert!(matches("@acme.support") && matches("@acme.*"));
        assert!(!matches("@acme.other") && !matches("@acm.*") && !matches("@acmes.*"));
        for bad in ["", "@", "@*", "@*.*", "@*.a", "@a.b*", "@a.b.*", "*", "@a", "@a.", "@A.b", "a.b", "~a"] {
            assert!(bad.parse::<AllowEntry>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_sovereign_handle_is_a_tilde_and_an_owner() {
        assert_eq!("~nick".parse::<SovereignHandle>().unwrap().owner(), "nick");
        for bad in ["nick", "~", "~Nick", "~nick/a", "~nick@1"] {
            assert!(bad.parse::<SovereignHandle>().is_err(), "{bad}");
        }
    }
}
