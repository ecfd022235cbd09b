//! Ids that the server creates: a prefix and a 26-character ULID (wire.md 2.1).
//! Must not know: the source of time and randomness; both arrive in a `Stamp`.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{MalformedText, Stamp, TimestampMs};

/// The time in a ULID; `None` if the text is none.
pub fn ulid_time(text: &str) -> Option<TimestampMs> {
    ulid::Ulid::from_string(text).ok().map(|ulid| TimestampMs(ulid.timestamp_ms()))
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates the `nth` id of this kind from a stamp. The same stamp and number give the same id.
            pub fn mint(stamp: &Stamp, nth: u64) -> Self {
                Self(format!(concat!($prefix, "{}"), stamp.ulid(nth)).into())
            }
            /// The time of the stamp that the id was created from; `None` for an id without a ULID.
            pub fn minted_at(&self) -> Option<TimestampMs> {
                ulid_time(self.0.strip_prefix($prefix)?)
            }
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $name {
            type Err = MalformedText;
            fn from_str(text: &str) -> Result<Self, MalformedText> {
                let body = text.strip_prefix($prefix).unwrap_or_default();
                let fits = (1..=64).contains(&body.len())
                    && body.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
                if fits {
                    Ok(Self(text.into()))
                } else {
                    Err(MalformedText { what: "id", expected: concat!($prefix, "…, with digits and capital letters") })
                }
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
                json_schema!({"type": "string", "pattern": concat!("^", $prefix, "[0-9A-Z]{1,64}$")})
            }
        }
    };
}

id!(
    /// A session of the Agent Session Protocol, `sess_…`.
    SessionId,
    "sess_"
);
id!(
    /// A globally unique message, `msg_…` (ASP-32).
    MessageId,
    "msg_"
);
id!(
    /// An event on the wire, `evt_…`.
    EventId,
    "evt_"
);
id!(
    /// An uploaded file, `file_…`.
    FileId,
    "file_"
);
id!(
    /// A contact request, `req_…`.
    ContactId,
    "req_"
);

id!(
    /// A request to a person, `ask_…`.
    AskId,
    "ask_"
);
id!(
    /// A rule that answers requests for a person, `rule_…`.
    RuleId,
    "rule_"
);
id!(
    /// A subscription to notifications, `sub_…`.
    SubscriptionId,
    "sub_"
);
id!(
    /// A notification, `ntf_…`. Receivers detect a repeated delivery by it.
    NoticeId,
    "ntf_"
);

id!(
    /// An accord of two networks, `acc_…`.
    AccordId,
    "acc_"
);

impl AskId {
    /// The id of a request that comes from a source, derived from this text. The same text gives the same id.
    pub fn of_source(text: &str) -> Self {
        Self(format!("ask_S{}", short_digest(text)).into())
    }
}

impl NoticeId {
    /// The id of a notification, derived from this text. The same text gives the same id.
    pub fn of_source(text: &str) -> Self {
        Self(format!("ntf_{}", short_digest(text)).into())
    }
}

/// 128 bits of a text's digest, in hex.
fn short_digest(text: &str) -> String {
    let digest = crate::json::digest(text.as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimestampMs;

    #[test]
    fn asp_32_ids_are_ulids_that_sort_by_time_and_differ_by_number() {
        let stamp = |ms| Stamp::new(TimestampMs(ms), [7; 10]);
        let (a, b, later) = (
            SessionId::mint(&stamp(1000), 0),
            SessionId::mint(&stamp(1000), 1),
            SessionId::mint(&stamp(1001), 0),
        );
        assert_eq!(a.as_str().len(), 5 + 26);
        assert!(a != b && a < later);
        assert_eq!(a, a.as_str().parse().unwrap());
        for bad in ["", "sess_", "sess_a", "msg_01", "sess_01/", "SESS_01"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
