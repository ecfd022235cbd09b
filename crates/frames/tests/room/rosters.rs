//! Who is subscribed, and who may know (FO-86, FO-93).

use serde_json::json;

use crate::house::{House, OPERATOR};

#[tokio::test]
async fn fo_93_a_roster_is_who_is_subscribed_now() {
    let house = House::new();
    let token = house.agent("@nick.cc-laptop", "open").await;
    assert!(house.rostered(&token, "~nick").await.is_empty());
    let first = house.open(&token, "~nick/stream?session_id=s1").await;
    let second = house.open(&token, "~nick/stream?instrument=codex&tool=x&filter=kind:agent_query").await;
    assert_eq!(second.headers["x-agent-instrument"], "codex");
    assert_eq!(second.headers["x-agent-tool"], "x");
    let id = second.headers["x-agent-session"].to_str().unwrap().to_owned();
    assert!(!id.is_empty(), "the server makes one");
    let mut roster = house.rostered(&token, "~nick").await;
    for entry in &mut roster {
        let started = entry.as_object_mut().unwrap().remove("started_at").unwrap();
        assert!(plenary_kernel::rfc3339::parse(started.as_str().unwrap()).is_some());
    }
    roster.sort_by_key(|entry| entry["instrument"].to_string());
    let entry = |instrument: &str, tool: &str, id: &str| json!({"handle": "~nick", "agent": "@nick.cc-laptop", "instrument": instrument, "tool": tool, "session_id": id});
    assert_eq!(roster, [entry("cc-laptop", "cc", "s1"), entry("codex", "x", &id)]);
    drop(first);
    assert_eq!(house.rostered(&token, "~nick").await.len(), 1);
}

#[tokio::test]
async fn fo_86_a_roster_is_for_the_handles_own_its_owner_and_the_operator() {
    let house = House::new();
    let owner = house.post(OPERATOR, "/_admin/owners", &json!({"owner": "nick"})).await.ok(201);
    let owner = owner["token"].as_str().unwrap();
    let nick = house.agent("@nick.a", "open").await;
    let alice = house.agent("@alice.a", "open").await;
    for token in [owner, &nick, OPERATOR] {
        house.rostered(token, "~nick").await;
    }
    let mut answers = Vec::new();
    for (token, handle) in [(&*alice, "~nick"), (owner, "~alice"), (&alice, "~nobody"), (OPERATOR, "~nobody")]
    {
        let answer = house.get(token, &format!("/handles/{handle}/roster")).await;
        answer.refused(403, "scope-unauthorised", "-");
        answers.push(answer.body);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    house.get("", "/handles/~nick/roster").await.refused(401, "unauthenticated", "-");
    house.get(&nick, "/handles/@nick.a/roster").await.refused(400, "field-invalid", "handle");
}
