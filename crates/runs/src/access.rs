//! Who may do what with an agent, its threads and its runs (wire.md D.8).
//! Must not know: how a token was checked.

use plenary_accounts::Actor;
use plenary_kernel::OwnerName;

/// Whether somebody may configure an agent: its owner and the operator.
#[must_use]
pub fn may_configure(by: &Actor, owner: &OwnerName) -> bool {
    match by {
        Actor::Operator => true,
        Actor::Owner(name) => name == owner,
        Actor::Agent(_) | Actor::Seed => false,
    }
}

/// Whether somebody may read a thread and its runs, and go on with them: whoever opened the thread, the agent's owner
/// and the operator. For everyone else there is no such thread.
#[must_use]
pub fn may_read(by: &Actor, opened_by: &Actor, owner: &OwnerName) -> bool {
    by == opened_by || may_configure(by, owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_8_a_thread_is_for_who_opened_it_its_agents_owner_and_the_operator() {
        let owner = "nick".parse().unwrap();
        let rights = |by: &str, opened: &str| {
            let (by, opened) = (by.parse().unwrap(), opened.parse().unwrap());
            (may_read(&by, &opened, &owner), may_configure(&by, &owner))
        };
        assert_eq!(rights("operator", "@a.b"), (true, true));
        assert_eq!(rights("~nick", "@a.b"), (true, true));
        assert_eq!(rights("@a.b", "@a.b"), (true, false));
        assert_eq!(rights("@a.c", "@a.b"), (false, false));
        assert_eq!(rights("~a", "@a.b"), (false, false));
        assert_eq!(rights("@nick.x", "@a.b"), (false, false));
        assert_eq!(rights("~a", "~a"), (true, false));
    }
}
