//! Reopening an ended session.

use super::scene::{given, table};

const ENDED: &str =
    "ann creates; ann invites bob; bob joins; ann invites cid; cid joins; ann ends with ann bob cid";

#[test]
fn asp_24_asp_69_everyone_else_who_was_joined_at_the_end_is_invited_again() {
    table(&[
        (ENDED, "ann reopens", "ann reopens with bob cid; ann invites bob; ann invites cid => ok"),
        (ENDED, "cid reopens", "cid reopens with ann bob; cid invites ann; cid invites bob => ok"),
        ("ann creates; ann ends with ann", "ann reopens", "ann reopens with => ok"),
        // Who left before the end, or never came, is not.
        (
            "ann creates; ann invites bob; bob joins; bob leaves; ann invites cid; ann ends with ann",
            "ann reopens",
            "ann reopens with => ok",
        ),
    ]);
}

#[test]
fn asp_69_those_named_are_invited_and_the_prior_ones_among_them_return() {
    table(&[
        (ENDED, "ann reopens bob", "ann reopens with bob; ann invites bob => ok"),
        (ENDED, "ann reopens nobody", "ann reopens with => ok"),
        (ENDED, "ann reopens cid bob", "ann reopens with bob cid; ann invites cid; ann invites bob => ok"),
        (ENDED, "ann reopens dan", "ann reopens with; ann invites dan => ok"),
        (ENDED, "ann reopens dan bob", "ann reopens with bob; ann invites dan; ann invites bob => ok"),
        (ENDED, "ann reopens ann bob", "ann reopens with bob; ann invites bob => ok"),
        // A prior participant is one that ever took part.
        (
            "ann creates; ann invites bob; bob joins; bob leaves; ann ends with ann",
            "ann reopens bob",
            "ann reopens with bob; ann invites bob => ok",
        ),
    ]);
}

#[test]
fn asp_60_a_message_goes_with_it_before_the_invitations() {
    table(&[
        (ENDED, "ann reopens bob message=hi", "ann reopens with bob; ann says hi; ann invites bob => ok"),
        (ENDED, "ann reopens nobody message=hi", "ann reopens with; ann says hi => ok"),
    ]);
}

#[test]
fn asp_62_whom_trust_denies_now_is_left_out_in_silence() {
    for (trust, expected) in [
        ("bob is-closed", "ann reopens with cid; ann invites cid => ok"),
        ("bob is-deleted", "ann reopens with cid; ann invites cid => ok"),
        ("bob blocks ann", "ann reopens with cid; ann invites cid => ok"),
        ("ann blocks bob; ann blocks cid", "ann reopens with => ok"),
        ("ann is-closed", "ann reopens with => ok"),
        ("bob blocks cid", "ann reopens with => ok"),
    ] {
        assert_eq!(given(&format!("{ENDED}; {trust}")).when("ann reopens"), expected, "{trust}");
    }
    table(&[("ann creates; ann ends with ann; bob is-unknown", "ann reopens bob", "ann reopens with => ok")]);
}

#[test]
fn asp_62_only_who_was_joined_at_the_end_reopens() {
    table(&[
        ("ann creates; ann invites bob; ann ends with ann", "bob reopens", "! 409 not_reopenable"),
        (
            "ann creates; ann invites bob; bob joins; bob leaves; ann ends with ann",
            "bob reopens",
            "! 409 not_reopenable",
        ),
        (
            "ann creates; ann invites bob; bob joins; bob drops; bob expires; ann ends with ann",
            "bob reopens",
            "! 409 not_reopenable",
        ),
        // Nobody was.
        ("ann creates; ann leaves; ends with", "ann reopens", "! 409 not_reopenable"),
        // The blocker was.
        (
            "ann creates; ann invites bob; bob joins; bob is-ousted; ends with ann",
            "ann reopens",
            "ann reopens with => ok",
        ),
        // One that was away was joined.
        (
            "ann creates; ann invites bob; bob joins; bob drops; ann ends with ann bob",
            "bob reopens",
            "bob reopens with ann; bob invites ann => ok",
        ),
    ]);
}

#[test]
fn asp_93_an_invitee_of_a_send_and_end_may_answer_by_reopening() {
    let sent =
        "ann creates; ann says hi; ann invites bob inline; ann invites cid inline; ann ends with ann bob cid";
    table(&[
        (sent, "bob reopens nobody message=thanks", "bob reopens with; bob says thanks => ok"),
        (sent, "bob reopens", "bob reopens with ann cid; bob invites ann; bob invites cid => ok"),
        (sent, "ann reopens bob", "ann reopens with bob; ann invites bob => ok"),
    ]);
}

#[test]
fn asp_62_the_right_lasts_until_the_next_end() {
    let twice = format!("{ENDED}; ann reopens with bob; ann invites bob; ann ends with ann");
    table(&[
        (twice.as_str(), "ann reopens", "ann reopens with => ok"),
        (twice.as_str(), "bob reopens", "! 409 not_reopenable"),
        (twice.as_str(), "cid reopens", "! 409 not_reopenable"),
    ]);
}

#[test]
fn asp_21_an_active_session_is_not_reopened() {
    table(&[
        ("ann creates", "ann reopens", "! 409 session_active"),
        ("ann creates; ann invites bob", "bob reopens", "! 409 session_active"),
        ("ann creates; ann ends with ann; ann reopens with", "ann reopens", "! 409 session_active"),
    ]);
}

#[test]
fn asp_18_to_one_that_a_block_made_leave_reopening_is_not_found() {
    let ousted = "ann creates; ann invites bob; bob joins; ann invites cid; cid joins; bob is-ousted";
    let ended = format!("{ousted}; ann ends with ann cid");
    let back = format!("{ousted}; ann invites bob");
    table(&[
        (ousted, "bob reopens", "! 404 not_found"),
        (ousted, "bob reopens !", "! 404 not_found"),
        (ended.as_str(), "bob reopens", "! 404 not_found"),
        (ended.as_str(), "bob reopens !", "! 404 not_found"),
        // In all else it is answered like any left participant.
        (ousted, "bob leaves", "! 409 not_joined"),
        (ended.as_str(), "bob says hi", "! 409 session_ended"),
        // Once it is invited again it is one of them.
        (back.as_str(), "bob reopens", "! 409 session_active"),
        (back.as_str(), "bob joins", "bob joins => ok"),
    ]);
}

#[test]
fn a_reopener_that_the_session_has_no_room_for_is_refused_nothing_of_its_own() {
    // Former participants take no new place.
    table(&[(
        ENDED,
        "bob reopens ann cid",
        "bob reopens with ann cid; bob invites ann; bob invites cid => ok",
    )]);
}
