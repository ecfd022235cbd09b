//! Given, when, then: creating and changing an agent.

use plenary_kernel::{AllowEntry, Stamp, TimestampMs, Version};

use super::{
    command::{
        AgentEdit, EditAgent, EditFacts, EditOutcome, Eviction, RegisterAgent, RegisterFacts,
        RegisterOutcome, Settings,
    },
    decide::{edit, register},
    event::AgentEvent,
    profile::{Profile, ProfileChange, Visibility},
    state::AgentState,
};
use crate::{
    AgentKind, Authority, Policy, Rejection, TokenDigest,
    limits::{ALLOWLIST_ENTRIES_MAX, BLOCKS_MAX},
};

const FACTS: RegisterFacts = RegisterFacts {
    is_authorized: true,
    owner_exists: true,
    token_exists: false,
    owner_is_full: false,
    through: None,
};
const EDIT: EditFacts = EditFacts { is_authorized: true, token_exists: false, through: None };

fn stamp() -> Stamp {
    Stamp::new(TimestampMs(1_000), [7; 10])
}

fn authority(actor: &str, token: &str) -> Authority {
    Authority { by: actor.parse().unwrap(), token: Some(TokenDigest::of(token)) }
}

fn entries(texts: &[&str]) -> Vec<AllowEntry> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn registering(actor: &str) -> RegisterAgent {
    let handle = "@nick.bot".parse().unwrap();
    let agent = RegisterAgent::new(authority(actor, actor), handle, TokenDigest::of("pla"));
    RegisterAgent { allowlist: entries(&["@b.c", "@a.*", "@b.c"]), ..agent }
}

fn profile_of(display_name: &str, description: &str, card_body: &str) -> ProfileChange {
    let [display_name, description, card_body] =
        [display_name, description, card_body].map(|t| Some(t.to_owned()));
    ProfileChange { display_name, description, card_body, visibility: None }
}

fn evolved(state: &AgentState, events: &[AgentEvent]) -> AgentState {
    let mut state = state.clone();
    for event in events {
        state.evolve(Version(2), TimestampMs(5), event);
    }
    state
}

/// `@nick.bot`, which allows `@a.*` and `@b.c`, with the token `pla`.
fn nick(self_service: bool) -> AgentState {
    let command = RegisterAgent { self_service, ..registering("operator") };
    let decision = register(&AgentState::default(), &FACTS, &command).unwrap();
    evolved(&AgentState::default(), &decision.events)
}

fn command(authority: Authority, edit: AgentEdit) -> EditAgent {
    EditAgent { authority, handle: "@nick.bot".parse().unwrap(), edit }
}

fn try_edit(
    state: &AgentState,
    authority: Authority,
    change: AgentEdit,
) -> Result<(AgentState, usize), Rejection> {
    let decision = edit(state, EDIT, &stamp(), &command(authority, change))?;
    Ok((evolved(state, &decision.events), decision.events.len()))
}

fn by_operator(state: &AgentState, change: AgentEdit) -> Result<(AgentState, usize), Rejection> {
    try_edit(state, authority("operator", "plo"), change)
}

fn every_edit() -> Vec<AgentEdit> {
    vec![
        AgentEdit::Configure(Settings { policy: Some(Policy::Open), ..Settings::default() }),
        AgentEdit::Configure(Settings { profile: profile_of("N", "d", "c"), ..Settings::default() }),
        AgentEdit::Allow(entries(&["@x.y"])),
        AgentEdit::Disallow("@a.*".parse().unwrap()),
        AgentEdit::Block("@eve.bot".parse().unwrap()),
        AgentEdit::Unblock("@eve.bot".parse().unwrap()),
        AgentEdit::Configure(Settings { self_service: Some(true), ..Settings::default() }),
        AgentEdit::Configure(Settings { hold_runs: Some(true), ..Settings::default() }),
        AgentEdit::Configure(Settings { hold_invitations: Some(true), ..Settings::default() }),
        AgentEdit::RotateToken(TokenDigest::of("new")),
        AgentEdit::Delete,
    ]
}

#[test]
fn asp_6_an_agent_is_made_closed_by_the_operator_or_its_owner() {
    for actor in ["operator", "seed", "~nick"] {
        let decision = register(&AgentState::default(), &FACTS, &registering(actor)).unwrap();
        assert_eq!(decision.reply, RegisterOutcome { makes_owner: false });
        let state = evolved(&AgentState::default(), &decision.events);
        assert!(state.is_live() && state.policy() == Policy::Allowlist && !state.configures_itself());
        assert_eq!(state.allowlist().iter().cloned().collect::<Vec<_>>(), entries(&["@a.*", "@b.c"]));
        assert!(state.accepts_token(&TokenDigest::of("pla")) && !state.accepts_token(&TokenDigest::of("x")));
        assert_eq!(state.created_at(), Some(TimestampMs(5)));
    }
    for actor in ["~other", "@nick.other", "@nick.bot"] {
        let rejection = register(&AgentState::default(), &FACTS, &registering(actor));
        assert_eq!(rejection.unwrap_err(), Rejection::NotFound, "{actor}");
    }
}

#[test]
fn an_agent_brings_its_owner() {
    let facts = RegisterFacts { owner_exists: false, ..FACTS };
    let decision = register(&AgentState::default(), &facts, &registering("operator")).unwrap();
    assert!(decision.reply.makes_owner);
}

#[test]
fn making_an_agent_is_refused_for_each_reason() {
    let no_agent = AgentState::default();
    let rejection = |state: &AgentState, facts| register(state, &facts, &registering("~nick")).unwrap_err();
    assert_eq!(rejection(&no_agent, RegisterFacts { is_authorized: false, ..FACTS }), Rejection::Revoked);
    assert_eq!(rejection(&no_agent, RegisterFacts { token_exists: true, ..FACTS }), Rejection::TokenExists);
    assert_eq!(
        rejection(&no_agent, RegisterFacts { owner_is_full: true, ..FACTS }),
        Rejection::TooManyAgents
    );
    assert_eq!(rejection(&nick(false), FACTS), Rejection::AgentExists);
    let (deleted, _) = by_operator(&nick(false), AgentEdit::Delete).unwrap();
    assert_eq!(rejection(&deleted, FACTS), Rejection::AgentExists, "the handle stays taken");
    let too_many = (0..=ALLOWLIST_ENTRIES_MAX).map(|n| format!("@x.n{n}").parse().unwrap()).collect();
    let command = RegisterAgent { allowlist: too_many, ..registering("operator") };
    assert_eq!(register(&no_agent, &FACTS, &command).unwrap_err(), Rejection::AllowlistFull);
}

#[test]
fn asp_102_only_the_operator_its_owner_and_itself_change_an_agent() {
    for change in every_edit() {
        for actor in ["operator", "seed", "~nick"] {
            assert!(
                try_edit(&nick(false), authority(actor, "t"), change.clone()).is_ok(),
                "{actor} {change:?}"
            );
        }
        for actor in ["~other", "@nick.other", "@eve.bot"] {
            let rejection = try_edit(&nick(true), authority(actor, "pla"), change.clone()).unwrap_err();
            assert_eq!(rejection, Rejection::NotFound, "{actor} {change:?}");
        }
    }
}

#[test]
fn asp_3_an_agent_configures_itself_only_where_its_owner_lets_it() {
    for (nth, change) in every_edit().into_iter().enumerate() {
        let itself = || authority("@nick.bot", "pla");
        let bound = try_edit(&nick(false), itself(), change.clone()).unwrap_err();
        assert_eq!(bound, Rejection::Forbidden, "{change:?}");
        // Only its owner changes its permission and its token, and deletes it.
        let free = try_edit(&nick(true), itself(), change.clone()).map(|_| ());
        assert_eq!(free, if nth < 6 { Ok(()) } else { Err(Rejection::Forbidden) }, "{change:?}");
        let stale = try_edit(&nick(true), authority("@nick.bot", "old"), change).unwrap_err();
        assert_eq!(stale, Rejection::Revoked);
    }
}

#[test]
fn a_revoked_owner_changes_nothing() {
    for change in every_edit() {
        let command = command(authority("~nick", "old"), change);
        assert_eq!(
            edit(&nick(false), EditFacts { is_authorized: false, ..EDIT }, &stamp(), &command).unwrap_err(),
            Rejection::Revoked
        );
    }
}

fn made(handle: &str, kind: AgentKind) -> AgentState {
    let command = RegisterAgent { handle: handle.parse().unwrap(), kind, ..registering("operator") };
    let none = AgentState::default();
    evolved(&none, &register(&none, &FACTS, &command).unwrap().events)
}

fn deleted(handle: &str, state: &AgentState) -> Result<AgentState, Rejection> {
    let handle = handle.parse().unwrap();
    let command = EditAgent { authority: authority("operator", "t"), handle, edit: AgentEdit::Delete };
    edit(state, EDIT, &stamp(), &command).map(|decision| evolved(state, &decision.events))
}

/// The agent that an earlier version made with the name of its owner.
fn named_like_its_owner() -> AgentState {
    let command = RegisterAgent { handle: "@nick.bot".parse().unwrap(), ..registering("operator") };
    let none = AgentState::default();
    evolved(&none, &register(&none, &FACTS, &command).unwrap().events)
}

#[test]
fn the_default_person_of_an_owner_is_not_deleted() {
    let delete = |handle: &str, state: &AgentState| deleted(handle, state).map(drop);
    assert_eq!(delete("@nick.nick", &made("@nick.nick", AgentKind::Person)), Err(Rejection::OwnersPerson));
    assert_eq!(delete("@nick.colleague", &made("@nick.colleague", AgentKind::Person)), Ok(()));
    assert_eq!(delete("@nick.nick", &named_like_its_owner()), Ok(()));
}

#[test]
fn no_agent_takes_the_account_of_an_owners_person() {
    let person = made("@nick.nick", AgentKind::Person);
    let old = named_like_its_owner();
    let gone = deleted("@nick.nick", &old).unwrap();
    for (state, kind, rejection) in [
        (AgentState::default(), AgentKind::Agent, Some(Rejection::OwnersPerson)),
        (AgentState::default(), AgentKind::Person, None),
        (person.clone(), AgentKind::Agent, Some(Rejection::OwnersPerson)),
        (person, AgentKind::Person, Some(Rejection::AgentExists)),
        // An agent that was made before stays, so that a seed file that names it does too.
        (old, AgentKind::Agent, Some(Rejection::AgentExists)),
        (gone, AgentKind::Agent, Some(Rejection::AgentExists)),
    ] {
        for actor in ["operator", "seed", "~nick"] {
            let handle = "@nick.nick".parse().unwrap();
            let command = RegisterAgent { handle, kind, ..registering(actor) };
            let refused = register(&state, &FACTS, &command).err();
            assert_eq!(refused, rejection, "{actor} {kind:?}");
        }
    }
}

#[test]
fn who_is_not_there_or_gone_is_not_found() {
    let (deleted, _) = by_operator(&nick(true), AgentEdit::Delete).unwrap();
    assert!(!deleted.is_live() && deleted.is_reserved() && !deleted.accepts_token(&TokenDigest::of("pla")));
    for state in [AgentState::default(), deleted] {
        for change in every_edit() {
            assert_eq!(by_operator(&state, change).unwrap_err(), Rejection::NotFound);
        }
    }
}

#[test]
fn an_edit_without_effect_writes_nothing() {
    let state = nick(false);
    for change in [
        AgentEdit::Configure(Settings {
            attention: None,
            policy: Some(Policy::Allowlist),
            self_service: Some(false),
            hold_runs: Some(false),
            hold_invitations: Some(false),
            profile: ProfileChange { visibility: Some(Visibility::Private), ..profile_of("", "", "") },
        }),
        AgentEdit::Configure(Settings::default()),
        AgentEdit::Allow(entries(&["@a.*", "@b.c"])),
        AgentEdit::Disallow("@x.y".parse().unwrap()),
        AgentEdit::Unblock("@eve.bot".parse().unwrap()),
    ] {
        assert_eq!(by_operator(&state, change), Ok((state.clone(), 0)));
    }
}

#[test]
fn asp_7_entries_come_and_go_one_by_one() {
    let (state, events) =
        by_operator(&nick(false), AgentEdit::Allow(entries(&["@b.c", "@x.y", "@x.y"]))).unwrap();
    assert_eq!((events, state.allowlist().len()), (1, 3));
    let (state, _) = by_operator(&state, AgentEdit::Disallow("@a.*".parse().unwrap())).unwrap();
    assert_eq!(state.allowlist().iter().cloned().collect::<Vec<_>>(), entries(&["@b.c", "@x.y"]));
}

#[test]
fn past_its_limit_an_allowlist_takes_no_further_entry() {
    let fill = ALLOWLIST_ENTRIES_MAX - 2;
    let many = (0..fill).map(|n| format!("@x.n{n}").parse().unwrap()).collect();
    let (full, _) = by_operator(&nick(false), AgentEdit::Allow(many)).unwrap();
    assert_eq!(full.allowlist().len(), ALLOWLIST_ENTRIES_MAX);
    let more = by_operator(&full, AgentEdit::Allow(entries(&["@y.z"])));
    assert_eq!(more.unwrap_err(), Rejection::AllowlistFull);
    assert!(by_operator(&full, AgentEdit::Allow(entries(&["@a.*"]))).is_ok(), "known entries need no room");
}

#[test]
fn asp_12_a_block_names_anybody_and_evicts_also_when_repeated() {
    let block = |state: &AgentState, target: &str| {
        let command = command(authority("operator", "plo"), AgentEdit::Block(target.parse().unwrap()));
        edit(state, EDIT, &stamp(), &command)
    };
    let first = block(&nick(false), "@eve.bot").unwrap();
    let eviction = Eviction::Pair {
        blocker: "@nick.bot".parse().unwrap(),
        blocked: "@eve.bot".parse().unwrap(),
        id: stamp().ulid(0).to_string(),
    };
    assert_eq!(first.reply, EditOutcome { eviction: Some(eviction), issued: None });
    let state = evolved(&nick(false), &first.events);
    let since = state.blocks_since(&"@eve.bot".parse().unwrap()).unwrap();
    assert_eq!((since.at, since.version), (TimestampMs(5), Version(2)));
    let again = block(&state, "@eve.bot").unwrap();
    assert!(again.events.is_empty() && again.reply.eviction.is_some());
    assert_eq!(block(&state, "@nick.bot").unwrap_err(), Rejection::BlocksItself);
    let (lifted, events) = by_operator(&state, AgentEdit::Unblock("@eve.bot".parse().unwrap())).unwrap();
    assert_eq!((lifted.blocked().len(), events), (0, 1));
}

#[test]
fn past_its_limit_an_agent_blocks_nobody_further() {
    let mut state = nick(false);
    for n in 0..BLOCKS_MAX {
        let blocked = format!("@x.n{n}").parse().unwrap();
        state.evolve(
            Version(2),
            TimestampMs(5),
            &AgentEvent::AgentBlocked(super::event::Block { by: crate::Actor::Operator, blocked }),
        );
    }
    let more = by_operator(&state, AgentEdit::Block("@eve.bot".parse().unwrap()));
    assert_eq!(more.unwrap_err(), Rejection::BlocksFull);
    assert!(by_operator(&state, AgentEdit::Block("@x.n0".parse().unwrap())).is_ok());
}

#[test]
fn a_rotated_token_is_dead_and_its_event_names_it() {
    let (old, new) = (TokenDigest::of("pla"), TokenDigest::of("new"));
    let (state, _) = by_operator(&nick(false), AgentEdit::RotateToken(new)).unwrap();
    assert!(state.accepts_token(&new) && !state.accepts_token(&old));
    let command = command(authority("operator", "plo"), AgentEdit::RotateToken(new));
    let decision = edit(&nick(false), EDIT, &stamp(), &command).unwrap();
    let [AgentEvent::TokenRotated(event)] = &decision.events[..] else { panic!("{decision:?}") };
    assert_eq!((event.old, event.new), (Some(old), new));
}

#[test]
fn a_snapshot_gives_the_state_back() {
    let (state, _) = by_operator(&nick(true), AgentEdit::Block("@eve.bot".parse().unwrap())).unwrap();
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<AgentState>(&text).unwrap(), state);
}

#[test]
fn a_token_that_somebody_has_is_not_given_out_again() {
    let new = TokenDigest::of("new");
    let command = command(authority("operator", "plo"), AgentEdit::RotateToken(new));
    let rejection = edit(&nick(false), EditFacts { token_exists: true, ..EDIT }, &stamp(), &command);
    assert_eq!(rejection.unwrap_err(), Rejection::TokenExists);
}

#[test]
fn a_profile_is_set_part_by_part_and_an_empty_text_removes_one() {
    let command = RegisterAgent { profile: profile_of("Nick", "", "# Card"), ..registering("operator") };
    let decision = register(&AgentState::default(), &FACTS, &command).unwrap();
    let state = evolved(&AgentState::default(), &decision.events);
    let [display_name, card_body] = ["Nick", "# Card"].map(|text| Some(text.to_owned()));
    let profile = Profile { display_name, card_body, ..Profile::default() };
    assert_eq!(*state.profile(), profile);
    let change = ProfileChange { visibility: Some(Visibility::Public), ..profile_of("Nick", "Says no", "") };
    let set = |profile| AgentEdit::Configure(Settings { profile, ..Settings::default() });
    let (state, events) = by_operator(&state, set(change.clone())).unwrap();
    let expected = Profile {
        description: Some("Says no".to_owned()),
        card_body: None,
        visibility: Visibility::Public,
        ..profile
    };
    assert_eq!((state.profile(), events), (&expected, 1));
    assert_eq!(by_operator(&state, set(change)).unwrap().1, 0, "said again it changes nothing");
    let (deleted, _) = by_operator(&state, AgentEdit::Delete).unwrap();
    assert_eq!(*deleted.profile(), Profile::default());
}
