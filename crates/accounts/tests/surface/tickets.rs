//! `POST /auth/ticket`, and what `/connect` takes in place of a header (wire.md D.1).

use plenary_accounts::limits::TICKETS_PER_AGENT_MAX;

use crate::house::House;

async fn ticket(house: &House, token: &str) -> String {
    let reply = house.post(token, "/auth/ticket", "").await.ok(200);
    assert_eq!(reply["expires_in"], 30);
    reply["ticket"].as_str().unwrap().to_owned()
}

async fn connect(house: &House, query: &str) -> (u16, String) {
    let answer = house.get("", &format!("/connect?{query}")).await;
    if answer.status != 200 {
        answer.refused(
            401,
            if query.contains('=') { "invalid_authorization" } else { "missing_authorization" },
        );
        return (answer.status.as_u16(), String::new());
    }
    (200, answer.body)
}

#[tokio::test]
async fn a_ticket_opens_one_connection_in_any_process() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let first = ticket(&house, &alice).await;
    assert!(
        first.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        "needs no escaping: {first}"
    );
    let second = ticket(&house, &alice).await;
    assert_eq!(connect(&house.neighbour(), &format!("ticket={first}")).await, (200, "@alice.bot".into()));
    assert_eq!(connect(&house, &format!("ticket={first}")).await.0, 401);
    assert_eq!(connect(&house, &format!("events=flat&ticket={second}")).await.0, 200);
}

#[tokio::test]
async fn what_is_no_ticket_opens_nothing() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let ticket = ticket(&house, &alice).await;
    let of_another = ticket.replace("alice", "bob");
    for query in ["", "ticket=", "ticket=nonsense", "ticket=plt_00.alice.bot", "ticket=%FF", "token=x"] {
        assert_eq!(connect(&house, query).await.0, 401, "{query}");
    }
    assert_eq!(connect(&house, &format!("ticket={of_another}")).await.0, 401);
    assert_eq!(connect(&house, &format!("ticket={ticket}&token={alice}")).await.0, 401);
    assert_eq!(connect(&house, &format!("ticket={ticket}")).await.0, 200);
    house.get("", &format!("/agents/me?ticket={ticket}")).await.refused(401, "missing_authorization");
}

#[tokio::test]
async fn a_ticket_that_is_used_twice_at_once_opens_one_connection() {
    let house = House::new();
    let other = house.neighbour();
    let alice = house.agent("@alice.bot", "").await;
    for _ in 0..50 {
        let query = format!("ticket={}", ticket(&house, &alice).await);
        let (one, two) = tokio::join!(connect(&house, &query), connect(&other, &query));
        assert_eq!(one.0 + two.0, 200 + 401);
    }
}

#[tokio::test]
async fn a_ticket_is_worthless_after_30_seconds() {
    let (house, clock) = House::with_clock();
    let alice = house.agent("@alice.bot", "").await;
    let (young, old) = (ticket(&house, &alice).await, ticket(&house, &alice).await);
    clock.advance(29_999);
    assert_eq!(connect(&house, &format!("ticket={young}")).await.0, 200);
    clock.advance(1);
    assert_eq!(connect(&house, &format!("ticket={old}")).await.0, 401);
}

#[tokio::test]
async fn past_its_limit_the_oldest_ticket_is_worthless() {
    let (house, clock) = House::with_clock();
    let alice = house.agent("@alice.bot", "").await;
    let mut tickets = Vec::new();
    for _ in 0..=TICKETS_PER_AGENT_MAX {
        tickets.push(ticket(&house, &alice).await);
        clock.advance(1);
    }
    assert_eq!(connect(&house, &format!("ticket={}", tickets[0])).await.0, 401);
    for ticket in &tickets[1..] {
        assert_eq!(connect(&house, &format!("ticket={ticket}")).await.0, 200);
    }
}
