//! The stored form of every event, byte for byte. The forms are frozen: logs of today must stay readable.
//! Must not know: the effects of an event.

use plenary_engine::golden::assert_frozen;

use crate::accord::event::AccordEvent;

#[test]
fn events_of_peers_are_frozen() {
    assert_frozen::<AccordEvent>(&[
        (
            "PeerInvited",
            r#"{"peer":"rose","network":"https://plenary.rose.example","accord":"acc_00000000010000000000000000","code":"5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b","until":2,"grants":{"support":["acme"]},"by":"operator"}"#,
        ),
        (
            "AccordMade",
            r#"{"peer":"rose","network":"https://plenary.rose.example","accord":"acc_00000000010000000000000000","key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","grants":{"support":["acme"]},"granted":["sales"]}"#,
        ),
        (
            "AccordMade",
            r#"{"peer":"rose","network":"https://plenary.rose.example","accord":"acc_00000000010000000000000000","key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","grants":{"support":["acme"]},"granted":["sales"],"by":"operator"}"#,
        ),
        ("AccordRevoked", r#"{"peer":"rose","accord":"acc_00000000010000000000000000","by":"operator"}"#),
        ("AccordRevoked", r#"{"peer":"rose","accord":"acc_00000000010000000000000000"}"#),
        ("RevocationTold", r#"{"peer":"rose","accord":"acc_00000000010000000000000000","heard":true}"#),
    ]);
}
