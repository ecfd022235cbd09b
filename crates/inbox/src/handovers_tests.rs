//! Given, when, then: shown items, an event of a session, the items in context and the unread ones.

use std::time::Duration;

use plenary_kernel::Position;

use super::*;
use crate::{
    absence::Absences,
    cursor::ItemPosition,
    kind::Kinds,
    marks::{Marks, State},
};

fn item_id(number: u64) -> ItemId {
    ItemId::Log(ItemPosition(Position(number), 0))
}

fn page(to: u64, returns: u64) -> Cursor {
    let position = ItemPosition(Position(to), 0);
    Cursor { kinds: Kinds::ALL, position, lane: 0, offers: ItemPosition::default(), returns }
}

/// An agent's marks, with a clock that stands still unless it is moved.
struct Scene {
    marks: Marks,
    now: u64,
}

impl Scene {
    fn new() -> Self {
        Self { marks: Marks::default(), now: 1_000_000 }
    }

    fn at(&mut self, session: &str, moment: Moment) -> bool {
        self.marks.event(session, "claude", moment, TimestampMs(self.now))
    }

    fn show(&mut self, session: &str, moment: Moment, item_ids: &[u64]) {
        self.show_beside(session, moment, item_ids, &[]);
    }

    /// The same of a page that left some out for another session.
    fn show_beside(&mut self, session: &str, moment: Moment, item_ids: &[u64], held: &[u64]) {
        let last = item_ids.iter().chain(held).max().unwrap();
        let to = page(*last, self.marks.handovers.returns());
        let item_ids = item_ids.iter().copied().map(item_id).collect();
        let held: Vec<ItemId> = held.iter().copied().map(item_id).collect();
        let now = TimestampMs(self.now);
        assert!(self.marks.show((session, "claude"), moment, (item_ids, &held), &to, now));
    }

    fn unread(&mut self, all: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        self.marks.handovers.lapse(TimestampMs(self.now));
        let position = |at: u64| ItemPosition(Position(at), 0);
        all.filter(|at| self.marks.is_unread(Kind::SessionMessage, position(*at))).collect()
    }

    fn later(&mut self, ms: u64) {
        self.now += ms;
    }
}

/// The whole table: shown at one moment, followed by another.
#[test]
fn a_shown_item_is_in_context_at_the_next_event_that_still_has_it() {
    use Moment::{Alive, Compact, End, Gone, Prompt, Start, Stop, Tool, Wake};
    for (shown_at, then, is_seen, is_unread) in [
        (Start, Prompt, true, false),
        (Start, Tool, true, false),
        (Start, Stop, true, false),
        (Start, End, false, true),
        (Start, Gone, false, true),
        (Start, Compact, false, true),
        (Start, Start, false, true),
        (Start, Alive, false, false),
        (Prompt, Prompt, true, false),
        (Prompt, Tool, true, false),
        (Prompt, Stop, true, false),
        (Prompt, End, true, false),
        (Prompt, Gone, false, true),
        (Prompt, Compact, false, true),
        (Prompt, Start, false, true),
        (Tool, End, true, false),
        (Tool, Compact, false, true),
        (Stop, Tool, true, false),
        (Stop, End, true, false),
        (Stop, Gone, false, true),
        (Wake, Tool, true, false),
        (Wake, End, false, true),
        (Prompt, Wake, false, false),
    ] {
        let mut scene = Scene::new();
        scene.at("s", Start);
        scene.show("s", shown_at, &[1, 2]);
        assert_eq!(scene.unread(1..=2), Vec::<u64>::new(), "handed over, it is unread for no other session");
        scene.at("s", then);
        let seen = scene.marks.seen.of(Kind::SessionMessage) >= ItemPosition(Position(2), 0);
        assert_eq!(seen, is_seen, "{shown_at:?} {then:?}");
        assert_eq!(!scene.unread(1..=2).is_empty(), is_unread, "{shown_at:?} {then:?}");
    }
}

#[test]
fn items_of_one_session_do_not_block_another_and_come_back_alone() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Start, &[1, 2]);
    scene.at("b", Moment::Start);
    assert_eq!(scene.unread(1..=4), [3, 4]);
    scene.show("b", Moment::Prompt, &[3, 4]);
    scene.at("b", Moment::Tool);
    assert_eq!(scene.unread(1..=4), Vec::<u64>::new());
    scene.at("a", Moment::Gone);
    assert_eq!(scene.unread(1..=4), [1, 2], "although the mark is after them");
    scene.show("b", Moment::Tool, &[1, 2]);
    scene.at("b", Moment::Stop);
    assert_eq!(scene.unread(1..=4), Vec::<u64>::new());
}

#[test]
fn an_item_that_comes_back_before_another_is_settled_is_not_lost() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Start, &[1]);
    scene.at("b", Moment::Start);
    scene.show("b", Moment::Prompt, &[2]);
    scene.at("a", Moment::End);
    scene.at("b", Moment::Tool);
    assert_eq!(scene.unread(1..=2), [1]);
}

#[test]
fn a_silent_session_returns_its_items_and_still_has_them_if_it_reports_again() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Prompt, &[1, 2]);
    scene.later(LEASE_MS);
    assert_eq!(scene.unread(1..=2), Vec::<u64>::new());
    scene.later(1);
    assert_eq!(scene.unread(1..=2), [1, 2], "killed, it is known to have ended");
    scene.at("b", Moment::Start);
    scene.show("b", Moment::Start, &[1]);
    scene.at("a", Moment::Tool);
    assert_eq!(scene.unread(1..=2), Vec::<u64>::new(), "it was only suspended: both were in its context");
    scene.at("b", Moment::Gone);
    assert_eq!(scene.unread(1..=2), Vec::<u64>::new(), "no session is shown it again");
}

#[test]
fn a_session_that_slept_with_the_server_keeps_its_items_for_another_lease() {
    let mut scene = Scene::new();
    scene.at("dead", Moment::Start);
    scene.later(LEASE_MS + 1);
    let mut absences = Absences::since_start(TimestampMs(0));
    absences.recent(TimestampMs(scene.now), Duration::from_secs(1_000));
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Prompt, &[1]);
    scene.later(8 * 3_600_000);
    let absence = absences.recent(TimestampMs(scene.now), Duration::from_secs(1_010)).unwrap();
    for (later, live) in [(0, vec!["a"]), (LEASE_MS, vec!["a"]), (1, vec![])] {
        scene.later(later);
        let now = TimestampMs(scene.now);
        scene.marks.handovers.excuse(&absence, now);
        let sessions = scene.marks.handovers.sessions();
        let names: Vec<_> =
            sessions.iter().filter(|coding| coding.is_live(now)).map(|coding| &coding.session).collect();
        assert_eq!(names, live);
    }
    assert_eq!(scene.unread(1..=1), [1]);
}

#[test]
fn alive_reports_keep_a_session_live() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Start, &[1]);
    for _ in 0..30 {
        scene.later(20_000);
        assert!(scene.at("a", Moment::Alive));
        assert_eq!(scene.unread(1..=1), Vec::<u64>::new());
    }
    scene.later(QUIET_MS - 1);
    assert!(!scene.at("a", Moment::Alive), "not each sign is written");
    scene.at("a", Moment::End);
    assert!(!scene.at("a", Moment::Alive), "an ended session is not revived by its supervisor");
    assert_eq!(scene.unread(1..=1), [1]);
}

#[test]
fn an_older_page_does_not_settle_items_that_came_back_since() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Start, &[1]);
    let read = page(2, scene.marks.handovers.returns());
    scene.at("a", Moment::Gone);
    scene.marks.raise(State::Acknowledged, &read, None);
    assert_eq!(scene.unread(1..=2), [1], "it was not on the page");
    let again = page(1, scene.marks.handovers.returns());
    scene.marks.raise(State::InContext, &again, Some(&page(1, 0)));
    assert_eq!(scene.unread(1..=2), [1], "nor after the start of the page");
    scene.marks.raise(State::InContext, &again, None);
    assert_eq!(scene.unread(1..=2), Vec::<u64>::new());
}

#[test]
fn the_reason_of_a_delay_follows_from_the_sessions() {
    let mut scene = Scene::new();
    assert_eq!(scene.marks.handovers.reason(TimestampMs(scene.now)), None, "no coding agent");
    let reason = |scene: &Scene| scene.marks.handovers.reason(TimestampMs(scene.now)).unwrap();
    scene.at("a", Moment::Start);
    assert_eq!(reason(&scene), (Reason::NextEvent, None));
    scene.at("a", Moment::End);
    let ended = TimestampMs(scene.now);
    scene.later(5);
    assert_eq!(reason(&scene), (Reason::NoLiveSession, Some(ended)));
    scene.at("tools", Moment::Alive);
    let since = TimestampMs(scene.now);
    scene.later(5);
    assert_eq!(reason(&scene), (Reason::HooksOff, Some(since)));
    scene.later(LEASE_MS);
    assert_eq!(reason(&scene), (Reason::NoLiveSession, Some(since)), "killed");
}

#[test]
fn dropped_handovers_become_unread() {
    let mut scene = Scene::new();
    for nth in 0..SESSIONS_MAX as u64 + 5 {
        scene.at(&format!("s{nth}"), Moment::Start);
        scene.later(1);
    }
    assert_eq!(scene.marks.handovers.sessions().len(), SESSIONS_MAX);
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    for nth in 1..=SHOWINGS_MAX as u64 + 1 {
        scene.show("a", Moment::Start, &[nth]);
    }
    assert_eq!(scene.unread(1..=SHOWINGS_MAX as u64 + 1), [1], "the oldest is unread again");
    assert!(!scene.at("nobody", Moment::Gone), "the end of an unknown session is ignored");
}

#[test]
fn the_stored_form_is_frozen() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Start);
    scene.show("a", Moment::Start, &[7]);
    scene.at("b", Moment::Alive);
    scene.show("b", Moment::Tool, &[9]);
    scene.at("b", Moment::Gone);
    let form = concat!(
        r#"{"turn":1,"pending":[{"session":"a","at":"start","spots":["7.0"],"to":{"session.message":[7,0],"#,
        r#""session.invited":[7,0],"contact.requested":[7,0],"frame":[0,0],"channel.mention":[7,0],"#,
        r#""review.requested":[7,0],"run.waiting":[7,0],"session.offered":[0,0],"request.answered":[7,0]}}],"returned":{"9.0":1},"#,
        r#""sessions":[{"session":"a","client":"claude","began":1000000,"worked":1000000,"heard":1000000,"hooks":true},"#,
        r#"{"session":"b","client":"claude","began":1000000,"worked":1000000,"heard":1000000,"ended":1000000,"#,
        r#""hooks":true}]}"#,
    );
    assert_eq!(serde_json::to_string(&scene.marks.handovers).unwrap(), form);
    assert_eq!(serde_json::from_str::<Handovers>(form).unwrap(), scene.marks.handovers);
    for text in ["7.0", "7.a.s", "f12"] {
        assert_eq!(text.parse::<ItemId>().unwrap().to_string(), text);
    }
    for text in ["", "7", "f", "fx", "7.0.x", "7.0.s.s", "-1.0", "7.g"] {
        assert!(text.parse::<ItemId>().is_err(), "{text}");
    }
}

/// Which session gets an item, given what the sessions did, each a second after the one before.
#[test]
fn items_go_to_the_session_that_spoke_there_or_works_or_was_used_last() {
    use Moment::{End, Prompt, Start, Stop, Tool};
    let talk: SessionId = "sess_00000000000000000000000001".parse().unwrap();
    for (moments, of_talk, of_agent) in [
        (&[][..], "ab", "ab"),
        (&[("a", Start)][..], "a", "a"),
        (&[("a", Start), ("b", Start)], "b", "b"),
        (&[("a", Start), ("b", Prompt), ("b", Stop), ("a", Prompt)], "a", "a"),
        (&[("a", Prompt), ("b", Start)], "a", "a"),
        (&[("a", Prompt), ("b", Prompt), ("b", Stop)], "a", "a"),
        (&[("a", Prompt), ("a", Moment::Spoke), ("a", Stop), ("b", Prompt)], "a", "b"),
        (&[("a", Prompt), ("a", Moment::Spoke), ("b", Prompt), ("b", Moment::Spoke)], "b", "b"),
        (&[("a", Prompt), ("a", Moment::Spoke), ("b", Prompt), ("a", End)], "b", "b"),
        (&[("b", Tool), ("a", Prompt), ("a", Moment::Spoke), ("a", Moment::Gone), ("b", End)], "ab", "ab"),
    ] {
        let mut scene = Scene::new();
        for (session, moment) in moments {
            scene.later(1_000);
            scene.at(session, *moment);
            if *moment == Moment::Spoke {
                scene.marks.handovers.note_spoke(session, &talk);
            }
        }
        let now = TimestampMs(scene.now);
        let addressees = |about: Option<&SessionId>| -> String {
            ["a", "b"]
                .into_iter()
                .filter(|session| scene.marks.handovers.is_for(session, about, Passage::ORDINARY, now))
                .collect()
        };
        assert_eq!(
            (addressees(Some(&talk)).as_str(), addressees(None).as_str()),
            (of_talk, of_agent),
            "{moments:?}"
        );
    }
}

#[test]
fn after_the_clock_was_set_back_a_session_that_is_gone_takes_no_items_and_one_that_goes_on_is_live() {
    for goes_on in [false, true] {
        let mut scene = Scene::new();
        scene.later(4_000_000);
        scene.at("a", Moment::Prompt);
        scene.now -= 3_600_000;
        if goes_on {
            scene.at("a", Moment::Alive);
        } else {
            scene.at("b", Moment::Start);
        }
        let is_for =
            |session| scene.marks.handovers.is_for(session, None, Passage::ORDINARY, TimestampMs(scene.now));
        assert_eq!((is_for("a"), is_for("b")), (goes_on, !goes_on));
    }
}

/// A turn that its person interrupted has no end event.
#[test]
fn a_turn_without_an_end_counts_as_in_progress_for_a_limited_time() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Prompt);
    for _ in 0..=TURN_MS / 30_000 {
        scene.later(30_000);
        scene.at("a", Moment::Alive);
        scene.at("b", Moment::Alive);
    }
    scene.at("b", Moment::Start);
    assert!(scene.marks.handovers.is_for("b", None, Passage::ORDINARY, TimestampMs(scene.now)));
}

#[test]
fn items_that_a_page_left_out_stay_unread_for_the_other_session() {
    let mut scene = Scene::new();
    scene.show_beside("a", Moment::Prompt, &[1, 4], &[2, 3]);
    assert_eq!(scene.unread(1..=4), [2, 3]);
    scene.at("a", Moment::Tool);
    assert_eq!(scene.unread(1..=4), [2, 3], "the page is after them");
    let state = |scene: &Scene, at| scene.marks.state(Kind::SessionMessage, ItemPosition(Position(at), 0));
    assert_eq!((state(&scene, 1), state(&scene, 2)), (State::InContext, State::Delivered));
    scene.show("b", Moment::Tool, &[2, 3]);
    scene.at("b", Moment::Stop);
    assert_eq!(scene.unread(1..=4), [0; 0]);
}

#[test]
fn the_sessions_in_which_a_coding_session_spoke_are_bounded() {
    let mut scene = Scene::new();
    scene.at("a", Moment::Prompt);
    scene.at("b", Moment::Prompt);
    let id = |nth: usize| format!("sess_{nth:026}").parse::<SessionId>().unwrap();
    for nth in 0..=SPOKE_IN_MAX {
        assert!(scene.marks.handovers.note_spoke("a", &id(nth)));
    }
    assert!(!scene.marks.handovers.note_spoke("a", &id(SPOKE_IN_MAX)), "that is known");
    let is_for_a =
        |nth| scene.marks.handovers.is_for("a", Some(&id(nth)), Passage::ORDINARY, TimestampMs(scene.now));
    assert_eq!((is_for_a(0), is_for_a(1)), (false, true), "b works");
}

/// One session that does not want to be disturbed: what is for any goes to another, and what is for it waits.
#[test]
fn an_item_for_any_session_goes_to_one_that_may_be_disturbed() {
    let talk: SessionId = "sess_00000000000000000000000001".parse().unwrap();
    let mut scene = Scene::new();
    scene.at("b", Moment::Start);
    scene.later(1_000);
    scene.at("a", Moment::Prompt);
    scene.marks.handovers.note_spoke("a", &talk);
    let dnd = AttentionChange { level: AttentionLevel::Dnd, until: Some(TimestampMs(scene.now + 500)) };
    assert_eq!(scene.marks.handovers.attend("a", dnd, TimestampMs(scene.now)), Some(true));
    assert_eq!(
        scene.marks.handovers.attend("a", dnd, TimestampMs(scene.now)),
        Some(false),
        "it holds already"
    );
    assert_eq!(scene.marks.handovers.attend("c", dnd, TimestampMs(scene.now)), None);
    let of = |scene: &Scene, about: Option<&SessionId>| -> String {
        let now = TimestampMs(scene.now);
        let is_for = |session: &&str| scene.marks.handovers.is_for(session, about, Passage::ORDINARY, now);
        ["a", "b"].into_iter().filter(is_for).collect()
    };
    assert_eq!((of(&scene, None), of(&scene, Some(&talk))), ("b".to_owned(), String::new()));
    scene.later(500);
    assert_eq!((of(&scene, None), of(&scene, Some(&talk))), ("a".to_owned(), "a".to_owned()), "it is over");
}

#[test]
fn a_cut_item_is_shown_and_not_in_context_until_its_rest_was_shown() {
    let mut scene = Scene::new();
    let cut = |shown| vec![CutItem { item_id: item_id(1), portion: Portion { shown, all: 20 } }];
    scene.show("a", Moment::Prompt, &[1, 2]);
    scene.marks.handovers.note_cut(cut(9));
    let state = |scene: &Scene, at| scene.marks.state(Kind::SessionMessage, ItemPosition(Position(at), 0));
    assert_eq!(scene.marks.handovers.portion(item_id(1)), Some(Portion { shown: 9, all: 20 }));
    scene.at("a", Moment::Tool);
    assert_eq!((state(&scene, 1), state(&scene, 2)), (State::Shown, State::InContext));
    assert!(scene.unread(1..=2).is_empty(), "it is not shown again");
    scene.marks.raise(State::InContext, &page(2, 9), None);
    assert_eq!(state(&scene, 1), State::Shown, "a later page does not concern it");
    scene.marks.raise(State::Acknowledged, &page(2, 9), None);
    assert_eq!((state(&scene, 1), scene.marks.handovers.portion(item_id(1))), (State::Acknowledged, None));
    // One that came back and was then shown whole.
    scene.show("a", Moment::Prompt, &[3]);
    scene
        .marks
        .handovers
        .note_cut(vec![CutItem { item_id: item_id(3), portion: Portion { shown: 1, all: 2 } }]);
    scene.at("a", Moment::Compact);
    assert_eq!(scene.unread(3..=3), [3]);
    scene.show("a", Moment::Prompt, &[3]);
    scene.at("a", Moment::Stop);
    assert_eq!(state(&scene, 3), State::InContext);
}
