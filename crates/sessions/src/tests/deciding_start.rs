//! Creating a session and sending into it.

use super::scene::{given, table};

#[test]
fn asp_22_asp_64_a_session_begins_with_its_creator_joined_and_its_invitees_invited() {
    table(&[
        ("", "ann creates", "ann creates => session"),
        ("", "ann creates topic=tea", "ann creates about tea => session"),
        ("", "ann creates bob cid", "ann creates; ann invites bob; ann invites cid => session"),
    ]);
    let scene = given("ann creates; ann invites bob");
    let shown =
        |who: &str| serde_json::to_value(scene.state.participant(&super::scene::handle(who))).unwrap();
    assert_eq!(
        (shown("ann")["standing"].as_str(), shown("bob")["standing"].as_str()),
        (Some("joined"), Some("invited"))
    );
    assert_eq!(shown("cid"), serde_json::Value::Null);
}

#[test]
fn asp_55_asp_57_the_first_message_stands_before_the_invitations_and_is_sequence_1() {
    table(&[
        ("", "ann creates message=hi", "ann creates; ann says hi => session at 1"),
        ("", "ann creates bob message=hi", "ann creates; ann says hi; ann invites bob => session at 1"),
    ]);
}

#[test]
fn asp_29_asp_61_send_and_end_invites_with_the_message_and_ends_with_everyone_invited_as_joined() {
    table(&[
        (
            "",
            "ann creates cid bob message=hi and-ends",
            "ann creates; ann says hi; ann invites cid inline; ann invites bob inline; \
             ann ends with ann bob cid => session at 1",
        ),
        (
            "",
            "ann creates message=hi and-ends",
            "ann creates; ann says hi; ann ends with ann => session at 1",
        ),
        (
            "",
            "ann creates ann message=hi and-ends",
            "ann creates; ann says hi; ann ends with ann => session at 1",
        ),
    ]);
}

#[test]
fn asp_30_in_every_other_session_invitations_carry_no_content() {
    let (events, _) = given("").decide("ann creates bob message=hi").unwrap();
    assert!(!events.iter().any(|event| super::scene::sentence_of(event).ends_with("inline")));
}

#[test]
fn inviting_oneself_is_ignored() {
    table(&[
        ("", "ann creates ann", "ann creates => session"),
        ("", "ann creates ann bob", "ann creates; ann invites bob => session"),
        ("ann is-closed", "ann creates ann", "ann creates => session"),
        ("ann creates; ann invites bob", "ann invites ann", "=> invited"),
    ]);
}

#[test]
fn asp_18_asp_106_one_unreachable_invitee_refuses_the_whole_and_an_open_one_is_reached_unlisted() {
    table(&[
        ("", "ann creates bob", "ann creates; ann invites bob => session"),
        ("bob is-unknown", "ann creates bob", "! 404 not_found"),
        ("bob is-deleted", "ann creates bob", "! 404 not_found"),
        ("bob is-closed", "ann creates bob", "! 404 not_found"),
        ("bob blocks ann", "ann creates bob", "! 404 not_found"),
        ("ann blocks bob", "ann creates bob", "! 404 not_found"),
        ("bob is-unknown", "ann creates cid bob message=hi and-ends", "! 404 not_found"),
        ("bob blocks ann", "ann creates cid bob dan", "! 404 not_found"),
    ]);
}

#[test]
fn asp_13_invitees_that_block_each_other_do_not_meet() {
    table(&[
        ("bob blocks cid", "ann creates bob cid", "! 404 not_found"),
        ("bob blocks cid", "ann creates cid bob", "! 404 not_found"),
        ("bob blocks dan", "ann creates bob cid", "ann creates; ann invites bob; ann invites cid => session"),
    ]);
}

#[test]
fn asp_7_to_asp_10_allowlists_count_in_both_directions() {
    table(&[
        ("bob is-closed; bob lists ann", "ann creates bob", "ann creates; ann invites bob => session"),
        ("bob is-closed; bob lists @o.*", "ann creates bob", "ann creates; ann invites bob => session"),
        ("bob is-closed; bob lists @p.*", "ann creates bob", "! 404 not_found"),
        ("bob is-closed; bob lists cid", "ann creates bob", "! 404 not_found"),
        // The creator's own list gates what goes out, also to an open agent.
        ("ann is-closed", "ann creates bob", "! 404 not_found"),
        ("ann is-closed; bob lists ann", "ann creates bob", "! 404 not_found"),
        ("ann is-closed; ann lists bob", "ann creates bob", "ann creates; ann invites bob => session"),
        // Two closed ones must list each other.
        ("ann is-closed; bob is-closed; ann lists bob", "ann creates bob", "! 404 not_found"),
        ("ann is-closed; bob is-closed; bob lists ann", "ann creates bob", "! 404 not_found"),
        (
            "ann is-closed; bob is-closed; ann lists bob; bob lists ann",
            "ann creates bob",
            "ann creates; ann invites bob => session",
        ),
        // A block wins over a listing.
        ("bob is-closed; bob lists ann; bob blocks ann", "ann creates bob", "! 404 not_found"),
    ]);
}

#[test]
fn asp_4_asp_63_a_token_that_died_meanwhile_is_refused_before_everything() {
    table(&[
        ("ann is-revoked", "ann creates", "! 401 invalid_authorization"),
        ("ann is-revoked", "ann creates !", "! 401 invalid_authorization"),
        ("ann is-deleted", "ann creates", "! 401 invalid_authorization"),
        ("ann is-revoked; bob is-unknown", "ann creates bob", "! 401 invalid_authorization"),
        ("ann creates; ann is-revoked", "ann says hi", "! 401 invalid_authorization"),
        ("ann creates; ann is-revoked", "ann invites !", "! 401 invalid_authorization"),
        ("ann creates; ann is-revoked", "ann leaves", "! 401 invalid_authorization"),
        ("ann creates; ann is-revoked", "ann ends", "! 401 invalid_authorization"),
        ("ann creates; ann invites bob; bob is-revoked", "bob joins", "! 401 invalid_authorization"),
        ("ann creates; ann ends with ann; ann is-revoked", "ann reopens", "! 401 invalid_authorization"),
        ("ann creates; bob is-revoked", "bob says hi", "! 401 invalid_authorization"),
    ]);
}

#[test]
fn asp_33_asp_67_a_message_gets_the_next_number_over_all_events() {
    table(&[
        ("ann creates", "ann says hi", "ann says hi => at 1"),
        ("ann creates; ann says hi; ann invites bob; bob joins", "bob says ho", "bob says ho => at 4"),
        ("ann creates; ann drops", "ann says hi", "ann says hi => at 2"),
        ("ann creates; ann ends with ann; ann reopens with", "ann says hi", "ann says hi => at 3"),
    ]);
}

#[test]
fn asp_72_asp_73_only_a_joined_participant_of_an_active_session_sends() {
    table(&[
        ("ann creates; ann invites bob", "bob says hi", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob says hi", "! 409 not_joined"),
        ("ann creates; ann invites bob; bob joins; bob expires", "bob says hi", "! 409 not_joined"),
        (
            "ann creates; ann invites bob; bob joins; bob is-ousted; bob blocks ann",
            "bob says hi",
            "! 409 not_joined",
        ),
        ("ann creates; ann ends with ann", "ann says hi", "! 409 session_ended"),
        ("ann creates; ann invites bob; ann ends with ann", "bob says hi", "! 409 session_ended"),
    ]);
}

#[test]
fn asp_18_asp_19_a_stranger_is_told_not_found_before_anything_about_its_body() {
    for request in
        ["says hi", "says !", "invites bob", "invites !", "joins", "leaves", "ends", "reopens", "reopens !"]
    {
        for before in ["", "ann creates; ann invites bob", "ann creates; ann ends with ann"] {
            assert_eq!(
                given(before).when(&format!("eve {request}")),
                "! 404 not_found",
                "{before} / {request}"
            );
        }
    }
}

#[test]
fn the_body_is_refused_behind_the_participation_and_before_the_state() {
    table(&[
        ("", "ann creates !", "! 400 invalid_body"),
        ("ann creates", "ann says !", "! 400 invalid_body"),
        ("ann creates; ann ends with ann", "ann says !", "! 400 invalid_body"),
        ("ann creates; ann invites bob", "bob says !", "! 400 invalid_body"),
        ("ann creates; ann ends with ann", "ann invites !", "! 400 invalid_body"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "bob invites !", "! 400 invalid_body"),
        ("ann creates", "ann reopens !", "! 400 invalid_body"),
        ("ann creates; ann invites bob; ann ends with ann", "bob reopens !", "! 400 invalid_body"),
    ]);
}
