//! The stored forms of subscriptions and notifications are frozen.

use plenary_engine::golden::{assert_frozen, assert_frozen_with};

use crate::{
    delivery::event::DeliveryEvent,
    message::tests::notice,
    subscription::event::SubscriptionEvent,
    wire::{Event, Notice},
};

#[test]
fn the_stored_forms_of_deliveries_are_frozen() {
    assert_frozen_with::<DeliveryEvent>(&[
        (
            "NoticeAdded",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"item":9,"due":2,"digest":true}"#,
            "{}",
        ),
        (
            "NoticeAdded",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"item":9,"due":2,"stranger":"bob"}"#,
            "{}",
        ),
        (
            "AttemptBegun",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"due":2,"until":3}"#,
            "",
        ),
        (
            "AttemptFailed",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"due":3,"next":5,"error":"503"}"#,
            "",
        ),
        (
            "NoticePutOff",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"due":3,"next":5}"#,
            "",
        ),
        (
            "NoticeDelivered",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"due":3,"at":4,"error":"503"}"#,
            "",
        ),
        (
            "NoticeDied",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"due":3,"at":4,"error":"503"}"#,
            "",
        ),
        (
            "NoticeDropped",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"died":3,"at":4}"#,
            "",
        ),
        (
            "NoticeRevived",
            r#"{"of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1},"died":3,"due":6,"by":"operator"}"#,
            "",
        ),
    ]);
}

#[test]
fn the_stored_form_of_a_notice_is_frozen() {
    let form = r#"{"event":"request.created","at":7,"request":{"request_id":"ID","kind":"permission","urgency":"normal","title":"Run <b>it</b>RLO & go","from":"@ann.cc","action":"Bash","directory":"/src","excerpt":"cargo\u001btest","allow":{"accept":true,"edit":false,"respond":true,"ignore":true},"created_at":7}}"#;
    let expected = notice(Event::Created);
    let form = form.replace("ID", expected.request.request_id.as_str()).replace("RLO", "\u{202e}");
    assert_eq!(serde_json::to_string(&expected).unwrap(), form);
    assert_eq!(serde_json::from_str::<Notice>(&form).unwrap(), expected);
}

#[test]
fn the_stored_forms_of_subscriptions_are_frozen() {
    assert_frozen::<SubscriptionEvent>(&[
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"webhook","url":"https://example.org/hook"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"webhook","url":"https://example.org/hook"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","name":"phone","events":["request.created"],"kinds":["hold"],"agents":["@ann.cc"],"person":"@ann.bob","min_urgency":"low","quiet":{"time_zone":"UTC","from":"22:00","to":"07:00"},"digest_minutes":60,"enabled":false,"gone":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"webhook","url":"https://example.org/hook"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true,"through":"7369949b47ef2c6ba26fbbee659cedc76123a75c17d321a52d8d1ef35e948042"},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"ntfy","url":"u","token":"t"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"slack","url":"u"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"telegram","bot_token":"b","chat_id":"1"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"email","to":"a@b"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        (
            "SubscriptionSet",
            r#"{"subscription":{"id":"sub_00000000010000000000000000","target":{"kind":"web_push","endpoint":"e","p256dh":"p","auth":"a"},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","events":["request.created"],"min_urgency":"low","enabled":true},"by":"~ann"}"#,
        ),
        ("SubscriptionRemoved", r#"{"id":"sub_00000000010000000000000000","by":"~ann"}"#),
    ]);
}
