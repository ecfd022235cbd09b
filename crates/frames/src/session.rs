//! The identity of a live session: its instrument, its tool class, its own id (wire.md 1.3, D.5).
//! Must not know: how a session is connected.

use std::{fmt, str::FromStr, sync::Arc};

use plenary_kernel::{AgentHandle, OwnerName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{limits::SESSION_BYTES_MAX, malformed::FrameFault};

/// The grammar of an instrument, in words.
const INSTRUMENT: &str = "1 to 64 of a-z 0-9 _ -, beginning and ending with a letter or digit";

macro_rules! label {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(OwnerName);

        impl $name {
            /// The text as on the wire.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl FromStr for $name {
            type Err = FrameFault;
            fn from_str(text: &str) -> Result<Self, FrameFault> {
                text.parse().map(Self).map_err(|_| FrameFault::parameter($field, INSTRUMENT))
            }
        }
    };
}

label!(
    /// The identifier of an instrument, of the owner grammar: `cc-laptop`.
    Instrument,
    "instrument"
);
label!(
    /// A class of tools, of the same grammar: `cc`.
    ToolClass,
    "tool"
);

impl Instrument {
    /// The default instrument of an agent: its own name.
    pub fn of(agent: &AgentHandle) -> Self {
        Self(agent.name().parse().expect("an agent's name is of the owner grammar"))
    }

    /// The default class of tools: the part of the instrument before the first `-`.
    pub fn class(&self) -> ToolClass {
        let text = self.0.as_str();
        let class = text.split('-').next().unwrap_or(text).trim_end_matches('_');
        ToolClass(class.parse().expect("it begins with a letter or digit and ends with one"))
    }
}

/// The id of a session: 1 to 128 printable ASCII characters without `/`, `*` and `@`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionName(#[schemars(with = "String")] Arc<str>);

impl SessionName {
    /// The text as on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionName {
    type Err = FrameFault;
    fn from_str(text: &str) -> Result<Self, FrameFault> {
        let fits = (1..=SESSION_BYTES_MAX).contains(&(text.len() as u64))
            && text.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'/' | b'*' | b'@'));
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(FrameFault::parameter("session_id", "1 to 128 printable ASCII characters without / * @"))
        }
    }
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The agent.
    pub agent: AgentHandle,
    /// Its instrument.
    pub instrument: Instrument,
    /// Its class of tools.
    pub tool: ToolClass,
    /// Its own id.
    pub id: SessionName,
}

impl Session {
    /// The session with the names that an agent gave; the defaults are its own name, the instrument's
    /// class, and `fresh`.
    ///
    /// # Errors
    /// `field-invalid` with the field `instrument`, `tool` or `session_id`.
    pub fn named(agent: AgentHandle, named: &SessionNames<'_>, fresh: &str) -> Result<Self, FrameFault> {
        let instrument = match named.instrument {
            Some(text) => text.parse()?,
            None => Instrument::of(&agent),
        };
        let tool = match named.tool {
            Some(text) => text.parse()?,
            None => instrument.class(),
        };
        let id = named.session_id.unwrap_or(fresh).parse()?;
        Ok(Self { agent, instrument, tool, id })
    }
}

/// The names that a peer gave its session.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionNames<'a> {
    /// Its instrument.
    pub instrument: Option<&'a str>,
    /// Its class of tools.
    pub tool: Option<&'a str>,
    /// Its own id.
    pub session_id: Option<&'a str>,
}
