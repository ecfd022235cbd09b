//! The recipients of a message, and what an invitation carries.

use super::scene::{given, handle};
use crate::{event::version, receipts::is_for};

#[test]
fn a_message_is_for_everyone_that_had_not_left_before_it() {
    let is_for_bob = |story: &str, number: u64| {
        let scene = given(story);
        is_for(scene.state.participant(&handle("bob")).expect("bob takes part"), version(number))
    };
    for (story, number, expected) in [
        ("ann creates; ann says hi; ann invites bob inline; ann ends with ann bob", 1, true),
        ("ann creates; ann invites bob; ann says hi; ann ends with ann", 2, true),
        ("ann creates; ann invites bob; bob joins; ann says hi; bob leaves", 3, true),
        ("ann creates; ann invites bob; bob joins; bob leaves; ann says hi", 4, false),
        ("ann creates; ann invites bob; bob joins; bob leaves; ann says hi; ann invites bob", 4, true),
        ("ann creates; ann invites bob; ann ends with ann; ann reopens with; ann says hi", 4, false),
    ] {
        assert_eq!(is_for_bob(story, number), expected, "{story}");
    }
}

#[test]
fn asp_29_an_invitation_carries_the_first_message_alone() {
    let scene = given("ann creates; ann says hi; ann invites bob inline; ann invites cid; ann says ho");
    let has = |name: &str, number: u64| {
        scene.state.participant(&handle(name)).is_some_and(|own| own.has_inline(version(number)))
    };
    assert!(has("bob", 1) && !has("bob", 4) && !has("cid", 1));
}
