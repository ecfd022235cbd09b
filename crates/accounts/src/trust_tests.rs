//! The trust layer against an independent, naive statement of ASP-6 to ASP-13, over every combination.

use plenary_kernel::{AllowEntry, TimestampMs, Version};
use proptest::{prelude::*, sample::subsequence};

use crate::{
    Actor, AgentState, KnownAgent, Policy, TokenDigest, admits_owner,
    agent::event::{AgentDeleted, AgentEvent, AgentRegistered, AllowedEntries, Block},
    blocked_between, may_contact,
};

/// The settings of an agent, as its owner states them.
#[derive(Debug, Clone)]
struct OwnerSettings {
    handle: &'static str,
    exists: bool,
    deleted: bool,
    open: bool,
    list: Vec<&'static str>,
    blocks: Vec<&'static str>,
}

fn known_agent(settings: &OwnerSettings) -> KnownAgent {
    let actor = || Actor::Operator;
    let mut events = Vec::new();
    if settings.exists {
        events.push(AgentEvent::AgentRegistered(AgentRegistered {
            by: actor(),
            policy: if settings.open { Policy::Open } else { Policy::Allowlist },
            allowlist: Vec::new(),
            self_service: false,
            token: TokenDigest::of("t"),
            through: None,
            kind: crate::AgentKind::Agent,
            profile: crate::agent::profile::ProfileChange::default(),
        }));
        let entries: Vec<AllowEntry> = settings.list.iter().map(|entry| entry.parse().unwrap()).collect();
        events.push(AgentEvent::EntriesAllowed(AllowedEntries { by: actor(), entries, counted: true }));
        for blocked in &settings.blocks {
            events.push(AgentEvent::AgentBlocked(Block { by: actor(), blocked: blocked.parse().unwrap() }));
        }
    }
    if settings.exists && settings.deleted {
        events.push(AgentEvent::AgentDeleted(AgentDeleted { by: actor(), token: None, ended: Vec::new() }));
    }
    let mut state = AgentState::default();
    for event in &events {
        state.evolve(Version(1), TimestampMs(1), event);
    }
    KnownAgent {
        handle: settings.handle.parse().unwrap(),
        state: state.into(),
        version: Version(1),
        upon: None,
    }
}

/// ASP-7: an entry names an agent exactly, or every agent of an owner.
fn is_listed(list: &[&str], handle: &str) -> bool {
    let owner = handle.split('.').next().unwrap();
    list.iter().any(|entry| *entry == handle || *entry == format!("{owner}.*"))
}

/// The seed's section 6.2, clause by clause.
fn naive(a: &OwnerSettings, b: &OwnerSettings) -> bool {
    if a.handle == b.handle {
        return true;
    }
    // An agent that does not exist contacts nobody.
    if !(a.exists && b.exists) || a.deleted || b.deleted {
        return false;
    }
    // ASP-12, ASP-13: a block of either wins over any policy.
    if a.blocks.contains(&b.handle) || b.blocks.contains(&a.handle) {
        return false;
    }
    match (a.open, b.open) {
        // ASP-11: no gate.
        (true, true) => true,
        // ASP-10: the allowlist side decides.
        (false, true) => is_listed(&a.list, b.handle),
        (true, false) => is_listed(&b.list, a.handle),
        // ASP-9: mutual entries.
        (false, false) => is_listed(&a.list, b.handle) && is_listed(&b.list, a.handle),
    }
}

const HANDLES: [&str; 4] = ["@a.x", "@a.y", "@ab.x", "@b.x"];
const ENTRIES: [&str; 8] = ["@a.x", "@a.y", "@ab.x", "@b.x", "@a.*", "@ab.*", "@b.*", "@c.*"];

fn settings() -> impl Strategy<Value = OwnerSettings> {
    let handle = prop::sample::select(HANDLES.to_vec());
    let flags = (prop::bool::weighted(0.9), prop::bool::weighted(0.1), any::<bool>());
    let list = subsequence(ENTRIES.to_vec(), 0..=ENTRIES.len());
    let blocks = prop_oneof![3 => Just(Vec::new()), 1 => subsequence(HANDLES.to_vec(), 0..=HANDLES.len())];
    (handle, flags, list, blocks).prop_map(|(handle, (exists, deleted, open), list, blocks)| OwnerSettings {
        handle,
        exists,
        deleted,
        open,
        list,
        blocks,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asp_6_to_13_trust_is_what_the_clauses_say(a in settings(), b in settings()) {
        let (one, other) = (known_agent(&a), known_agent(&b));
        prop_assert_eq!(may_contact(&one, &other), naive(&a, &b));
        prop_assert_eq!(may_contact(&one, &other), may_contact(&other, &one), "ASP-8: symmetric");
    }
}

#[test]
fn an_owner_is_admitted_by_an_entry_for_any_of_its_agents() {
    let admits = |open, list: &[&'static str]| {
        let list = list.to_vec();
        let settings =
            OwnerSettings { handle: "@bob.b", exists: true, deleted: false, open, list, blocks: Vec::new() };
        admits_owner(&known_agent(&settings), &"host".parse().unwrap())
    };
    assert!(admits(true, &[]));
    for list in [["@host.*"], ["@host.bot"], ["@host.0"], ["@host.z-9"]] {
        assert!(admits(false, &list), "{list:?}");
    }
    assert!(admits(false, &["@a.b", "@host.bot", "@z.z"]));
    for list in [&[][..], &["@hos.t"], &["@hosts.bot"], &["@host-2.bot", "@a.*"]] {
        assert!(!admits(false, list), "{list:?}");
    }
}

/// ASP-9 to ASP-13 once more, as a table of every policy, listing and block of two agents.
#[test]
fn asp_9_to_13_the_whole_matrix_of_two_agents() {
    let lists: [&[&'static str]; 4] = [&[], &["@b.x"], &["@b.*"], &["@c.*"]];
    let mirrored: [&[&'static str]; 4] = [&[], &["@a.x"], &["@a.*"], &["@c.*"]];
    let mut reached = 0;
    for open in 0..4 {
        for (nth_a, nth_b) in (0..16).map(|nth| (nth / 4, nth % 4)) {
            for blocks in 0..4 {
                let settings_of =
                    |handle, open, list: &[&'static str], blocks: Option<&'static str>| OwnerSettings {
                        handle,
                        exists: true,
                        deleted: false,
                        open,
                        list: list.to_vec(),
                        blocks: blocks.into_iter().collect(),
                    };
                let a = settings_of("@a.x", open & 1 > 0, lists[nth_a], (blocks & 1 > 0).then_some("@b.x"));
                let b =
                    settings_of("@b.x", open & 2 > 0, mirrored[nth_b], (blocks & 2 > 0).then_some("@a.x"));
                let (one, other) = (known_agent(&a), known_agent(&b));
                assert_eq!(may_contact(&one, &other), naive(&a, &b), "{a:?} {b:?}");
                assert_eq!(blocked_between(&one, &other), blocks > 0);
                reached += usize::from(may_contact(&one, &other));
            }
        }
    }
    // 16 list pairs open to open, 8 for each mixed pair, 4 for two closed ones, all without a block.
    assert_eq!(reached, 16 + 8 + 8 + 4);
}

/// ASP-106: a stranger reaches an open agent, and not a closed one.
#[test]
fn asp_106_open_is_reachable_by_a_stranger_that_is_open_itself() {
    let settings_of = |handle, open| OwnerSettings {
        handle,
        exists: true,
        deleted: false,
        open,
        list: vec![],
        blocks: vec![],
    };
    assert!(may_contact(&known_agent(&settings_of("@a.x", true)), &known_agent(&settings_of("@b.x", true))));
    assert!(
        !may_contact(&known_agent(&settings_of("@a.x", false)), &known_agent(&settings_of("@b.x", true))),
        "ASP-8: outbound as well"
    );
}
