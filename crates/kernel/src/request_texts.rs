//! Texts about a request to a person: its sender, and the effects of an answer. Pure.
//! Must not know: the presentation.

use serde_json::{Map, Value};

/// The subject and verb of a request, without a full stop. `from` is the agent of the person's owner. For a contact request, an
/// invitation and a hold of the server (`room` names the room of the held item), `from` is the agent that is contacted, and
/// `other` the one that contacts it. For a run, `action` is the name of the run's agent.
pub fn describe_request(
    (kind, room): (&str, Option<&str>),
    from: &str,
    other: Option<&str>,
    action: Option<&str>,
) -> String {
    match (kind, other, action) {
        ("contact", Some(other), _) => format!("{other} asks {from} for contact"),
        ("invitation", Some(other), _) => format!("{other} invites {from}"),
        ("hold", Some(other), _) if room == Some("runs") => format!("{other} asks {from} for a run"),
        ("hold", Some(other), _) if room == Some("sessions") => format!("{other} invites {from}"),
        ("run_input", _, Some(agent)) => format!("{agent} asks, in a run for {from}"),
        (_, Some(other), _) if other != from => format!("{from} asks on behalf of {other}"),
        _ => format!("{from} asks"),
    }
}

/// The effects of `accept` and `ignore` on a request that the server made for another room; `None` for other requests.
pub fn effects(kind: &str, room: Option<&str>) -> Option<[&'static str; 2]> {
    match (kind, room) {
        ("contact", Some("accounts")) => {
            Some(["each is put on the other's allowlist", "the contact request is declined"])
        }
        ("invitation", Some("sessions")) => {
            Some(["the agent joins the session", "the invitation stays open for the agent"])
        }
        ("hold", Some("sessions")) => Some(["the agent joins the session", "the invitation is declined"]),
        ("hold", Some("runs")) => Some(["the run begins", "the run is canceled"]),
        ("review", Some("context")) => {
            Some(["the package is complete", "the package goes on waiting for a review"])
        }
        _ => None,
    }
}

/// The arguments of a tool for reading: the texts of several lines with their names, and the other arguments. As JSON, such a
/// text is one long line.
pub fn split_arguments(args: &Value) -> (Vec<(&str, &str)>, Value) {
    let Some(members) = args.as_object() else { return (Vec::new(), args.clone()) };
    let lines = |value: &Value| value.as_str().is_some_and(|text| text.contains('\n'));
    let texts = members.iter().filter(|(_, value)| lines(value));
    let others = members.iter().filter(|(_, value)| !lines(value));
    (
        texts.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect(),
        others.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into(),
    )
}

/// The label of the button that ignores a request: ignoring a form, a contact request or a hold declines it.
pub fn ignoring(kind: &str, room: Option<&str>, has_form: bool) -> &'static str {
    let declines = effects(kind, room).is_some() && matches!(kind, "contact" | "hold");
    if has_form || declines { "Decline" } else { "Ignore" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_described_by_its_kind() {
        let (me, other) = ("@nick.cc", Some("@acme.bot"));
        for (about, other, action, expected) in [
            (("contact", Some("accounts")), other, None, "@acme.bot asks @nick.cc for contact"),
            (("invitation", Some("sessions")), other, None, "@acme.bot invites @nick.cc"),
            (("hold", Some("runs")), other, None, "@acme.bot asks @nick.cc for a run"),
            (("hold", Some("sessions")), other, None, "@acme.bot invites @nick.cc"),
            (("hold", None), other, None, "@nick.cc asks on behalf of @acme.bot"),
            (("run_input", Some("runs")), None, Some("builder"), "builder asks, in a run for @nick.cc"),
            (("permission", None), other, Some("Bash"), "@nick.cc asks on behalf of @acme.bot"),
            (("permission", None), Some(me), Some("Bash"), "@nick.cc asks"),
            (("question", None), None, None, "@nick.cc asks"),
        ] {
            assert_eq!(describe_request(about, me, other, action), expected);
        }
    }

    #[test]
    fn given_arguments_then_texts_of_several_lines_stand_apart() {
        let args = serde_json::json!({"content": "a\n  b", "mode": 7, "path": "x"});
        let (texts, others) = split_arguments(&args);
        assert_eq!(texts, [("content", "a\n  b")]);
        assert_eq!(others, serde_json::json!({"mode": 7, "path": "x"}));
        let list = serde_json::json!(["a\nb"]);
        assert_eq!(split_arguments(&list), (Vec::new(), list.clone()));
    }

    #[test]
    fn the_effects_of_an_answer_are_described_if_the_server_executes_it() {
        let declined = effects("hold", Some("sessions")).map(|[_, ignored]| ignored);
        assert_eq!(declined, Some("the invitation is declined"));
        assert_eq!(effects("hold", None), None, "an agent's own: it alone knows");
        assert_eq!(effects("permission", Some("sessions")), None);
        assert_eq!(ignoring("hold", Some("runs"), false), "Decline");
        assert_eq!(ignoring("hold", None, false), "Ignore");
        assert_eq!(ignoring("question", None, true), "Decline");
    }
}
