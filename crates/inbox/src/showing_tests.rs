//! Given what was shown, when a session does something, then this is in context and that is unread again.

use plenary_kernel::Position;

use super::*;
use crate::{cursor::Place, kind::Kinds, marks::Marks};

fn spot(at: u64) -> Spot {
    Spot::Log(Place(Position(at), 0))
}

fn page(to: u64, turn: u64) -> Cursor {
    let place = Place(Position(to), 0);
    Cursor { kinds: Kinds::ALL, place, lane: 0, offers: Place::default(), turn }
}

/// An agent's marks, with a clock that stands still unless it is moved.
struct Desk {
    marks: Marks,
    now: u64,
}

impl Desk {
    fn new() -> Self {
        Self { marks: Marks::default(), now: 1_000_000 }
    }

    fn at(&mut self, session: &str, moment: Moment) -> bool {
        self.marks.event(session, "claude", moment, TimestampMs(self.now))
    }

    fn show(&mut self, session: &str, moment: Moment, spots: &[u64]) {
        let to = page(*spots.last().unwrap(), self.marks.shown.turn());
        let spots = spots.iter().copied().map(spot).collect();
        assert!(self.marks.show((session, "claude"), moment, spots, &to, TimestampMs(self.now)));
    }

    fn unread(&mut self, all: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        self.marks.shown.lapse(TimestampMs(self.now));
        let place = |at: u64| Place(Position(at), 0);
        all.filter(|at| self.marks.is_unread(Kind::SessionMessage, place(*at))).collect()
    }

    fn later(&mut self, ms: u64) {
        self.now += ms;
    }
}

/// The whole table: shown at one moment, then another comes.
#[test]
fn what_is_shown_is_in_context_at_the_next_event_that_still_has_it() {
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
        let mut desk = Desk::new();
        desk.at("s", Start);
        desk.show("s", shown_at, &[1, 2]);
        assert_eq!(desk.unread(1..=2), Vec::<u64>::new(), "handed over, it is nobody else's");
        desk.at("s", then);
        let seen = desk.marks.seen.of(Kind::SessionMessage) >= Place(Position(2), 0);
        assert_eq!(seen, is_seen, "{shown_at:?} {then:?}");
        assert_eq!(!desk.unread(1..=2).is_empty(), is_unread, "{shown_at:?} {then:?}");
    }
}

#[test]
fn what_one_session_has_does_not_hold_up_another_and_comes_back_alone() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Start, &[1, 2]);
    desk.at("b", Moment::Start);
    assert_eq!(desk.unread(1..=4), [3, 4]);
    desk.show("b", Moment::Prompt, &[3, 4]);
    desk.at("b", Moment::Tool);
    assert_eq!(desk.unread(1..=4), Vec::<u64>::new());
    desk.at("a", Moment::Gone);
    assert_eq!(desk.unread(1..=4), [1, 2], "though the mark stands behind them");
    desk.show("b", Moment::Tool, &[1, 2]);
    desk.at("b", Moment::Stop);
    assert_eq!(desk.unread(1..=4), Vec::<u64>::new());
}

#[test]
fn what_comes_back_before_another_is_settled_is_not_lost() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Start, &[1]);
    desk.at("b", Moment::Start);
    desk.show("b", Moment::Prompt, &[2]);
    desk.at("a", Moment::End);
    desk.at("b", Moment::Tool);
    assert_eq!(desk.unread(1..=2), [1]);
}

#[test]
fn a_session_that_is_silent_hands_back_and_one_that_returns_has_it_still() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Prompt, &[1, 2]);
    desk.later(LEASE_MS);
    assert_eq!(desk.unread(1..=2), Vec::<u64>::new());
    desk.later(1);
    assert_eq!(desk.unread(1..=2), [1, 2], "killed, it is known to be gone");
    desk.at("b", Moment::Start);
    desk.show("b", Moment::Start, &[1]);
    desk.at("a", Moment::Tool);
    assert_eq!(desk.unread(1..=2), Vec::<u64>::new(), "it was only asleep: both were in its context");
    desk.at("b", Moment::Gone);
    assert_eq!(desk.unread(1..=2), Vec::<u64>::new(), "nobody is shown it again");
}

#[test]
fn who_is_looked_after_is_live_without_doing_anything() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Start, &[1]);
    for _ in 0..30 {
        desk.later(20_000);
        assert!(desk.at("a", Moment::Alive));
        assert_eq!(desk.unread(1..=1), Vec::<u64>::new());
    }
    desk.later(QUIET_MS - 1);
    assert!(!desk.at("a", Moment::Alive), "not each sign is written");
    desk.at("a", Moment::End);
    assert!(!desk.at("a", Moment::Alive), "an ended session is not woken by who looks after it");
    assert_eq!(desk.unread(1..=1), [1]);
}

#[test]
fn a_page_from_before_takes_nothing_that_came_back_since() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Start, &[1]);
    let read = page(2, desk.marks.shown.turn());
    desk.at("a", Moment::Gone);
    desk.marks.raise(crate::State::Acknowledged, &read, None);
    assert_eq!(desk.unread(1..=2), [1], "it was not on the page");
    let again = page(1, desk.marks.shown.turn());
    desk.marks.raise(crate::State::InContext, &again, Some(&page(1, 0)));
    assert_eq!(desk.unread(1..=2), [1], "nor behind what the page began with");
    desk.marks.raise(crate::State::InContext, &again, None);
    assert_eq!(desk.unread(1..=2), Vec::<u64>::new());
}

#[test]
fn why_something_waits_follows_from_the_sessions() {
    let mut desk = Desk::new();
    assert_eq!(desk.marks.shown.reason(TimestampMs(desk.now)), None, "no coding agent");
    let reason = |desk: &Desk| desk.marks.shown.reason(TimestampMs(desk.now)).unwrap();
    desk.at("a", Moment::Start);
    assert_eq!(reason(&desk), (Reason::NextEvent, None));
    desk.at("a", Moment::End);
    let ended = TimestampMs(desk.now);
    desk.later(5);
    assert_eq!(reason(&desk), (Reason::NoLiveSession, Some(ended)));
    desk.at("tools", Moment::Alive);
    let since = TimestampMs(desk.now);
    desk.later(5);
    assert_eq!(reason(&desk), (Reason::HooksOff, Some(since)));
    desk.later(LEASE_MS);
    assert_eq!(reason(&desk), (Reason::NoLiveSession, Some(since)), "killed");
}

#[test]
fn past_their_numbers_nothing_is_lost() {
    let mut desk = Desk::new();
    for nth in 0..SESSIONS_MAX as u64 + 5 {
        desk.at(&format!("s{nth}"), Moment::Start);
        desk.later(1);
    }
    assert_eq!(desk.marks.shown.sessions().len(), SESSIONS_MAX);
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    for nth in 1..=SHOWINGS_MAX as u64 + 1 {
        desk.show("a", Moment::Start, &[nth]);
    }
    assert_eq!(desk.unread(1..=SHOWINGS_MAX as u64 + 1), [1], "the oldest is unread again");
    assert!(!desk.at("nobody", Moment::Gone), "who is unknown and gone is nobody");
}

#[test]
fn the_stored_form_is_frozen() {
    let mut desk = Desk::new();
    desk.at("a", Moment::Start);
    desk.show("a", Moment::Start, &[7]);
    desk.at("b", Moment::Alive);
    desk.show("b", Moment::Tool, &[9]);
    desk.at("b", Moment::Gone);
    let form = concat!(
        r#"{"turn":1,"pending":[{"session":"a","at":"start","spots":["7.0"],"to":{"session.message":[7,0],"#,
        r#""session.invited":[7,0],"contact.requested":[7,0],"frame":[0,0],"channel.mention":[7,0],"#,
        r#""review.requested":[7,0],"run.waiting":[7,0],"session.offered":[0,0]}}],"returned":{"9.0":1},"#,
        r#""sessions":[{"session":"a","client":"claude","began":1000000,"worked":1000000,"heard":1000000,"hooks":true},"#,
        r#"{"session":"b","client":"claude","began":1000000,"worked":1000000,"heard":1000000,"ended":1000000,"#,
        r#""hooks":true}]}"#,
    );
    assert_eq!(serde_json::to_string(&desk.marks.shown).unwrap(), form);
    assert_eq!(serde_json::from_str::<Shown>(form).unwrap(), desk.marks.shown);
    for text in ["7.0", "7.a.s", "f12"] {
        assert_eq!(text.parse::<Spot>().unwrap().to_string(), text);
    }
    for text in ["", "7", "f", "fx", "7.0.x", "7.0.s.s", "-1.0", "7.g"] {
        assert!(text.parse::<Spot>().is_err(), "{text}");
    }
}
