//! Text from files and standard input, limited to the size of a request, and JSON objects from arguments.
//! Must not know: the use of the text.

use std::{
    io::{self, Read},
    path::Path,
};

use plenary_kernel::{json, limits::BODY_BYTES_MAX};
use serde_json::{Map, Value};

use super::failure::Failure;

/// The advice for a text that is too large to send.
const SEND_ITS_ADDRESS: &str = "upload it elsewhere and send its URL";
/// The advice for a token file that is too large.
const ONE_TOKEN: &str = "a token file contains one token";

/// All of standard input, without one line break at its end.
pub(crate) fn standard() -> Result<String, Failure> {
    bounded(io::stdin().lock(), "standard input", SEND_ITS_ADDRESS)
}

/// All of a file, without one line break at its end.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    from_file(path, SEND_ITS_ADDRESS)
}

/// The token in a file; `-` is standard input.
pub(crate) fn token(path: &Path) -> Result<String, Failure> {
    let text = match path.to_str() {
        Some("-") => bounded(io::stdin().lock(), "standard input", ONE_TOKEN),
        _ => from_file(path, ONE_TOKEN),
    };
    let token = text?.trim().to_owned();
    if token.is_empty() {
        let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
        return Err(Failure::usage(format!("{name} is empty"), "it must contain the token"));
    }
    Ok(token)
}

/// A JSON object. It is checked as the server checks a body: parsing alone would drop a repeated member and round a large
/// integer, and the server would not see what was given.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, String> {
    json::check(text.as_bytes()).map_err(|fault| fault.to_string())?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it must be a JSON object, e.g. {\"a\":1}".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn from_file(path: &Path, instead: &'static str) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file =
        std::fs::File::open(path).map_err(|e| Failure::local(format!("{name} cannot be read: {e}")))?;
    bounded(file, &name, instead)
}

fn bounded(source: impl Read, name: &str, instead: &'static str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = BODY_BYTES_MAX as u64;
    source
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::local(format!("{name} cannot be read: {e}")))?;
    if bytes.len() > BODY_BYTES_MAX {
        return Err(Failure::usage(format!("{name} is larger than 1 MiB"), instead));
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{name} is not UTF-8 text"), "send text"))?;
    let length = text.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
    text.truncate(length.unwrap_or(text.len()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_refused_where_reading_it_would_change_it() {
        let read = |text: &str| object(text).map(|object| Value::from(object).to_string());
        assert_eq!(read(" {\"a\": 1.5, \"b\": [null]} ").unwrap(), "{\"a\":1.5,\"b\":[null]}");
        for (text, reason) in [
            ("{\"a\":1,\"a\":2}", "duplicate"),
            ("{\"a\":123456789012345678901234567890}", "9007199254740991"),
            ("{\"a\":\"\\u0000\"}", "NUL"),
            ("[1]", "must be a JSON object"),
            ("{", "ends"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn an_empty_file_has_no_token() {
        let Err(Failure::Usage { what, .. }) = token(Path::new("/dev/null")) else { panic!() };
        assert_eq!(what, "/dev/null is empty");
    }

    #[test]
    fn a_text_from_outside_is_bounded_and_loses_one_line_break() {
        assert_eq!(bounded(&b"a\n\n"[..], "x", "").unwrap(), "a\n");
        assert_eq!(bounded(&b"a\r\n"[..], "x", "").unwrap(), "a");
        assert_eq!(bounded(&b"a"[..], "x", "").unwrap(), "a");
        assert!(matches!(bounded(io::repeat(b'a'), "x", ""), Err(Failure::Usage { .. })));
        assert!(matches!(bounded(&b"\xff"[..], "x", ""), Err(Failure::Usage { .. })));
    }
}
