//! Given, when, then: an agent with tokens and grants, and the actions of a client or of time.

use plenary_kernel::{AgentHandle, Stamp, TimestampMs, Version};

use super::{
    command::{AgentEdit, EditAgent, EditFacts, NewToken},
    decide::edit,
    event::{AgentEvent, AgentRegistered, WhyEnded},
    grants,
    profile::{AgentKind, ProfileChange},
    state::AgentState,
    tokens::{GrantClient, GrantEdit, GrantOutcome, IssuerStatement, Renewal},
};
use crate::{
    Actor, Authority, Policy, Rejection, TokenDigest,
    limits::{TOKENS_BELOW_ONE_MAX, TOKENS_OF_ISSUERS_MAX, TOKENS_PER_GRANT_MAX, TOKENS_REFUSED_MAX},
};

const HOUR: u64 = 3_600_000;

fn handle() -> AgentHandle {
    "@nick.bot".parse().unwrap()
}

fn stamp(at: u64) -> Stamp {
    Stamp::new(TimestampMs(at), [u8::try_from(at % 251).unwrap(); 10])
}

fn evolve(state: &mut AgentState, at: u64, events: &[AgentEvent]) {
    for event in events {
        state.evolve(Version(2), TimestampMs(at), event);
    }
}

fn agent(kind: AgentKind) -> AgentState {
    let mut state = AgentState::default();
    let registered = AgentRegistered {
        by: "~nick".parse().unwrap(),
        policy: Policy::Open,
        allowlist: Vec::new(),
        self_service: false,
        token: TokenDigest::of("own"),
        through: None,
        kind,
        profile: ProfileChange::default(),
    };
    evolve(&mut state, 0, &[AgentEvent::AgentRegistered(registered)]);
    state
}

fn issue(state: &mut AgentState, at: u64, secret: &str, new: NewToken) -> Result<String, Rejection> {
    let by = if secret == "owner" { "~nick" } else { "@nick.bot" };
    let authority = Authority { by: by.parse().unwrap(), token: Some(TokenDigest::of(secret)) };
    let command = EditAgent { authority, handle: handle(), edit: AgentEdit::IssueToken(new) };
    let facts = EditFacts { is_authorized: true, token_exists: false, through: None };
    let decision = edit(state, facts, &stamp(at), &command)?;
    evolve(state, at, &decision.events);
    Ok(decision.reply.issued.unwrap())
}

fn token(text: &str, scope: &str, expires_at: Option<u64>) -> NewToken {
    NewToken {
        token: Some(TokenDigest::of(text)),
        scope: scope.parse().unwrap(),
        expires_at: expires_at.map(TimestampMs),
        name: None,
        client: None,
        issuer: None,
        statement: None,
        resource: None,
    }
}

fn granted(state: &mut AgentState) -> String {
    let client = GrantClient {
        client_id: "c".into(),
        name: "C".into(),
        resource: "r".into(),
        until: TimestampMs(100 * HOUR),
    };
    let new = NewToken { token: None, client: Some(client), ..token("", "write", Some(60_000)) };
    issue(state, 1, "owner", new).unwrap()
}

fn renewal(grant: &str, nth: u64) -> Renewal {
    Renewal {
        grant: grant.into(),
        client_id: "c".into(),
        key: TokenDigest::of("key"),
        refresh: TokenDigest::of(&format!("refresh {nth}")),
        access: TokenDigest::of(&format!("access {nth}")),
        scope: None,
        resource: None,
        lasts_ms: HOUR,
    }
}

fn act(state: &mut AgentState, at: u64, change: &GrantEdit) -> Result<GrantOutcome, Rejection> {
    let decision = grants::edit(state, &stamp(at), &handle(), change)?;
    evolve(state, at, &decision.events);
    Ok(decision.reply)
}

fn accepts(state: &AgentState, token: &str, at: u64) -> bool {
    state.accepts_token_at(&TokenDigest::of(token), TimestampMs(at))
}

#[test]
fn given_a_grant_when_it_is_taken_up_and_renewed_then_its_tokens_are_below_it() {
    let mut state = agent(AgentKind::Agent);
    let grant = granted(&mut state);
    assert_eq!(act(&mut state, 2, &GrantEdit::TakeUp(renewal(&grant, 0))), Ok(GrantOutcome::Done));
    assert!(accepts(&state, "access 0", 3) && !accepts(&state, "access 0", 2 + HOUR));
    assert_eq!(act(&mut state, 3, &GrantEdit::TakeUp(renewal(&grant, 9))), Err(Rejection::GrantInvalid));
    for nth in 1..5 {
        let used = TokenDigest::of(&format!("refresh {}", nth - 1));
        let edit = GrantEdit::Renew { used, renewal: renewal(&grant, nth) };
        assert_eq!(act(&mut state, 10 + nth, &edit), Ok(GrantOutcome::Done));
    }
    let live = (0..5).filter(|nth| accepts(&state, &format!("access {nth}"), 20)).count();
    assert_eq!((live, state.issued().len()), (TOKENS_PER_GRANT_MAX, TOKENS_PER_GRANT_MAX + 1));
    assert!(accepts(&state, "access 4", 20) && !accepts(&state, "access 0", 20));
    let used = TokenDigest::of("refresh 1");
    let again = GrantEdit::Renew { used, renewal: renewal(&grant, 9) };
    assert_eq!(act(&mut state, 30, &again), Ok(GrantOutcome::Reused));
    assert!(state.issued().is_empty() && accepts(&state, "own", 30));
}

#[test]
fn given_a_grant_when_somebody_else_asks_then_it_is_not_there() {
    let mut state = agent(AgentKind::Agent);
    let grant = granted(&mut state);
    let other = Renewal { client_id: "d".into(), ..renewal(&grant, 0) };
    assert_eq!(act(&mut state, 2, &GrantEdit::TakeUp(other.clone())), Err(Rejection::GrantInvalid));
    act(&mut state, 2, &GrantEdit::TakeUp(renewal(&grant, 0))).unwrap();
    let used = TokenDigest::of("refresh 0");
    assert_eq!(act(&mut state, 3, &GrantEdit::Renew { used, renewal: other }), Err(Rejection::GrantInvalid));
    let keyless = Renewal { key: TokenDigest::of("other"), ..renewal(&grant, 1) };
    let used = TokenDigest::of("garbage");
    assert_eq!(
        act(&mut state, 3, &GrantEdit::Renew { used, renewal: keyless }),
        Err(Rejection::GrantInvalid)
    );
    act(&mut state, 3, &GrantEdit::GiveBack { grant: grant.clone(), key: TokenDigest::of("other") }).unwrap();
    assert!(accepts(&state, "access 0", 4), "nothing has ended");
    act(&mut state, 3, &GrantEdit::GiveBack { grant, key: TokenDigest::of("key") }).unwrap();
    assert!(!accepts(&state, "access 0", 4));
}

#[test]
fn given_a_grant_when_nobody_takes_it_up_or_its_time_is_over_then_it_ends() {
    let mut state = agent(AgentKind::Agent);
    let late = granted(&mut state);
    assert_eq!(act(&mut state, 60_000, &GrantEdit::TakeUp(renewal(&late, 0))), Err(Rejection::GrantInvalid));
    let decision = grants::edit(&state, &stamp(60_000), &handle(), &GrantEdit::Expire).unwrap();
    assert!(
        matches!(&decision.events[..], [AgentEvent::TokensEnded(ended)] if ended.why == WhyEnded::Expired)
    );
    evolve(&mut state, 60_000, &decision.events);
    let grant = granted(&mut state);
    act(&mut state, 2, &GrantEdit::TakeUp(renewal(&grant, 0))).unwrap();
    act(&mut state, 100 * HOUR - 1, &GrantEdit::Expire).unwrap();
    let used = TokenDigest::of("refresh 0");
    let last = GrantEdit::Renew { used, renewal: renewal(&grant, 1) };
    act(&mut state, 100 * HOUR - 1, &last).unwrap();
    assert!(!accepts(&state, "access 1", 100 * HOUR), "no token outlives its grant");
    act(&mut state, 100 * HOUR, &GrantEdit::Expire).unwrap();
    assert!(state.issued().is_empty());
    let unchanged = grants::edit(&state, &stamp(101 * HOUR), &handle(), &GrantEdit::Expire).unwrap();
    assert!(unchanged.events.is_empty());
}

#[test]
fn given_tokens_when_one_is_made_then_it_is_below_the_one_that_makes_it() {
    let mut state = agent(AgentKind::Agent);
    let parent = issue(&mut state, 1, "own", token("a", "read", Some(50))).unwrap();
    assert_eq!(issue(&mut state, 2, "a", token("b", "write", None)), Err(Rejection::ScopeExceeded));
    assert_eq!(issue(&mut state, 2, "a", token("b", "read", Some(51))), Err(Rejection::LastsTooLong));
    let child = issue(&mut state, 2, "a", token("b", "read", None)).unwrap();
    assert_eq!(state.issued().get(&child).unwrap().expires_at, Some(TimestampMs(50)));
    assert_eq!(state.issued().get(&child).unwrap().parent.as_deref(), Some(parent.as_str()));
    issue(&mut state, 3, "owner", token("c", "write", None)).unwrap();
    let rotate = EditAgent {
        authority: Authority { by: "~nick".parse().unwrap(), token: Some(TokenDigest::of("owner")) },
        handle: handle(),
        edit: AgentEdit::RotateToken(TokenDigest::of("new")),
    };
    let facts = EditFacts { is_authorized: true, token_exists: false, through: None };
    let decision = edit(&state, facts, &stamp(4), &rotate).unwrap();
    evolve(&mut state, 4, &decision.events);
    assert!(!accepts(&state, "a", 5) && !accepts(&state, "b", 5) && accepts(&state, "c", 5));
    let mut person = agent(AgentKind::Person);
    assert_eq!(issue(&mut person, 1, "owner", token("d", "read", None)), Err(Rejection::NoTokens));
}

#[test]
fn given_a_token_when_many_are_made_with_it_and_with_those_then_the_agent_keeps_room_for_others() {
    let mut state = agent(AgentKind::Agent);
    issue(&mut state, 1, "own", token("a", "read", None)).unwrap();
    issue(&mut state, 2, "own", token("b", "read", None)).unwrap();
    for nth in 0..TOKENS_BELOW_ONE_MAX as u64 {
        // Half of them are made with the previous one.
        let with = if nth % 2 == 0 { "a".to_owned() } else { format!("a {}", nth - 1) };
        issue(&mut state, 3 + nth, &with, token(&format!("a {nth}"), "read", None)).unwrap();
    }
    for with in ["a", "a 0", "a 1"] {
        let more = issue(&mut state, 50, with, token("more", "read", None));
        assert_eq!(more, Err(Rejection::TooManyTokensBelow), "{with}");
    }
    for (nth, with) in ["b", "own", "owner"].into_iter().enumerate() {
        assert!(
            issue(&mut state, 60 + nth as u64, with, token(&format!("of {with}"), "read", None)).is_ok(),
            "{with}"
        );
    }
}

fn by_issuer(state: &mut AgentState, at: u64, text: &str, until: u64) -> Result<String, Rejection> {
    let statement = IssuerStatement {
        signed: TokenDigest::of(&format!("{text} signed")),
        until: TimestampMs(until),
        rule: None,
    };
    by_statement(state, at, token(text, "read", Some(until)), Some(statement))
}

fn by_statement(
    state: &mut AgentState,
    at: u64,
    new: NewToken,
    statement: Option<IssuerStatement>,
) -> Result<String, Rejection> {
    let new = NewToken { issuer: Some("github".into()), statement, ..new };
    let authority = Authority { by: Actor::Operator, token: None };
    let command = EditAgent { authority, handle: handle(), edit: AgentEdit::IssueToken(new) };
    let facts = EditFacts { is_authorized: true, token_exists: false, through: None };
    let decision = edit(state, facts, &stamp(at), &command)?;
    evolve(state, at, &decision.events);
    Ok(decision.reply.issued.unwrap())
}

fn end(state: &mut AgentState, at: u64, id: &str) {
    let authority = Authority { by: "~nick".parse().unwrap(), token: Some(TokenDigest::of("owner")) };
    let command = EditAgent { authority, handle: handle(), edit: AgentEdit::EndToken(id.to_owned()) };
    let facts = EditFacts { is_authorized: true, token_exists: false, through: None };
    let decision = edit(state, facts, &stamp(at), &command).unwrap();
    evolve(state, at, &decision.events);
}

#[test]
fn given_a_token_of_an_issuer_when_it_is_ended_then_it_is_not_given_again() {
    let mut state = agent(AgentKind::Agent);
    let id = by_issuer(&mut state, 1, "jwt", 100).unwrap();
    assert_eq!(state.issued().get(&id).unwrap().issuer.as_deref(), Some("github"));
    assert!(accepts(&state, "jwt", 99) && !accepts(&state, "jwt", 100));
    end(&mut state, 2, &id);
    assert!(!accepts(&state, "jwt", 3));
    assert_eq!(by_issuer(&mut state, 3, "jwt", 100), Err(Rejection::Revoked));
    assert!(by_issuer(&mut state, 3, "other", 100).is_ok(), "another one of the same issuer is");
    let own = issue(&mut state, 4, "owner", token("a", "read", Some(100))).unwrap();
    end(&mut state, 5, &own);
    assert_eq!(
        state.refused_count(TimestampMs(6)),
        1,
        "only what an issuer could vouch for again is remembered"
    );
    assert_eq!(state.refused_count(TimestampMs(100)), 0, "and only as long as it could");
}

#[test]
fn given_a_statement_of_an_issuer_when_its_token_is_ended_then_no_other_token_is_issued_for_it() {
    let mut state = agent(AgentKind::Agent);
    let statement =
        Some(IssuerStatement { signed: TokenDigest::of("signed"), until: TimestampMs(1_000), rule: None });
    let give = |state: &mut AgentState, at, text: &str| {
        by_statement(state, at, token(text, "read", Some(at + 100)), statement)
    };
    // Two signatures of the same text, and an exchanged token with an earlier expiry.
    let id = give(&mut state, 1, "jwt").unwrap();
    give(&mut state, 2, "another signature").unwrap();
    let decision = grants::edit(&state, &stamp(200), &handle(), &GrantEdit::Expire).unwrap();
    evolve(&mut state, 200, &decision.events);
    assert!(state.issued().get(&id).is_none(), "what ends by itself is given again");
    let id = give(&mut state, 200, "exchanged").unwrap();
    end(&mut state, 201, &id);
    for text in ["exchanged", "jwt", "a third signature"] {
        assert_eq!(give(&mut state, 999, text), Err(Rejection::Revoked), "{text}");
    }
    assert!(
        give(&mut state, 1_000, "jwt").is_ok(),
        "the issuer vouches for it no longer, and is asked again"
    );
}

#[test]
fn given_a_token_without_an_issuers_statement_when_it_is_ended_then_its_digest_identifies_it() {
    let mut state = agent(AgentKind::Agent);
    let id = by_statement(&mut state, 1, token("jwt", "read", Some(100)), None).unwrap();
    end(&mut state, 2, &id);
    let statement =
        Some(IssuerStatement { signed: TokenDigest::of("signed"), until: TimestampMs(100), rule: None });
    let again = by_statement(&mut state, 3, token("jwt", "read", Some(100)), statement);
    assert_eq!(again, Err(Rejection::Revoked));
}

#[test]
fn given_as_many_tokens_of_issuers_as_may_be_when_one_more_comes_then_it_waits_for_an_end() {
    let mut state = agent(AgentKind::Agent);
    for nth in 0..TOKENS_OF_ISSUERS_MAX {
        by_issuer(&mut state, nth as u64, &format!("jwt {nth}"), 100).unwrap();
    }
    assert_eq!(by_issuer(&mut state, 99, "more", 200), Err(Rejection::TooManyTokens));
    assert!(issue(&mut state, 99, "owner", token("a", "read", None)).is_ok(), "others have their part");
    assert!(by_issuer(&mut state, 100, "more", 200).is_ok(), "the others have ended by themselves");
}

#[test]
fn given_many_ended_tokens_of_issuers_when_one_more_comes_then_none_of_them_is_forgotten() {
    let mut state = agent(AgentKind::Agent);
    for nth in 0..TOKENS_REFUSED_MAX {
        let id = by_issuer(&mut state, 1, &format!("jwt {nth}"), 100).unwrap();
        end(&mut state, 1, &id);
    }
    assert_eq!(by_issuer(&mut state, 2, "more", 200), Err(Rejection::TooManyTokens));
    assert!(by_issuer(&mut state, 100, "more", 200).is_ok());
}

fn edit_through(state: &mut AgentState, at: u64, through: Option<TokenDigest>, change: AgentEdit) {
    let authority = Authority { by: "~nick".parse().unwrap(), token: Some(TokenDigest::of("owner")) };
    let command = EditAgent { authority, handle: handle(), edit: change };
    let facts = EditFacts { is_authorized: true, token_exists: false, through };
    let decision = edit(state, facts, &stamp(at), &command).unwrap();
    evolve(state, at, &decision.events);
}

#[test]
fn given_a_person_from_an_issuer_when_tokens_are_made_then_they_and_those_below_depend_on_the_rule() {
    let rule = TokenDigest::of("rule");
    let rules = |state: &AgentState, secret: &str| state.rules(&TokenDigest::of(secret));
    let mut state = agent(AgentKind::Agent);
    edit_through(&mut state, 1, Some(rule), AgentEdit::IssueToken(token("a", "read", None)));
    issue(&mut state, 2, "a", token("b", "read", None)).unwrap();
    issue(&mut state, 3, "owner", token("c", "read", None)).unwrap();
    for (secret, expected) in [("a", vec![rule]), ("b", vec![rule]), ("c", vec![]), ("own", vec![])] {
        assert_eq!(rules(&state, secret), expected, "{secret}");
    }
    edit_through(&mut state, 4, Some(rule), AgentEdit::RotateToken(TokenDigest::of("new")));
    issue(&mut state, 5, "new", token("d", "read", None)).unwrap();
    assert_eq!((rules(&state, "new"), rules(&state, "d")), (vec![rule], vec![rule]));
    edit_through(&mut state, 6, None, AgentEdit::RotateToken(TokenDigest::of("newer")));
    assert!(rules(&state, "newer").is_empty());
}
