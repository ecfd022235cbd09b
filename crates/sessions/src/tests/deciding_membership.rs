//! Joining, inviting, leaving, ending, and eviction.

use plenary_kernel::TimestampMs;

use super::scene::{given, handle, name, sentence_of, session, stamp, table};
use crate::{
    PARTICIPANTS_MAX,
    command::InviteAgents,
    decide::{self, Rejection},
    event::{AgentInvited, SessionEvent},
};

#[test]
fn asp_42_asp_58_an_invited_agent_joins_once() {
    table(&[
        ("ann creates; ann invites bob", "bob joins", "bob joins => ok"),
        ("ann creates; ann invites bob; bob joins", "bob joins", "=> ok"),
        ("ann creates", "ann joins", "=> ok"),
        ("ann creates; ann drops", "ann joins", "=> ok"),
        // Trust decides about contact, not about an answer to one (ASP-16).
        ("ann creates; ann invites bob; bob is-closed", "bob joins", "bob joins => ok"),
    ]);
}

#[test]
fn asp_52_asp_72_nobody_joins_an_ended_session_or_rejoins_unasked() {
    table(&[
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob joins", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob expires", "bob joins", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob is-ousted", "bob joins", "! 409 not_joined"),
        ("ann creates; ann invites bob; ann ends with ann", "bob joins", "! 409 session_ended"),
        ("ann creates; ann ends with ann", "ann joins", "! 409 session_ended"),
        (
            "ann creates; ann says hi; ann invites bob inline; ann ends with ann bob",
            "bob joins",
            "! 409 session_ended",
        ),
    ]);
}

#[test]
fn asp_66_asp_76_only_those_newly_invited_are_named() {
    table(&[
        ("ann creates", "ann invites bob cid", "ann invites bob; ann invites cid => invited bob cid"),
        ("ann creates; ann invites bob", "ann invites bob cid", "ann invites cid => invited cid"),
        ("ann creates; ann invites bob; bob joins", "ann invites bob", "=> invited"),
        ("ann creates; ann invites bob; bob joins", "bob invites ann cid", "bob invites cid => invited cid"),
        (
            "ann creates; ann invites bob; bob joins; bob leaves",
            "ann invites bob",
            "ann invites bob => invited bob",
        ),
        (
            "ann creates; ann invites bob; bob joins; bob expires",
            "ann invites bob",
            "ann invites bob => invited bob",
        ),
    ]);
}

#[test]
fn asp_73_an_invited_or_former_participant_invites_nobody() {
    table(&[
        ("ann creates; ann invites bob", "bob invites cid", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob invites cid", "! 409 not_joined"),
        ("ann creates; ann ends with ann", "ann invites bob", "! 409 session_ended"),
        ("ann creates; ann invites bob; ann ends with ann", "bob invites cid", "! 409 session_ended"),
    ]);
}

#[test]
fn asp_17_trust_is_asked_for_each_invitee_and_404_if_it_leaves_none() {
    table(&[
        ("ann creates; bob is-closed", "ann invites bob cid", "ann invites cid => invited cid"),
        ("ann creates; bob is-unknown; cid blocks ann", "ann invites bob cid", "! 404 not_found"),
        ("ann creates; bob is-closed", "ann invites bob", "! 404 not_found"),
        // One that is there already does not make up for one that is denied.
        ("ann creates; ann invites cid; bob is-closed", "ann invites bob cid", "! 404 not_found"),
        // The inviter's own gate, not the creator's, is what counts.
        (
            "ann creates; ann invites bob; bob joins; cid is-closed; cid lists bob",
            "bob invites cid",
            "bob invites cid => invited cid",
        ),
        (
            "ann creates; ann invites bob; bob joins; cid is-closed; cid lists ann",
            "bob invites cid",
            "! 404 not_found",
        ),
    ]);
}

#[test]
fn asp_15_nobody_is_invited_to_somebody_it_blocks_or_is_blocked_by() {
    let joined_members = "ann creates; ann invites bob; bob joins";
    for (block, expected) in [
        ("bob blocks cid", "! 404 not_found"),
        ("cid blocks bob", "! 404 not_found"),
        ("dan blocks cid", "ann invites cid => invited cid"),
    ] {
        assert_eq!(given(&format!("{joined_members}; {block}")).when("ann invites cid"), expected, "{block}");
    }
    table(&[
        // One who is only invited is present too; one who has left is not.
        ("ann creates; ann invites bob; bob blocks cid", "ann invites cid", "! 404 not_found"),
        (
            "ann creates; ann invites bob; bob joins; bob leaves; bob blocks cid",
            "ann invites cid",
            "ann invites cid => invited cid",
        ),
        // Those named with it count as well.
        ("ann creates; bob blocks cid", "ann invites bob cid dan", "ann invites dan => invited dan"),
        ("ann creates; bob blocks cid", "ann invites bob cid", "! 404 not_found"),
        // An agent that ann cannot reach has no more effect than one that does not exist.
        (
            "ann creates; bob blocks ann; bob blocks cid",
            "ann invites bob cid",
            "ann invites cid => invited cid",
        ),
        (
            "ann creates; bob is-closed; bob blocks cid",
            "ann invites bob cid",
            "ann invites cid => invited cid",
        ),
    ]);
}

#[test]
fn a_full_session_accepts_only_former_participants() {
    let mut scene = given("ann creates; ann invites bob; bob joins; bob leaves");
    for nth in 2..PARTICIPANTS_MAX {
        let invited = AgentInvited {
            id: String::new(),
            invitee: format!("@many.a{nth}").parse().unwrap(),
            by: handle("ann"),
            inline: false,
            offered: false,
            held: false,
            settles: None,
            denied: false,
            elsewhere: false,
        };
        scene.state.evolve(scene.head().next(), TimestampMs(1), &SessionEvent::AgentInvited(invited));
    }
    assert_eq!(scene.state.participants.len(), PARTICIPANTS_MAX);
    assert_eq!(scene.when("ann invites cid"), "! 409 session_full");
    assert_eq!(scene.when("ann invites bob"), "ann invites bob => invited bob");
    assert_eq!(scene.when("ann invites bob cid"), "! 409 session_full", "and then nobody at all");
    let people = scene.trust.people("ann", &["cid"]);
    let command = InviteAgents { caller: super::scene::caller("ann"), invite: Ok(vec![handle("cid")]) };
    assert_eq!(decide::invite(&scene.state, &command, &people, &stamp(1)), Err(Rejection::SessionFull));
}

#[test]
fn an_invitee_without_loaded_facts_is_not_found() {
    let scene = given("ann creates");
    let people = scene.trust.people("ann", &[]);
    let command = InviteAgents { caller: super::scene::caller("ann"), invite: Ok(vec![handle("bob")]) };
    assert_eq!(decide::invite(&scene.state, &command, &people, &stamp(1)), Err(Rejection::NotFound));
    assert_eq!((session().as_str(), name(&handle("bob"))), ("sess_01SCENE", "bob"));
}

#[test]
fn asp_60_asp_68_a_joined_participant_leaves() {
    table(&[
        ("ann creates; ann invites bob; bob joins", "bob leaves", "bob leaves => ok"),
        ("ann creates; ann invites bob; bob joins", "ann leaves", "ann leaves => ok"),
        ("ann creates; ann invites bob; bob joins; bob drops", "bob leaves", "bob leaves => ok"),
        ("ann creates; ann invites bob", "bob leaves", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob leaves", "! 409 not_joined"),
        ("ann creates; ann ends with ann", "ann leaves", "! 409 session_ended"),
        ("ann creates; ann invites bob; ann ends with ann", "bob leaves", "! 409 session_ended"),
    ]);
}

#[test]
fn asp_23_a_session_ends_when_nobody_is_joined() {
    table(&[
        ("ann creates", "ann leaves", "ann leaves; ends with => ok"),
        ("ann creates; ann invites bob", "ann leaves", "ann leaves; ends with => ok"),
        ("ann creates; ann invites bob; bob joins; ann leaves", "bob leaves", "bob leaves; ends with => ok"),
        ("ann creates; ann drops", "expire ann since 2", "ann expires; ends with => ok"),
        ("ann creates; ann invites bob", "evict ann", "ann leaves; ends with => ok"),
        ("ann creates; ann invites bob", "evict ann for bob", "ann is-ousted; ends with => ok"),
    ]);
}

#[test]
fn asp_75_a_joined_participant_ends_the_session_for_all() {
    table(&[
        ("ann creates", "ann ends", "ann ends with ann => ok"),
        (
            "ann creates; ann invites bob; bob joins; ann invites cid",
            "bob ends",
            "bob ends with ann bob => ok",
        ),
        ("ann creates; ann invites bob", "bob ends", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob ends", "! 409 not_joined"),
        ("ann creates; ann ends with ann", "ann ends", "! 409 session_ended"),
    ]);
    let ended = given("ann creates; ann invites bob; ann invites cid; cid joins; ann ends with ann cid");
    let standing =
        |who| serde_json::to_value(ended.state.participant(&handle(who)).unwrap().standing).unwrap();
    assert_eq!([standing("ann"), standing("bob"), standing("cid")], ["joined", "left", "joined"]);
}

#[test]
fn asp_14_a_block_makes_the_blocked_one_leave_what_the_two_share() {
    let three = "ann creates; ann invites bob; bob joins; ann invites cid; cid joins";
    table(&[
        (three, "evict bob for ann", "bob is-ousted => ok"),
        (three, "evict ann for cid", "ann is-ousted => ok"),
        // It ends where the blocker alone is left, and nobody is on the way.
        (
            "ann creates; ann invites bob; bob joins",
            "evict bob for ann",
            "bob is-ousted; ends with ann => ok",
        ),
        (
            "ann creates; ann invites bob; bob joins",
            "evict ann for bob",
            "ann is-ousted; ends with bob => ok",
        ),
        (
            "ann creates; ann invites bob; bob joins; ann invites cid",
            "evict bob for ann",
            "bob is-ousted => ok",
        ),
        // A pending invitee is made to leave as well.
        ("ann creates; ann invites bob", "evict bob for ann", "bob is-ousted; ends with ann => ok"),
        (
            "ann creates; ann invites bob; ann invites cid; cid joins",
            "evict bob for ann",
            "bob is-ousted => ok",
        ),
        // A blocker that is only invited counts; the others stay together.
        (
            "ann creates; ann invites bob; bob joins; ann invites cid; cid joins; ann invites dan",
            "evict bob for dan",
            "bob is-ousted => ok",
        ),
        (
            "ann creates; ann invites bob; bob joins; ann invites cid",
            "evict bob for cid",
            "bob is-ousted => ok",
        ),
    ]);
}

#[test]
fn asp_14_nobody_leaves_what_the_two_do_not_share_or_twice() {
    table(&[
        ("ann creates; ann invites bob; bob joins; ann invites cid; cid joins", "evict bob for dan", "=> ok"),
        (
            "ann creates; ann invites bob; bob joins; ann invites cid; cid joins; cid leaves",
            "evict bob for cid",
            "=> ok",
        ),
        ("ann creates; ann invites bob; bob joins; bob leaves", "evict bob for ann", "=> ok"),
        (
            "ann creates; ann invites bob; bob joins; bob is-ousted; ends with ann",
            "evict bob for ann",
            "=> ok",
        ),
        ("ann creates; ann invites bob; bob joins; ann ends with ann bob", "evict bob for ann", "=> ok"),
        ("ann creates", "evict bob for ann", "=> ok"),
        ("", "evict bob for ann", "=> ok"),
    ]);
}

#[test]
fn a_deleted_agent_leaves_everything_like_anybody() {
    table(&[
        ("ann creates; ann invites bob; bob joins", "evict bob", "bob leaves => ok"),
        ("ann creates; ann invites bob; bob joins", "evict ann", "ann leaves => ok"),
        ("ann creates; ann invites bob", "evict bob", "bob leaves => ok"),
        ("ann creates; ann ends with ann", "evict ann", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "evict bob", "=> ok"),
    ]);
}

#[test]
fn a_forced_leaving_is_an_ordinary_one_in_all_that_is_shown() {
    let (events, _) = given("ann creates; ann invites bob; bob joins").decide("evict bob for ann").unwrap();
    let SessionEvent::AgentLeft(left) = &events[0] else { panic!("{}", sentence_of(&events[0])) };
    assert_eq!(serde_json::to_value(left.reason).unwrap(), "left");
}
