//! Lines as they are written and read.

use plenary_accounts::Actor;
use plenary_kernel::Position;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    hash::ContentHash,
    transfer::{
        arrivals::ArrivingRecord,
        cursor::ExportCursor,
        record::{Counts, ImportLine, Kind, OutgoingRecord, read},
    },
};

fn package(status: &str) -> Value {
    json!({
        "package_id": "a", "project_id": "p", "relay_version": "0.1", "title": "t", "status": status,
        "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
        "created_by": {"id": "nick", "type": "agent"},
    })
}

fn step(status: &str, action: &str) -> Value {
    let hash = ContentHash::of_text(&package(status).to_string()).unwrap();
    json!({"action": action, "from": null, "status": status, "review_type": "none", "note": null,
        "by": "@nick.a", "at": "2026-04-18T20:00:00.000Z", "content_hash": hash.to_string()})
}

/// The code and the field of what is wrong with a reviewed package.
fn refused(steps: &[Value], by: &Actor) -> Option<(&'static str, String)> {
    let line = json!({"record": "package", "data": package("complete"), "reviews": steps}).to_string();
    let ImportLine::Record(record) = read(line.as_bytes()).unwrap() else { panic!("no record") };
    let wrong = ArrivingRecord::read(&record, by).err()?;
    Some((wrong.code.as_str(), wrong.field.unwrap_or_default()))
}

#[test]
fn ap_6_ap_77_a_review_log_has_to_lead_to_the_package() {
    let (draft, asked, done) =
        (step("draft", "deposit"), step("awaiting_review", "flag"), step("complete", "review"));
    let operator = Actor::Operator;
    assert_eq!(refused(&[draft.clone(), asked.clone(), done.clone()], &operator), None);
    assert_eq!(refused(std::slice::from_ref(&done), &operator), None);
    let invalid = |field: &str| Some(("invalid_schema", field.to_owned()));
    assert_eq!(refused(&[], &operator), invalid("reviews"));
    assert_eq!(refused(&[draft.clone(), asked.clone()], &operator), invalid("reviews"));
    assert_eq!(refused(&[asked.clone(), draft.clone(), done.clone()], &operator), invalid("reviews[1]"));
    assert_eq!(refused(&[done.clone(), done.clone()], &operator), invalid("reviews[1]"));
    let mut other = asked.clone();
    other["content_hash"] = draft["content_hash"].clone();
    let mismatch = Some(("hash_mismatch", "reviews[1].content_hash".to_owned()));
    assert_eq!(refused(&[draft.clone(), other, done.clone()], &operator), mismatch);
    let many = vec![asked; crate::limits::STEPS_MAX as usize + 3];
    assert_eq!(refused(&many, &operator), invalid("reviews"));
    let owner = |name: &str| Actor::Owner(name.parse().unwrap());
    assert_eq!(refused(&[draft.clone(), done.clone()], &owner("nick")), None);
    assert_eq!(refused(&[draft, done], &owner("acme")), invalid("reviews[0].by"));
}

#[test]
fn what_is_no_record_is_told_apart() {
    let said = |text: &str| read(text.as_bytes());
    assert_eq!(said("{\"record\":\"embedding\",\"data\":[1]}"), Ok(ImportLine::Other));
    let counts = Counts { packages: 2, ..Counts::default() };
    assert_eq!(
        said("{\"record\":\"end\",\"data\":{\"counts\":{\"packages\":2}}}"),
        Ok(ImportLine::End(counts))
    );
    for (text, code) in [
        ("{", "invalid_json"),
        ("{\"a\":1,\"a\":2}", "invalid_json"),
        ("[]", "invalid_schema"),
        ("{\"a\":1}", "invalid_schema"),
        ("{\"record\":1}", "invalid_schema"),
        ("{\"record\":\"end\",\"data\":{}}", "invalid_schema"),
        ("{\"record\":\"package\",\"data\":[]}", "invalid_schema"),
        ("{\"record\":\"package\",\"data\":{},\"content_hash\":\"sha256:1\"}", "invalid_schema"),
    ] {
        assert_eq!(said(text).unwrap_err().code.as_str(), code, "{text}");
    }
    for (text, kind) in [
        ("{\"fact_id\":\"f\",\"project_id\":\"p\"}", Kind::Fact),
        ("{\"package_id\":\"a\",\"project_id\":\"p\"}", Kind::Package),
        ("{\"session_id\":\"s\",\"project_id\":\"p\"}", Kind::Session),
        ("{\"id\":\"p\"}", Kind::Project),
    ] {
        let Ok(ImportLine::Record(record)) = said(text) else { panic!("{text}") };
        assert_eq!((record.kind, record.data.as_str()), (kind, text));
    }
}

proptest! {
    #[test]
    fn ap_77_any_package_keeps_its_hash_on_a_line(title in "\\PC{1,40}", further in "[ -~\n\r\u{e9}]{0,40}", gap in "[ \n\r\t]{0,6}") {
        let text = format!(
            "{{{gap}\"package_id\":\"a\",{gap}\"title\":{},\"x-a\":{}{gap}}}",
            json!(title), json!(further)
        );
        let hash = ContentHash::of_text(&text).unwrap();
        let mut line = String::new();
        OutgoingRecord { kind: "package", project: Some("nick:p"), data: &text, hash: Some(hash), reviews: None, renamed_from: Some("o"), origin_hash: None, cursor: Some("c/%") }.write(&mut line);
        prop_assert_eq!(line.matches('\n').count(), 1);
        let Ok(ImportLine::Record(record)) = read(line.trim_end().as_bytes()) else { panic!("{line}") };
        prop_assert_eq!(ContentHash::of_text(&record.data), Some(hash));
        prop_assert_eq!(record.claim, Some(hash));
        prop_assert_eq!(record.renamed_from.as_deref(), Some("o"));
    }

    #[test]
    fn a_place_is_read_as_it_is_written(head in 0..9_000_000_u64, since in prop::option::of(0..9_000_000_u64), key in "[a-z0-9_.%/~-]{0,30}", kind in 0..4_usize) {
        let position = ExportCursor { head: Position(head), since: since.map(Position), kind: Kind::ALL[kind], key };
        prop_assert_eq!(ExportCursor::read(&position.write()), Ok(position));
    }
}
