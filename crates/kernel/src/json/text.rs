//! Strings: their end, their errors and their value.
//! Must not know: whether the string is a member name or a value.

use std::borrow::Cow;

use super::JsonFault;

const fn plain(b: u8) -> bool {
    b >= 0x20 && b != b'"' && b != b'\\'
}

/// The offset of the closing quote of the string whose content begins at `at`, and whether the string has escapes.
pub(super) fn scan(bytes: &[u8], mut at: usize) -> Result<(usize, bool), JsonFault> {
    let mut escaped = false;
    loop {
        at += plain_length(&bytes[at..]);
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape(bytes, at)?.0;
            }
            Some(0) => return Err(JsonFault::Nul { at }),
            Some(_) => return Err(JsonFault::Control { at }),
            None => return Err(JsonFault::UnexpectedEnd { at }),
        }
    }
}

/// The number of leading bytes that need no special treatment, counted 16 at a time where possible.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    let (blocks, _) = bytes.as_chunks::<16>();
    for block in blocks {
        // No early exit within the block, so that the compiler vectorises the loop.
        if block.iter().fold(false, |special, b| special | !plain(*b)) {
            break;
        }
        length += 16;
    }
    length + bytes[length..].iter().take_while(|b| plain(**b)).count()
}

/// The offset after the escape at `at`, and the character it encodes.
fn escape(bytes: &[u8], at: usize) -> Result<(usize, char), JsonFault> {
    let simple = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(bytes, at),
        Some(_) => return Err(JsonFault::BadEscape { at }),
        None => return Err(JsonFault::UnexpectedEnd { at: at + 1 }),
    };
    Ok((at + 2, simple))
}

fn unicode(bytes: &[u8], at: usize) -> Result<(usize, char), JsonFault> {
    let first = unit(bytes, at)?;
    match first {
        0 => Err(JsonFault::Nul { at }),
        0xD800..=0xDBFF => {
            let low = at + 6;
            if bytes.get(low) != Some(&b'\\') || bytes.get(low + 1) != Some(&b'u') {
                return Err(JsonFault::LoneSurrogate { at });
            }
            let second = unit(bytes, low)?;
            if !(0xDC00..=0xDFFF).contains(&second) {
                return Err(JsonFault::LoneSurrogate { at });
            }
            let point = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            char::from_u32(point).map(|c| (at + 12, c)).ok_or(JsonFault::LoneSurrogate { at })
        }
        other => char::from_u32(other).map(|c| (at + 6, c)).ok_or(JsonFault::LoneSurrogate { at }),
    }
}

/// The four hex digits of the `\u` escape at `at`.
fn unit(bytes: &[u8], at: usize) -> Result<u32, JsonFault> {
    let mut value = 0;
    for offset in at + 2..at + 6 {
        let Some(b) = bytes.get(offset) else { return Err(JsonFault::UnexpectedEnd { at: bytes.len() }) };
        let Some(digit) = char::from(*b).to_digit(16) else { return Err(JsonFault::BadEscape { at }) };
        value = value * 16 + digit;
    }
    Ok(value)
}

/// The value of a string's content, which `scan` has accepted.
pub(super) fn unescape(raw: &[u8], escaped: bool) -> Cow<'_, [u8]> {
    if !escaped {
        return Cow::Borrowed(raw);
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(b) = raw.get(at) {
        if *b != b'\\' {
            text.push(*b);
            at += 1;
            continue;
        }
        let Ok((next, c)) = escape(raw, at) else { break };
        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        at = next;
    }
    Cow::Owned(text)
}
