//! The body of a submission: a bare frame with the scope in the query, or `{scope, frame}` (wire.md D.2, D.5).
//! Must not know: HTTP, or the sender.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use plenary_kernel::json;
use serde_json::value::RawValue;

use crate::{
    fit::Path,
    frame::Frame,
    malformed::{Code, FrameFault},
    scope::{Scope, Sessions},
};

/// A frame and the scope that it is submitted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The frame.
    pub frame: Frame,
    /// Its scope; by default every session of the recipient (FO-90).
    pub scope: Scope,
}

impl Submission {
    /// Reads a body and the query's `scope`, if there is one.
    ///
    /// # Errors
    /// The first fault of JSON, of the wrapper, of the scope, of the frame.
    pub fn read(body: &Bytes, scope: Option<&str>) -> Result<Self, FrameFault> {
        if let Err(fault) = json::check(body) {
            let message = format!("The body is not acceptable JSON: {fault}.");
            return Err(FrameFault::whole(Code::FieldInvalid, message));
        }
        let Ok(members) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(body) else {
            return Err(FrameFault::whole(Code::FieldInvalid, "A frame must be one JSON object."));
        };
        let is_wrapper = members.contains_key("frame")
            || members.contains_key("scope") && !members.contains_key("envelope_version");
        let (text, within) = if is_wrapper { wrapped(body, &members)? } else { (trimmed(body), None) };
        let scope = match (scope, within) {
            (Some(_), Some(_)) => {
                let message = "The scope is both in the query and in the body; send only one.";
                return Err(FrameFault::of(Code::FieldInvalid, "scope", message));
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

/// The frame's own text, and its scope.
fn wrapped(
    body: &Bytes,
    members: &BTreeMap<Cow<'_, str>, &RawValue>,
) -> Result<(Bytes, Option<String>), FrameFault> {
    if let Some(name) = members.keys().find(|name| !matches!(name.as_ref(), "scope" | "frame")) {
        let path = Path::TOP;
        return Err(path
            .member(name)
            .fault(Code::FieldUnknown, "is not allowed; only `scope` and `frame` are"));
    }
    let Some(frame) = members.get("frame") else {
        return Err(FrameFault::of(Code::FieldMissing, "frame", "`frame` is required beside `scope`."));
    };
    if !frame.get().starts_with('{') {
        return Err(FrameFault::parameter("frame", "a JSON object"));
    }
    let scope = match members.get("scope") {
        None => None,
        Some(raw) => match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => Some(text),
            Err(_) => return Err(FrameFault::parameter("scope", "a string")),
        },
    };
    Ok((body.slice_ref(frame.get().as_bytes()), scope))
}

fn trimmed(body: &Bytes) -> Bytes {
    body.slice_ref(body.trim_ascii())
}
