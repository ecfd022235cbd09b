//! Given the state of the peers, when a command comes, then these events or this rejection.
//! Must not know: anything but the decider and its state.

use plenary_accounts::{Actor, TokenDigest};
use plenary_kernel::{AccordId, OwnerName, Stamp, TimestampMs};

use super::{
    decide::{Acceptance, AccordStep, AffectedAccord, NewAccord, NewInvitation, Rejection, decide},
    state::{PeersState, Standing},
};
use crate::{
    grant::{Grants, parse_grant_names},
    key::{PublicKey, tests::key},
    limits::{PEERS_MAX, REVOKED_KEPT_MAX},
    network::NetworkUrl,
};

fn name(text: &str) -> OwnerName {
    text.parse().unwrap()
}

fn network(text: &str) -> NetworkUrl {
    format!("https://{text}.example").parse().unwrap()
}

/// The peers of a network, after the events so far.
#[derive(Default)]
struct Given(PeersState);

impl Given {
    fn apply(
        &mut self,
        at: u64,
        by: Option<&Actor>,
        step: &AccordStep,
    ) -> Result<(AffectedAccord, usize), Rejection> {
        let stamp = Stamp::new(TimestampMs(at), [0; 10]);
        let decision = decide(&self.0, &stamp, by, step)?;
        decision.events.iter().for_each(|event| self.0.evolve(TimestampMs(at), event));
        Ok((decision.reply, decision.events.len()))
    }

    fn operator(&mut self, at: u64, step: &AccordStep) -> Result<AffectedAccord, Rejection> {
        self.apply(at, Some(&Actor::Operator), step).map(|(affected, _)| affected)
    }

    fn peer(&mut self, at: u64, step: &AccordStep) -> Result<(AffectedAccord, usize), Rejection> {
        self.apply(at, None, step)
    }

    fn standing(&self, peer: &str) -> &Standing {
        &self.0.all[&name(peer)].standing
    }
}

fn invite(peer: &str, of: &str, code: &str) -> AccordStep {
    AccordStep::Invite(NewInvitation {
        peer: name(peer),
        network: network(of),
        grants: Grants::default(),
        code: TokenDigest::of(code),
        expires_at: TimestampMs(1_000),
    })
}

fn accept(of: &str, code: &str, key: PublicKey) -> AccordStep {
    let peer_grants = parse_grant_names(&["support".to_owned()]).unwrap();
    AccordStep::Accept(Acceptance { code: TokenDigest::of(code), network: network(of), key, peer_grants })
}

fn make(peer: &str, of: &str, nth: u64, key: PublicKey) -> AccordStep {
    AccordStep::Make(NewAccord {
        peer: name(peer),
        network: network(of),
        accord: AccordId::mint(&Stamp::new(TimestampMs(nth), [9; 10]), 0),
        key,
        grants: Grants::default(),
        peer_grants: parse_grant_names(&[]).unwrap(),
    })
}

#[test]
fn given_an_invitation_when_its_network_accepts_with_the_code_then_there_is_an_accord() {
    let (mut given, key) = (Given::default(), key().public());
    let invited = given.operator(1, &invite("rn", "rn", "code")).unwrap();
    assert!(given.0.of_accord(&invited.accord).is_none(), "one yes is no accord");
    let (accepted, events) = given.peer(2, &accept("rn", "code", key)).unwrap();
    assert_eq!((accepted, events), (invited.clone(), 1));
    let (_, _, active) = given.0.of_accord(&invited.accord).unwrap();
    assert_eq!(active.key, key);
}

#[test]
fn given_an_accord_when_its_answer_was_lost_then_the_same_network_gets_it_again_and_nobody_else() {
    let (mut given, ours, other) = (Given::default(), key().public(), key().public());
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    let first = given.peer(2, &accept("rn", "code", ours)).unwrap().0;
    assert_eq!(given.peer(3, &accept("rn", "code", ours)), Ok((first, 0)));
    assert_eq!(given.peer(3, &accept("rn", "code", other)), Err(Rejection::Absent), "the code was used");
    assert_eq!(given.peer(1_000, &accept("rn", "code", ours)), Err(Rejection::Absent), "it is over");
}

#[test]
fn given_an_invitation_when_anything_does_not_fit_then_it_looks_absent() {
    let (mut given, key) = (Given::default(), key().public());
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    for (at, step) in
        [(2, accept("rn", "other", key)), (2, accept("xx", "code", key)), (1_000, accept("rn", "code", key))]
    {
        assert_eq!(given.peer(at, &step), Err(Rejection::Absent));
    }
    assert!(matches!(given.standing("rn"), Standing::Invited(_)));
    given.operator(3, &AccordStep::Revoke(name("rn"))).unwrap();
    assert_eq!(given.peer(4, &accept("rn", "code", key)), Err(Rejection::Absent), "it was taken back");
    assert!(given.0.untold.is_empty(), "nobody has to be told of an invitation");
}

#[test]
fn given_a_revoked_accord_then_its_name_is_for_no_other_network() {
    let (mut given, key) = (Given::default(), key().public());
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    given.operator(2, &AccordStep::Revoke(name("rn"))).unwrap();
    given.operator(3, &invite("rn", "xx", "code")).expect("nobody was linked under that name");
    given.peer(4, &accept("xx", "code", key)).unwrap();
    given.operator(5, &AccordStep::Revoke(name("rn"))).unwrap();
    assert_eq!(given.operator(6, &invite("rn", "rn", "other")), Err(Rejection::NameTaken));
    assert_eq!(given.operator(6, &make("rn", "rn", 1, key)), Err(Rejection::NameTaken));
    given.operator(7, &invite("rn", "xx", "other")).unwrap();
    assert_eq!(given.operator(2_000, &invite("rn", "rn", "third")), Err(Rejection::NameTaken), "it is over");
}

fn linked(peer: &str, is_active: bool) -> Rejection {
    Rejection::AlreadyLinked { peer: name(peer), is_active }
}

#[test]
fn given_an_accord_when_another_network_claims_its_id_then_it_is_refused() {
    let (mut given, key) = (Given::default(), key().public());
    given.operator(1, &make("rn", "rn", 1, key)).unwrap();
    assert_eq!(given.operator(2, &make("aa", "aa", 1, key)), Err(linked("rn", true)));
    given.operator(3, &make("aa", "aa", 2, key)).unwrap();
}

#[test]
fn given_a_peer_then_its_name_and_its_network_are_taken() {
    let mut given = Given::default();
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    assert_eq!(given.operator(2, &invite("rn", "other", "c")), Err(Rejection::NameTaken));
    assert_eq!(given.operator(2, &invite("xx", "rn", "c")), Err(linked("rn", false)));
    given.operator(2, &invite("rn", "rn", "again")).unwrap();
    assert_eq!(
        given.peer(3, &accept("rn", "code", key().public())),
        Err(Rejection::Absent),
        "it was replaced"
    );
    given.peer(3, &accept("rn", "again", key().public())).unwrap();
    assert_eq!(given.operator(4, &invite("rn", "rn", "c")), Err(linked("rn", true)));
    assert_eq!(given.operator(4, &make("xx", "rn", 4, key().public())), Err(linked("rn", true)));
    given.operator(5, &AccordStep::Revoke(name("rn"))).unwrap();
    assert_eq!(given.operator(6, &invite("rn", "other", "c")), Err(Rejection::NameTaken), "it was linked");
}

#[test]
fn given_an_invitation_that_is_over_then_its_name_is_free() {
    let mut given = Given::default();
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    given.operator(1_000, &invite("rn", "other", "c")).unwrap();
    assert_eq!(given.operator(1_000, &AccordStep::Revoke(name("xx"))), Err(Rejection::Absent));
}

#[test]
fn given_the_agreement_of_a_network_when_it_is_recorded_twice_then_once() {
    let (mut given, key) = (Given::default(), key().public());
    let first = given.operator(1, &make("rn", "rn", 1, key)).unwrap();
    assert_eq!(given.apply(2, Some(&Actor::Operator), &make("rn", "rn", 1, key)), Ok((first, 0)));
}

#[test]
fn given_an_accord_when_either_revokes_it_then_it_is_dead_and_the_other_is_told_until_it_has_heard() {
    let (mut given, key) = (Given::default(), key().public());
    let accord = given.operator(1, &make("rn", "rn", 1, key)).unwrap().accord;
    given.operator(2, &AccordStep::Revoke(name("rn"))).unwrap();
    assert!(given.0.of_accord(&accord).is_none());
    assert!(given.0.untold.contains_key(&accord));
    assert_eq!(given.operator(3, &AccordStep::Revoke(name("rn"))), Err(Rejection::Absent), "once is enough");
    assert_eq!(given.peer(3, &AccordStep::RevokedByPeer(accord.clone())), Err(Rejection::Absent));
    given.peer(4, &AccordStep::NotificationDone { accord: accord.clone(), is_confirmed: true }).unwrap();
    assert!(given.0.untold.is_empty());
    assert_eq!(
        given.peer(5, &AccordStep::NotificationDone { accord, is_confirmed: true }),
        Err(Rejection::Absent)
    );

    let accord = given.operator(6, &make("rn", "rn", 6, key)).unwrap().accord;
    given.peer(7, &AccordStep::RevokedByPeer(accord.clone())).unwrap();
    assert!(given.0.of_accord(&accord).is_none());
    assert!(given.0.untold.is_empty(), "the peer knows");
}

#[test]
fn given_another_accord_meanwhile_when_a_revocation_of_the_first_comes_late_then_nothing_ends() {
    let (mut given, key) = (Given::default(), key().public());
    let first = given.operator(1, &make("rn", "rn", 1, key)).unwrap().accord;
    given.operator(2, &AccordStep::Revoke(name("rn"))).unwrap();
    let second = given.operator(3, &make("rn", "rn", 3, key)).unwrap().accord;
    assert_eq!(given.peer(4, &AccordStep::RevokedByPeer(first)), Err(Rejection::Absent));
    assert!(given.0.of_accord(&second).is_some());
}

#[test]
fn given_a_peer_that_was_not_told_when_it_is_invited_anew_then_it_is_told_all_the_same() {
    let (mut given, key) = (Given::default(), key().public());
    let first = given.operator(1, &make("rn", "rn", 1, key)).unwrap().accord;
    given.operator(2, &AccordStep::Revoke(name("rn"))).unwrap();
    given.operator(3, &invite("rn", "rn", "code")).unwrap();
    assert_eq!(given.0.untold[&first].network, network("rn"));
    given.peer(4, &AccordStep::NotificationDone { accord: first, is_confirmed: true }).unwrap();
    assert!(matches!(given.standing("rn"), Standing::Invited(_)) && given.0.untold.is_empty());
}

#[test]
fn nobody_does_what_is_the_others_to_do() {
    let (mut given, key) = (Given::default(), key().public());
    given.operator(1, &invite("rn", "rn", "code")).unwrap();
    assert_eq!(
        given.operator(2, &accept("rn", "code", key)),
        Err(Rejection::Absent),
        "an operator is no peer"
    );
    assert_eq!(given.peer(2, &invite("xx", "xx", "c")), Err(Rejection::Absent), "a peer is no operator");
    assert_eq!(given.peer(2, &AccordStep::Revoke(name("rn"))), Err(Rejection::Absent));
}

#[test]
fn so_many_peers_and_no_more_and_of_the_revoked_the_last_ones() {
    let mut given = Given::default();
    for nth in 0..PEERS_MAX {
        given.operator(1, &invite(&format!("p{nth}"), &format!("p{nth}"), &format!("{nth}"))).unwrap();
    }
    assert_eq!(given.operator(2, &invite("more", "more", "c")), Err(Rejection::TooMany));
    for nth in 0..PEERS_MAX {
        given.operator(3 + nth as u64, &AccordStep::Revoke(name(&format!("p{nth}")))).unwrap();
    }
    assert_eq!(given.0.all.len(), REVOKED_KEPT_MAX.min(PEERS_MAX));
    given.operator(500, &invite("more", "more", "c")).unwrap();
    given.operator(501, &AccordStep::Revoke(name("more"))).unwrap();
    assert_eq!(given.0.all.len(), REVOKED_KEPT_MAX);
    assert!(!given.0.all.contains_key(&name("p0")), "the oldest is forgotten");
}
