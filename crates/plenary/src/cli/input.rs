//! Text from files and standard input, bounded by what a request may carry.
//! Must not know: what the text is for.

use std::{
    io::{self, Read},
    path::Path,
};

use plenary_kernel::limits::BODY_OCTETS_MAX;

use super::failure::Failure;

/// All of standard input, but for one line break at its end.
pub(crate) fn standard() -> Result<String, Failure> {
    bounded(io::stdin().lock(), "standard input")
}

/// All of a file, but for one line break at its end.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file =
        std::fs::File::open(path).map_err(|e| Failure::local(format!("{name} cannot be read: {e}")))?;
    bounded(file, &name)
}

fn bounded(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = BODY_OCTETS_MAX as u64;
    source
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::local(format!("{name} cannot be read: {e}")))?;
    if bytes.len() > BODY_OCTETS_MAX {
        return Err(Failure::usage(
            format!("{name} is larger than a message may be (1 MiB)"),
            "put it somewhere and send its address",
        ));
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{name} is not UTF-8 text"), "send text"))?;
    let kept = text.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
    text.truncate(kept.unwrap_or(text.len()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_is_bounded_and_loses_one_line_break() {
        assert_eq!(bounded(&b"a\n\n"[..], "x").unwrap(), "a\n");
        assert_eq!(bounded(&b"a\r\n"[..], "x").unwrap(), "a");
        assert_eq!(bounded(&b"a"[..], "x").unwrap(), "a");
        assert!(matches!(bounded(io::repeat(b'a'), "x"), Err(Failure::Usage { .. })));
        assert!(matches!(bounded(&b"\xff"[..], "x"), Err(Failure::Usage { .. })));
    }
}
