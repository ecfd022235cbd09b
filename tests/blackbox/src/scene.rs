//! The openings that most tests share.

use crate::{Agent, Server};

/// The first agent opens a session and all others join it; nobody is connected. The session's id.
pub async fn room(members: &[&Agent]) -> String {
    let (creator, others) = members.split_first().expect("a room has a creator");
    let id = creator.create(others).await;
    for other in others {
        other.join(&id).await;
    }
    id
}

/// Two agents of different owners, both open, joined in one session.
pub async fn pair(server: &Server) -> (Agent, Agent, String) {
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let id = room(&[&alice, &bob]).await;
    (alice, bob, id)
}

/// A newcomer is made, invited by `host` and joins.
pub async fn enter(server: &Server, host: &Agent, id: &str, handle: &str) -> Agent {
    let agent = server.agent(handle).await;
    assert_eq!(host.invite(id, &[handle]).await, [handle]);
    agent.join(id).await;
    agent
}
