//! Who may do what, for every operation and everybody, in an open project and in an archived one: AP-56, AP-57,
//! AP-71, AP-101, D.4, D.7.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, deposit, deposited, enc, facts_of, package, package_with, packages_of,
};

/// What kind of right an operation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Read,
    /// Deposits, assertions, retractions, sessions.
    Write,
    Flag,
    Review,
    /// The project's own words.
    Change,
    /// Sharing and archiving.
    Own,
}

use Right::{Change, Flag, Own, Read, Review, Write};

/// An operation: its right, method, path and body.
type Operation = (Right, &'static str, String, Option<Value>);

/// A project of `@host.bot` in which others have roles.
pub(super) struct Site {
    pub(super) server: Server,
    pub(super) owner: Caller,
    pub(super) host: Agent,
    session: String,
    count: u32,
}

impl Site {
    pub(super) async fn new() -> Self {
        let server = Server::start().await;
        let owner = server.owner("host").await;
        let host = server.agent("@host.bot").await;
        deposited(&host, &package_with(&host.handle, "draft", json!({"status": "draft"}))).await;
        assert_fact(&host, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
        let session = host.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
        let session = session["session_id"].as_str().expect("an id").to_owned();
        Self { server, owner, host, session, count: 0 }
    }

    pub(super) async fn share(&self, with: &str, role: &str) {
        let path = format!("/v1/projects/{PROJECT}/members/{with}");
        self.owner.put(&path, json!({ "role": role })).await.ok(200);
    }

    /// Things to act upon, made by the host; every operation on them once. `actor` is who signs.
    pub(super) async fn operations(&mut self, actor: &str) -> Vec<Operation> {
        self.count += 1;
        let id = format!("d{}", self.count);
        for id in [&id, &format!("f{id}"), &format!("r{id}")] {
            deposited(&self.host, &package_with(&self.host.handle, id, json!({"status": "draft"}))).await;
        }
        assert_fact(&self.host, json!({"subject": id, "predicate": "p", "value": "1"})).await;
        // By its owner's name, which means it for everybody.
        self.listed(&format!("host:{PROJECT}"), &id, actor)
    }

    /// The operations on a project by that name.
    pub(super) fn listed(&self, project: &str, id: &str, actor: &str) -> Vec<Operation> {
        let at = |rest: &str| format!("/v1/projects/{}{rest}", enc(project));
        let fact = json!({"subject": id, "predicate": "q", "value": "1"});
        let mine = package_with(actor, &format!("by-{id}"), json!({"project_id": project}));
        let of = |id: &str, rest: &str| format!("/v1/packages/{id}{rest}?project={}", enc(project));
        let session = format!("/sessions/{}", self.session);
        vec![
            (Read, "GET", at(""), None),
            (Read, "GET", at("/packages"), None),
            (Read, "GET", at("/packages?mode=latest&limit=3&status=draft"), None),
            (Read, "GET", at("/reviews"), None),
            (Read, "GET", at("/facts"), None),
            (Read, "GET", at("/facts?subject=s&include_ended=true"), None),
            (Read, "GET", at("/facts?as_of=2026-04-10T12:00:00Z"), None),
            (Read, "GET", at("/orient?window_days=3"), None),
            (Read, "GET", at("/sessions"), None),
            (Read, "GET", at(&session), None),
            (Read, "GET", format!("/v1/orchestrate?project={}", enc(project)), None),
            (Read, "GET", of("draft", ""), None),
            (Read, "GET", of("draft", "/reviews"), None),
            (Write, "POST", at("/packages"), Some(mine)),
            (Write, "POST", at("/facts"), Some(fact)),
            (Write, "DELETE", at(&format!("/facts?subject={id}&predicate=p")), None),
            (Write, "POST", at("/sessions"), Some(json!({}))),
            (Flag, "POST", of(&format!("f{id}"), "/flag"), Some(json!({"review_type": "human"}))),
            (Review, "POST", of(&format!("r{id}"), "/review"), Some(json!({"status": "complete"}))),
            (Change, "PATCH", at(""), Some(json!({"description": id}))),
            (Own, "PUT", at("/members/@third.bot"), Some(json!({"role": "reader"}))),
            (Own, "DELETE", at("/members/@third.bot"), None),
            (Own, "POST", at("/archive"), None),
            (Own, "POST", at("/unarchive"), None),
        ]
    }

    /// Asks everything.
    pub(super) async fn ask(who: &Caller, operations: Vec<Operation>) -> Vec<(Right, Response)> {
        let mut answers = Vec::new();
        for (right, method, path, body) in operations {
            answers.push((right, who.call(method, &path, &[], body.as_ref()).await));
        }
        answers
    }
}

/// Everybody of the matrix: who, whose name they sign with, their rights; `None` for who sees no project at all.
struct Part(&'static str, Caller, String, Option<&'static [Right]>);

async fn everybody(site: &Site) -> Vec<Part> {
    let mut parts = Vec::new();
    for (role, rights) in
        [("reader", &[Read][..]), ("writer", &[Read, Write, Flag]), ("reviewer", &[Read, Flag, Review])]
    {
        let handle = format!("@{role}.bot");
        let agent = site.server.agent(&handle).await;
        site.share(&handle, role).await;
        parts.push(Part(role, (*agent).clone(), handle, Some(rights)));
        // The owner of a member is none, and no more is its sibling.
        let sibling = site.server.agent(&format!("@{role}.other")).await;
        parts.push(Part("a member's sibling", (*sibling).clone(), sibling.handle.clone(), None));
    }
    let colleague = site.server.agent("@host.colleague").await;
    let near: &[Right] = &[Read, Write, Flag, Review, Change];
    parts.push(Part("an agent of the owner", (*colleague).clone(), colleague.handle.clone(), Some(near)));
    let all: &[Right] = &[Read, Write, Flag, Review, Change, Own];
    parts.push(Part("the owner", site.owner.clone(), "host".to_owned(), Some(all)));
    parts.push(Part("the operator", site.server.operator(), "jordan".to_owned(), Some(all)));
    let mallory = site.server.agent("@mallory.bot").await;
    parts.push(Part("a stranger", (*mallory).clone(), mallory.handle.clone(), None));
    let eve = site.server.owner("eve").await;
    parts.push(Part("another owner", eve, "eve".to_owned(), None));
    parts
}

/// AP-71, AP-101: every operation by everybody, and by nobody.
#[tokio::test]
async fn ap_71_101_everybody_does_what_they_may() {
    let mut site = Site::new().await;
    for Part(name, who, actor, rights) in everybody(&site).await {
        let operations = site.operations(&actor).await;
        for (right, response) in Site::ask(&who, operations).await {
            match rights {
                Some(rights) if rights.contains(&right) => {
                    assert!((200..300).contains(&response.status), "{name} may {right:?}: {response}");
                }
                Some(_) => response.assert_refused(403, "unauthorized"),
                None => {
                    response.assert_refused_any(404, &["project_not_found", "package_not_found"]);
                }
            }
        }
    }
    for who in [site.server.stranger(), site.server.bearer("pla_unknown"), site.server.bearer("")] {
        let operations = site.operations("@host.bot").await;
        for (_, response) in Site::ask(&who, operations).await {
            response.refusal_code(401);
            assert!(response.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer")));
        }
    }
}

/// AP-2, AP-56: archived, everybody reads as before and nobody writes; strangers learn nothing of it.
#[tokio::test]
async fn ap_56_an_archive_is_read_by_the_same() {
    let mut site = Site::new().await;
    let mut asked = Vec::new();
    for part in everybody(&site).await {
        let operations = site.operations(&part.2).await;
        asked.push((part, operations));
    }
    let first = package(&site.host.handle, "before");
    deposited(&site.host, &first).await;
    site.owner.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await.ok(200);
    let facts = format!("{}?include_ended=true", facts_of(PROJECT));
    let packages = format!("{}?limit=100", packages_of(PROJECT));
    let before = [site.host.get(&facts).await.text(), site.host.get(&packages).await.text()];
    for (Part(name, who, _, rights), operations) in asked {
        let operations: Vec<_> =
            operations.into_iter().filter(|(right, ..)| ![Own, Change].contains(right)).collect();
        for (right, response) in Site::ask(&who, operations).await {
            match rights {
                None => {
                    response.assert_refused_any(404, &["project_not_found", "package_not_found"]);
                }
                Some(_) if right == Read => assert_eq!(response.status, 200, "{name}: {response}"),
                Some(rights) if rights.contains(&right) => response.assert_refused(403, "project_archived"),
                Some(_) => response.assert_refused_any(403, &["project_archived", "unauthorized"]),
            }
        }
    }
    assert_eq!([site.host.get(&facts).await.text(), site.host.get(&packages).await.text()], before);
    assert_eq!(deposit(&site.host, &first).await.status, 200, "a repeat writes nothing");
    // Only the owner brings it back.
    let back = format!("/v1/projects/{PROJECT}/unarchive");
    site.host.post_empty(&back).await.assert_refused(403, "unauthorized");
    site.owner.post_empty(&back).await.ok(200);
    deposited(&site.host, &package(&site.host.handle, "after")).await;
}

/// D.4, D.7: to a stranger a project of others and one that nobody has are one answer: status, headers, bytes.
#[tokio::test]
async fn ap_101_foreign_and_unknown_are_one_answer() {
    let mut site = Site::new().await;
    site.operations("@host.bot").await;
    let mallory = site.server.agent("@mallory.bot").await;
    let eve = site.server.owner("eve").await;
    for (who, actor) in [(&*mallory, "@mallory.bot"), (&eve, "eve")] {
        // What would make the unknown project is left out: writing there is allowed.
        let asked = |project: &str| {
            let makes = |path: &str| path.ends_with("/packages") || path.ends_with("/facts");
            let mut all = site.listed(project, "d1", actor);
            all.retain(|(_, method, path, _)| *method != "POST" || !makes(path));
            all
        };
        let foreign = Site::ask(who, asked(PROJECT)).await;
        let unknown = Site::ask(who, asked("proj_not_there")).await;
        for ((_, foreign), (_, unknown)) in foreign.iter().zip(&unknown) {
            foreign.refusal_code(404);
            let told = unknown.fingerprint().replace("proj_not_there", PROJECT);
            assert_eq!(foreign.fingerprint(), told, "{foreign}\n{unknown}");
        }
    }
}
