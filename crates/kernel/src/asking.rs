//! Who asks a person, in words. Pure.
//! Must not know: the presentation.

/// The sentence without its full stop. `from` is the agent of the person's owner; of a contact request and of an invitation it
/// is the agent that is asked, and `other` asks; so it is of a run that is held. A run asks by its agent, which is the name of the action.
#[must_use]
pub fn who_asks(kind: &str, from: &str, other: Option<&str>, action: Option<&str>) -> String {
    match (kind, other, action) {
        ("contact", Some(other), _) => format!("{other} asks {from} for contact"),
        ("invitation", Some(other), _) => format!("{other} invites {from}"),
        ("run_input", _, Some(agent)) => format!("{agent} asks, in a run for {from}"),
        (_, Some(other), _) if other != from => format!("{from} asks on behalf of {other}"),
        _ => format!("{from} asks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_said_by_kind() {
        let (me, other) = ("@nick.cc", Some("@acme.bot"));
        for (kind, other, action, expected) in [
            ("contact", other, None, "@acme.bot asks @nick.cc for contact"),
            ("invitation", other, None, "@acme.bot invites @nick.cc"),
            ("run_input", None, Some("builder"), "builder asks, in a run for @nick.cc"),
            ("permission", other, Some("Bash"), "@nick.cc asks on behalf of @acme.bot"),
            ("permission", Some(me), Some("Bash"), "@nick.cc asks"),
            ("question", None, None, "@nick.cc asks"),
        ] {
            assert_eq!(who_asks(kind, me, other, action), expected);
        }
    }
}
