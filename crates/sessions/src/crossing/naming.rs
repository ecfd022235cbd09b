//! Names between two networks. Each says names as they are at itself, and what it calls the other one: an agent `@nick.cc` there is
//! `@nick-at-PEER.cc` here, and an agent `@ida-at-US.bot` there is `@ida.bot` here. Pure.
//! Must not know: who has these names.

use plenary_kernel::{AgentHandle, OwnerName};

/// How two networks call each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// What the other network is called here.
    pub peer: OwnerName,
    /// What this network is called there.
    pub us: OwnerName,
}

impl Naming {
    /// What an agent is called here that is called so there; nothing where there is no such name.
    #[must_use]
    pub fn here(&self, there: &AgentHandle) -> Option<AgentHandle> {
        match there.of_peer() {
            // Who is of a third network has no name here as one of ours.
            Some((own, at)) if at == self.us => Some(own).filter(|own| !own.is_elsewhere()),
            _ => there.elsewhere(&self.peer),
        }
    }

    /// All of them, or nothing.
    #[must_use]
    pub fn all_here(&self, there: &[AgentHandle]) -> Option<Vec<AgentHandle>> {
        there.iter().map(|handle| self.here(handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_names_of_its_own() {
        let naming = Naming { peer: "acme".parse().unwrap(), us: "rose".parse().unwrap() };
        let here = |there: &str| naming.here(&there.parse().unwrap()).map(|handle| handle.to_string());
        assert_eq!(here("@nick.cc").as_deref(), Some("@nick-at-acme.cc"));
        assert_eq!(here("@ida-at-rose.bot").as_deref(), Some("@ida.bot"));
        assert_eq!(here("@zoe-at-third.x").as_deref(), Some("@zoe-at-third-at-acme.x"));
        assert_eq!(here("@zoe-at-third-at-rose.x"), None, "no network says who is of a third one here");
        assert_eq!(here(&format!("@{}.cc", "x".repeat(60))), None, "there is no such name");
    }
}
