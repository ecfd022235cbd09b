//! Packages of random depth, names, texts and numbers, spelt at random: each comes back byte for byte, under the
//! hash of a second computation: AP-17, AP-18, AP-35, AP-36, AP-89, AP-93 to AP-98. `PLENARY_TEST_SEED` repeats it.

use blackbox::{Connection, rounds};
use serde_json::Value;

use super::canonical::hash_of;
use super::factmodel::{Dice, Seed};
use super::speak::{PROJECT, desk, package_at, packages_of};

/// Deepest value below a member of the package.
const DEPTH: usize = 5;

/// White space between tokens, mostly none.
fn space(dice: &mut Dice) -> &'static str {
    if dice.percent(80) { "" } else { dice.pick(&[" ", "\n", "\t", "\r\n", "  "]) }
}

/// A character as one of its spellings.
fn spelt(dice: &mut Dice, character: char) -> String {
    let mut units = [0; 2];
    let escaped = |units: &[u16], upper: bool| {
        let unit = |unit: &u16| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        units.iter().map(unit).collect::<String>()
    };
    let must = character < ' ' || character == '"' || character == '\\';
    if must || dice.percent(20) {
        let short = "\"\"\\\\//\u{8}b\u{c}f\nn\rr\tt".chars().collect::<Vec<_>>();
        let short = short.chunks(2).find(|pair| pair[0] == character).map(|pair| format!("\\{}", pair[1]));
        let long = escaped(character.encode_utf16(&mut units), dice.percent(50));
        return if dice.percent(50) { short.unwrap_or(long) } else { long };
    }
    character.to_string()
}

/// A text of any code points but NUL.
fn text(dice: &mut Dice) -> String {
    let mut out = String::from("\"");
    for _ in 0..dice.below(8) {
        let code = match dice.below(6) {
            0 => dice.between(1, 0x1f),
            1 | 2 => dice.between(0x20, 0x7f),
            3 => dice.between(0x80, 0x7ff),
            4 => dice.between(0xe000, 0xffff),
            _ => dice.between(0x1_0000, 0x1_ffff),
        };
        let character = char::from_u32(u32::try_from(code).expect("a code point")).expect("no surrogate");
        out.push_str(&spelt(dice, character));
    }
    out + "\""
}

/// A number of any size, in one of its spellings.
fn number(dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => dice.between(-9_007_199_254_740_991, 9_007_199_254_740_991).to_string(),
        1 => dice.between(-20, 20).to_string(),
        2 => format!("{}.{:03}e{}", dice.between(-9, 9), dice.below(1_000), dice.between(-30, 30)),
        3 => format!("{}.{}0E+{}", dice.below(1_000), dice.below(100_000), dice.below(12)),
        _ => loop {
            let double = f64::from_bits(dice.next());
            if double.is_finite() {
                break format!("{double:e}");
            }
        },
    }
}

fn value(dice: &mut Dice, depth: usize) -> String {
    let kinds = if depth == 0 { 5 } else { 8 };
    match dice.below(kinds) {
        0 => "null".to_owned(),
        1 => dice.pick(&["true", "false"]).to_owned(),
        2 | 3 => text(dice),
        4 => number(dice),
        5 => {
            let items: Vec<_> = (0..dice.below(4)).map(|_| value(dice, depth - 1)).collect();
            format!("[{}{}]", space(dice), items.join(&format!("{},{}", space(dice), space(dice))))
        }
        _ => object(dice, depth - 1),
    }
}

/// An object whose names differ.
fn object(dice: &mut Dice, depth: usize) -> String {
    let mut names = Vec::<Value>::new();
    let mut members = Vec::new();
    for _ in 0..dice.below(5) {
        let name = text(dice);
        let plain = serde_json::from_str(&name).expect("the test spells JSON");
        if !names.contains(&plain) {
            names.push(plain);
            members.push(format!("{}{name}{}:{}", space(dice), space(dice), value(dice, depth)));
        }
    }
    format!("{{{}}}", members.join(","))
}

/// The required members in any order, with others between them.
fn package(dice: &mut Dice, by: &str, id: &str) -> String {
    let mut members = vec![
        format!(r#""package_id":"{id}""#),
        format!(r#""project_id":"{PROJECT}""#),
        r#""relay_version":"0.1""#.to_owned(),
        format!(r#""title":"t {}"#, &text(dice)[1..]),
        r#""status":"complete""#.to_owned(),
        r#""package_type":"x-any""#.to_owned(),
        r#""review_type":"none""#.to_owned(),
        r#""created_at":"2026-04-18T20:00:00Z""#.to_owned(),
        format!(r#""created_by":{{"id":"{by}","x-m":{},"type":"agent"}}"#, value(dice, DEPTH)),
        format!(r#""deliverables":[{{"path":"a","x-d":{},"type":"md"}}]"#, value(dice, DEPTH)),
    ];
    for extra in 0..dice.below(5) {
        members.push(format!(r#""{}{extra}":{}"#, dice.pick(&["x-", "unknown", "é"]), value(dice, DEPTH)));
    }
    for last in (1..members.len()).rev() {
        members.swap(last, dice.below(last + 1));
    }
    format!("{{{}{}}}", space(dice), members.join(&format!("{},{}", space(dice), space(dice))))
}

/// The package within the answer: all but the sibling `content_hash`.
#[track_caller]
fn stripped(body: &str, hash: &str) -> String {
    let member = format!(r#""content_hash":"{hash}""#);
    let found = [format!(",{member}"), format!("{member},")].into_iter().find(|text| body.contains(text));
    body.replacen(&found.unwrap_or_else(|| panic!("{member} in {body}")), "", 1)
}

#[tokio::test]
async fn ap_36_random_packages_keep_bytes_and_hash() {
    let seed = Seed::choose();
    let mut dice = Dice::new(seed.0);
    let (_server, nick) = desk().await;
    let mut wire = Connection::open(nick.address().place()).await.expect("a connection");
    for round in 0..rounds(1_000, 150) {
        let id = format!("p{round}");
        let sent = package(&mut dice, &nick.handle, &id);
        let hash = hash_of(&sent);
        for (method, path, body, status) in
            [("POST", packages_of(PROJECT), Some(sent.as_bytes()), 201), ("GET", package_at(&id), None, 200)]
        {
            let request = nick.request(method, &path, &[], body);
            let answer = wire.round_trip(&request).await.expect("an answer");
            assert_eq!(answer.status, status, "{sent}\n{answer}");
            assert_eq!(answer.header("x-content-hash"), Some(hash.as_str()), "{sent}\n{answer}");
            assert_eq!(stripped(&answer.text(), &hash), sent, "byte for byte");
        }
    }
}
