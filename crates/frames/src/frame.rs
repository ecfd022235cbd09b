//! A valid frame, and its text for the recipients: the sender's own, on one line.
//! Must not know: the sender, or the recipients.

use bytes::Bytes;
use plenary_kernel::{SovereignHandle, rfc3339};
use serde_json::{Map, Value};

use crate::{
    catalogue::{ENVELOPE, ENVELOPE_VERSION, Kind},
    fit::{Path, fit},
    limits::FRAME_BYTES_MAX,
    malformed::{Code, FrameFault},
    shape::{Form, Shape},
};

/// A valid frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The sender's own id of it, as sent.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// The principal that it names as its sender.
    pub sender: SovereignHandle,
    /// The principal that it addresses.
    pub recipient: SovereignHandle,
    /// When its sender emitted it, in milliseconds since the epoch.
    pub created_at_ms: i64,
    /// The principals on whose behalf it claims to be sent: each field with its handle.
    pub principals: Vec<(String, SovereignHandle)>,
    /// When retained copies must be forgotten, in milliseconds since the epoch, if it sets a limit
    /// (FO-89).
    pub forget_at_ms: Option<i64>,
    /// Its JSON as submitted, without line breaks.
    pub line: Bytes,
}

impl Frame {
    /// Reads a text that passed the strict JSON check.
    ///
    /// # Errors
    /// The first fault: size, object, version, kind, then unknown, missing and invalid fields of the envelope, then
    /// those of the payload (wire.md D.5).
    pub fn read(text: &Bytes) -> Result<Self, FrameFault> {
        if text.len() > FRAME_BYTES_MAX {
            let message = format!("A frame may have at most {FRAME_BYTES_MAX} bytes.");
            return Err(FrameFault::whole(Code::TooLarge, message));
        }
        let Ok(Value::Object(frame)) = serde_json::from_slice(text) else {
            return Err(FrameFault::whole(Code::FieldInvalid, "A frame must be one JSON object."));
        };
        version(&frame)?;
        let kind = kind(&frame)?;
        fit(&ENVELOPE, &frame, &Path::TOP)?;
        let payload = payload(&frame, kind)?;

        let mut principals = Vec::new();
        principals_of(&ENVELOPE, &frame, "", &mut principals);
        principals_of(&kind.def().shape, payload, "payload.", &mut principals);
        let forget_at_ms = kind.def().decay.and_then(|decay| {
            let since = rfc3339::parse(payload.get(decay.since)?.as_str()?)?;
            since.checked_add(payload.get(decay.ms)?.as_i64()?)
        });
        Ok(Self {
            id: text_of(&frame, "frame_id").to_owned(),
            kind,
            sender: handle_of(&frame, "sender_handle"),
            recipient: handle_of(&frame, "recipient_handle"),
            created_at_ms: rfc3339::parse(text_of(&frame, "created_at")).unwrap_or_default(),
            principals,
            forget_at_ms,
            line: one_line(text),
        })
    }
}

/// Checks the version first: other fields of an unsupported version are not examined (FO-6).
fn version(frame: &Map<String, Value>) -> Result<(), FrameFault> {
    let path = Path::TOP;
    let path = path.member("envelope_version");
    match frame.get("envelope_version") {
        None => Err(path.fault(Code::FieldMissing, "is required")),
        Some(Value::String(version)) if version == ENVELOPE_VERSION => Ok(()),
        Some(_) => {
            Err(path.fault(Code::EnvelopeVersionUnsupported, &format!("must be \"{ENVELOPE_VERSION}\"")))
        }
    }
}

fn kind(frame: &Map<String, Value>) -> Result<Kind, FrameFault> {
    let path = Path::TOP;
    let path = path.member("kind");
    let Some(kind) = frame.get("kind") else {
        return Err(path.fault(Code::FieldMissing, "is required"));
    };
    let named = kind.as_str().and_then(Kind::named);
    named.ok_or_else(|| path.fault(Code::KindUnknown, "is not one of the fifteen kinds"))
}

/// The payload of a frame whose envelope fits. It is refused as a whole if it does not belong to the
/// kind at all: if it is not an object, has another kind's shape, or none of its own members.
fn payload(frame: &Map<String, Value>, kind: Kind) -> Result<&Map<String, Value>, FrameFault> {
    let path = Path::TOP;
    let path = path.member("payload");
    let Some(Value::Object(payload)) = frame.get("payload") else {
        return Err(path.fault(Code::PayloadKindMismatch, "must be an object"));
    };
    let shape = &kind.def().shape;
    let Err(fault) = fit(shape, payload, &path) else { return Ok(payload) };
    let of_another =
        || Kind::all().any(|other| other != kind && fit(&other.def().shape, payload, &path).is_ok());
    let shares_none = || payload.keys().all(|name| shape.field(name).is_none());
    if !payload.is_empty() && (shares_none() || of_another()) {
        let problem = format!("is not the payload of `{}`", kind.def().name);
        return Err(path.fault(Code::PayloadKindMismatch, &problem));
    }
    Err(fault)
}

fn principals_of(
    shape: &Shape,
    object: &Map<String, Value>,
    before: &str,
    found: &mut Vec<(String, SovereignHandle)>,
) {
    for field in shape.fields.iter().filter(|field| matches!(field.form, Form::Principal)) {
        let handle = object.get(field.name).and_then(Value::as_str).and_then(|text| text.parse().ok());
        found.extend(handle.map(|handle| (format!("{before}{}", field.name), handle)));
    }
}

fn text_of<'a>(frame: &'a Map<String, Value>, name: &str) -> &'a str {
    frame.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn handle_of(frame: &Map<String, Value>, name: &str) -> SovereignHandle {
    text_of(frame, name).parse().expect("the envelope fits, so it is a handle")
}

/// The same JSON on one line: strict JSON has line breaks only between tokens, where they have no
/// meaning.
fn one_line(text: &Bytes) -> Bytes {
    if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect()
    } else {
        text.clone()
    }
}
