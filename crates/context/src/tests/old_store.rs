//! A store from before owners had namespaces of project ids: its streams and rows begin with the id alone, and remain
//! valid. Written here in the old form.

use std::sync::Arc;

use plenary_accounts::{Accounts, Actor, TokenDigest};
use plenary_engine::{Room, SystemClock};
use plenary_kernel::{Clock, OwnerName, TimestampMs};
use plenary_log::{Batch, Log, NewEvent, StreamName, open_memory};
use serde_json::json;

use crate::{
    Config, Context, Failure,
    access::Role,
    package::{event::PackageDeposited, event::PackageEvent, room::PackageRoom},
    package_reader::PackageQuery,
    project::{
        event::{MemberSet, ProjectCreated, ProjectDescription, ProjectEvent},
        room::ProjectRoom,
    },
    project_names::ResolvedProject,
    rejection::Rejection,
    schema::Package,
};

fn created(id: &str, owner: Option<&str>) -> ProjectEvent {
    ProjectEvent::ProjectCreated(ProjectCreated {
        project_id: id.to_owned(),
        by: Actor::Operator,
        owner: owner.map(|owner| owner.parse().unwrap()),
        made_at: None,
        about: ProjectDescription::default(),
    })
}

async fn write<R: Room>(log: &Log, id: &str, events: &[R::Event]) {
    let written: Vec<(StreamName, NewEvent)> =
        events.iter().map(|event| (R::stream(id), R::encode(event))).collect();
    let index = events.iter().flat_map(|event| R::index(id, event)).collect();
    log.append(Batch { events: written, index, at: TimestampMs(1_000), ..Batch::default() }).await.unwrap();
}

async fn put(log: &Log, project: &str, id: &str) {
    let text = json!({
        "package_id": id, "project_id": project, "relay_version": "0.1", "title": "t", "status": "complete",
        "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
        "created_by": {"id": "nick", "type": "agent"},
    });
    let Package { head, raw, hash } = Package::read(&text.to_string()).unwrap();
    let event = PackageEvent::PackageDeposited(PackageDeposited {
        by: Actor::Operator,
        package_id: head.package_id,
        hash,
        status: head.status,
        review_type: head.review_type,
        package_type: head.package_type,
        created_at: head.created_at,
        created_by: head.created_by,
        parent: None,
        asks: false,
        at: None,
        renamed_from: None,
        origin_hash: None,
        imported_by: None,
        trace: None,
        raw,
    });
    write::<PackageRoom>(log, &format!("{project}/{id}"), &[event]).await;
}

async fn old_store() -> Context {
    let opened = open_memory();
    let log = opened.log;
    let shared = ProjectEvent::MemberSet(MemberSet {
        by: Actor::Operator,
        member: "@acme.*".parse().unwrap(),
        role: Role::Writer,
    });
    write::<ProjectRoom>(&log, "parser", &[created("parser", Some("nick")), shared]).await;
    put(&log, "parser", "old").await;
    write::<ProjectRoom>(&log, "own", &[created("own", None)]).await;
    write::<ProjectRoom>(&log, "urn%3Ax", &[created("urn:x", Some("nick"))]).await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo_x"));
    let index = plenary_retrieval_sqlite::open_memory().unwrap();
    Context::new(log, clock, accounts, index, None, Config::default())
}

#[tokio::test]
async fn ap_1_projects_of_an_old_store_are_where_they_were() {
    let context = old_store().await;
    let by = |text: &str| text.parse::<Actor>().unwrap();
    for (actor, name, key) in [
        ("@nick.a", "parser", "parser"),
        ("~nick", "nick:parser", "parser"),
        ("@acme.w", "parser", "parser"),
        ("@acme.w", "nick:parser", "parser"),
        ("operator", "parser", "parser"),
        ("operator", "own", "own"),
        ("operator", "plenary:own", "own"),
        ("@nick.a", "urn:x", "urn%3Ax"),
        ("operator", "urn:x", "urn%3Ax"),
        ("operator", "nick:urn:x", "urn%3Ax"),
    ] {
        let ResolvedProject { key: found, state, .. } = context.place(&by(actor), name, None).await.unwrap();
        assert_eq!((found.as_str(), state.exists()), (key, true), "{actor} {name}");
    }
    let page = context.list("parser", &PackageQuery::default(), 9).await.unwrap();
    assert_eq!(page.packages.len(), 1);
    assert_eq!(context.locate("old", None, &by("@acme.w")).await.unwrap(), "parser/old");
    assert_eq!(context.visible(&by("@acme.w"), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn ap_1_what_is_made_beside_an_old_project_is_another_one() {
    let context = old_store().await;
    let ann: Actor = "@ann.a".parse().unwrap();
    let place = context.place(&ann, "parser", None).await.unwrap();
    assert_eq!((place.key.as_str(), place.state.exists()), ("parser:ann", false));
    write::<ProjectRoom>(context.log(), &place.key, &[created("parser", Some("ann"))]).await;
    context.catch_up(context.projects(), &place.key).await.unwrap();
    let place = context.place(&ann, "parser", None).await.unwrap();
    assert_eq!((place.key.as_str(), place.state.exists()), ("parser:ann", true));
    let of_operator = context.place(&Actor::Operator, "parser", None).await;
    assert!(matches!(of_operator, Err(Failure::Rejected(Rejection::AmbiguousProjectId))));
    let nick: OwnerName = "nick".parse().unwrap();
    assert_eq!(context.place_of(&nick, "parser").await.unwrap().key, "parser");
    let foreign = context.place(&ann, "nick:parser", None).await;
    assert!(matches!(foreign, Err(Failure::Rejected(Rejection::ProjectNotFound))));
}
