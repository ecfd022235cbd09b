//! Two servers that import from each other: they end with the same facts and packages whichever begins, and however often
//! it is repeated (AP-41, AP-47, AP-75, AP-83; D.4, D.7).
//! Must not know: how a record is merged.

use blackbox::{Caller, Server};
use serde_json::{Value, json};

use super::speak::{PROJECT, assert_fact, deposited, facts, latest, package_with, texts};

const MODES: [&str; 3] = ["skip", "overwrite", "rename"];

/// What one server exports goes into the other one; the report.
async fn bring(from: &Server, to: &Server, mode: &str) -> Value {
    let exported = from.operator().get("/v1/export").await;
    let path = format!("/v1/import?conflict={mode}");
    let report = to.operator().post_raw(&path, exported.text().as_bytes()).await.ok(200);
    assert_eq!((&report["refused_count"], &report["complete"]), (&json!(0), &json!(true)), "{report}");
    report
}

/// Nothing was there to be taken.
#[track_caller]
fn is_quiet(report: &Value) {
    for name in ["imported", "overwritten", "renamed"] {
        assert_eq!(report[name], 0, "{name}: {report}");
    }
}

/// A line of an import: a fact of one subject and predicate.
fn fact(id: &str, from: &str, to: Option<&str>) -> String {
    let fact = json!({
        "fact_id": id, "project_id": PROJECT, "subject": "s", "predicate": "is", "value": id,
        "valid_from": from, "valid_to": to, "created_at": from,
        "asserted_by": {"id": "nick", "type": "agent"},
    });
    format!("{}\n", json!({"record": "fact", "project": format!("nick:{PROJECT}"), "data": fact}))
}

async fn take(server: &Server, lines: &[String]) {
    let report = server.operator().post_raw("/v1/import", lines.concat().as_bytes()).await.ok(200);
    assert_eq!(report["imported"], lines.len(), "{report}");
}

/// Everything that a reader is shown of the facts: now, ever, and at some moments.
async fn shown(server: &Server) -> Vec<Vec<Value>> {
    let operator = server.operator();
    let mut shown = vec![facts(&operator, "").await, facts(&operator, "include_ended=true").await];
    for day in ["01", "02", "03", "04", "05", "06", "07", "08"] {
        shown.push(facts(&operator, &format!("as_of=2026-04-{day}T12:00:00Z")).await);
    }
    shown
}

fn current(shown: &[Vec<Value>]) -> Vec<String> {
    texts(&shown[0], "value")
}

async fn two() -> (Server, Server, Caller, Caller) {
    let (one, two) = (Server::start().await, Server::start().await);
    let nicks = (one.agent("@nick.here").await, two.agent("@nick.there").await);
    (one, two, (*nicks.0).clone(), (*nicks.1).clone())
}

/// AP-47, AP-75: both asserted the same subject and predicate; the later one is current, the other ends where it begins,
/// and both are kept with whoever asserted them.
#[tokio::test]
async fn ap_75_two_servers_that_both_asserted_agree() {
    for first in [false, true] {
        for mode in MODES {
            let (one, two, here, there) = two().await;
            // Of two that begin at the same moment the greater id would be current.
            let said = |value: &str, second: u8| {
                let from = format!("2026-04-01T00:00:{second:02}Z");
                json!({"subject": "s", "predicate": "is", "value": value, "valid_from": from})
            };
            assert_fact(&here, said("here", 1)).await;
            assert_fact(&there, said("there", 2)).await;
            let (a, b) = if first { (&one, &two) } else { (&two, &one) };
            bring(a, b, mode).await;
            bring(b, a, mode).await;
            let (seen, same) = (shown(&one).await, shown(&two).await);
            assert_eq!(seen, same, "{mode}");
            assert_eq!(current(&seen), ["there"]);
            let [earlier, later] = &seen[1][..] else { panic!("both are kept: {seen:?}") };
            assert_eq!((&earlier["value"], &earlier["valid_to"]), (&json!("here"), &later["valid_from"]));
            assert_eq!(earlier["asserted_by"]["id"], "@nick.here");
            assert_eq!(
                (&later["asserted_by"]["id"], &later["valid_to"]),
                (&json!("@nick.there"), &Value::Null)
            );
            for (from, to) in [(&one, &two), (&two, &one), (&one, &two)] {
                is_quiet(&bring(from, to, mode).await);
            }
            // What is asserted next supersedes it on either.
            assert_fact(&here, json!({"subject": "s", "predicate": "is", "value": "next"})).await;
            bring(&one, &two, mode).await;
            assert_eq!(current(&shown(&two).await), ["next"]);
            assert_eq!(shown(&one).await, shown(&two).await);
        }
    }
}

/// AP-75: of two that begin at the same moment the greater id is current, on both; histories that overlap are laid into
/// one another; the earliest end that either knows holds.
#[tokio::test]
async fn ap_75_histories_that_overlap_become_one() {
    let day = |day: u8| format!("2026-04-{day:02}T00:00:00Z");
    for first in [false, true] {
        let (one, two, ..) = two().await;
        let ended = |id, from, to| fact(id, &day(from), Some(&day(to)));
        take(&one, &[ended("a", 1, 5), fact("c", &day(7), None)]).await;
        take(&two, &[ended("b", 3, 6), fact("d", &day(7), None)]).await;
        let (a, b) = if first { (&one, &two) } else { (&two, &one) };
        for (from, to, mode) in [(a, b, "skip"), (b, a, "overwrite"), (a, b, "rename")] {
            bring(from, to, mode).await;
        }
        let (seen, same) = (shown(&one).await, shown(&two).await);
        assert_eq!(seen, same);
        assert_eq!(current(&seen), ["d"]);
        let told: Vec<_> =
            seen[1].iter().map(|fact| (fact["value"].clone(), fact["valid_to"].clone())).collect();
        let expected = [("a", json!(day(3))), ("b", json!(day(6))), ("d", Value::Null), ("c", json!(day(7)))];
        assert_eq!(told, expected.map(|(id, end)| (json!(id), end)));
        let at: Vec<_> = seen[2..].iter().map(|facts| texts(facts, "value").concat()).collect();
        assert_eq!(at, ["a", "a", "b", "b", "b", "", "d", "d"]);
        for (from, to) in [(&one, &two), (&two, &one)] {
            is_quiet(&bring(from, to, "overwrite").await);
        }
    }
}

/// The packages of a server: by id, what each says and what it continues.
async fn packages(server: &Server) -> Vec<(String, String, Value)> {
    let found = latest(&server.operator(), "&limit=100").await;
    let text = |package: &Value, name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let mut told: Vec<_> = found
        .iter()
        .map(|package| {
            (text(package, "package_id"), text(package, "title"), package["parent_package_id"].clone())
        })
        .collect();
    told.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    told
}

/// D.4: an id that is taken on either server; what was renamed on the way is known when it comes back, with everything
/// that refers to it, and repeating changes nothing.
#[tokio::test]
async fn ap_83_renaming_both_ways_comes_to_rest() {
    let (one, two, here, there) = two().await;
    let deposit = async |who: &Caller, id: &str, title: &str, parent: Option<&str>, minute: u8| {
        let by = if title.ends_with(" here") { "@nick.here" } else { "@nick.there" };
        let at = format!("2026-04-18T20:{minute:02}:00Z");
        let members = json!({"title": title, "parent_package_id": parent, "created_at": at});
        deposited(who, &package_with(by, id, members)).await;
    };
    for (who, place) in [(&here, "here"), (&there, "there")] {
        deposit(who, "clash", &format!("clash {place}"), None, 0).await;
        deposit(who, &format!("child-{place}"), &format!("child {place}"), Some("clash"), 1).await;
        deposit(who, "below", &format!("below {place}"), Some("clash"), 2).await;
        deposit(who, &format!("leaf-{place}"), &format!("leaf {place}"), Some("below"), 3).await;
        let fact = json!({"subject": place, "predicate": "is", "value": "v", "source_package_id": "below"});
        assert_fact(who, fact).await;
    }
    for (from, to) in [(&one, &two), (&two, &one)] {
        let report = bring(from, to, "rename").await;
        assert_eq!(report["renamed"], 2, "{report}");
        // Two of its own children; those of the clash are the clash's, whatever it is called.
        assert_eq!(packages(to).await.len(), 8, "{report}");
    }
    let (before, seen) = (packages(&one).await, packages(&two).await);
    let titles = |found: &[(String, String, Value)]| {
        let mut titles: Vec<_> = found.iter().map(|(_, title, _)| title.clone()).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(&before), titles(&seen), "each has all, and all once");
    // Each child is below the same one on both, whatever that is called.
    let below = |found: &[(String, String, Value)]| {
        let title = |id: &Value| {
            found.iter().find(|(found, ..)| json!(found) == *id).map(|(_, title, _)| title.clone())
        };
        let mut below: Vec<_> = found.iter().map(|(_, of, parent)| (of.clone(), title(parent))).collect();
        below.sort();
        below
    };
    assert_eq!(below(&before), below(&seen));
    for _ in 0..2 {
        for (from, to) in [(&one, &two), (&two, &one)] {
            is_quiet(&bring(from, to, "rename").await);
        }
    }
    assert_eq!((packages(&one).await, packages(&two).await), (before, seen));
    // A later child of what was renamed comes back below the one that it was made of.
    let renamed =
        packages(&two).await.into_iter().find(|(_, title, _)| title == "clash here").expect("it is there");
    deposit(&there, "late", "late there", Some(&renamed.0), 4).await;
    bring(&two, &one, "rename").await;
    let late = packages(&one).await.into_iter().find(|(id, ..)| id == "late").expect("it came");
    assert_eq!(late.2, "clash");
    for (from, to) in [(&one, &two), (&two, &one)] {
        is_quiet(&bring(from, to, "rename").await);
    }
}

/// A package that goes on after it was brought over is no other package: no mode gives it another id.
#[tokio::test]
async fn ap_83_a_package_that_goes_on_is_not_renamed() {
    let (one, two, here, _) = two().await;
    deposited(&here, &package_with("@nick.here", "draft", json!({"status": "draft"}))).await;
    bring(&one, &two, "rename").await;
    here.post("/v1/packages/draft/flag", json!({"review_type": "human"})).await.ok(200);
    let report = bring(&one, &two, "rename").await;
    is_quiet(&report);
    assert_eq!(report["conflicts"], 1, "it is left out and counted: {report}");
    assert_eq!(packages(&two).await.len(), 1);
    let report = bring(&one, &two, "overwrite").await;
    assert_eq!(report["overwritten"], 1, "{report}");
    is_quiet(&bring(&two, &one, "rename").await);
}
