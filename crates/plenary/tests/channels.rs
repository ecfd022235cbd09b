//! A handoff against a server whose answers are chosen: what only a race brings about.

mod stage;

use stage::{Home, Server};

fn state(id: u64, author: &str, payload: &str) -> String {
    format!(
        r#"{{"id":{id},"channel_id":"VHGC","kind":"state","author":"{author}","via":null,"payload":{payload},
            "created_at":"2026-11-21T10:00:00Z"}}"#
    )
}

/// CH-33: nothing is refused, but a state that came in between, and would be lost, is told.
#[test]
fn ch_33_a_state_that_came_in_between_is_told() {
    let home = Home::new("between");
    let basis = format!("[{}]", state(5, "@nick.ann", r#"{"colour":1.10}"#));
    let posted = state(9, "@nick.ann", "{}");
    let other = format!("[{}]", state(7, "@acme.bob", "{}"));
    let env = [("PLENARY_TOKEN", "agt_x"), ("PLENARY_AS", "@nick.ann")];
    let handoff = |answers: &[(&str, &str)]| {
        let server = Server::answering(answers);
        let mut command = home.plenary(&server.url);
        let args = ["channel", "handoff", "vhgc", "@acme.bob", "--expect", "review"];
        let ran = stage::Ran::new(command.envs(env).args(args).output().expect("it runs"));
        (ran, server.requests())
    };
    let (ran, requests) = handoff(&[("200 OK", &basis), ("200 OK", &posted), ("200 OK", &other)]);
    assert!(ran.code == 0 && ran.out.starts_with("#9 held by @acme.bob"), "{ran:?}");
    assert!(ran.err.contains("@acme.bob posted a state in between, #7"), "{ran:?}");
    let lines: Vec<&str> = requests.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "GET /agent-channel/VHGC/events?kind=state&limit=1",
            "POST /agent-channel/VHGC/event",
            "GET /agent-channel/VHGC/events?kind=state&limit=1&before_id=9",
        ]
    );
    assert!(requests[1].body.contains(r#""colour":1.10"#), "{}", requests[1].body);
    assert!(requests[1].head.to_lowercase().contains("idempotency-key: "), "{}", requests[1].head);
    let (calm, _) = handoff(&[("200 OK", &basis), ("200 OK", &posted), ("200 OK", &basis)]);
    assert!(calm.code == 0 && calm.err.is_empty(), "{calm:?}");
    let (unseen, _) = handoff(&[("200 OK", &basis), ("200 OK", &posted), ("500 Oops", "")]);
    assert!(
        unseen.code == 0 && unseen.err.contains("could not check"),
        "what is posted is posted: {unseen:?}"
    );
}
