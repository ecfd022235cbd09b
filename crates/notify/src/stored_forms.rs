//! The stored forms of subscriptions and notifications are frozen.

use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::golden::assert_frozen;
use plenary_kernel::{Stamp, SubscriptionId, TimestampMs};

use crate::{
    delivery::event::{
        AttemptBegun, AttemptFailed, DeliveryEvent, DeliverySubject, NoticeAdded, NoticeEnded, NoticePutOff,
        NoticeRevived,
    },
    message::tests::notice,
    subscription::{
        event::{Subscription, SubscriptionEvent, SubscriptionRemoved, SubscriptionSet},
        tests::subscription,
    },
    wire::{Event, Notice, Quiet, Target},
};

fn ms(ms: u64) -> TimestampMs {
    TimestampMs(ms)
}

fn id() -> SubscriptionId {
    SubscriptionId::mint(&Stamp::new(ms(1), [0; 10]), 0)
}

const SUBJECT: &str = r#""of":{"owner":"ann","subscription":"sub_00000000010000000000000000","created":1}"#;

fn subject() -> DeliverySubject {
    DeliverySubject { owner: "ann".parse().unwrap(), subscription: id(), created: ms(1) }
}

#[test]
fn the_stored_forms_of_deliveries_are_frozen() {
    let ended =
        || NoticeEnded { subject: subject(), due: Some(ms(3)), died: None, at: ms(4), error: "503".into() };
    let ended_form = format!(r#"{{{SUBJECT},"due":3,"at":4,"error":"503"}}"#);
    let added = |digest, stranger: Option<&str>| {
        let stranger = stranger.map(|owner| owner.parse().unwrap());
        let added =
            NoticeAdded { subject: subject(), item: 9, due: ms(2), digest, stranger, notice: "{}".into() };
        DeliveryEvent::NoticeAdded(added)
    };
    let cases = [
        (added(true, None), "NoticeAdded", format!(r#"{{{SUBJECT},"item":9,"due":2,"digest":true}}"#)),
        (
            added(false, Some("bob")),
            "NoticeAdded",
            format!(r#"{{{SUBJECT},"item":9,"due":2,"stranger":"bob"}}"#),
        ),
        (
            DeliveryEvent::AttemptBegun(AttemptBegun { subject: subject(), due: ms(2), until: ms(3) }),
            "AttemptBegun",
            format!(r#"{{{SUBJECT},"due":2,"until":3}}"#),
        ),
        (
            DeliveryEvent::AttemptFailed(AttemptFailed {
                subject: subject(),
                due: ms(3),
                next: ms(5),
                error: "503".into(),
            }),
            "AttemptFailed",
            format!(r#"{{{SUBJECT},"due":3,"next":5,"error":"503"}}"#),
        ),
        (
            DeliveryEvent::NoticePutOff(NoticePutOff { subject: subject(), due: ms(3), next: ms(5) }),
            "NoticePutOff",
            format!(r#"{{{SUBJECT},"due":3,"next":5}}"#),
        ),
        (DeliveryEvent::NoticeDelivered(ended()), "NoticeDelivered", ended_form.clone()),
        (DeliveryEvent::NoticeDied(ended()), "NoticeDied", ended_form),
        (
            DeliveryEvent::NoticeDropped(NoticeEnded {
                due: None,
                died: Some(ms(3)),
                error: String::new(),
                ..ended()
            }),
            "NoticeDropped",
            format!(r#"{{{SUBJECT},"died":3,"at":4}}"#),
        ),
        (
            DeliveryEvent::NoticeRevived(NoticeRevived {
                subject: subject(),
                died: ms(3),
                due: ms(6),
                by: Actor::Operator,
            }),
            "NoticeRevived",
            format!(r#"{{{SUBJECT},"died":3,"due":6,"by":"operator"}}"#),
        ),
    ];
    for (event, kind, form) in cases {
        let payload = if kind == "NoticeAdded" { "{}" } else { "" };
        assert_frozen(&event, kind, &form, payload);
    }
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
    let ann = || Actor::Owner("ann".parse().unwrap());
    let set = |target, rest: &str| {
        format!(
            r#"{{"subscription":{{"id":"sub_00000000010000000000000000","target":{target},"secret":"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",{rest}}},"by":"~ann"}}"#
        )
    };
    let plain = r#""events":["request.created"],"min_urgency":"low","enabled":true"#;
    let full = Subscription {
        name: Some("phone".into()),
        kinds: vec![plenary_requests::Kind::Hold],
        agents: vec!["@ann.cc".parse().unwrap()],
        person: Some("@ann.bob".parse().unwrap()),
        quiet: Some(Quiet { time_zone: "UTC".into(), from: "22:00".into(), to: "07:00".into() }),
        digest_minutes: Some(60),
        gone: true,
        enabled: false,
        ..subscription()
    };
    let full_form = r#""name":"phone","events":["request.created"],"kinds":["hold"],"agents":["@ann.cc"],"person":"@ann.bob","min_urgency":"low","quiet":{"time_zone":"UTC","from":"22:00","to":"07:00"},"digest_minutes":60,"enabled":false,"gone":true"#;
    let hook = r#"{"kind":"webhook","url":"https://example.org/hook"}"#;
    let rule = TokenDigest::of("rule");
    let admitted = Subscription { through: Some(rule), ..subscription() };
    let admitted_form = format!(r#"{plain},"through":"{}""#, rule.hex());
    let mut cases = vec![
        (subscription(), set(hook, plain)),
        (full, set(hook, full_form)),
        (admitted, set(hook, &admitted_form)),
    ];
    for (target, form) in [
        (
            Target::Ntfy { url: "u".into(), token: Some("t".into()) },
            r#"{"kind":"ntfy","url":"u","token":"t"}"#,
        ),
        (Target::Slack { url: "u".into() }, r#"{"kind":"slack","url":"u"}"#),
        (
            Target::Telegram { bot_token: "b".into(), chat_id: "1".into(), url: None },
            r#"{"kind":"telegram","bot_token":"b","chat_id":"1"}"#,
        ),
        (Target::Email { to: "a@b".into() }, r#"{"kind":"email","to":"a@b"}"#),
        (
            Target::WebPush { endpoint: "e".into(), p256dh: "p".into(), auth: "a".into() },
            r#"{"kind":"web_push","endpoint":"e","p256dh":"p","auth":"a"}"#,
        ),
    ] {
        cases.push((Subscription { target, ..subscription() }, set(form, plain)));
    }
    for (subscription, form) in cases {
        let event = SubscriptionEvent::SubscriptionSet(Box::new(SubscriptionSet { subscription, by: ann() }));
        assert_frozen(&event, "SubscriptionSet", &form, "");
    }
    let event = SubscriptionEvent::SubscriptionRemoved(SubscriptionRemoved { id: id(), by: ann() });
    let form = r#"{"id":"sub_00000000010000000000000000","by":"~ann"}"#;
    assert_frozen(&event, "SubscriptionRemoved", form, "");
}
