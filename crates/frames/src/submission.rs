//! What a peer submits: a bare frame with the scope in the query, or `{scope, frame}` (wire.md D.2, D.5).
//! Must not know: HTTP, or who submits.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use plenary_kernel::json;
use serde_json::value::RawValue;

use crate::{
    frame::Frame,
    malformed::{Code, Malformed},
    scope::{Scope, Sessions},
};

/// A frame and the scope that it is submitted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The frame.
    pub frame: Frame,
    /// Whom it is for; every session of the recipient when the submitter does not say (FO-90).
    pub scope: Scope,
}

impl Submission {
    /// Reads a body and the query's `scope`, if there is one.
    ///
    /// # Errors
    /// The first fault of JSON, of the wrapper, of the scope, of the frame.
    pub fn read(body: &Bytes, scope: Option<&str>) -> Result<Self, Malformed> {
        if let Err(fault) = json::check(body) {
            let message = format!("The body is not acceptable JSON: {fault}.");
            return Err(Malformed::whole(Code::FieldInvalid, message));
        }
        let Ok(members) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(body) else {
            return Err(Malformed::whole(Code::FieldInvalid, "A frame is one JSON object."));
        };
        let is_wrapper = members.contains_key("frame")
            || members.contains_key("scope") && !members.contains_key("envelope_version");
        let (text, within) = if is_wrapper { wrapped(body, &members)? } else { (trimmed(body), None) };
        let scope = match (scope, within) {
            (Some(_), Some(_)) => {
                let message = "The scope stands in the query and in the body; send one.";
                return Err(Malformed::of(Code::FieldInvalid, "scope", message));
            }
            (Some(scope), None) => Some(scope.parse::<Scope>()?),
            (None, Some(scope)) => Some(scope.parse::<Scope>()?),
            (None, None) => None,
        };
        let frame = Frame::read(&text)?;
        let scope = scope.unwrap_or_else(|| Scope::Handle(frame.recipient.clone(), Sessions::All));
        Ok(Self { frame, scope })
    }
}

/// The frame's own text, and the scope beside it.
fn wrapped(
    body: &Bytes,
    members: &BTreeMap<Cow<'_, str>, &RawValue>,
) -> Result<(Bytes, Option<String>), Malformed> {
    if let Some(name) = members.keys().find(|name| !matches!(name.as_ref(), "scope" | "frame")) {
        let says = " is not a field beside `scope` and `frame`";
        return Err(Malformed::at(Code::FieldUnknown, name.to_string(), says));
    }
    let Some(frame) = members.get("frame") else {
        return Err(Malformed::of(Code::FieldMissing, "frame", "`frame` is required beside `scope`."));
    };
    if !frame.get().starts_with('{') {
        return Err(Malformed::parameter("frame", "a JSON object"));
    }
    let scope = match members.get("scope") {
        None => None,
        Some(raw) => match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => Some(text),
            Err(_) => return Err(Malformed::parameter("scope", "a string")),
        },
    };
    Ok((body.slice_ref(frame.get().as_bytes()), scope))
}

fn trimmed(body: &Bytes) -> Bytes {
    body.slice_ref(body.trim_ascii())
}
