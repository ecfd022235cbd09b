//! The stored form of every event, byte for byte. The forms are frozen: a change is a new form beside the old one.

use plenary_engine::golden::assert_frozen_with;

use crate::event::ChannelEvent;

#[test]
fn stored_forms_are_frozen() {
    // CH-12: the payload is stored as it was sent.
    assert_frozen_with::<ChannelEvent>(&[
        (
            "ChannelCreated",
            r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","via":"@o.ann","created":7}"#,
            "",
        ),
        (
            "ChannelCreated",
            r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","via":"@o.ann","created":7,"key":"0af7651916cd43dd8448eb211c80319c"}"#,
            "",
        ),
        ("ChannelCreated", r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","created":7}"#, ""),
        ("EventAppended", r#"{"kind":"status","author":"a"}"#, r#"{ "b" : 1.0 ,"caf\u00e9":[]}"#),
        (
            "EventAppended",
            r#"{"kind":"status","author":"a","via":"operator","run":3,"joins":{"owner":"o","created":7,"open":true}}"#,
            r#"{ "b" : 1.0 ,"caf\u00e9":[]}"#,
        ),
        (
            "EventAppended",
            r#"{"kind":"status","author":"a","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            r#"{ "b" : 1.0 ,"caf\u00e9":[]}"#,
        ),
        ("ChannelClosed", "{}", ""),
        ("ChannelClosed", r#"{"via":"@o.ann","first":{"created":7,"owners":["o"]}}"#, ""),
        ("OwnerAdmitted", r#"{"owner":"o","via":"@o.ann"}"#, ""),
        ("KeyChanged", r#"{"key":"0af7651916cd43dd8448eb211c80319c","via":"@o.ann"}"#, ""),
        ("KeyChanged", r#"{"key":"0af7651916cd43dd8448eb211c80319c","revokes":true}"#, ""),
    ]);
}
