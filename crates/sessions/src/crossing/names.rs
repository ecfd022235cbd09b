//! Translates names between two networks. Each network sends its own names and its name for the other one: an agent
//! `@nick.cc` there is `@nick-at-PEER.cc` here, and an agent `@ida-at-US.bot` there is `@ida.bot` here. Pure.
//! Must not know: which agents exist.

use plenary_kernel::{AgentHandle, OwnerName};

/// The names that two networks have for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The other network's name here.
    pub peer: OwnerName,
    /// This network's name there.
    pub us: OwnerName,
}

impl Naming {
    /// The local name of an agent, from its name at the peer; `None` if it has none.
    pub fn local_name(&self, peer_name: &AgentHandle) -> Option<AgentHandle> {
        match peer_name.of_peer() {
            // An agent of a third network has no local name, and a stand-in names no agent of this network.
            Some((own, at)) if at == self.us => {
                Some(own).filter(|own| !own.is_elsewhere() && !own.owner_name().is_stand_in())
            }
            _ => peer_name.elsewhere(&self.peer),
        }
    }

    /// The peer's name of an agent as it is called here: the reverse of [`Self::local_name`], also for an agent of a third
    /// network.
    pub fn name_there(&self, local_name: &AgentHandle) -> Option<AgentHandle> {
        match local_name.of_peer() {
            Some((own, at)) if at == self.peer => Some(own),
            _ => local_name.elsewhere(&self.us),
        }
    }

    /// The local names of all agents; `None` if one is missing.
    pub fn local_names(&self, peer_names: &[AgentHandle]) -> Option<Vec<AgentHandle>> {
        peer_names.iter().map(|handle| self.local_name(handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_names_of_its_own() {
        let naming = Naming { peer: "acme".parse().unwrap(), us: "rose".parse().unwrap() };
        let local_name =
            |peer_name: &str| naming.local_name(&peer_name.parse().unwrap()).map(|handle| handle.to_string());
        assert_eq!(local_name("@nick.cc").as_deref(), Some("@nick-at-acme.cc"));
        assert_eq!(local_name("@ida-at-rose.bot").as_deref(), Some("@ida.bot"));
        assert_eq!(local_name("@zoe-at-third.x").as_deref(), Some("@zoe-at-third-at-acme.x"));
        assert_eq!(local_name("@zoe-at-third-at-rose.x"), None, "no network says who is of a third one here");
        let long = local_name(&format!("@{}.cc", "x".repeat(60))).unwrap();
        assert!(long.starts_with("@long-") && long.ends_with("-at-acme.cc"), "{long}");
        assert_eq!(local_name("@long-0123456789abcdef0123-at-rose.x"), None, "it stands for another owner");
    }

    #[test]
    fn a_host_knows_whom_a_peer_names() {
        let (acme, rose) = ("acme".parse().unwrap(), "rose".parse().unwrap());
        let at_rose = Naming { peer: acme, us: rose };
        let at_acme = Naming { peer: at_rose.us.clone(), us: at_rose.peer.clone() };
        let long = format!("@{}.cc", "x".repeat(64));
        for own in ["@nick.cc", "@ida-at-rose.bot", "@zoe-at-blue.bot", &long] {
            let own = own.parse().unwrap();
            let there = at_rose.local_name(&own);
            assert_eq!(at_acme.name_there(&own), there, "as rose calls it in its copy");
        }
    }
}
