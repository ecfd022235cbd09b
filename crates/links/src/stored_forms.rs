//! The stored form of every event, byte for byte. The forms are frozen: logs of today must stay readable.
//! Must not know: the effects of an event.

use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::golden::assert_frozen;
use plenary_kernel::{AccordId, Stamp, TimestampMs};

use crate::{
    accord::event::{AccordEvent, AccordMade, AccordRevoked, PeerInvited, RevocationTold},
    grant::{Grants, parse_grant_names},
    key::PublicKey,
};

fn accord() -> AccordId {
    AccordId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0)
}

fn key() -> PublicKey {
    "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".to_owned().try_into().unwrap()
}

#[test]
fn events_of_peers_are_frozen() {
    let (peer, network) = ("rose".parse().unwrap(), "https://plenary.rose.example".parse().unwrap());
    let grants = Grants::parse(&[("support".to_owned(), vec!["acme".to_owned()])].into()).unwrap();
    let invited = PeerInvited {
        peer,
        network,
        accord: accord(),
        code: TokenDigest::of("code"),
        until: TimestampMs(2),
        grants,
        by: Actor::Operator,
    };
    let made = AccordMade {
        peer: invited.peer.clone(),
        network: invited.network.clone(),
        accord: accord(),
        key: key(),
        grants: invited.grants.clone(),
        granted: parse_grant_names(&["sales".to_owned()]).unwrap(),
        by: None,
    };
    let (peer, by) = (invited.peer.clone(), Some(Actor::Operator));
    let head =
        r#""peer":"rose","network":"https://plenary.rose.example","accord":"acc_00000000010000000000000000""#;
    let terms = r#""grants":{"support":["acme"]},"granted":["sales"]"#;
    let digest = "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b";
    for (event, kind, form) in [
        (
            AccordEvent::PeerInvited(invited),
            "PeerInvited",
            format!(
                r#"{{{head},"code":"{digest}","until":2,"grants":{{"support":["acme"]}},"by":"operator"}}"#
            ),
        ),
        (
            AccordEvent::AccordMade(made.clone()),
            "AccordMade",
            format!(r#"{{{head},"key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",{terms}}}"#),
        ),
        (
            AccordEvent::AccordMade(AccordMade { by: by.clone(), ..made }),
            "AccordMade",
            format!(
                r#"{{{head},"key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",{terms},"by":"operator"}}"#
            ),
        ),
        (
            AccordEvent::AccordRevoked(AccordRevoked { peer: peer.clone(), accord: accord(), by }),
            "AccordRevoked",
            r#"{"peer":"rose","accord":"acc_00000000010000000000000000","by":"operator"}"#.to_owned(),
        ),
        (
            AccordEvent::AccordRevoked(AccordRevoked { peer: peer.clone(), accord: accord(), by: None }),
            "AccordRevoked",
            r#"{"peer":"rose","accord":"acc_00000000010000000000000000"}"#.to_owned(),
        ),
        (
            AccordEvent::RevocationTold(RevocationTold { peer, accord: accord(), heard: true }),
            "RevocationTold",
            r#"{"peer":"rose","accord":"acc_00000000010000000000000000","heard":true}"#.to_owned(),
        ),
    ] {
        assert_frozen(&event, kind, &form, "");
    }
}
