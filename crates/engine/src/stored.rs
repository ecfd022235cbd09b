//! The stored form of events: a kind, form 1, a JSON envelope, and optionally the bytes from a peer.
//! Pure.
//! Must not know: any one event.

use bytes::Bytes;
#[doc(hidden)]
pub use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// An event with a stored form; [`stored_forms!`](crate::stored_forms) implements it.
pub trait StoredForm: Sized + Send + Sync + 'static {
    /// The kinds of the events.
    const KINDS: &'static [&'static str];

    /// The stored form.
    fn encode(&self) -> NewEvent;
    /// Reads a stored event.
    ///
    /// # Errors
    /// `Corrupt`, also for an unknown kind or form.
    fn decode(stored: &StoredEvent) -> Result<Self, Fault>;
}

/// A field that is stored apart from the envelope.
pub trait Payload {
    /// The field as bytes.
    fn write(&self) -> Bytes;
    /// The field from its bytes.
    fn read(bytes: &Bytes) -> Self;
}

impl Payload for Bytes {
    fn write(&self) -> Bytes {
        self.clone()
    }
    fn read(bytes: &Bytes) -> Self {
        bytes.clone()
    }
}

/// An absent text is empty.
impl Payload for Option<String> {
    fn write(&self) -> Bytes {
        Bytes::from(self.clone().unwrap_or_default())
    }
    fn read(bytes: &Bytes) -> Self {
        Some(String::from_utf8_lossy(bytes).into_owned()).filter(|text| !text.is_empty())
    }
}

/// The stored forms of the events of a stream. `Event: First, Second + payload` is an enum with a struct in each variant,
/// and the kind of each is the variant's name; the field `payload` is stored apart from the envelope. `Event = "Kind"` is
/// the only event of its streams. A change of a name is a change of the form.
#[macro_export]
macro_rules! stored_forms {
    (@form $event:ty, $kinds:expr, |$own:ident| $encode:expr, |$stored:ident| $decode:expr) => {
        #[allow(unreachable_pub, reason = "some events are private to their room")]
        impl $event {
            /// The stored form.
            pub fn encode(&self) -> $crate::stored::NewEvent {
                let $own = self;
                $encode
            }

            /// Reads a stored event.
            ///
            /// # Errors
            /// `Corrupt`, also for an unknown kind or form.
            #[allow(irrefutable_let_patterns, reason = "an enum may have one variant")]
            pub fn decode($stored: &$crate::stored::StoredEvent) -> Result<Self, $crate::stored::Fault> {
                $decode
            }
        }

        impl $crate::stored::StoredForm for $event {
            const KINDS: &'static [&'static str] = $kinds;

            fn encode(&self) -> $crate::stored::NewEvent {
                Self::encode(self)
            }
            fn decode(stored: &$crate::stored::StoredEvent) -> Result<Self, $crate::stored::Fault> {
                Self::decode(stored)
            }
        }
    };
    (@written $variant:ident, $event:ident) => {
        $crate::stored::written(stringify!($variant), $event)
    };
    (@written $variant:ident, $event:ident, $payload:ident) => {
        $crate::stored::written_with(stringify!($variant), $event, $crate::stored::Payload::write(&$event.$payload))
    };
    (@read $variant:ident, $stored:ident) => {
        $crate::stored::read($stored).map(Self::$variant)
    };
    (@read $variant:ident, $stored:ident, $payload:ident) => {{
        let mut read = Self::$variant($crate::stored::read($stored)?);
        if let Self::$variant(event) = &mut read {
            event.$payload = $crate::stored::Payload::read(&$stored.payload);
        }
        Ok(read)
    }};
    ($event:ty = $kind:literal) => {
        $crate::stored_forms!(
            @form $event,
            &[$kind],
            |event| $crate::stored::written($kind, event),
            |stored| if stored.kind == $kind {
                $crate::stored::read(stored)
            } else {
                $crate::stored::unknown(stored)
            }
        );
    };
    ($event:ty: $($variant:ident $(+ $payload:ident)?),+ $(,)?) => {
        $crate::stored_forms!(
            @form $event,
            &[$(stringify!($variant)),+],
            |event| match event {
                $(Self::$variant(event) => $crate::stored_forms!(@written $variant, event $(, $payload)?),)+
            },
            |stored| match &*stored.kind {
                $(kind if kind == stringify!($variant) => {
                    $crate::stored_forms!(@read $variant, stored $(, $payload)?)
                })+
                _ => $crate::stored::unknown(stored),
            }
        );
    };
}

/// The only form so far.
const FORM: u16 = 1;

/// The stored form of an event without a payload.
pub fn written(kind: &'static str, envelope: &impl Serialize) -> NewEvent {
    written_with(kind, envelope, Bytes::new())
}

/// The stored form of an event.
pub fn written_with(kind: &'static str, envelope: &impl Serialize, payload: Bytes) -> NewEvent {
    let envelope = serde_json::to_vec(envelope).expect("texts, numbers, lists and flags can be written");
    NewEvent { kind, form: FORM, envelope: envelope.into(), payload }
}

/// The envelope of an event.
///
/// # Errors
/// `Corrupt` when it has another form or cannot be read.
pub fn read<'a, T: Deserialize<'a>>(stored: &'a StoredEvent) -> Result<T, Fault> {
    if stored.form != FORM {
        return Err(corrupt(stored, "unknown form"));
    }
    serde_json::from_slice(&stored.envelope).map_err(|error| corrupt(stored, &error.to_string()))
}

/// An event of a kind that this stream does not have.
///
/// # Errors
/// Always `Corrupt`.
pub fn unknown<T>(stored: &StoredEvent) -> Result<T, Fault> {
    Err(corrupt(stored, "unknown kind"))
}

/// The fault of an event that cannot be read; names its stream and version.
pub fn corrupt(stored: &StoredEvent, why: &str) -> Fault {
    Fault::Corrupt(format!("{} at {} of {}: {why}", stored.kind, stored.version, stored.stream))
}
