//! The stored form of every event, byte for byte. They are frozen: a change is a new form beside the old one.

use plenary_accounts::Actor;
use plenary_engine::golden::assert_frozen;
use plenary_kernel::TimestampMs;
use serde_json::json;

use crate::{
    access::Role,
    activity::event::{Activity, ActivityNoted},
    blob::event::BlobKept,
    extensions::Extensions,
    fact::event::{
        FactAsserted, FactEnd, FactEvent, FactInvalidated, FactMerged, FactShortened, OutrankedFact,
    },
    hash::ContentHash,
    lifecycle::{ActorType, ReviewType, Status},
    moment::Moment,
    package::event::{PackageDeposited, PackageEvent, PackageMoved},
    project::event::{
        ArchiveChange, MemberRemoved, MemberSet, ProjectCreated, ProjectDescribed, ProjectDescription,
        ProjectEvent,
    },
    schema::Creator,
    session::event::{SessionEnded, SessionEvent, SessionStarted},
};

const HASH: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

fn agent() -> Actor {
    "@nick.a".parse().unwrap()
}

/// Members of implementations.
fn extensions() -> Extensions {
    json!({"x-a": {"b": null}}).as_object().cloned().unwrap().into()
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// A span, as it is stored.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn notes() {
    let traced = format!(r#","trace":"{TRACE}"}}"#);
    for (draft_of, trace, tail) in [
        (None, None, "}"),
        (Some("nick".to_owned()), None, r#","draft_of":"nick"}"#),
        (None, Some(TRACE.into()), &*traced),
    ] {
        let noted = ActivityNoted {
            activity: Activity::FactSuperseded,
            on: "p/s/p".into(),
            version: 7,
            draft_of,
            trace,
        };
        let envelope = format!(r#"{{"type":"fact.superseded","on":"p/s/p","version":7{tail}"#);
        assert_frozen(&noted, "ActivityNoted", &envelope, "");
    }
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
    assert_frozen(&BlobKept { by: agent(), bytes: 7 }, "BlobKept", r#"{"by":"@nick.a","octets":7}"#, "");
}

#[test]
fn packages() {
    let hash = ContentHash::parse(HASH).unwrap();
    let deposited = |full: bool| PackageDeposited {
        by: agent(),
        package_id: "pkg_1".into(),
        hash,
        status: Status::Draft,
        review_type: ReviewType::None,
        package_type: "x-a".into(),
        created_at: moment("2026-04-18T20:00:00.5Z"),
        created_by: Creator {
            id: "nick".into(),
            kind: ActorType::Human,
            session_id: full.then(|| "sess_1".into()),
        },
        parent: full.then(|| "pkg_0".into()),
        asks: full,
        at: full.then(|| moment("2026-04-19T08:00:00Z")),
        renamed_from: full.then(|| "pkg_a".into()),
        origin_hash: None,
        imported_by: None,
        trace: full.then(|| TRACE.into()),
        raw: "{ \"a\":1.0}".into(),
    };
    let head = format!(
        r#"{{"by":"@nick.a","package_id":"pkg_1","hash":"{HASH}","status":"draft","review_type":"none","type":"x-a","created_at":"2026-04-18T20:00:00.500Z","created_by":{{"id":"nick","type":"human""#
    );
    for (full, tail) in [
        (false, "}}"),
        (
            true,
            r#","session_id":"sess_1"},"parent":"pkg_0","asks":true,"at":"2026-04-19T08:00:00Z","renamed_from":"pkg_a","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        ),
    ] {
        assert_frozen(
            &PackageEvent::PackageDeposited(deposited(full)),
            "PackageDeposited",
            &format!("{head}{tail}"),
            "{ \"a\":1.0}",
        );
    }
    assert_frozen(
        &PackageEvent::PackageDeposited(PackageDeposited {
            origin_hash: Some(hash),
            imported_by: Some(Actor::Operator),
            ..deposited(false)
        }),
        "PackageDeposited",
        &format!("{head}}},\"origin_hash\":\"{HASH}\",\"imported_by\":\"operator\"}}"),
        "{ \"a\":1.0}",
    );
}

#[test]
fn what_happens_to_packages() {
    let hash = ContentHash::parse(HASH).unwrap();
    let moved = |note: Option<&str>| PackageMoved {
        by: agent(),
        from: Status::Draft,
        status: Status::AwaitingReview,
        review_type: ReviewType::Human,
        hash,
        note: note.map(str::to_owned),
        package_type: "standard".into(),
        created_at: moment("2026-04-18T20:00:00Z"),
        at: note.map(|_| moment("2026-04-19T08:00:00Z")),
        imported_by: None,
    };
    let head = format!(
        r#"{{"by":"@nick.a","from":"draft","status":"awaiting_review","review_type":"human","hash":"{HASH}","#
    );
    let tail = r#""type":"standard","created_at":"2026-04-18T20:00:00Z"}"#;
    let elsewhere = r#""type":"standard","created_at":"2026-04-18T20:00:00Z","at":"2026-04-19T08:00:00Z"}"#;
    assert_frozen(
        &PackageEvent::PackageFlagged(moved(Some("why"))),
        "PackageFlagged",
        &format!("{head}\"note\":\"why\",{elsewhere}"),
        "",
    );
    assert_frozen(
        &PackageEvent::PackageReviewed(moved(None)),
        "PackageReviewed",
        &format!("{head}{tail}"),
        "",
    );
}

#[test]
fn facts() {
    let asserted = |supersedes: Option<&str>| {
        FactEvent::FactAsserted(FactAsserted {
            by: agent(),
            valid_from: moment("2026-04-18T20:00:00.000001Z"),
            text: supersedes.map(|_| "2026-04-18T20:00:00.000001+00:00".into()),
            supersedes: supersedes.map(moment),
            trace: supersedes.map(|_| TRACE.into()),
            document: "{\"value\":\"1\"}".into(),
        })
    };
    for (supersedes, tail) in [
        (None, "}"),
        (
            Some("2026-04-18T19:00:00Z"),
            r#","text":"2026-04-18T20:00:00.000001+00:00","supersedes":"2026-04-18T19:00:00Z","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        ),
    ] {
        let envelope = format!(r#"{{"by":"@nick.a","valid_from":"2026-04-18T20:00:00.000001Z"{tail}"#);
        assert_frozen(&asserted(supersedes), "FactAsserted", &envelope, "{\"value\":\"1\"}");
    }
    let head = r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","valid_to":"2026-04-18T21:00:00Z""#;
    for (text, tail) in
        [(None, "}"), (Some("2026-04-18T21:00:00+00:00"), r#","text":"2026-04-18T21:00:00+00:00"}"#)]
    {
        let ended = FactInvalidated {
            by: agent(),
            valid_from: moment("2026-04-18T20:00:00Z"),
            valid_to: moment("2026-04-18T21:00:00Z"),
            text: text.map(str::to_owned),
        };
        assert_frozen(&FactEvent::FactInvalidated(ended), "FactInvalidated", &format!("{head}{tail}"), "");
    }
}

#[test]
fn facts_of_other_servers() {
    let merged = |full: bool| {
        FactEvent::FactMerged(FactMerged {
            by: agent(),
            valid_from: moment("2026-04-18T20:00:00Z"),
            text: "2026-04-18T20:00:00+00:00".into(),
            ended: full
                .then(|| FactEnd { at: moment("2026-04-18T21:00:00Z"), text: "2026-04-18T21:00:00Z".into() }),
            is_last: full,
            outranked: full.then(|| "fact_1".into()),
            outranks: full.then(|| OutrankedFact { fact_id: "fact_2".into(), document: "{}".into() }),
            document: "{\"value\":\"1\"}".into(),
        })
    };
    let head = r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","text":"2026-04-18T20:00:00+00:00""#;
    let ended = r#"{"at":"2026-04-18T21:00:00Z","text":"2026-04-18T21:00:00Z"}"#;
    let full = format!(
        r#","ended":{ended},"is_last":true,"outranked":"fact_1","outranks":{{"fact_id":"fact_2","document":"{{}}"}}}}"#
    );
    for (is_full, tail) in [(false, "}"), (true, full.as_str())] {
        let envelope = format!("{head}{tail}");
        assert_frozen(&merged(is_full), "FactMerged", &envelope, "{\"value\":\"1\"}");
    }
    let shortened = |is_followed| FactShortened {
        is_followed,
        by: agent(),
        valid_from: moment("2026-04-18T20:00:00Z"),
        was: moment("2026-04-18T22:00:00Z"),
        ended: FactEnd { at: moment("2026-04-18T21:00:00Z"), text: "2026-04-18T21:00:00Z".into() },
    };
    let head = r#"{"by":"@nick.a","valid_from":"2026-04-18T20:00:00Z","was":"2026-04-18T22:00:00Z""#;
    for (is_followed, tail) in [(false, "}"), (true, r#","is_followed":true}"#)] {
        assert_frozen(
            &FactEvent::FactShortened(shortened(is_followed)),
            "FactShortened",
            &format!("{head},\"ended\":{ended}{tail}"),
            "",
        );
    }
}

#[test]
fn projects() {
    let about = ProjectDescription {
        name: Some("P".into()),
        description: Some("d".into()),
        settings: json!({"a": 1}).as_object().cloned(),
        extensions: Extensions::default(),
    };
    let extended = ProjectDescription { extensions: extensions(), ..ProjectDescription::default() };
    let created = |owner: Option<&str>, about: &ProjectDescription| {
        ProjectEvent::ProjectCreated(ProjectCreated {
            project_id: "p".into(),
            by: Actor::Operator,
            owner: owner.map(|owner| owner.parse().unwrap()),
            made_at: owner.map(|_| TimestampMs(7)),
            about: about.clone(),
        })
    };
    let full = r#"{"project_id":"p","by":"operator","owner":"nick","made_at":7,"name":"P","description":"d","settings":{"a":1}}"#;
    let member = || "@acme.*".parse().unwrap();
    let forms = [
        (
            created(None, &ProjectDescription::default()),
            "ProjectCreated",
            r#"{"project_id":"p","by":"operator"}"#,
        ),
        (created(Some("nick"), &about), "ProjectCreated", full),
        (
            ProjectEvent::ProjectDescribed(ProjectDescribed { by: agent(), about }),
            "ProjectDescribed",
            r#"{"by":"@nick.a","name":"P","description":"d","settings":{"a":1}}"#,
        ),
        (
            ProjectEvent::ProjectDescribed(ProjectDescribed { by: agent(), about: extended }),
            "ProjectDescribed",
            r#"{"by":"@nick.a","extensions":{"x-a":{"b":null}}}"#,
        ),
        (
            ProjectEvent::MemberSet(MemberSet { by: agent(), member: member(), role: Role::Reviewer }),
            "MemberSet",
            r#"{"by":"@nick.a","member":"@acme.*","role":"reviewer"}"#,
        ),
        (
            ProjectEvent::MemberRemoved(MemberRemoved { by: agent(), member: member() }),
            "MemberRemoved",
            r#"{"by":"@nick.a","member":"@acme.*"}"#,
        ),
        (
            ProjectEvent::ProjectArchived(ArchiveChange { by: agent(), at: None }),
            "ProjectArchived",
            r#"{"by":"@nick.a"}"#,
        ),
        (
            ProjectEvent::ProjectArchived(ArchiveChange { by: agent(), at: Some(TimestampMs(7)) }),
            "ProjectArchived",
            r#"{"by":"@nick.a","at":7}"#,
        ),
        (
            ProjectEvent::ProjectUnarchived(ArchiveChange { by: agent(), at: None }),
            "ProjectUnarchived",
            r#"{"by":"@nick.a"}"#,
        ),
    ];
    for (event, kind, envelope) in &forms {
        assert_frozen(event, kind, envelope, "");
    }
}

#[test]
fn sessions() {
    let started = SessionStarted {
        by: agent(),
        session_id: "sess_1".into(),
        actor_id: "nick".into(),
        actor_type: ActorType::Agent,
        callsign: "coral-heron".into(),
        started_at: moment("2026-04-18T20:00:00Z"),
        extensions: Extensions::default(),
    };
    let extended = SessionStarted { extensions: extensions(), ..started.clone() };
    let at = moment("2026-04-18T21:00:00Z");
    let envelope = concat!(
        r#"{"by":"@nick.a","session_id":"sess_1","actor_id":"nick","actor_type":"agent","#,
        r#""callsign":"coral-heron","started_at":"2026-04-18T20:00:00Z"}"#
    );
    let more = r#","extensions":{"x-a":{"b":null}}}"#;
    let envelope_more = envelope.replace("}", more);
    let ended = |extensions| SessionEnded { by: agent(), ended_at: at, extensions };
    let end = r#"{"by":"@nick.a","ended_at":"2026-04-18T21:00:00Z"}"#;
    let end_more = end.replace("}", more);
    let forms = [
        (SessionEvent::SessionStarted(started), "SessionStarted", envelope),
        (SessionEvent::SessionStarted(extended), "SessionStarted", &envelope_more),
        (SessionEvent::SessionEnded(ended(extensions())), "SessionEnded", &end_more),
        (SessionEvent::SessionEnded(ended(Extensions::default())), "SessionEnded", end),
    ];
    for (event, kind, envelope) in &forms {
        assert_frozen(event, kind, envelope, "");
    }
}
