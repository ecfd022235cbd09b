//! Adding entries to a text, removing them, and the unchanged rest.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn keys<'a>(path: &[&'a str]) -> Vec<Step<'a>> {
    path.iter().map(|key| Step::Key(key)).collect()
}

/// Adds a client's entries and removes them; returns both texts.
fn add_and_remove(text: &str) -> (String, String) {
    let mut document = Document::read(text).unwrap();
    let entry = json!({"hooks": [{"type": "command", "command": "x"}]});
    let mut created = Vec::new();
    for event in ["Start", "Stop"] {
        created.extend(document.push(&["hooks", event], &entry).unwrap());
    }
    created.extend(document.put(&["servers", "ours"], &json!({"command": "x", "args": ["mcp"]})).unwrap());
    let changed = document.text().to_owned();
    serde_json::from_value::<Value>(document.value(&[]).unwrap()).unwrap();
    document.remove(&keys(&["servers", "ours"]));
    for event in ["Stop", "Start"] {
        let list = document.value(&keys(&["hooks", event])).unwrap();
        let last = list.as_array().unwrap().len() - 1;
        assert_eq!(list[last], entry);
        document.remove(&[Step::Key("hooks"), Step::Key(event), Step::Index(last)]);
    }
    for member in created.iter().rev() {
        document.remove_empty(&keys(&member.split('/').collect::<Vec<_>>()));
    }
    (changed, document.text().to_owned())
}

#[test]
fn a_new_file_looks_as_people_write_it() {
    let (changed, restored) = add_and_remove("");
    let lines: Vec<&str> = changed.lines().take(6).collect();
    assert_eq!(
        lines,
        ["{", "  \"hooks\": {", "    \"Start\": [", "      {", "        \"hooks\": [", "          {"]
    );
    assert!(changed.ends_with("  }\n}\n") && !changed.contains("\n\n"), "{changed}");
    assert_eq!(restored, "{}\n");
}

#[test]
fn a_comment_stays_with_what_it_is_about() {
    let text = "{\n\t// first\n\t\"a\": 1 // one\n\t// last\n}\n";
    let (changed, restored) = add_and_remove(text);
    assert!(
        changed.starts_with("{\n\t// first\n\t\"a\": 1, // one\n\t\"hooks\": {\n\t\t\"Start\": ["),
        "{changed}"
    );
    assert!(changed.ends_with("\n\t}\n\t// last\n}\n"), "{changed}");
    assert_eq!(restored, text);
}

#[test]
fn one_line_stays_one_line() {
    let text = r#"{"a":{"b":[1]}}"#;
    let (changed, restored) = add_and_remove(text);
    assert!(
        !changed.contains('\n') && changed.starts_with(r#"{"a":{"b":[1]}, "hooks": {"Start": [{"#),
        "{changed}"
    );
    assert_eq!(restored, text);
}

#[test]
fn an_existing_member_is_replaced_or_refused() {
    let mut document = Document::read("{\n  \"s\": {\n    \"ours\": 1\n  }\n}").unwrap();
    assert_eq!(document.put(&["s", "ours"], &json!({"x": 1})), Ok(vec![]));
    assert_eq!(document.text(), "{\n  \"s\": {\n    \"ours\": {\n      \"x\": 1\n    }\n  }\n}");
    for text in ["[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "7"] {
        let mut document = Document::read(text).unwrap();
        assert!(document.push(&["hooks", "Stop"], &json!(1)).is_err(), "{text}");
    }
    assert!(!document.remove(&[Step::Key("none")]) && !document.remove(&[]));
}

/// Blanks and comments as they may stand between any two parts.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[ \n]{0,3}",
        1 => "\n( |\t){0,4}",
        1 => Just(" // note\n".to_owned()),
        1 => Just("/* a, } */".to_owned()),
        1 => Just("\r\n  ".to_owned()),
    ]
}

fn listed(parts: Vec<(String, String, String)>, comma: bool, open: char, close: char, inner: &str) -> String {
    let mut text = String::from(open);
    text.push_str(inner);
    let count = parts.len();
    for (index, (before, part, after)) in parts.into_iter().enumerate() {
        let end = if index + 1 < count || comma { "," } else { "" };
        text.push_str(&format!("{before}{part}{after}{end}"));
    }
    text.push(close);
    text
}

fn any_json() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("null".to_owned()),
        Just(r#""a // \" ü""#.to_owned()),
    ];
    plain.prop_recursive(4, 32, 4, |inner| {
        let part = (gap(), inner.clone(), gap());
        let member =
            (gap(), "[a-z\"]{1,3}", gap(), inner, gap()).prop_map(|(before, key, gap, value, after)| {
                (before, format!("{}{gap}:{gap}{value}", Value::from(key)), after)
            });
        prop_oneof![
            (prop::collection::vec(part, 0..4), any::<bool>(), gap())
                .prop_map(|(parts, comma, inner)| listed(parts, comma, '[', ']', &inner)),
            (prop::collection::vec(member, 0..4), any::<bool>(), gap())
                .prop_map(|(parts, comma, inner)| listed(parts, comma, '{', '}', &inner)),
        ]
    })
}

fn any_settings() -> impl Strategy<Value = String> {
    let lists =
        (any_json(), any_json()).prop_map(|(a, b)| format!("{{\"Stop\": [{a}, {b}], \"Other\": {a}}}"));
    let hooks =
        prop_oneof![Just("{}".to_owned()), Just("{\"Stop\":[]}".to_owned()), Just("{ }".to_owned()), lists];
    let servers =
        prop_oneof![Just("{}".to_owned()), any_json().prop_map(|json| format!("{{\"theirs\": {json} }}"))];
    let member = |name: &'static str, value: BoxedStrategy<String>| {
        prop::option::of(
            (gap(), value, gap())
                .prop_map(move |(before, value, after)| (before, format!("\"{name}\": {value}"), after)),
        )
    };
    let other = any_json().boxed();
    let members = (
        member("m", other.clone()),
        member("hooks", hooks.boxed()),
        member("servers", servers.boxed()),
        member("n", other),
    );
    (gap(), members, any::<bool>(), gap(), gap()).prop_map(|(begin, (a, b, c, d), comma, inner, end)| {
        let parts: Vec<_> = [a, b, c, d].into_iter().flatten().collect();
        format!("{begin}{}{end}", listed(parts, comma, '{', '}', &inner))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn added_entries_are_removed_to_the_byte(text in any_settings()) {
        prop_assume!(tree::read(&text).is_ok());
        let before = Document::read(&text).unwrap().value(&[]).unwrap();
        let (changed, restored) = add_and_remove(&text);
        let mut after = Document::read(&changed).unwrap().value(&[]).unwrap();
        prop_assert_eq!(&after["servers"]["ours"]["command"], "x");
        for name in ["m", "n"] {
            prop_assert_eq!(after.get(name), before.get(name));
        }
        after["hooks"]["Stop"].as_array_mut().unwrap().pop();
        if !before["hooks"]["Stop"].is_null() {
            prop_assert_eq!(&after["hooks"]["Stop"], &before["hooks"]["Stop"]);
        }
        prop_assert_eq!(restored, text);
    }
}
