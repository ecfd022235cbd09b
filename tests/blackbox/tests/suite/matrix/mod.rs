//! Who may do what: every operation of the description, asked by everybody. What is somebody else's cannot be told from
//! what does not exist, byte for byte (ASP-18, ASP-19, wire.md D.1, D.3, D.6, D.8).
//!
//! The description says which operations there are; `rows` says what each is about. An operation without a row fails.

mod rows;
mod world;

use std::collections::BTreeMap;

use blackbox::{Caller, Connection, PATIENCE, Response};
use tokio::time::timeout;

use self::{
    rows::{Row, Rule, Who, rows},
    world::{Thing, WHISPER, World},
};

/// Words that only whoever belongs to the owner may read.
const PRIVATE: &[&str] = &[WHISPER, "nick.one", "nick.two", "nick.three", "gnomes", "perch"];

/// One operation as it is served.
struct Route {
    method: String,
    path: String,
    wants_token: bool,
}

/// Operations by their ids.
async fn served(world: &World) -> BTreeMap<String, Route> {
    let document = world.server.stranger().get("/openapi.json").await.ok(200);
    let mut served = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let id = operation["operationId"].as_str().expect("an operation has an id").to_owned();
            let wants_token = operation["security"].as_array().is_none_or(|ways| !ways.is_empty());
            let route = Route { method: method.to_uppercase(), path: path.clone(), wants_token };
            assert!(served.insert(id, route).is_none(), "an id stands once");
        }
    }
    served
}

/// A body that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// As it should be.
    Right,
    /// An object without anything in it.
    Empty,
    /// No JSON.
    Broken,
}

/// A request of a row, for things that are there or not, by their order.
struct Request<'a> {
    row: &'a Row,
    route: &'a Route,
    real: Vec<bool>,
    sent: Sent,
}

impl Request<'_> {
    fn target(&self, world: &World) -> String {
        let mut target = format!("{}{}", self.route.path, self.row.query);
        for ((name, thing), is_real) in self.row.names.iter().zip(&self.real) {
            target = target.replace(&format!("{{{name}}}"), world.name(*thing, *is_real));
        }
        assert!(!target.contains('{'), "{}: the row says what {target} is about", self.row.id);
        target
    }

    /// Whether what the body names is there.
    fn is_real(&self) -> bool {
        self.real.first().copied().unwrap_or_default()
    }

    fn body(&self, who: Option<Who>) -> Option<String> {
        let body = self.row.body?;
        let sender = match who {
            Some(Who::Blocked) => "~eve",
            Some(Who::ForeignAgent | Who::ForeignOwner) => "~acme",
            _ => "~nick",
        };
        Some(match self.sent {
            Sent::Right => body(self.is_real()).to_string().replace("~sender", sender),
            Sent::Empty => "{}".to_owned(),
            Sent::Broken => "{\"a\":".to_owned(),
        })
    }

    /// Sends it and reads the answer; of a stream that was opened the head alone.
    async fn ask(&self, world: &World, caller: &Caller, who: Option<Who>, extra: &str) -> Response {
        let mut target = self.target(world);
        if !extra.is_empty() {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(extra);
        }
        let accept = [("Accept", "application/json, text/event-stream")];
        let body = self.body(who);
        let request =
            caller.request(&self.route.method, &target, &accept, body.as_deref().map(str::as_bytes));
        let asking = async {
            let mut connection = Connection::open(caller.address().place()).await?;
            connection.send(&request).await?;
            let mut head = connection.response_head().await?;
            head.request_line = format!("{} {target} {}", self.route.method, body.unwrap_or_default());
            let streams =
                head.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
            if streams { Ok(head) } else { connection.complete(head).await }
        };
        let answer: std::io::Result<_> = timeout(PATIENCE, asking).await.expect("an answer in time");
        answer.unwrap_or_else(|error| panic!("no answer to {target}: {error}"))
    }

    /// All that can be told from an answer, but the names that were asked for and ids that are new each time.
    fn seen(&self, world: &World, answer: &Response) -> String {
        let mut seen = answer.fingerprint();
        for ((_, thing), is_real) in self.row.names.iter().zip(&self.real) {
            let name = world.name(*thing, *is_real);
            // A short number or name stands in many places.
            if !matches!(thing, Thing::Sequence | Thing::Name) {
                seen = seen.replace(name, "NAME").replace(&name.replace("%3A", ":"), "NAME");
            }
        }
        without_request_ids(&seen)
    }
}

/// The answer to a request for contact has an id, whether or not there is anybody.
fn without_request_ids(text: &str) -> String {
    let mut parts = text.split("req_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
        format!("{seen}ID{rest}")
    })
}

/// Every row with its route, in the order of the rows.
fn routed<'a>(
    rows: &'a [Row],
    served: &'a BTreeMap<String, Route>,
) -> impl Iterator<Item = (&'a Row, &'a Route)> {
    rows.iter().filter_map(|row| Some((row, served.get(row.id)?)))
}

/// Each choice of what is there and what is not; the last one is nothing at all.
fn choices(row: &Row) -> Vec<Vec<bool>> {
    // A body names one thing too.
    let count = row.names.len().max(1);
    (0..1_u32 << count).rev().map(|bits| (0..count).map(|at| bits & (1 << at) != 0).collect()).collect()
}

/// A new operation has a row, and a row has its operation.
#[tokio::test]
async fn every_operation_has_a_row() {
    let world = World::make().await;
    let served = served(&world).await;
    let rows = rows();
    let listed: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    assert_eq!(listed.len(), rows.len(), "an operation has one row");
    let described: std::collections::BTreeSet<&str> = served.keys().map(String::as_str).collect();
    let differing: Vec<_> = described.symmetric_difference(&listed).collect();
    assert!(differing.is_empty(), "described or in `rows`, but not both: {differing:?}");
    for (row, route) in routed(&rows, &served) {
        assert_eq!(
            matches!(row.rule, Rule::Public),
            !route.wants_token,
            "{}: whether it wants a token",
            row.id
        );
    }
}

/// No token, a wrong one, one that was rotated or whose bearer is gone, a ticket that was used: 401 for whatever is asked,
/// and nothing of what there is.
#[tokio::test]
async fn what_is_no_token_opens_nothing() {
    let world = World::make().await;
    let (served, rows) = (served(&world).await, rows());
    let mut faults = Vec::new();
    for (row, route) in routed(&rows, &served).filter(|(_, route)| route.wants_token) {
        let mut dead: Vec<_> =
            world.dead().iter().map(|(what, caller)| (*what, caller.clone(), String::new())).collect();
        dead.push(("a used ticket", world.server.stranger(), format!("ticket={}", world.spent_ticket)));
        dead.push(("no token", world.server.stranger(), String::new()));
        for (what, caller, extra) in dead {
            let mut answers = Vec::new();
            for real in [true, false] {
                let request =
                    Request { row, route, real: vec![real; row.names.len().max(1)], sent: Sent::Right };
                let answer = request.ask(&world, &caller, None, &extra).await;
                let challenge =
                    answer.header("www-authenticate").is_some_and(|text| text.starts_with("Bearer"));
                if answer.status != 401 || !challenge {
                    faults.push(format!("{}, {what}: 401 with a challenge is wanted:{answer}", row.id));
                }
                answers.push(request.seen(&world, &answer));
            }
            if answers[0] != answers[1] {
                faults.push(format!(
                    "{}, {what}: what is there differs:\n{}\n{}",
                    row.id, answers[0], answers[1]
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// What belongs to others, and what does not exist: one answer, with a body that is right, wrong or broken.
#[tokio::test]
async fn foreign_and_absent_look_alike() {
    let world = World::make().await;
    let (served, rows) = (served(&world).await, rows());
    let mut faults = Vec::new();
    for (row, route) in routed(&rows, &served) {
        let (outsiders, status) = match row.rule {
            Rule::Hidden(outsiders) => (outsiders, None),
            Rule::HiddenAs(status, outsiders) => (outsiders, Some(status)),
            Rule::Public | Rule::OfAgents | Rule::OfBearers | Rule::Only(..) => continue,
        };
        // A body that names nothing is about nothing.
        let bodies: &[Sent] = match (row.body, row.names) {
            (None, _) | (Some(_), []) => &[Sent::Right],
            (Some(_), _) => &[Sent::Right, Sent::Empty, Sent::Broken],
        };
        for (who, sent) in outsiders.iter().flat_map(|who| bodies.iter().map(move |sent| (*who, *sent))) {
            let mut absent: Option<(String, Response)> = None;
            for real in choices(row).into_iter().rev() {
                let request = Request { row, route, real, sent };
                let answer = request.ask(&world, world.caller(who), Some(who), "").await;
                let seen = request.seen(&world, &answer);
                if status.is_some_and(|status| answer.status != status) {
                    faults.push(format!("{}, {who:?}: {status:?} is wanted:{answer}", row.id));
                }
                match &absent {
                    None => absent = Some((seen, answer)),
                    Some((wanted, other)) if *wanted != seen => {
                        faults.push(format!(
                            "{}, {who:?}, {sent:?}: what is there differs:{answer}\n{other}",
                            row.id
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// Nothing that belongs to others stands in any answer, of any operation.
#[tokio::test]
async fn nothing_of_others_is_shown() {
    let world = World::make().await;
    let (served, rows) = (served(&world).await, rows());
    let mut faults = Vec::new();
    let outsiders = [Who::ForeignAgent, Who::ForeignOwner, Who::Blocked];
    for (row, route) in routed(&rows, &served) {
        for (who, caller) in world.living().filter(|(who, _)| outsiders.contains(who)) {
            let request = Request { row, route, real: vec![true; row.names.len().max(1)], sent: Sent::Right };
            let answer = request.ask(&world, caller, Some(who), "").await;
            // What was asked for by name is known already.
            let seen = request.seen(&world, &answer);
            if let Some(word) = PRIVATE.iter().find(|word| seen.contains(**word)) {
                faults.push(format!("{}, {who:?}: {word:?} is shown:{answer}", row.id));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// An operation for some is refused to the others in the one way that its row says, and an agent's own is 401 for owners.
#[tokio::test]
async fn who_may_not_is_refused_in_one_way() {
    let world = World::make().await;
    let (served, rows) = (served(&world).await, rows());
    let mut faults = Vec::new();
    for (row, route) in routed(&rows, &served) {
        let (refused, status): (&[Who], u16) = match row.rule {
            Rule::Only(status, refused) => (refused, status),
            Rule::OfAgents => (&[Who::ForeignOwner, Who::Owner], 401),
            Rule::Public | Rule::OfBearers | Rule::Hidden(_) | Rule::HiddenAs(..) => continue,
        };
        let mut first: Option<String> = None;
        for who in refused {
            let request = Request { row, route, real: vec![true; row.names.len().max(1)], sent: Sent::Right };
            let answer = request.ask(&world, world.caller(*who), Some(*who), "").await;
            let seen = request.seen(&world, &answer);
            if answer.status != status || first.get_or_insert_with(|| seen.clone()) != &seen {
                faults.push(format!("{}, {who:?}: {status} is wanted, the same for all:{answer}", row.id));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// What the rows name is there: whoever it belongs to reads it. Otherwise nothing above would say anything.
#[tokio::test]
async fn what_the_rows_name_is_there() {
    let world = World::make().await;
    let (served, rows) = (served(&world).await, rows());
    let mut faults = Vec::new();
    let reads = |route: &Route| route.method == "GET";
    for (row, route) in routed(&rows, &served).filter(|(row, route)| reads(route) && !row.names.is_empty()) {
        let request = Request { row, route, real: vec![true; row.names.len()], sent: Sent::Right };
        let mut answers = Vec::new();
        for caller in [world.caller(Who::Own), world.caller(Who::Owner), &world.server.operator()] {
            answers.push(request.ask(&world, caller, Some(Who::Own), "").await);
        }
        // Only the agent itself attaches, and that is an upgrade. A link is nobody's but whose it was given to. An issuer
        // answers with a redirect. An accord and what is read under it need another network.
        let apart = [
            "run.attach",
            "request.tap",
            "console.sign_in_at",
            "console.signed_in_at",
            "link.read",
            "link.guest_read",
            "peer.read",
        ];
        let is_apart = apart.contains(&row.id);
        let is_there = |answer: &Response| answer.status == 200 || is_apart;
        if !answers.iter().any(is_there) {
            faults.push(format!("{}: nobody reads it:{}", row.id, answers[0]));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}
