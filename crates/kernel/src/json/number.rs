//! Number literals: their grammar and their two bounds.
//! Must not know: the value beyond what the bounds need.

use super::JsonFault;
use crate::limits::JSON_INTEGER_MAX;

/// Digits of `JSON_INTEGER_MAX`. Integers have no leading zeros, so one with fewer digits fits and one with more does not.
const INTEGER_DIGITS_MAX: usize = 16;
/// A literal below ten to this power is always in the range of a double.
const SAFE_POWER: usize = 308;

/// The offset after the number that begins at `start` with a minus sign or a digit.
pub(super) fn scan(bytes: &[u8], start: usize) -> Result<usize, JsonFault> {
    let digits = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = match bytes.get(digits) {
        Some(b'0') => digits + 1,
        _ => some_digits(bytes, digits)?,
    };
    let whole = at - digits;
    let fraction = bytes.get(at) == Some(&b'.');
    if fraction {
        at = some_digits(bytes, at + 1)?;
    }
    let exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if !fraction && !exponent {
        return integer(&bytes[digits..at], start).map(|()| at);
    }
    let mut power = whole;
    if exponent {
        let sign = bytes.get(at + 1);
        let first = at + 1 + usize::from(matches!(sign, Some(b'+' | b'-')));
        at = some_digits(bytes, first)?;
        if sign != Some(&b'-') {
            power = power.saturating_add(value(&bytes[first..at]));
        }
    }
    if power <= SAFE_POWER || fits_a_double(&bytes[start..at]) {
        Ok(at)
    } else {
        Err(JsonFault::NumberOverflow { at: start })
    }
}

/// The offset after one or more digits.
fn some_digits(bytes: &[u8], from: usize) -> Result<usize, JsonFault> {
    let count = bytes.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
    match (count, from < bytes.len()) {
        (0, true) => Err(JsonFault::Unexpected { at: from }),
        (0, false) => Err(JsonFault::UnexpectedEnd { at: from }),
        _ => Ok(from + count),
    }
}

fn integer(digits: &[u8], at: usize) -> Result<(), JsonFault> {
    let fits = digits.len() < INTEGER_DIGITS_MAX
        || digits.len() == INTEGER_DIGITS_MAX && value(digits) as u64 <= JSON_INTEGER_MAX;
    if fits { Ok(()) } else { Err(JsonFault::IntegerTooLarge { at }) }
}

fn value(digits: &[u8]) -> usize {
    digits.iter().fold(0, |sum: usize, d| sum.saturating_mul(10).saturating_add(usize::from(d - b'0')))
}

fn fits_a_double(literal: &[u8]) -> bool {
    std::str::from_utf8(literal).ok().and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_finite)
}
