//! Bodies and parameters that mean harm or look like it: every write refuses what two readers would read differently,
//! and takes what is merely unusual: AP-17, AP-22, AP-32, AP-34, AP-42, AP-46, AP-54, AP-58, D.3, D.7, 0.4 #16.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::canonical::hash_of;
use super::speak::{
    PROJECT, assert_field, assert_package, deposit, deposited, desk, enc, facts_of, package, package_at,
    package_with, packages_of,
};

/// Each write with a body that is good in itself.
fn writes(by: &str) -> Vec<(&'static str, String, Value)> {
    let project = format!("/v1/projects/{PROJECT}");
    vec![
        ("POST", packages_of(PROJECT), package(by, "new")),
        ("POST", facts_of(PROJECT), json!({"subject": "new", "predicate": "p", "value": "1"})),
        ("POST", "/v1/projects".to_owned(), json!({"project_id": "new"})),
        ("PATCH", project.clone(), json!({"name": "new"})),
        ("POST", format!("{project}/sessions"), json!({"actor_type": "script"})),
        ("PUT", format!("{project}/members/@new.bot"), json!({"role": "reader"})),
        ("POST", "/v1/packages/one/flag".to_owned(), json!({"review_type": "human"})),
        ("POST", "/v1/packages/one/review".to_owned(), json!({"status": "complete"})),
    ]
}

/// D.3: ambiguous or oversized JSON is refused by every write, wherever in the body it stands, and does nothing.
#[tokio::test]
async fn ap_54_every_write_refuses_ambiguous_json() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let draft = package_with("nick", "one", json!({"status": "draft"}));
    deposited(&owner, &draft).await;
    let before = owner.get(&format!("/v1/projects/{PROJECT}")).await.text();
    let deep = |depth: usize| format!(r#""x-d":{}1{}"#, "[".repeat(depth), "]".repeat(depth));
    for (method, path, body) in writes("nick") {
        let name = body.as_object().and_then(|members| members.keys().next()).expect("a member").clone();
        for more in [
            r#""x-a":1,"\u0078\u002da":1"#.to_owned(),
            format!(r#""{name}":null"#),
            r#""x-a":"\u0000""#.to_owned(),
            r#""x-a":[[-9007199254740992]]"#.to_owned(),
            r#""x-a":{"b":-1E+400}"#.to_owned(),
            r#""x-a":"\udc00\ud800""#.to_owned(),
            "\"x-a\":01".to_owned(),
            deep(64),
            deep(50_000),
        ] {
            let text = body.to_string();
            let text = format!("{},{more}}}", &text[..text.len() - 1]);
            let answer = owner.bytes(&owner.request(method, &path, &[], Some(text.as_bytes()))).await;
            answer.assert_refused_any(400, &["invalid_json", "invalid_schema"]);
            assert!(answer.text().len() < 2_000, "an error is short: {}", answer.text().len());
        }
    }
    assert_eq!(owner.get(&package_at("one")).await.ok(200)["status"], "draft");
    assert_eq!(owner.get(&format!("/v1/projects/{PROJECT}")).await.text(), before);
    owner.get(&package_at("new")).await.assert_refused(404, "package_not_found");
    owner.get("/v1/projects/new").await.assert_refused(404, "project_not_found");
    let facts = owner.get(&format!("{}?include_ended=true", facts_of(PROJECT))).await.ok(200);
    assert_eq!(facts["facts"], json!([]));
}

/// D.3: depth 64 is the last that is taken, of lists, of objects and of both, for packages and for facts.
#[tokio::test]
async fn ap_18_depth_64_is_taken() {
    let (_server, nick) = desk().await;
    let lists = format!("{}null{}", "[".repeat(63), "]".repeat(63));
    let maps = format!("{}null{}", r#"{"a":"#.repeat(63), "}".repeat(63));
    let both = format!("{}[1]{}", r#"[{"a":"#.repeat(31), "}]".repeat(31));
    for (number, deep) in [lists, maps, both].iter().enumerate() {
        let id = format!("deep{number}");
        let text = package(&nick.handle, &id).to_string();
        let text = format!("{},\"x-d\":{deep}}}", &text[..text.len() - 1]);
        let answer = nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await;
        assert_eq!(answer.status, 201, "{answer}");
        assert_eq!(answer.header("x-content-hash"), Some(hash_of(&text).as_str()));
        assert!(nick.get(&package_at(&id)).await.text().contains(deep), "kept");
        let fact = format!(r#"{{"subject":"{id}","predicate":"p","value":"1","x-d":{deep}}}"#);
        let answer = nick.post_raw(&facts_of(PROJECT), fact.as_bytes()).await;
        assert_eq!(answer.status, 201, "{answer}");
        // One deeper would not have been.
        for (path, text) in [(packages_of(PROJECT), text.replace(&id, "more")), (facts_of(PROJECT), fact)] {
            let text = text.replace(deep, &format!("[{deep}]"));
            nick.post_raw(&path, text.as_bytes())
                .await
                .assert_refused_any(400, &["invalid_json", "invalid_schema"]);
        }
    }
}

/// A member written as text into a good package, refused for that field or taken.
async fn written(nick: &Agent, number: usize, member: &str, field: Option<&str>) {
    let id = format!("w{number}");
    let name = member.split('"').nth(1).expect("a name");
    let mut good = package(&nick.handle, &id);
    good.as_object_mut().expect("an object").remove(name);
    let text = good.to_string();
    let text = format!("{},{member}}}", &text[..text.len() - 1]);
    let answer = nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await;
    let Some(field) = field else {
        assert_eq!(answer.status, 201, "{answer}");
        assert_eq!(answer.header("x-content-hash"), Some(hash_of(&text).as_str()), "{answer}");
        assert!(nick.get(&package_at(&id)).await.text().contains(member), "as it was written");
        return;
    };
    answer.assert_refused(400, "invalid_schema");
    assert_field(&answer, field);
    nick.get(&package_at(&id)).await.assert_refused(404, "package_not_found");
}

/// AP-22, AP-32, AP-34: what counts is the value, not its spelling; and the spelling is kept.
#[tokio::test]
async fn ap_17_a_value_has_many_spellings() {
    let (_server, nick) = desk().await;
    let title = |one: &str, count: usize| format!(r#""title":"{}""#, one.repeat(count));
    let size = |literal: &str| {
        format!(
            r#""deliverables":[{{"path":"a","type":"b"}},{{"path":"a","type":"b","size_bytes":{literal}}}]"#
        )
    };
    for (number, (member, field)) in [
        (title(r"\u00e9", 200), None),
        (title(r"\u00E9", 201), Some("title")),
        (title(r"\ud83d\ude00", 200), None),
        (title(r"\ud83d\ude00", 201), Some("title")),
        (title("\u{10ffff}", 200), None),
        (title(r"\n", 200), None),
        (title(r"\/", 201), Some("title")),
        (r#""title":"\u0020""#.to_owned(), None),
        (r#""status":"dr\u0061ft""#.to_owned(), None),
        (r#""status":"dr\u0041ft""#.to_owned(), Some("status")),
        (r#""package_type":"\u0078-é""#.to_owned(), None),
        (r#""relay_version":"0\u002e1""#.to_owned(), None),
        (r#""significance":1e1"#.to_owned(), None),
        (r#""significance":10.0"#.to_owned(), None),
        (r#""significance":0.5E+1"#.to_owned(), None),
        (r#""significance":100e-1"#.to_owned(), None),
        (r#""significance":1.05e1"#.to_owned(), Some("significance")),
        (r#""significance":9.999999999999"#.to_owned(), Some("significance")),
        (r#""significance":-0"#.to_owned(), Some("significance")),
        (r#""significance":1e-1"#.to_owned(), Some("significance")),
        (size("9007199254740991"), None),
        (size("1.8432e4"), None),
        (size("0.5"), Some("deliverables[1].size_bytes")),
        (size("[]"), Some("deliverables[1].size_bytes")),
        (r#""tags":["\u0061",""]"#.to_owned(), None),
        (r#""tags":["a",["b"]]"#.to_owned(), Some("tags[1]")),
    ]
    .iter()
    .enumerate()
    {
        written(&nick, number, member, *field).await;
    }
}

/// A member whose name is spelt with escapes is that member.
#[tokio::test]
async fn ap_19_a_name_has_many_spellings() {
    let (_server, nick) = desk().await;
    let text = package(&nick.handle, "one").to_string();
    for name in ["title", "created_by", "package_id", "relay_version", "type"] {
        let escaped: String = name.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        let spelt = text.replace(&format!("\"{name}\":"), &format!("\"{escaped}\":"));
        assert_ne!(spelt, text);
        let id = format!("by-{name}");
        let spelt = spelt.replace("\"one\"", &format!("\"{id}\""));
        let answer = nick.post_raw(&packages_of(PROJECT), spelt.as_bytes()).await;
        assert_eq!(answer.ok(201)["content_hash"], json!(hash_of(&spelt)));
        assert!(nick.get(&package_at(&id)).await.text().contains(&escaped), "kept as it was spelt");
    }
    for name in ["Title", "TITLE", "title ", " title", "titl\u{435}"] {
        let other = text.replace("\"title\":", &format!("\"{name}\":"));
        let answer = nick.post_raw(&packages_of(PROJECT), other.as_bytes()).await;
        answer.assert_refused(400, "invalid_schema");
        assert_field(&answer, "title");
    }
}

/// Ids have a longest length, counted in bytes; the project's too.
#[tokio::test]
async fn ap_20_an_id_has_a_longest_length() {
    let (_server, nick) = desk().await;
    for (id, good) in [
        ("x".repeat(1_024), true),
        ("😀".repeat(256), true),
        ("x".repeat(1_025), false),
        (format!("{}é", "x".repeat(1_023)), false),
        ("x".repeat(100_000), false),
        (String::new(), false),
    ] {
        let sent = package(&nick.handle, &id);
        let answer = deposit(&nick, &sent).await;
        if good {
            assert_package(&answer, 201, &sent);
            assert_package(&nick.get(&package_at(&id)).await, 200, &sent);
        } else {
            answer.assert_refused(400, "invalid_schema");
            assert_field(&answer, "package_id");
        }
        let answer = nick.post("/v1/projects", json!({ "project_id": id })).await;
        if good {
            answer.ok(201);
            assert_eq!(nick.get(&format!("/v1/projects/{}", enc(&id))).await.ok(200)["id"], json!(id));
        } else {
            answer.assert_refused(400, "invalid_schema");
            assert_field(&answer, "project_id");
        }
    }
}

/// Parameters of lists: each wrong one is named.
#[tokio::test]
async fn ap_46_parameters_are_checked() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    super::speak::assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    for (query, field) in [
        ("min_confidence=x", "min_confidence"),
        ("min_confidence=", "min_confidence"),
        ("min_confidence=NaN", "min_confidence"),
        ("min_confidence=1.1", "min_confidence"),
        ("min_confidence=-0.1", "min_confidence"),
        ("min_confidence=1e400", "min_confidence"),
        ("include_ended=maybe", "include_ended"),
        ("include_ended=", "include_ended"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("limit=18446744073709551616", "limit"),
        ("cursor=%ff", "cursor"),
        ("as_of=2026-02-30", "as_of"),
        ("as_of=2026-04-10T12:00:00-05:00", "as_of"),
        ("subject=a&subject=b", "subject"),
        ("tag=%C3", "tag"),
    ] {
        let answer = nick.get(&format!("{}?{query}", facts_of(PROJECT))).await;
        assert_eq!(answer.status, 400, "{query}: {answer}");
        assert_field(&answer, field);
    }
    for (query, field) in [
        ("mode=latest&limit=18446744073709551616", "limit"),
        ("mode=latest&mode=latest", "mode"),
        ("mode=LATEST", "mode"),
        ("mode=specific", "mode"),
        ("mode=latest&status=", "status"),
        ("mode=latest&status=%ff", "status"),
    ] {
        let answer = nick.get(&format!("{}?{query}", packages_of(PROJECT))).await;
        assert_eq!(answer.status, 400, "{query}: {answer}");
        assert_field(&answer, field);
    }
}

/// AP-46: confidence and tags choose; the bound belongs to what is chosen.
#[tokio::test]
async fn ap_46_facts_are_chosen_by_confidence_and_tag() {
    let (_server, nick) = desk().await;
    for (subject, confidence, tags) in [
        ("a", 0.0, json!([])),
        ("b", 0.5, json!(["x"])),
        ("c", 0.75, json!(["x", "é y"])),
        ("d", 1.0, json!(["X"])),
    ] {
        let body = json!({"subject": subject, "predicate": "p", "value": "1", "confidence": confidence, "tags": tags});
        super::speak::assert_fact(&nick, body).await;
    }
    for (query, wanted) in [
        ("min_confidence=0", &["a", "b", "c", "d"][..]),
        ("min_confidence=0.5", &["b", "c", "d"]),
        ("min_confidence=0.500001", &["c", "d"]),
        ("min_confidence=1", &["d"]),
        ("tag=x", &["b", "c"]),
        ("tag=X", &["d"]),
        ("tag=%C3%A9%20y", &["c"]),
        ("tag=", &[]),
        ("tag=x&min_confidence=0.6", &["c"]),
    ] {
        let mut found = super::speak::texts(&super::speak::facts(&nick, query).await, "subject");
        found.sort();
        assert_eq!(found, wanted, "{query}");
    }
}
