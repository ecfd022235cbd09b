//! The actors in whose name a token may write (wire.md D.1, D.4, D.7; AP-57, AP-72).
//! Must not know: the attributed object.

use plenary_accounts::Actor;

use crate::{lifecycle::ActorType, schema::Creator};

/// Which actors a token may name as authors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Attribution {
    /// An agent or owner may name only itself; the operator anybody.
    #[default]
    Own,
    /// A token that may write may name anybody.
    Open,
}

/// Whether the bearer may name this actor. Only the id is checked, not the type (wire.md D.7).
pub fn speaks_as(by: &Actor, id: &str, attribution: Attribution) -> bool {
    let is_anybody = matches!(by, Actor::Operator | Actor::Seed);
    is_anybody || attribution == Attribution::Open || is_own(by, id)
}

/// Whether an id belongs to the bearer itself (wire.md D.1).
pub fn is_own(by: &Actor, id: &str) -> bool {
    match by {
        Actor::Operator | Actor::Seed => id == "operator",
        Actor::Owner(owner) => owner.as_str() == id,
        Actor::Agent(agent) => {
            let handle = agent.as_str();
            let is_handle = [handle, &handle[1..]].contains(&id);
            // Another network chooses the names of its agents; alone they may be those of an owner here.
            is_handle || !agent.is_elsewhere() && [agent.owner(), agent.name()].contains(&id)
        }
    }
}

/// The author of what a bearer wrote under this name: the bearer itself, whichever of its own names it is. The operator's
/// names, and with open attribution those of others, are free.
pub fn author(by: &Actor, name: &str) -> String {
    if is_own(by, name) { by.to_string() } else { name.to_owned() }
}

/// The actor for a request that names none: the bearer.
pub fn itself(by: &Actor) -> Creator {
    let (id, kind) = match by {
        Actor::Operator | Actor::Seed => ("operator".to_owned(), ActorType::Script),
        Actor::Owner(owner) => (owner.to_string(), ActorType::Human),
        Actor::Agent(agent) => (agent.to_string(), ActorType::Agent),
    };
    Creator { id, kind, session_id: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_57_ap_72_a_token_speaks_as_its_own_actor_only() {
        let (agent, owner) =
            (Actor::Agent("@nick.cc-laptop".parse().unwrap()), Actor::Owner("nick".parse().unwrap()));
        for id in ["nick", "cc-laptop", "nick.cc-laptop", "@nick.cc-laptop"] {
            assert!(speaks_as(&agent, id, Attribution::Own), "{id}");
            assert_eq!(speaks_as(&owner, id, Attribution::Own), id == "nick", "{id}");
        }
        for by in [&agent, &owner] {
            assert!(!speaks_as(by, "ann", Attribution::Own));
            assert!(speaks_as(by, "ann", Attribution::Open));
            assert!(speaks_as(by, &itself(by).id, Attribution::Own));
        }
        assert!(speaks_as(&Actor::Operator, "ann", Attribution::Own));
        assert_eq!(author(&agent, "nick"), "@nick.cc-laptop", "the owner's name is the agent's too");
        assert_eq!(author(&owner, "nick"), "~nick");
        assert_eq!(
            (author(&Actor::Operator, "nick"), author(&agent, "ann")),
            ("nick".to_owned(), "ann".to_owned())
        );
        let guest = Actor::Agent("@ida-at-rose.nick".parse().unwrap());
        for (id, is_own) in
            [("@ida-at-rose.nick", true), ("ida-at-rose.nick", true), ("ida-at-rose", false), ("nick", false)]
        {
            assert_eq!(speaks_as(&guest, id, Attribution::Own), is_own, "{id}");
        }
    }
}
