//! The confirmed position of an agent's connections, for every order of connecting and disconnecting.

use plenary_kernel::Position;
use plenary_log::StreamName;

use super::agent;
use crate::{CloseReason, Connection, LastClosed, Presence};

fn open(presence: &Presence, stored: u64) -> Connection {
    let connection = presence.open(&agent("ann")).unwrap();
    let _ = presence.start_at(&connection, Position(stored));
    connection
}

fn cursor(presence: &Presence) -> Option<u64> {
    presence.cursor(&agent("ann")).map(|position| position.0)
}

#[test]
fn a_connection_that_has_not_started_does_not_lower_the_cursor() {
    let presence = Presence::default();
    let a = open(&presence, 3);
    presence.confirm(&a, Position(20), false);
    let b = presence.open(&agent("ann")).unwrap();
    assert_eq!(cursor(&presence), Some(20));
    assert_eq!(presence.start_at(&b, Position(30)), Position(20), "it starts where the others are");
}

#[test]
fn a_connection_that_never_started_leaves_no_cursor() {
    let presence = Presence::default();
    let a = presence.open(&agent("ann")).unwrap();
    assert_eq!(cursor(&presence), None);
    assert_eq!(presence.close(&a), Some(LastClosed { cursor: None }));
    assert_eq!(presence.close(&a), None, "and is closed once");
}

#[test]
fn asp_43_a_new_connection_starts_at_the_lowest_of_what_is_stored_and_confirmed() {
    let presence = Presence::default();
    let a = open(&presence, 10);
    presence.confirm(&a, Position(40), false);
    let b = presence.open(&agent("ann")).unwrap();
    assert_eq!(
        presence.start_at(&b, Position(25)),
        Position(25),
        "the stored one was read before the last pong"
    );
    assert_eq!(cursor(&presence), Some(25));
    presence.confirm(&b, Position(41), false);
    assert_eq!(cursor(&presence), Some(40));
}

#[test]
fn asp_43_a_confirmation_never_takes_back_an_earlier_one() {
    let presence = Presence::default();
    let a = open(&presence, 10);
    presence.confirm(&a, Position(40), true);
    presence.confirm(&a, Position(30), false);
    assert_eq!(cursor(&presence), Some(40));
}

#[test]
fn asp_43_what_several_closed_connections_left_is_the_lowest_of_it() {
    let presence = Presence::default();
    let (a, b, c) = (open(&presence, 0), open(&presence, 0), open(&presence, 0));
    presence.confirm(&a, Position(30), false);
    presence.confirm(&b, Position(12), true);
    presence.confirm(&c, Position(20), true);
    assert_eq!(presence.close(&b), None);
    assert_eq!(presence.close(&c), None);
    assert_eq!(presence.close(&a), Some(LastClosed { cursor: Some(Position(12)) }));
}

#[test]
fn asp_43_a_connection_without_debt_leaves_no_cursor() {
    let presence = Presence::default();
    let (a, b) = (open(&presence, 0), open(&presence, 0));
    presence.confirm(&a, Position(30), false);
    presence.owe(&b);
    presence.confirm(&b, Position(12), false);
    assert_eq!(presence.close(&b), None);
    assert_eq!(cursor(&presence), Some(30));
}

#[test]
fn every_connection_of_a_concerned_agent_is_woken() {
    let presence = Presence::default();
    let (a, b) = (open(&presence, 0), open(&presence, 0));
    let everyone = [agent("bob"), agent("ann"), agent("cid")];
    let stream = StreamName::new("toy.songs", "s");
    assert_eq!(presence.mailboxes(everyone[..1].iter()).len(), 0);
    for mailbox in presence.mailboxes(everyone.iter()) {
        mailbox.mark(&stream, plenary_kernel::Version(1));
    }
    assert!([&a, &b].iter().all(|connection| connection.mailbox.take().streams.len() == 1));
    assert!(presence.connections() == 2 && presence.is_online(&agent("ann")));
}

#[test]
fn asp_40_closing_all_tells_every_connection_once_and_for_ever() {
    let presence = Presence::default();
    let (a, b) = (open(&presence, 0), open(&presence, 0));
    assert!(!presence.is_closed());
    presence.close_all(CloseReason::Shutdown);
    assert!(presence.is_closed());
    for connection in [a, b] {
        assert_eq!(connection.mailbox.take().closing, Some(CloseReason::Shutdown));
        assert_eq!(connection.mailbox.take().closing, Some(CloseReason::Shutdown));
    }
}
