//! The fold: the newest events count, and the state stays small.

use plenary_kernel::{TimestampMs, Version};

use super::deciding::{Scene, anyone, append, caller};
use crate::{
    AGENTS_REMEMBERED_MAX,
    command::{AppendEvent, Draft},
    event::ChannelEvent,
    liveness::{Cadence, ClockNotice, is_ahead, presence},
    state::folds,
    wire::AgentPresence,
};

#[test]
fn ch_16_17_the_newest_spec_and_state_win() {
    let mut scene = Scene::created(caller("@o.ann"));
    assert_eq!((scene.state.spec, scene.state.state), (Version::ZERO, Version::ZERO));
    for (n, kind) in ["spec", "state", "comms", "state", "spec", "log", "Spec"].into_iter().enumerate() {
        scene.append(2_000 + n as u64, caller("@o.ann"), kind);
    }
    assert_eq!((scene.state.spec, scene.state.state), (Version(6), Version(5)));
    assert_eq!(scene.state.state_at, TimestampMs(2_003));
}

fn status(scene: &mut Scene, at: u64, author: &str) {
    let draft = Draft { author: Some(author.into()), ..append(anyone(), "status").draft.unwrap() };
    let command = AppendEvent { draft: Ok(draft), ..append(caller("@o.ann"), "status") };
    let decision = scene.decide(at, &command).unwrap();
    for event in &decision.events {
        scene.version = scene.version.next();
        scene.state.evolve(scene.version, TimestampMs(at), event);
    }
}

#[test]
fn ch_1_2_3_18_silence_past_five_cadences_is_death() {
    let mut scene = Scene::created(caller("@o.ann"));
    status(&mut scene, 10_000, "a");
    status(&mut scene, 20_000, "b");
    scene.append(90_000, caller("@o.ann"), "comms");
    let agent = |agent: &str, at: &str, silent_seconds, presumed_dead| AgentPresence {
        agent: agent.into(),
        via: Some("@o.ann".into()),
        last_status_at: at.into(),
        silent_seconds,
        presumed_dead,
    };
    let (a_at, b_at) = ("1970-01-01T00:00:10.000Z", "1970-01-01T00:00:20.000Z");
    let seen = presence(&scene.state, Cadence(60), None, TimestampMs(310_000));
    assert_eq!(seen.cadence_seconds, 60);
    assert_eq!(seen.agents, [agent("b", b_at, 290, false), agent("a", a_at, 300, false)]);
    let seen = presence(&scene.state, Cadence(60), None, TimestampMs(310_001));
    assert_eq!(seen.agents, [agent("b", b_at, 290, false), agent("a", a_at, 300, true)]);
    // The cadence is the only setting.
    let seen = presence(&scene.state, Cadence(2), None, TimestampMs(30_001));
    assert_eq!(seen.agents, [agent("b", b_at, 10, true), agent("a", a_at, 20, true)]);
    status(&mut scene, 311_000, "a");
    assert!(!presence(&scene.state, Cadence(60), None, TimestampMs(312_000)).agents[0].presumed_dead);
}

#[test]
fn d_6_what_stands_earlier_in_the_log_is_no_later_than_what_follows() {
    let mut scene = Scene::created(caller("@o.ann"));
    scene.append(1_000_000, caller("@o.ann"), "state");
    status(&mut scene, 1_000_000, "a");
    status(&mut scene, 10_000, "b");
    assert_eq!(scene.state.state_at, TimestampMs(10_000));
    let seen = presence(&scene.state, Cadence(60), None, TimestampMs(311_000));
    let listed: Vec<_> =
        seen.agents.iter().map(|a| (a.agent.as_str(), a.silent_seconds, a.presumed_dead)).collect();
    assert_eq!(listed, [("b", 301, true), ("a", 301, true)], "the latest in the log first");
}

#[test]
fn d_6_silence_behind_a_clock_that_went_back_is_counted_from_when_it_was_noticed() {
    let mut scene = Scene::created(caller("@o.ann"));
    status(&mut scene, 1_000_000, "a");
    assert!(is_ahead(&scene.state, None, TimestampMs(20_000)));
    let noticed = Some(ClockNotice { version: scene.version, at: TimestampMs(20_000) });
    assert!(!is_ahead(&scene.state, noticed, TimestampMs(20_000)));
    let silent = |scene: &Scene, now| {
        let seen = presence(&scene.state, Cadence(60), noticed, TimestampMs(now));
        (seen.agents[0].silent_seconds, seen.agents[0].presumed_dead)
    };
    assert_eq!((silent(&scene, 20_000), silent(&scene, 321_000)), ((0, false), (301, true)));
    assert_eq!(silent(&scene, 1_100_000), (1_080, true), "also when the clock has caught up");
    status(&mut scene, 330_000, "a");
    assert_eq!(silent(&scene, 331_000), (1, false), "a new sign of life counts as it is");
}

#[test]
fn past_its_limit_whoever_was_silent_longest_is_forgotten() {
    let mut scene = Scene::created(caller("@o.ann"));
    for n in 0..AGENTS_REMEMBERED_MAX {
        status(&mut scene, 2_000 + n as u64, &format!("a{n}"));
    }
    status(&mut scene, 9_000, "a0");
    status(&mut scene, 9_001, "newcomer");
    assert_eq!(scene.state.statuses.len(), AGENTS_REMEMBERED_MAX);
    assert!(scene.state.statuses.contains_key("a0") && scene.state.statuses.contains_key("newcomer"));
    assert!(!scene.state.statuses.contains_key("a1"));
}

#[test]
fn what_does_not_fold_changes_nothing() {
    let mut scene = Scene::created(caller("@o.ann"));
    for kind in ["comms", "comms", "log", "status", "comms", "state", "spec", "log"] {
        let decision = scene.decide(2_000, &append(caller("@p.bob"), kind)).unwrap();
        let [event @ ChannelEvent::EventAppended(_)] = &decision.events[..] else { panic!("one event") };
        let before = scene.state.clone();
        scene.version = scene.version.next();
        scene.state.evolve(scene.version, TimestampMs(2_000), event);
        assert_eq!(folds(event), scene.state != before, "{kind}");
    }
}

#[test]
fn the_state_survives_a_snapshot() {
    let mut scene = Scene::created(caller("@o.ann"));
    for kind in ["spec", "state", "status", "a/b", "a%b"] {
        scene.append(2_000, caller("@p.bob"), kind);
    }
    scene.close(3_000, caller("~q"));
    let text = serde_json::to_string(&scene.state).unwrap();
    assert_eq!(serde_json::from_str::<crate::state::ChannelState>(&text).unwrap(), scene.state);
}
