//! What each agent may read, by the numbers on the wire (ASP C.5, decisions of wire.md D.9).

use plenary_kernel::{TimestampMs, Version};

use super::scene::{given, handle, stamp};
use crate::state::Standing;

/// What each of the named agents may read, as `ann 1 2 3 | bob 2`.
#[track_caller]
fn readable(sentences: &str, expected: &str) {
    let scene = given(sentences);
    let expected_versions = expected.split('|').map(|part| {
        let name = part.split_whitespace().next().unwrap();
        let numbers = scene.reads(name).iter().map(|n| format!(" {n}")).collect::<String>();
        format!("{name}{numbers}")
    });
    assert_eq!(expected_versions.collect::<Vec<_>>().join(" | "), expected, "\n given {sentences}");
}

#[test]
fn asp_78_one_that_was_joined_throughout_reads_everything() {
    readable(
        "ann creates; ann says hi; ann invites bob; bob joins; bob says ho; ann ends with ann bob",
        "ann 1 2 3 4 5",
    );
    readable(
        "ann creates; ann says hi; ann invites bob; bob joins; bob drops; ann says ho; bob returns",
        "bob 1 2 3 4 5 6",
    );
}

#[test]
fn asp_25_asp_79_one_that_was_invited_throughout_reads_its_invitation_and_the_end() {
    readable("ann creates; ann says hi; ann invites bob; ann invites cid; ann says ho", "bob 2 | cid 3");
    readable("ann creates; ann invites bob; ann says hi; ann ends with ann", "bob 1 3");
    readable("ann creates; ann invites bob; ann leaves; ends with", "bob 1 3 | ann 1 2");
}

#[test]
fn asp_29_an_invitee_of_a_send_and_end_reads_the_two_events_that_tell_all() {
    readable(
        "ann creates; ann says hi; ann invites bob inline; ann ends with ann bob",
        "ann 1 2 3 | bob 2 3",
    );
}

#[test]
fn asp_47_one_that_joins_reads_the_transcript_from_its_beginning() {
    readable("ann creates; ann says hi; ann invites bob; ann says ho; bob joins", "bob 1 2 3 4");
}

#[test]
fn asp_27_asp_80_one_that_left_reads_up_to_its_own_leaving() {
    for leaving in ["bob leaves", "bob expires", "bob is-ousted"] {
        let story =
            format!("ann creates; ann invites bob; bob joins; {leaving}; ann says hi; ann ends with ann");
        readable(&story, "bob 1 2 3");
    }
}

#[test]
fn asp_81_a_former_participant_that_is_invited_again_reads_what_it_did_and_the_invitation() {
    let back =
        "ann creates; ann invites bob; bob joins; bob leaves; ann says hi; ann invites bob; ann says ho";
    readable(back, "bob 1 2 3 5");
    readable(&format!("{back}; bob joins; ann says hey"), "bob 1 2 3 4 5 6 7 8");
    readable(&format!("{back}; ann ends with ann"), "bob 1 2 3 5 7");
    readable(&format!("{back}; bob joins; bob leaves; ann says hey"), "bob 1 2 3 4 5 6 7 8");
}

#[test]
fn asp_24_asp_69_one_that_is_invited_again_by_a_reopening_reads_the_reopening_and_the_invitation() {
    let ended = "ann creates; ann invites bob; bob joins; ann ends with ann bob";
    readable(
        &format!("{ended}; ann reopens with bob; ann says hi; ann invites bob"),
        "ann 1 2 3 4 5 6 | bob 1 2 3 4 6",
    );
    readable(
        &format!("{ended}; ann reopens with bob; ann says hi; ann invites bob; bob joins"),
        "bob 1 2 3 4 5 6 7",
    );
    // Left before the end: what was missed stays missed.
    let left = "ann creates; ann invites bob; bob joins; bob leaves; ann says hi; ann ends with ann";
    readable(&format!("{left}; ann reopens with bob; ann invites bob"), "bob 1 2 3 6 7");
}

#[test]
fn one_that_is_not_invited_again_by_a_reopening_reads_up_to_the_end() {
    let ended = "ann creates; ann invites bob; bob joins; ann invites cid; ann ends with ann bob";
    let scene = given(&format!("{ended}; ann reopens with; ann says hi"));
    assert_eq!(scene.reads("bob"), [1, 2, 3, 4]);
    assert_eq!(scene.reads("cid"), [3, 4], "its invitation lapsed at the end");
    let bob = scene.state.participant(&handle("bob")).unwrap();
    assert_eq!((bob.standing, bob.left_at.is_some()), (Standing::Left, true), "left without an event");
}

#[test]
fn asp_93_an_invitee_that_reopens_a_send_and_end_reads_all_of_it() {
    let sent = "ann creates; ann says hi; ann invites bob inline; ann ends with ann bob";
    readable(
        &format!("{sent}; bob reopens with ann; bob says thanks; bob invites ann"),
        "bob 1 2 3 4 5 6 | ann 1 2 3 4 6",
    );
    readable(&format!("{sent}; ann reopens with; ann says more"), "bob 2 3 | ann 1 2 3 4 5");
}

#[test]
fn asp_14_a_pending_invitee_that_was_made_to_leave_reads_its_invitation_alone() {
    readable(
        "ann creates; ann invites bob; ann invites cid; bob is-ousted; ann ends with ann",
        "bob 1 | cid 2 4",
    );
}

#[test]
fn a_stranger_reads_nothing() {
    assert_eq!(given("ann creates; ann says hi; ann ends with ann").reads("eve"), [0_u64; 0]);
}

#[test]
fn asp_70_times_and_standings_are_those_of_the_last_change() {
    let story = "ann creates; ann invites bob; bob joins; bob leaves; ann invites bob; bob joins";
    let scene = given(story);
    let bob = scene.state.participant(&handle("bob")).unwrap();
    assert_eq!(
        (bob.standing, bob.joined_at, bob.left_at),
        (Standing::Joined, Some(TimestampMs(6_000)), None)
    );
    let scene = given("ann creates; ann invites bob; bob joins; bob leaves; ann invites bob");
    let bob = scene.state.participant(&handle("bob")).unwrap();
    assert_eq!(
        (bob.standing, bob.joined_at, bob.left_at),
        (Standing::Invited, Some(TimestampMs(3_000)), None)
    );
    let scene = given("ann creates; ann invites bob; bob joins; ann ends with ann bob");
    assert_eq!(scene.state.ended_at, Some(TimestampMs(4_000)));
    let bob = scene.state.participant(&handle("bob")).unwrap();
    assert_eq!((bob.standing, bob.left_at), (Standing::Joined, None), "who was joined at the end stays so");
    let scene = given("ann creates; ann ends with ann; ann reopens with");
    assert_eq!((scene.state.ended_at, stamp(5).now), (None, TimestampMs(5)));
    assert_eq!(scene.state.created.unwrap().at, TimestampMs(1_000));
}

#[test]
fn the_next_readable_event_is_the_first_one_behind() {
    let scene = given(
        "ann creates; ann invites bob; bob joins; bob leaves; ann says hi; ann invites bob; ann says ho",
    );
    let bob = scene.state.participant(&handle("bob")).unwrap();
    let next = |after: u64| bob.next_readable(Version(after), scene.head()).map(|version| version.0);
    assert_eq!(
        [next(0), next(1), next(3), next(4), next(5), next(6), next(7)],
        [Some(1), Some(2), Some(4), Some(6), Some(6), None, None]
    );
    let ann = scene.state.participant(&handle("ann")).unwrap();
    assert_eq!(ann.next_readable(scene.head(), scene.head()), None, "never past the head");
}
