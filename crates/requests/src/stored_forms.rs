//! The stored forms of requests and rules are frozen.

use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::golden::assert_frozen;
use plenary_kernel::{AskId, RuleId, Stamp, TimestampMs};

use crate::{
    event::{
        AnswerAuthor, AnswerSettled, AnswerUndone, LinkMade, RequestAnswered, RequestDelegated, RequestEvent,
        RequestExpired, RequestMade, RequestSnoozed, RequestSubject, RequestWithdrawn, RuleOfAnswer,
    },
    rules::event::{RuleEvent, RuleMade, RuleRemoved},
    wire::{Allow, AnswerType, Kind, NewRule, OnTimeout},
};

fn at(ms: u64) -> TimestampMs {
    TimestampMs(ms)
}

fn subject() -> RequestSubject {
    RequestSubject {
        agent: "@ann.cc".parse().unwrap(),
        kind: Kind::Permission,
        created: at(1),
        deadline: Some(at(9)),
        stranger: None,
    }
}

fn ann() -> Actor {
    Actor::Owner("ann".parse().unwrap())
}

fn rule() -> NewRule {
    NewRule {
        agent: "@ann.cc".parse().unwrap(),
        tool: "Bash".into(),
        directory: Some("/src".into()),
        expires_in_days: 7,
    }
}

const SUBJECT: &str = r#""of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9}"#;

#[test]
fn requests_are_stored_as_they_were() {
    let cases: Vec<(RequestEvent, &str, String)> = vec![
        (
            RequestEvent::RequestMade(RequestMade {
                subject: subject(),
                to: Some("@ann.ann".parse().unwrap()),
                allow: Allow::default(),
                on_timeout: OnTimeout::Ignore,
                tool: Some("Bash".into()),
                notifies_inbox: true,
                by_server: false,
                content: r#"{"title":"t"}"#.into(),
            }),
            "RequestMade",
            format!(
                r#"{{{SUBJECT},"to":"@ann.ann","allow":{{"accept":true,"edit":false,"respond":true,"ignore":true}},"on_timeout":"ignore","tool":"Bash","told":true}}"#
            ),
        ),
        (
            RequestEvent::RequestAnswered(RequestAnswered {
                subject: subject(),
                answer: AnswerType::Accept,
                by: AnswerAuthor::Person(ann()),
                person: None,
                at: at(2),
                undo_until: Some(at(3)),
                rule: Some(rule()),
                notifies_inbox: true,
                content: "{}".into(),
            }),
            "RequestAnswered",
            format!(
                r#"{{{SUBJECT},"answer":"accept","by":{{"person":"~ann"}},"at":2,"undo_until":3,"rule":{{"agent":"@ann.cc","tool":"Bash","directory":"/src","expires_in_days":7}},"told":true}}"#
            ),
        ),
        (
            RequestEvent::AnswerSettled(AnswerSettled {
                subject: subject(),
                undo_until: at(3),
                at: at(4),
                rule: Some(RuleOfAnswer { rule: rule(), answer: AnswerType::Accept, by: ann() }),
                notifies_inbox: true,
            }),
            "AnswerSettled",
            format!(
                r#"{{{SUBJECT},"undo_until":3,"at":4,"rule":{{"rule":{{"agent":"@ann.cc","tool":"Bash","directory":"/src","expires_in_days":7}},"answer":"accept","by":"~ann"}},"told":true}}"#
            ),
        ),
    ];
    assert_stored_forms(cases);
}

/// The form of a request that a stranger caused.
#[test]
fn a_request_that_a_stranger_causes_names_its_owner() {
    let form = r#"{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9,"stranger":"bob"}"#;
    let subject = RequestSubject { stranger: Some("bob".parse().unwrap()), ..subject() };
    assert_eq!(serde_json::to_string(&subject).unwrap(), form);
    assert_eq!(serde_json::from_str::<RequestSubject>(form).unwrap(), subject);
}

/// The person is omitted if none was named, as in all older events.
#[test]
fn an_answer_names_the_person_who_gave_it() {
    let answered = RequestAnswered {
        subject: subject(),
        answer: AnswerType::Ignore,
        by: AnswerAuthor::Person(ann()),
        person: Some("@ann.mo".parse().unwrap()),
        at: at(2),
        undo_until: None,
        rule: None,
        notifies_inbox: true,
        content: "{}".into(),
    };
    let form = format!(
        r#"{{{SUBJECT},"answer":"ignore","by":{{"person":"~ann"}},"person":"@ann.mo","at":2,"told":true}}"#
    );
    assert_stored_forms(vec![(RequestEvent::RequestAnswered(answered), "RequestAnswered", form)]);
}

#[test]
fn stored_forms_of_request_outcomes_are_frozen() {
    let digest = TokenDigest::of("x");
    let link = LinkMade { subject: subject(), digest, until: at(5), through: None };
    let link_form =
        format!(r#"{{{SUBJECT},"digest":{},"until":5}}"#, serde_json::to_string(&digest).unwrap());
    let admitted = LinkMade { through: Some(digest), ..link.clone() };
    let admitted_form =
        link_form.replace(r#""until":5"#, &format!(r#""until":5,"through":"{}""#, digest.hex()));
    let cases: Vec<(RequestEvent, &str, String)> = vec![
        (
            RequestEvent::AnswerUndone(AnswerUndone {
                subject: subject(),
                by: ann(),
                answered: at(2),
                undo_until: at(3),
            }),
            "AnswerUndone",
            format!(r#"{{{SUBJECT},"by":"~ann","answered":2,"undo_until":3}}"#),
        ),
        (
            RequestEvent::RequestSnoozed(RequestSnoozed { subject: subject(), by: ann(), until: at(5) }),
            "RequestSnoozed",
            format!(r#"{{{SUBJECT},"by":"~ann","until":5}}"#),
        ),
        (
            RequestEvent::RequestDelegated(RequestDelegated {
                subject: subject(),
                by: ann(),
                to: "@ann.mo".parse().unwrap(),
            }),
            "RequestDelegated",
            format!(r#"{{{SUBJECT},"by":"~ann","to":"@ann.mo"}}"#),
        ),
        (
            RequestEvent::RequestWithdrawn(RequestWithdrawn {
                subject: subject(),
                at: at(4),
                answered: None,
                undo_until: None,
            }),
            "RequestWithdrawn",
            format!(r#"{{{SUBJECT},"at":4}}"#),
        ),
        (
            RequestEvent::RequestExpired(RequestExpired {
                subject: subject(),
                at: at(9),
                answer: None,
                notifies_inbox: false,
            }),
            "RequestExpired",
            format!(r#"{{{SUBJECT},"at":9,"told":false}}"#),
        ),
        (RequestEvent::LinkMade(link), "LinkMade", link_form),
        (RequestEvent::LinkMade(admitted), "LinkMade", admitted_form),
    ];
    assert_stored_forms(cases);
}

fn assert_stored_forms(cases: Vec<(RequestEvent, &str, String)>) {
    for (event, kind, envelope) in cases {
        let payload = match kind {
            "RequestMade" => r#"{"title":"t"}"#,
            "RequestAnswered" => "{}",
            _ => "",
        };
        assert_frozen(&event, kind, &envelope, payload);
    }
}

#[test]
fn the_author_of_an_answer_is_stored_as_it_was() {
    let rule = RuleId::mint(&Stamp::new(at(1), [0; 10]), 0);
    for (author, form) in [
        (AnswerAuthor::Person(ann()), r#"{"person":"~ann"}"#.to_owned()),
        (AnswerAuthor::Rule(rule.clone()), format!(r#"{{"rule":"{rule}"}}"#)),
        (AnswerAuthor::Link, r#""link""#.to_owned()),
        (AnswerAuthor::Deadline, r#""deadline""#.to_owned()),
    ] {
        assert_eq!(serde_json::to_string(&author).unwrap(), form);
        assert_eq!(serde_json::from_str::<AnswerAuthor>(&form).unwrap(), author);
    }
}

#[test]
fn rules_are_stored_as_they_were() {
    let rule = RuleId::mint(&Stamp::new(at(1), [0; 10]), 0);
    let event = RuleMade {
        rule: rule.clone(),
        agent: "@ann.cc".parse().unwrap(),
        tool: "Bash".into(),
        directory: None,
        answer: AnswerType::Ignore,
        by: ann(),
        request: AskId::of_source("x"),
        until: at(7),
    };
    let request = AskId::of_source("x");
    for (event, kind, envelope) in [
        (
            RuleEvent::RuleMade(event),
            "RuleMade",
            format!(
                r#"{{"rule":"{rule}","agent":"@ann.cc","tool":"Bash","answer":"ignore","by":"~ann","request":"{request}","until":7}}"#
            ),
        ),
        (
            RuleEvent::RuleRemoved(RuleRemoved { rule: rule.clone(), by: ann() }),
            "RuleRemoved",
            format!(r#"{{"rule":"{rule}","by":"~ann"}}"#),
        ),
    ] {
        assert_frozen(&event, kind, &envelope, "");
    }
}
