//! The rights of a token's bearer in a project (AP-101; wire.md D.4, D.7).
//! Must not know: how members are stored.

use plenary_accounts::Actor;
use plenary_kernel::{AllowEntry, OwnerName};

use crate::lifecycle::words;

words! {
    /// What a member of a project may do.
    #[schemars(rename = "ProjectRole")]
    Role {
        /// Reads.
        Reader = "reader",
        /// Reads, deposits, asserts and flags.
        Writer = "writer",
        /// Reads, flags and reviews.
        Reviewer = "reviewer",
    }
}

/// The rights in a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access {
    /// Read everything in the project; without this right the project looks absent.
    pub read: bool,
    /// Deposit packages, assert and invalidate facts, start and end sessions.
    pub write: bool,
    /// Flag packages for review.
    pub flag: bool,
    /// Review packages.
    pub review: bool,
    /// Change its name and description.
    pub edit: bool,
    /// Share and archive it.
    pub govern: bool,
}

impl Access {
    const OWNER: Self = Self { read: true, write: true, flag: true, review: true, edit: true, govern: true };

    /// The rights of an actor. The operator and the owner have all, the owner's agents all but `govern`, others the
    /// rights of every member entry that matches them.
    pub fn of<'a>(
        by: &Actor,
        owner: Option<&OwnerName>,
        members: impl Iterator<Item = (&'a AllowEntry, &'a Role)>,
    ) -> Self {
        let matches = |entry: &AllowEntry| match by {
            Actor::Agent(agent) => entry.matches(agent),
            Actor::Owner(owner) => entry.as_str().strip_suffix(".*") == Some(&format!("@{owner}")),
            Actor::Operator | Actor::Seed => false,
        };
        match by {
            Actor::Operator | Actor::Seed => Self::OWNER,
            Actor::Owner(name) if Some(name) == owner => Self::OWNER,
            Actor::Agent(agent) if owner.is_some_and(|owner| owner.as_str() == agent.owner()) => {
                Self { govern: false, ..Self::OWNER }
            }
            Actor::Owner(_) | Actor::Agent(_) => members
                .filter(|(entry, _)| matches(entry))
                .fold(Self::default(), |access, (_, role)| access.with(*role)),
        }
    }

    const fn with(self, role: Role) -> Self {
        let mut access = Self { read: true, ..self };
        match role {
            Role::Reader => {}
            Role::Writer => {
                access.write = true;
                access.flag = true;
            }
            Role::Reviewer => {
                access.flag = true;
                access.review = true;
            }
        }
        access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(by: &str, members: &[(&str, Role)]) -> String {
        let by = by.parse().unwrap();
        let owner = "nick".parse().unwrap();
        let members: Vec<(AllowEntry, Role)> =
            members.iter().map(|(entry, role)| (entry.parse().unwrap(), *role)).collect();
        let Access { read, write, flag, review, edit, govern } =
            Access::of(&by, Some(&owner), members.iter().map(|(entry, role)| (entry, role)));
        let letters = [(read, 'r'), (write, 'w'), (flag, 'f'), (review, 'v'), (edit, 'e'), (govern, 'g')];
        letters.into_iter().filter(|(may, _)| *may).map(|(_, letter)| letter).collect()
    }

    #[test]
    fn ap_101_roles_give_what_they_say_and_nothing_else() {
        assert_eq!(access("operator", &[]), "rwfveg");
        assert_eq!(access("~nick", &[]), "rwfveg");
        assert_eq!(access("@nick.a", &[]), "rwfve");
        assert_eq!(access("@acme.a", &[]), "");
        assert_eq!(access("~acme", &[]), "");
        assert_eq!(access("@acme.a", &[("@acme.a", Role::Reader)]), "r");
        assert_eq!(access("@acme.a", &[("@acme.*", Role::Writer)]), "rwf");
        assert_eq!(access("~acme", &[("@acme.*", Role::Reviewer)]), "rfv");
        assert_eq!(access("~acme", &[("@acme.a", Role::Reviewer)]), "");
        assert_eq!(access("@acme.b", &[("@acme.a", Role::Reader)]), "");
        assert_eq!(access("@acme.a", &[("@acme.*", Role::Writer), ("@acme.a", Role::Reviewer)]), "rwfv");
    }
}
