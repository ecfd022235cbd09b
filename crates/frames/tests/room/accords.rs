//! Incoming frames of other networks under an accord (FO-50, FO-51).

use std::collections::BTreeSet;

use bytes::Bytes;
use plenary_accounts::{
    Actor, OwnerRoom,
    owner::event::{OwnerEvent, OwnerRegistered},
};
use plenary_engine::Room as _;
use plenary_frames::{ArrivingFrame, ReceiveError};
use plenary_log::{Batch, Outcome};
use serde_json::json;

use crate::house::{House, OPERATOR, frame};

/// An owner with a name that new owners can't have.
async fn from_an_old_store(house: &House, owner: &str) {
    let event = OwnerEvent::OwnerRegistered(OwnerRegistered { by: Actor::Operator, token: None });
    let events = vec![(OwnerRoom::stream(owner), OwnerRoom::encode(&event))];
    let outcome = house.log.append(Batch { events, ..Batch::default() }).await.unwrap();
    assert!(matches!(outcome, Outcome::Appended(_)));
}

#[tokio::test]
async fn fo_51_nobody_elsewhere_speaks_under_the_name_of_an_owner_of_this_network() {
    let house = House::new();
    let ida = house.agent("@ida.bot", "allowlist").await;
    let entries = json!({"entries": ["@nick-at-acme.*", "@old-at-acme.*"]});
    house.post(OPERATOR, "/_admin/agents/@ida.bot/allowlist", &entries).await.ok(200);
    from_an_old_store(&house, "old-at-acme").await;
    let mut of_ida = house.open(&ida, "~ida/stream").await;
    let (peer, owners) = ("acme".parse().unwrap(), BTreeSet::from(["ida".parse().unwrap()]));
    let receive = async |owner: &str| {
        let text = Bytes::from(frame(&format!("~{owner}"), "~rose", owner).to_string());
        let agent = format!("@{owner}.cc").parse().unwrap();
        house
            .frames
            .receive(&ArrivingFrame { peer: &peer, agent: &agent, tool: "cc", text: &text }, &owners)
            .await
    };
    assert!(matches!(receive("old").await, Err(ReceiveError::Unauthorised)));
    assert!(matches!(receive("nick-at-rose").await, Err(ReceiveError::Malformed)));
    assert!(matches!(receive("nick").await, Ok(1)));
    assert_eq!(of_ida.tag().await, "nick");
}
