//! Depositing twice, at the same time, after changes, and with parents: AP-9, AP-10, AP-53, AP-55, AP-83, AP-84.

use blackbox::rounds;
use futures_util::future::join_all;
use serde_json::json;

use super::speak::{
    PROJECT, assert_package, deposit, deposited, desk, latest, package, package_with, packages_of, pull,
};

/// AP-83: the same content again gives the package that is there.
#[tokio::test]
async fn ap_83_the_same_again_is_no_error() {
    let (mut server, nick) = desk().await;
    let first =
        package_with(&nick.handle, "one", json!({"significance": 5, "topic": null, "tags": ["a", "b"]}));
    deposited(&nick, &first).await;
    let mut shorter = first.clone();
    shorter.as_object_mut().expect("an object").remove("topic");
    for again in [&first, &shorter] {
        // Equal by the canonical form: what comes back is what was stored.
        assert_package(&deposit(&nick, again).await, 200, &first);
    }
    let text = shorter.to_string().replace(r#""significance":5"#, r#""significance":0.5e1,"x-null":null"#);
    assert_package(&nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await, 200, &first);
    server.crash().await;
    assert_package(&deposit(&nick, &first).await, 200, &first);
    assert_eq!(latest(&nick, "").await, [first], "it is there once");
}

/// AP-84: another content under a taken id is refused and changes nothing.
#[tokio::test]
async fn ap_55_84_another_content_is_refused() {
    let (_server, nick) = desk().await;
    let first = package_with(&nick.handle, "one", json!({"tags": ["a", "b"]}));
    deposited(&nick, &first).await;
    for change in [
        json!({"title": "another"}),
        json!({"status": "draft"}),
        json!({"review_type": "human"}),
        json!({"created_at": "2026-04-18T20:00:00+00:00"}),
        json!({"created_by": {"id": nick.handle, "type": "script"}}),
        json!({"tags": ["b", "a"]}),
        json!({"description": ""}),
        json!({"x-more": false}),
    ] {
        let other = package_with(&nick.handle, "one", json!({"tags": ["a", "b"]}));
        deposit(&nick, &super::speak::with(other, change)).await.assert_refused(409, "duplicate_package_id");
    }
    assert_eq!(pull(&nick, "one").await, first);
    // What is no package at all is told so first.
    let bad = package_with(&nick.handle, "one", json!({"title": ""}));
    deposit(&nick, &bad).await.assert_refused(400, "invalid_schema");
}

/// AP-83, AP-84: a server that has just started knows no package by heart. What was deposited before is there all the
/// same, whatever is sent at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_84_after_a_start_racing_deposits_find_what_is_there() {
    let (mut server, nick) = desk().await;
    let of =
        |id: &str, title: &str| package_with(&nick.handle, id, json!({"status": "draft", "title": title}));
    let ids: Vec<_> = (0..rounds(12, 4)).map(|number| format!("known{number}")).collect();
    for id in &ids {
        deposited(&nick, &of(id, "first")).await;
    }
    server.crash().await;
    for id in &ids {
        let path = format!("/v1/packages/{id}/flag");
        let flagged = nick.post(&path, json!({"review_type": "human"}));
        let sent = join_all((0..12).map(|number| {
            let (nick, package) = (&nick, of(id, if number % 2 == 0 { "first" } else { "another" }));
            async move { (number, deposit(nick, &package).await) }
        }));
        let (flagged, answers) = tokio::join!(flagged, sent);
        flagged.ok(200);
        for (number, answer) in answers {
            match number % 2 {
                0 => drop(answer.ok(200)),
                _ => answer.assert_refused(409, "duplicate_package_id"),
            }
        }
    }
    let unseen = join_all(ids.iter().map(|id| pull(&nick, id))).await;
    for package in unseen {
        assert_eq!((&package["title"], &package["status"]), (&json!("first"), &json!("awaiting_review")));
    }
    assert_eq!(latest(&nick, "&limit=50").await.len(), ids.len(), "each is there once");
}

/// AP-9: a correction is a new package, and the old one stays.
#[tokio::test]
async fn ap_9_a_correction_is_a_new_package() {
    let (_server, nick) = desk().await;
    let old = package(&nick.handle, "old");
    let new =
        package_with(&nick.handle, "new", json!({"parent_package_id": "old", "title": "Not quite shipped"}));
    deposited(&nick, &old).await;
    deposited(&nick, &new).await;
    assert_eq!((pull(&nick, "old").await, pull(&nick, "new").await), (old, new));
}

/// AP-10: two children of one parent are siblings, also when they come together, also before their parent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_10_siblings_are_no_conflict() {
    let (_server, nick) = desk().await;
    let child = |number: usize| {
        package_with(&nick.handle, &format!("child{number}"), json!({"parent_package_id": "parent"}))
    };
    deposited(&nick, &child(0)).await;
    deposited(&nick, &package(&nick.handle, "parent")).await;
    join_all((1..10).map(|number| {
        let (nick, package) = (&nick, child(number));
        async move { deposited(nick, &package).await }
    }))
    .await;
    let all = latest(&nick, "&limit=50").await;
    assert_eq!(all.len(), 11);
    for number in 0..10 {
        assert!(all.contains(&child(number)));
    }
}

/// AP-5, AP-102: a parent in another project is not refused.
#[tokio::test]
async fn ap_5_102_links_to_other_projects_are_not_refused() {
    let (_server, nick) = desk().await;
    let elsewhere = package_with(&nick.handle, "parent", json!({"project_id": "elsewhere"}));
    deposited(&nick, &elsewhere).await;
    deposited(&nick, &package_with(&nick.handle, "child", json!({"parent_package_id": "parent"}))).await;
}
