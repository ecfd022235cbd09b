//! Live events against reads, which the server must declare as `realtime`: whoever follows a project, however often the
//! connection is lost, and puts together what was told, has exactly what the server shows: AP-78, D.7.

use std::collections::BTreeMap;

use blackbox::{Agent, Connection, PATIENCE, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::descriptor::declares;
use super::factmodel::{Dice, Seed};
use super::speak::{PROJECT, assert_fact, deposit, desk, enc, facts_of, list, package_at, package_with};

const CLIENTS: usize = 5;

/// A stream of server-sent events, and the last id that came on it.
struct Feed {
    wire: Connection,
    chunked: bool,
    text: String,
}

impl Feed {
    async fn open(nick: &Agent, last: u64, by_header: bool) -> Self {
        let path = format!("/v1/projects/{PROJECT}/events");
        let id = last.to_string();
        let request = if by_header {
            nick.request("GET", &path, &[("Last-Event-ID", &id)], None)
        } else {
            nick.request("GET", &format!("{path}?after={id}"), &[], None)
        };
        let mut wire = Connection::open(nick.address().place()).await.expect("a connection");
        wire.send(&request).await.expect("the request goes out");
        let head = wire.response_head().await.expect("a head");
        assert_eq!(head.status, 200, "{head}");
        let kind = head.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("text/event-stream"), "{head}");
        Self { wire, chunked: head.is_chunked(), text: String::new() }
    }

    /// The next event with its id.
    async fn next(&mut self) -> (u64, Value) {
        loop {
            let Some((block, rest)) = self.text.split_once("\n\n") else {
                let part = tokio::time::timeout(PATIENCE, self.wire.part(self.chunked)).await;
                let part = part.expect("something in time").expect("an open stream").expect("no end");
                self.text.push_str(std::str::from_utf8(&part).expect("whole characters"));
                continue;
            };
            let field = |name: &str| {
                let lines = block.lines().filter_map(|line| line.split_once(": "));
                lines
                    .filter(|(found, _)| *found == name)
                    .map(|(_, value)| value.to_owned())
                    .collect::<Vec<_>>()
            };
            let (ids, data, kinds) = (field("id"), field("data"), field("event"));
            self.text = rest.to_owned();
            let (Some(id), [data]) = (ids.first(), &data[..]) else { continue };
            let event: Value = serde_json::from_str(data).expect("one line of JSON");
            assert_eq!(event["type"], json!(kinds.first()), "{event}");
            return (id.parse().expect("a decimal"), event);
        }
    }
}

/// What the events say there is.
#[derive(Default)]
struct Picture {
    last: u64,
    packages: BTreeMap<String, Value>,
    facts: BTreeMap<String, Value>,
    sessions: BTreeMap<String, Value>,
}

impl Picture {
    fn take(&mut self, id: u64, event: &Value) {
        assert_eq!(id, self.last + 1, "neither gap nor repeat: {event}");
        self.last = id;
        assert_eq!(event["project_id"], PROJECT, "{event}");
        super::speak::instant(&event["at"]);
        for (name, key, store) in [
            ("package", "package_id", &mut self.packages),
            ("fact", "fact_id", &mut self.facts),
            ("session", "session_id", &mut self.sessions),
        ] {
            if let Some(value) = event.get(name) {
                store.insert(value[key].as_str().expect("an id").to_owned(), value.clone());
            }
        }
    }
}

/// Follows until the fact of that subject comes; drops the connection now and then.
async fn follow(nick: &Agent, dice: &mut Dice, picture: &mut Picture, fence: &str) {
    let mut feed = Feed::open(nick, picture.last, dice.percent(50)).await;
    loop {
        let (id, event) = feed.next().await;
        picture.take(id, &event);
        if event["type"] == "fact.asserted" && event["fact"]["subject"] == fence {
            return;
        }
        if dice.percent(5) {
            feed = Feed::open(nick, picture.last, dice.percent(50)).await;
        }
    }
}

/// One client's random doings, some of which are refused.
async fn act(nick: &Agent, dice: &mut Dice, name: &str, steps: usize) {
    for step in 0..steps {
        let id = format!("{name}-{}", dice.below(step + 1));
        let subject = format!("s{}", dice.below(3));
        match dice.below(8) {
            0..3 => {
                let status = dice.pick(&["draft", "awaiting_review", "complete"]);
                let members = json!({"status": status, "x-n": 1.50, "description": "é\n\n\u{2028} data: x"});
                deposit(nick, &package_with(&nick.handle, &format!("{name}-{step}"), members)).await;
            }
            3 => {
                nick.post(&format!("{}/flag", package_at(&id)), json!({"review_type": "human"})).await;
            }
            4 => {
                let body = json!({"status": dice.pick(&["complete", "revision_requested"]), "note": "n"});
                nick.post(&format!("{}/review", package_at(&id)), body).await;
            }
            5 | 6 => {
                assert_fact(nick, json!({"subject": subject, "predicate": "p", "value": id})).await;
            }
            _ if step % 7 == 0 => {
                nick.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
            }
            _ => {
                let path = format!("{}?subject={subject}&predicate=p", facts_of(PROJECT));
                nick.delete(&path).await.ok(200);
            }
        }
    }
}

async fn compare(nick: &Agent, picture: &Picture) {
    for (id, told) in &picture.packages {
        assert_eq!(nick.get(&package_at(id)).await.ok(200), *told, "{id}");
    }
    let path = format!("/v1/projects/{PROJECT}");
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let page = nick.get(&format!("{path}/packages?limit=50{cursor}")).await.ok(200);
        count += list(&page, "packages").len();
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={}", enc(next));
    }
    assert_eq!(count, picture.packages.len(), "every package was told of");
    let mut facts = list(&nick.get(&format!("{path}/facts?include_ended=true")).await.ok(200), "facts");
    facts.sort_by_key(|fact| fact["fact_id"].to_string());
    assert_eq!(facts, picture.facts.values().cloned().collect::<Vec<_>>());
    let sessions = list(&nick.get(&format!("{path}/sessions?limit=100")).await.ok(200), "sessions");
    assert_eq!(sessions.len(), picture.sessions.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_78_what_was_told_is_what_is_there() {
    let seed = Seed::choose();
    let (mut server, nick) = desk().await;
    assert!(declares(&nick, "realtime").await, "AP-78");
    let mut dice = Dice::new(seed.0);
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    let mut picture = Picture::default();
    for phase in 0..2 {
        let fence = format!("fence {phase}");
        let mut own: Vec<_> = (0..CLIENTS).map(|_| Dice::new(dice.next())).collect();
        let acting = async {
            let acts = own.iter_mut().enumerate().map(|(number, own)| {
                let name = format!("p{phase}c{number}");
                let nick = &nick;
                async move { act(nick, own, &name, rounds(60, 20)).await }
            });
            join_all(acts).await;
            assert_fact(&nick, json!({"subject": fence, "predicate": "p", "value": "1"})).await;
        };
        tokio::join!(acting, follow(&nick, &mut dice, &mut picture, &fence));
        compare(&nick, &picture).await;
        server.crash().await;
    }
    // From the beginning again: the same.
    let mut again = Picture::default();
    follow(&nick, &mut dice, &mut again, "fence 1").await;
    assert_eq!(
        (again.last, &again.facts, &again.packages),
        (picture.last, &picture.facts, &picture.packages)
    );
}
