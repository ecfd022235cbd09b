//! Passkeys: given, when, then. Pure.

use super::*;
use crate::{
    Actor,
    console::{
        passkey::{NewPasskey, PasskeyUse},
        state::{ConsoleRole, Rights},
    },
};

const VALID: KeyringFacts = KeyringFacts { is_token_valid: true };
const DEAD: KeyringFacts = KeyringFacts { is_token_valid: false };

fn stamp(now: u64) -> Stamp {
    Stamp::new(TimestampMs(now), [0; 10])
}

fn adding(credential: &str, challenge: &str, counter: u32) -> AddPasskey {
    AddPasskey {
        by: Actor::Owner("nick".parse().unwrap()),
        rights: Rights { through: TokenDigest::of("plw"), role: ConsoleRole::Owner, person: None },
        new: NewPasskey {
            credential: credential.into(),
            key: "ed25519:00".into(),
            name: "Phone".into(),
            counter,
            challenge: TokenDigest::of(challenge),
            challenge_until: TimestampMs(100),
        },
    }
}

fn using(passkey: &str, challenge: &str, counter: u32) -> PasskeySignIn {
    PasskeySignIn {
        passkey: passkey.into(),
        cookie: TokenDigest::of(challenge),
        lasts_ms: 1_000,
        passkey_use: PasskeyUse {
            counter,
            challenge: TokenDigest::of(challenge),
            challenge_until: TimestampMs(100),
            client: SessionClient::default(),
        },
    }
}

fn added(counter: u32) -> (ConsoleState, String) {
    let mut state = ConsoleState::default();
    let decision = adding("a", "first", counter).decide(&state, VALID, &stamp(1)).unwrap();
    decision.events.iter().for_each(|event| state.evolve(TimestampMs(1), event));
    (state, decision.reply)
}

fn sign_in(state: &mut ConsoleState, now: u64, command: &PasskeySignIn) -> Result<String, Rejection> {
    let decision = command.decide(state, VALID, &stamp(now))?;
    decision.events.iter().for_each(|event| state.evolve(TimestampMs(now), event));
    Ok(decision.reply.session)
}

#[test]
fn a_challenge_is_used_once_and_in_its_time() {
    let (mut state, id) = added(0);
    assert_eq!(
        sign_in(&mut state, 2, &using(&id, "first", 0)),
        Err(Rejection::PasskeyInvalid),
        "it was used"
    );
    assert_eq!(sign_in(&mut state, 100, &using(&id, "late", 0)), Err(Rejection::PasskeyInvalid));
    assert!(sign_in(&mut state, 99, &using(&id, "one", 0)).is_ok());
    assert_eq!(sign_in(&mut state, 99, &using(&id, "one", 0)), Err(Rejection::PasskeyInvalid));
    assert!(sign_in(&mut state, 99, &using(&id, "two", 0)).is_ok());
}

#[test]
fn a_counter_only_grows_where_there_is_one() {
    let (mut state, id) = added(5);
    assert_eq!(sign_in(&mut state, 2, &using(&id, "a", 5)), Err(Rejection::PasskeyInvalid));
    assert_eq!(sign_in(&mut state, 2, &using(&id, "b", 0)), Err(Rejection::PasskeyInvalid));
    assert!(sign_in(&mut state, 2, &using(&id, "c", 6)).is_ok());
    assert_eq!(sign_in(&mut state, 2, &using(&id, "d", 6)), Err(Rejection::PasskeyInvalid));
}

#[test]
fn it_hangs_on_its_token_and_its_sessions_end_with_it() {
    let (mut state, id) = added(0);
    let rejection = using(&id, "a", 0).decide(&state, DEAD, &stamp(2)).unwrap_err();
    assert_eq!(rejection, Rejection::PasskeyInvalid);
    let session = sign_in(&mut state, 2, &using(&id, "b", 0)).unwrap();
    assert_eq!(state.session(&session).unwrap().rights.through, TokenDigest::of("plw"));
    let removing = RemovePasskey { by: Actor::Operator, passkey: id.clone() };
    for event in removing.decide(&state, DEAD, &stamp(3)).unwrap().events {
        state.evolve(TimestampMs(3), &event);
    }
    assert!(state.session(&session).is_none() && state.passkey(&id).is_none());
    assert_eq!(removing.decide(&state, DEAD, &stamp(3)).unwrap_err(), Rejection::NotFound);
    assert_eq!(sign_in(&mut state, 4, &using(&id, "c", 0)), Err(Rejection::PasskeyInvalid));
}

#[test]
fn each_is_added_once_and_they_have_a_number() {
    let (mut state, _) = added(0);
    let add = |state: &ConsoleState, facts, command: &AddPasskey| command.decide(state, facts, &stamp(2));
    assert_eq!(add(&state, VALID, &adding("a", "x", 0)).unwrap_err(), Rejection::PasskeyExists);
    assert_eq!(add(&state, VALID, &adding("b", "first", 0)).unwrap_err(), Rejection::PasskeyInvalid);
    assert_eq!(add(&state, DEAD, &adding("b", "x", 0)).unwrap_err(), Rejection::Revoked);
    for nth in 1..PASSKEYS_MAX {
        let stamp = Stamp::new(TimestampMs(2), [u8::try_from(nth).unwrap(); 10]);
        let (credential, challenge) = (format!("c{nth}"), format!("challenge {nth}"));
        let decision = adding(&credential, &challenge, 0).decide(&state, VALID, &stamp).unwrap();
        decision.events.iter().for_each(|event| state.evolve(TimestampMs(2), event));
    }
    assert_eq!(add(&state, VALID, &adding("z", "z", 0)).unwrap_err(), Rejection::TooManyPasskeys);
}
