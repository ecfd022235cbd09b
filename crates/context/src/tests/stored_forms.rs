//! The stored form of every event, byte for byte. They are frozen: a change is a new form beside the old one.

use plenary_engine::golden::{assert_frozen, assert_frozen_with, frozen};

use crate::{
    activity::event::{Activity, ActivityNoted},
    blob::event::BlobKept,
    fact::event::FactEvent,
    lifecycle::Status,
    package::event::{PackageEvent, Standing},
    project::event::ProjectEvent,
    session::event::SessionEvent,
};

#[test]
fn notes() {
    assert_frozen::<ActivityNoted>(&[
        ("ActivityNoted", r#"{"type":"fact.superseded","on":"p/s/p","version":7}"#),
        ("ActivityNoted", r#"{"type":"fact.superseded","on":"p/s/p","version":7,"draft_of":"nick"}"#),
        (
            "ActivityNoted",
            r#"{"type":"fact.superseded","on":"p/s/p","version":7,"trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        ),
    ]);
    let words: Vec<_> = Activity::ALL.iter().map(|activity| activity.as_str()).collect();
    assert_eq!(
        words.join(" "),
        "project.created project.updated project.archived project.unarchived project.member_set \
         project.member_removed package.deposited package.status_changed fact.asserted fact.superseded \
         fact.invalidated session.started session.ended blob.kept"
    );
}

#[test]
fn blobs() {
    assert_frozen::<BlobKept>(&[("BlobKept", r#"{"by":"@nick.a","octets":7}"#)]);
}

#[test]
fn packages() {
    assert_frozen_with::<PackageEvent>(&[
        (
            "PackageDeposited",
            r#"{"by":"@nick.a","package_id":"pkg_1","hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","status":"draft","review_type":"none","type":"x-a","created_at":"2026-04-18T20:00:00.500Z","created_by":{"id":"nick","type":"human"}}"#,
            r#"{ "a":1.0}"#,
        ),
        (
            "PackageDeposited",
            r#"{"by":"@nick.a","package_id":"pkg_1","hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","status":"draft","review_type":"none","type":"x-a","created_at":"2026-04-18T20:00:00.500Z","created_by":{"id":"nick","type":"human","session_id":"sess_1"},"parent":"pkg_0","asks":true,"at":"2026-04-19T08:00:00Z","renamed_from":"pkg_a","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            r#"{ "a":1.0}"#,
        ),
        (
            "PackageDeposited",
            r#"{"by":"@nick.a","package_id":"pkg_1","hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","status":"draft","review_type":"none","type":"x-a","created_at":"2026-04-18T20:00:00.500Z","created_by":{"id":"nick","type":"human"},"origin_hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","imported_by":"operator"}"#,
            r#"{ "a":1.0}"#,
        ),
        (
            "PackageFlagged",
            r#"{"by":"@nick.a","from":"draft","status":"awaiting_review","review_type":"human","hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","note":"why","type":"standard","created_at":"2026-04-18T20:00:00Z","at":"2026-04-19T08:00:00Z"}"#,
            "",
        ),
        (
            "PackageReviewed",
            r#"{"by":"@nick.a","from":"draft","status":"awaiting_review","review_type":"human","hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","type":"standard","created_at":"2026-04-18T20:00:00Z"}"#,
            "",
        ),
    ]);
}

#[test]
fn what_every_event_of_a_package_says() {
    for (kind, envelope, from, asks) in [
        ("PackageDeposited", r#"{"status":"draft","created_at":"2026-04-18T20:00:00.5Z"}"#, None, false),
        (
            "PackageDeposited",
            r#"{"status":"awaiting_review","created_at":"2026-04-18T20:00:00Z"}"#,
            None,
            true,
        ),
        (
            "PackageReviewed",
            r#"{"from":"draft","status":"awaiting_review","created_at":"2026-04-18T20:00:00Z"}"#,
            Some(Status::Draft),
            true,
        ),
        (
            "PackageFlagged",
            r#"{"from":"awaiting_review","status":"awaiting_review","created_at":"2026-04-18T20:00:00Z"}"#,
            Some(Status::AwaitingReview),
            false,
        ),
    ] {
        let standing = Standing::read(&frozen(kind, envelope, "")).unwrap();
        assert_eq!((standing.from, standing.asks_for_review()), (from, asks), "{kind} {envelope}");
    }
}

#[test]
fn facts() {
    assert_frozen_with::<FactEvent>(&[
        (
            "FactAsserted",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00.000001Z"}"#,
            r#"{"value":"1"}"#,
        ),
        (
            "FactAsserted",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00.000001Z","text":"2026-04-18T20:00:00.000001+00:00","supersedes":"2026-04-18T19:00:00Z","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            r#"{"value":"1"}"#,
        ),
        (
            "FactInvalidated",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","valid_to":"2026-04-18T21:00:00Z"}"#,
            "",
        ),
        (
            "FactInvalidated",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","valid_to":"2026-04-18T21:00:00Z","text":"2026-04-18T21:00:00+00:00"}"#,
            "",
        ),
        (
            "FactMerged",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","text":"2026-04-18T20:00:00+00:00"}"#,
            r#"{"value":"1"}"#,
        ),
        (
            "FactMerged",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","text":"2026-04-18T20:00:00+00:00","ended":{"at":"2026-04-18T21:00:00Z","text":"2026-04-18T21:00:00Z"},"is_last":true,"outranked":"fact_1","outranks":{"fact_id":"fact_2","document":"{}"}}"#,
            r#"{"value":"1"}"#,
        ),
        (
            "FactShortened",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","was":"2026-04-18T22:00:00Z","ended":{"at":"2026-04-18T21:00:00Z","text":"2026-04-18T21:00:00Z"}}"#,
            "",
        ),
        (
            "FactShortened",
            r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","was":"2026-04-18T22:00:00Z","ended":{"at":"2026-04-18T21:00:00Z","text":"2026-04-18T21:00:00Z"},"is_followed":true}"#,
            "",
        ),
    ]);
}

#[test]
fn projects() {
    assert_frozen::<ProjectEvent>(&[
        ("ProjectCreated", r#"{"project_id":"p","by":"operator"}"#),
        (
            "ProjectCreated",
            r#"{"project_id":"p","by":"operator","owner":"nick","made_at":7,"name":"P","description":"d","settings":{"a":1}}"#,
        ),
        ("ProjectDescribed", r#"{"by":"@nick.a","name":"P","description":"d","settings":{"a":1}}"#),
        ("ProjectDescribed", r#"{"by":"@nick.a","extensions":{"x-a":{"b":null}}}"#),
        ("MemberSet", r#"{"by":"@nick.a","member":"@acme.*","role":"reviewer"}"#),
        ("MemberRemoved", r#"{"by":"@nick.a","member":"@acme.*"}"#),
        ("ProjectArchived", r#"{"by":"@nick.a"}"#),
        ("ProjectArchived", r#"{"by":"@nick.a","at":7}"#),
        ("ProjectUnarchived", r#"{"by":"@nick.a"}"#),
    ]);
}

#[test]
fn sessions() {
    assert_frozen::<SessionEvent>(&[
        (
            "SessionStarted",
            r#"{"by":"@nick.a","session_id":"sess_1","actor_id":"nick","actor_type":"agent","callsign":"coral-heron","started_at":"2026-04-18T20:00:00Z"}"#,
        ),
        (
            "SessionStarted",
            r#"{"by":"@nick.a","session_id":"sess_1","actor_id":"nick","actor_type":"agent","callsign":"coral-heron","started_at":"2026-04-18T20:00:00Z","extensions":{"x-a":{"b":null}}}"#,
        ),
        ("SessionEnded", r#"{"by":"@nick.a","ended_at":"2026-04-18T21:00:00Z"}"#),
        (
            "SessionEnded",
            r#"{"by":"@nick.a","ended_at":"2026-04-18T21:00:00Z","extensions":{"x-a":{"b":null}}}"#,
        ),
    ]);
}
