//! The decisions on links and sessions. Pure.

use plenary_engine::Decision;
use plenary_kernel::{Stamp, TimestampMs};

use super::{
    command::{
        AddPasskey, ConsoleCommand, IssuerSignIn, KeyringFacts, MakeLink, PasskeySignIn, RemovePasskey,
        SessionUse, SignIn, SignOut, SignedIn,
    },
    event::{
        ConsoleEvent, IssuerSessionBegan, LinkMade, Opening, PasskeyAdded, PasskeyRemoved, PasskeyUsed,
        SessionBegan, SessionEnded, SessionUsed,
    },
    state::{ConsoleState, SessionClient},
};
use crate::{
    TokenDigest,
    limits::{CHALLENGES_USED_MAX, ISSUER_SESSION_MS_MAX, PASSKEYS_MAX},
    rejection::Rejection,
};

/// The result of a decider.
pub(super) type ConsoleDecision<T> = Result<Decision<ConsoleEvent, T>, Rejection>;

fn opening(cookie: TokenDigest, stamp: &Stamp, lasts_ms: u64, client: &SessionClient) -> Opening {
    Opening { cookie, until: TimestampMs(stamp.now.0.saturating_add(lasts_ms)), client: client.clone() }
}

impl ConsoleCommand for MakeLink {
    const NAME: &'static str = "make_link";
    type Reply = ();

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.rights.through)
    }
    fn decide(&self, _: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<()> {
        if !facts.is_token_valid {
            return Err(Rejection::Revoked);
        }
        let event = LinkMade {
            by: self.by.clone(),
            link: self.link,
            rights: self.rights.clone(),
            until: TimestampMs(stamp.now.0.saturating_add(self.lasts_ms)),
        };
        Ok(Decision::new(vec![ConsoleEvent::LinkMade(event)], ()))
    }
}

impl ConsoleCommand for SignIn {
    const NAME: &'static str = "sign_in";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&state.link(&self.link)?.rights.through)
    }
    /// A used, expired or unknown link, and one whose token is invalid, get the same answer.
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        let link = state.link(&self.link).filter(|link| stamp.now < link.until);
        if link.is_none() || !facts.is_token_valid {
            return Err(Rejection::LinkInvalid);
        }
        let session = stamp.ulid(0).to_string();
        let event = SessionBegan {
            session: session.clone(),
            link: self.link,
            opening: opening(self.cookie, stamp, self.lasts_ms, &self.client),
        };
        Ok(Decision::new(vec![ConsoleEvent::SignedIn(event)], SignedIn { session }))
    }
}

impl ConsoleCommand for SessionUse {
    const NAME: &'static str = "use_session";
    type Reply = ();

    /// One record for several uses within a period.
    fn decide(&self, state: &ConsoleState, _: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<()> {
        let session = state.session(&self.session).ok_or(Rejection::NotFound)?;
        if stamp.now.0 < session.last_used_at.0.saturating_add(self.every_ms) {
            return Ok(Decision::unchanged(()));
        }
        let event = SessionUsed { session: self.session.clone() };
        Ok(Decision::new(vec![ConsoleEvent::SessionUsed(event)], ()))
    }
}

impl ConsoleCommand for SignOut {
    const NAME: &'static str = "sign_out";
    type Reply = ();

    fn decide(&self, state: &ConsoleState, _: KeyringFacts, _: &Stamp) -> ConsoleDecision<()> {
        if state.session(&self.session).is_none() {
            return Err(Rejection::NotFound);
        }
        let event = SessionEnded { by: self.by.clone(), session: self.session.clone() };
        Ok(Decision::new(vec![ConsoleEvent::SignedOut(event)], ()))
    }
}

/// A challenge is valid once, until its expiry. Past the limit of used ones all are refused, because none may be forgotten
/// before its expiry.
fn check_challenge(
    state: &ConsoleState,
    stamp: &Stamp,
    challenge: &TokenDigest,
    until: TimestampMs,
) -> Result<(), Rejection> {
    let is_fresh = stamp.now < until && !state.was_used(challenge);
    let has_room = state.used_challenge_count(stamp.now) < CHALLENGES_USED_MAX;
    if is_fresh && has_room { Ok(()) } else { Err(Rejection::PasskeyInvalid) }
}

impl ConsoleCommand for AddPasskey {
    const NAME: &'static str = "add_passkey";
    type Reply = String;

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.rights.through)
    }
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<String> {
        if !facts.is_token_valid {
            return Err(Rejection::Revoked);
        }
        let new = &self.new;
        check_challenge(state, stamp, &new.challenge, new.challenge_until)?;
        if state.passkeys().any(|(_, existing)| existing.credential == new.credential) {
            return Err(Rejection::PasskeyExists);
        }
        if state.passkeys().count() >= PASSKEYS_MAX {
            return Err(Rejection::TooManyPasskeys);
        }
        let passkey = stamp.ulid(0).to_string();
        let event = PasskeyAdded {
            by: self.by.clone(),
            passkey: passkey.clone(),
            credential: new.credential.clone(),
            key: new.key.clone(),
            name: new.name.clone(),
            rights: self.rights.clone(),
            counter: new.counter,
            challenge: new.challenge,
            challenge_until: new.challenge_until,
        };
        Ok(Decision::new(vec![ConsoleEvent::PasskeyAdded(event)], passkey))
    }
    fn exceeds_quota(&self) -> bool {
        false
    }
}

impl ConsoleCommand for PasskeySignIn {
    const NAME: &'static str = "sign_in_by_passkey";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&state.passkey(&self.passkey)?.rights.through)
    }
    /// The counter of an authenticator must rise; otherwise the key was copied.
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        let passkey_use = &self.passkey_use;
        let passkey = state.passkey(&self.passkey).filter(|_| facts.is_token_valid);
        let passkey = passkey.ok_or(Rejection::PasskeyInvalid)?;
        check_challenge(state, stamp, &passkey_use.challenge, passkey_use.challenge_until)?;
        let counts = passkey_use.counter > 0 || passkey.counter > 0;
        if counts && passkey_use.counter <= passkey.counter {
            return Err(Rejection::PasskeyInvalid);
        }
        let session = stamp.ulid(0).to_string();
        let event = PasskeyUsed {
            passkey: self.passkey.clone(),
            counter: passkey_use.counter,
            challenge: passkey_use.challenge,
            challenge_until: passkey_use.challenge_until,
            session: session.clone(),
            opening: opening(self.cookie, stamp, self.lasts_ms, &passkey_use.client),
        };
        Ok(Decision::new(vec![ConsoleEvent::PasskeyUsed(event)], SignedIn { session }))
    }
}

impl ConsoleCommand for IssuerSignIn {
    const NAME: &'static str = "sign_in_at_issuer";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.rights.through)
    }
    /// Admission was checked before.
    fn decide(&self, _: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        if !facts.is_token_valid {
            return Err(Rejection::Revoked);
        }
        let session = stamp.ulid(0).to_string();
        let event = IssuerSessionBegan {
            session: session.clone(),
            identity: self.identity.clone(),
            rights: self.rights.clone(),
            opening: opening(self.cookie, stamp, ISSUER_SESSION_MS_MAX, &self.client),
        };
        Ok(Decision::new(vec![ConsoleEvent::SignedInAtIssuer(event)], SignedIn { session }))
    }
}

impl ConsoleCommand for RemovePasskey {
    const NAME: &'static str = "remove_passkey";
    type Reply = ();

    fn decide(&self, state: &ConsoleState, _: KeyringFacts, _: &Stamp) -> ConsoleDecision<()> {
        let existing = state.passkey(&self.passkey).ok_or(Rejection::NotFound)?;
        let event = PasskeyRemoved {
            by: self.by.clone(),
            passkey: self.passkey.clone(),
            credential: existing.credential.clone(),
        };
        Ok(Decision::new(vec![ConsoleEvent::PasskeyRemoved(event)], ()))
    }
}

#[cfg(test)]
mod passkey_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Actor,
        console::state::{ConsoleRole, IssuerSubject, Rights},
        limits::CONSOLE_SESSIONS_MAX,
    };

    const VALID: KeyringFacts = KeyringFacts { is_token_valid: true };
    const DEAD: KeyringFacts = KeyringFacts { is_token_valid: false };

    fn stamp(now: u64, nth: u8) -> Stamp {
        Stamp::new(TimestampMs(now), [nth; 10])
    }

    fn link(name: &str) -> MakeLink {
        MakeLink {
            by: Actor::Owner("nick".parse().unwrap()),
            link: TokenDigest::of(name),
            rights: Rights { through: TokenDigest::of("plw"), role: ConsoleRole::Owner, person: None },
            lasts_ms: 100,
        }
    }

    fn using(name: &str) -> SignIn {
        SignIn {
            link: TokenDigest::of(name),
            cookie: TokenDigest::of(&format!("cookie of {name}")),
            lasts_ms: 1_000,
            client: SessionClient::default(),
        }
    }

    fn make_link(state: &mut ConsoleState, now: u64, name: &str) {
        let decision = link(name).decide(state, VALID, &stamp(now, 0)).unwrap();
        decision.events.iter().for_each(|event| state.evolve(TimestampMs(now), event));
    }

    fn sign_in_as(state: &mut ConsoleState, now: u64, name: &str) -> Result<String, Rejection> {
        let nth = u8::try_from(name.len()).unwrap();
        let decision = using(name).decide(state, VALID, &stamp(now, nth))?;
        decision.events.iter().for_each(|event| state.evolve(TimestampMs(now), event));
        Ok(decision.reply.session)
    }

    #[test]
    fn a_link_is_used_once_in_its_time_while_its_token_is_valid() {
        let mut state = ConsoleState::default();
        assert_eq!(link("a").decide(&state, DEAD, &stamp(0, 0)).unwrap_err(), Rejection::Revoked);
        make_link(&mut state, 10, "a");
        let rejection =
            |state: &ConsoleState, facts, now| using("a").decide(state, facts, &stamp(now, 0)).unwrap_err();
        assert_eq!(rejection(&state, DEAD, 11), Rejection::LinkInvalid);
        assert_eq!(rejection(&state, VALID, 110), Rejection::LinkInvalid, "it is too old");
        assert!(sign_in_as(&mut state, 109, "a").is_ok());
        assert_eq!(rejection(&state, VALID, 109), Rejection::LinkInvalid, "it was used");
        assert_eq!(sign_in_as(&mut state, 109, "b"), Err(Rejection::LinkInvalid), "nobody made it");
    }

    #[test]
    fn a_session_ends_by_itself_when_it_is_old_or_idle() {
        let mut state = ConsoleState::default();
        make_link(&mut state, 0, "a");
        let id = sign_in_as(&mut state, 0, "a").unwrap();
        let open = |state: &ConsoleState, now| state.session(&id).unwrap().is_open(TimestampMs(now), 300);
        assert!(open(&state, 299) && !open(&state, 300), "it was idle");
        let command = SessionUse { session: id.clone(), every_ms: 50 };
        assert!(
            command.decide(&state, DEAD, &stamp(49, 0)).unwrap().events.is_empty(),
            "one note for a while"
        );
        for now in (50..1_000).step_by(50) {
            let events = command.decide(&state, DEAD, &stamp(now, 0)).unwrap().events;
            assert_eq!(events.len(), 1);
            state.evolve(TimestampMs(now), &events[0]);
        }
        assert!(open(&state, 999) && !open(&state, 1_000), "it is as old as it may be");
    }

    #[test]
    fn a_session_that_began_at_an_issuer_hangs_on_its_rule() {
        let mut state = ConsoleState::default();
        let command = IssuerSignIn {
            identity: IssuerSubject { issuer: "google".into(), subject: "17".into(), shown: "ida".into() },
            rights: Rights { through: TokenDigest::of("rule"), role: ConsoleRole::Viewer, person: None },
            cookie: TokenDigest::of("cookie"),
            client: SessionClient::default(),
        };
        assert_eq!(command.decide(&state, DEAD, &stamp(1, 0)).unwrap_err(), Rejection::Revoked);
        let decision = command.decide(&state, VALID, &stamp(1, 0)).unwrap();
        state.evolve(TimestampMs(1), &decision.events[0]);
        let session = state.session(&decision.reply.session).unwrap();
        assert_eq!(session.identity.as_ref().map(|identity| identity.subject.as_str()), Some("17"));
        assert_eq!(
            (&session.rights, session.until),
            (&command.rights, TimestampMs(1 + ISSUER_SESSION_MS_MAX))
        );
        let command = SignOut { by: Actor::Operator, session: decision.reply.session.clone() };
        let events = command.decide(&state, DEAD, &stamp(1, 0)).unwrap().events;
        state.evolve(TimestampMs(2), &events[0]);
        assert!(state.session(&command.session).is_none());
    }

    #[test]
    fn a_session_is_ended_once() {
        let mut state = ConsoleState::default();
        make_link(&mut state, 0, "a");
        let session = sign_in_as(&mut state, 0, "a").unwrap();
        let command = SignOut { by: Actor::Operator, session: session.clone() };
        let events = command.decide(&state, DEAD, &stamp(1, 0)).unwrap().events;
        state.evolve(TimestampMs(1), &events[0]);
        assert!(state.session(&session).is_none());
        assert_eq!(command.decide(&state, DEAD, &stamp(2, 0)).unwrap_err(), Rejection::NotFound);
        let command = SessionUse { session, every_ms: 0 };
        assert_eq!(command.decide(&state, DEAD, &stamp(2, 0)).unwrap_err(), Rejection::NotFound);
    }

    /// Snapshots had members that are absent now as null.
    #[test]
    fn a_snapshot_with_nulls_is_read() {
        let mut state = ConsoleState::default();
        make_link(&mut state, 0, "a");
        let id = sign_in_as(&mut state, 0, "a").unwrap();
        make_link(&mut state, 0, "b");
        let mut value = serde_json::to_value(&state).unwrap();
        for (list, members) in
            [("links", &["person"][..]), ("sessions", &["person", "address", "user_agent"])]
        {
            for item in value[list].as_object_mut().unwrap().values_mut() {
                members.iter().for_each(|member| item[member] = serde_json::Value::Null);
            }
        }
        assert!(value["sessions"][&id]["through"].is_string(), "{value}");
        assert_eq!(serde_json::from_value::<ConsoleState>(value).unwrap(), state);
    }

    #[test]
    fn past_their_number_the_session_that_was_idle_longest_ends() {
        let mut state = ConsoleState::default();
        let mut ids = Vec::new();
        for nth in 0..=CONSOLE_SESSIONS_MAX {
            let (name, now) = ("x".repeat(nth + 1), nth as u64);
            make_link(&mut state, now, &name);
            ids.push(sign_in_as(&mut state, now, &name).unwrap());
        }
        assert_eq!(state.sessions().count(), CONSOLE_SESSIONS_MAX);
        assert!(state.session(&ids[0]).is_none() && state.session(&ids[1]).is_some());
    }
}
