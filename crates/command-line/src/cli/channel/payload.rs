//! A JSON object from the command line, a file or standard input, passed on unchanged.
//! Must not know: its content.

use plenary_client::channels::NewEvent;
use serde_json::{Value, value::RawValue};

use crate::cli::{failure::Failure, input};

/// Reads `JSON`, `@FILE` or `-`.
pub(super) fn object(argument: &str) -> Result<Box<RawValue>, Failure> {
    let text = match argument.strip_prefix('@') {
        Some(path) => input::file(path.as_ref())?,
        None if argument == "-" => input::standard()?,
        None => argument.to_owned(),
    };
    let bad = |why: &str| {
        Failure::usage(
            format!("the payload is not a JSON object: {why}"),
            "give e.g. '{\"text\":\"…\"}', @FILE, or - for standard input",
        )
    };
    let raw = RawValue::from_string(text).map_err(|error| bad(&error.to_string()))?;
    if raw.get().starts_with('{') { Ok(raw) } else { Err(bad("it has another type")) }
}

/// An event with a payload from this program.
pub(super) fn event(kind: &str, author: Option<String>, payload: &Value) -> Result<NewEvent, Failure> {
    let payload = RawValue::from_string(payload.to_string())
        .map_err(|e| Failure::local(format!("the payload cannot be written: {e}")))?;
    Ok(NewEvent { kind: kind.to_owned(), author, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_25_a_payload_is_an_object_and_stays_as_it_was_written() {
        assert_eq!(object(r#" {"b": 1.10,  "a": 1e400} "#).unwrap().get(), r#"{"b": 1.10,  "a": 1e400}"#);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        std::fs::write(&path, "{\n  \"a\": 1\n}\n").unwrap();
        assert_eq!(object(&format!("@{}", path.display())).unwrap().get(), "{\n  \"a\": 1\n}");
        for bad in ["", "[]", "null", "{", "{} {}", "\"{}\""] {
            assert!(matches!(object(bad), Err(Failure::Usage { .. })), "{bad}");
        }
        assert!(matches!(object("@/no/such/file"), Err(Failure::Local { .. })));
    }
}
