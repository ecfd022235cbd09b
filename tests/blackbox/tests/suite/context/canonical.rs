//! The canonical form of a package and its SHA-256, written from Appendix A and RFC 8785 a second time, so that the
//! server's own cannot vouch for itself. Must not know: a server, or what a package is.

use serde_json::Value;

/// `sha256:<hex>` of the canonical form of this JSON text, without its outermost `content_hash`.
pub(super) fn hash_of(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).expect("the test sends JSON");
    value.as_object_mut().expect("a package is an object").remove("content_hash");
    format!("sha256:{}", sha256(canonical(&value).as_bytes()))
}

/// AP-93 to AP-98: RFC 8785 but for two things: members are sorted by the bytes of their names, and those that are
/// null are left out.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => decimal(number.as_f64().expect("a double")),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().filter(|(_, value)| !value.is_null()).collect();
            members.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), canonical(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            low if low < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(low))),
            other => out.push(other),
        }
    }
    out + "\""
}

/// ECMAScript's Number::toString, on the shortest digits that give the double back.
fn decimal(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{:e}", value.abs());
    let places = shortest.find('e').expect("scientific").saturating_sub(2);
    // Of the shortest the nearest, and of two as near the even one.
    let nearest = format!("{:.places$e}", value.abs());
    let text = if nearest.parse() == Ok(value.abs()) { nearest } else { shortest };
    let (mantissa, exponent) = text.split_once('e').expect("scientific");
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().expect("an exponent") + 1;
    let count = i32::try_from(digits.len()).expect("at most 17 digits");
    let zeros = |count: i32| "0".repeat(usize::try_from(count).expect("not negative"));
    let at = |place: i32| usize::try_from(place).expect("not negative");
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        format!("{}.{}", &digits[..at(point)], &digits[at(point)..])
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let sign = if point > 0 { "+" } else { "-" };
        format!("{first}{dot}{rest}e{sign}{}", (point - 1).abs())
    };
    if value < 0.0 { format!("-{body}") } else { body }
}

/// FIPS 180-4, in hexadecimal.
pub(crate) fn sha256(message: &[u8]) -> String {
    let constants: Vec<u32> = (2..).filter(|n| is_prime(*n)).take(64).map(|prime| root(prime, 3)).collect();
    let mut state: Vec<u32> = (2..).filter(|n| is_prime(*n)).take(8).map(|prime| root(prime, 2)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    while !(padded.len() + 8).is_multiple_of(64) {
        padded.push(0);
    }
    padded.extend_from_slice(&(u64::try_from(message.len()).expect("small") * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words: Vec<u32> =
            block.chunks(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]])).collect();
        for t in 16..64 {
            let (w15, w2) = (words[t - 15], words[t - 2]);
            let low = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
            let high = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
            words.push(words[t - 16].wrapping_add(low).wrapping_add(words[t - 7]).wrapping_add(high));
        }
        let mut s = state.clone();
        for t in 0..64 {
            let sum1 = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
            let one = [sum1, choice, constants[t], words[t]].iter().fold(s[7], |sum, n| sum.wrapping_add(*n));
            let sum0 = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            let two = sum0.wrapping_add((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(one);
            s[0] = one.wrapping_add(two);
        }
        for (total, n) in state.iter_mut().zip(s) {
            *total = total.wrapping_add(n);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn is_prime(n: u128) -> bool {
    !(2..n).any(|divisor| n.is_multiple_of(divisor))
}

/// The first 32 bits of the fraction of the square or cube root.
fn root(prime: u128, power: u32) -> u32 {
    let scaled = prime << (32 * power);
    let (mut low, mut high) = (0_u128, 1_u128 << 37);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        if middle.pow(power) <= scaled { low = middle } else { high = middle }
    }
    u32::try_from(low & 0xffff_ffff).expect("32 bits")
}

/// FIPS 180-4's examples.
#[test]
fn the_digest_is_sha_256() {
    assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(sha256(two), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/// RFC 8785, 3.2.2 and 3.2.3, and the two differences of Appendix A.
#[test]
fn ap_93_the_form_is_that_of_rfc_8785_but_for_two_things() {
    let form = |text: &str| canonical(&serde_json::from_str(text).expect("JSON"));
    let sample = r#"{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"#;
    let wanted = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(form(sample), wanted);
    // Bytes put U+FB33 before U+1F600; UTF-16 code units would put it behind.
    let names = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
    let wanted = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"\u{fb33}\":3,\"😀\":5}";
    assert_eq!(form(names), wanted);
    assert_eq!(form(r#"{"a":null,"b":{"c":null},"d":[null,{"e":null}]}"#), r#"{"b":{},"d":[null,{}]}"#);
}
