//! What one side of an accord grants the other: names, each with a set of its own owners. Pure.
//! Must not know: the caller.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
    sync::Arc,
};

use plenary_kernel::OwnerName;
use serde::{Deserialize, Serialize};

use crate::limits::{GRANT_NAME_BYTES_MAX, GRANT_OWNERS_MAX, GRANTS_MAX};

/// The name of a grant: the `<grant-scope>` of `accord:<peer>/grant:<grant-scope>` (Agent-Channel Fan-Out, section 6).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct GrantName(Arc<str>);

/// The text is not the name of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoGrantName;

impl fmt::Display for NoGrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must have 1 to {GRANT_NAME_BYTES_MAX} of a-z, 0-9, - and _")
    }
}

impl FromStr for GrantName {
    type Err = NoGrantName;

    fn from_str(text: &str) -> Result<Self, NoGrantName> {
        let is_valid = (1..=GRANT_NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
        if is_valid { Ok(Self(text.into())) } else { Err(NoGrantName) }
    }
}

impl TryFrom<String> for GrantName {
    type Error = NoGrantName;

    fn try_from(text: String) -> Result<Self, NoGrantName> {
        text.parse()
    }
}

impl From<GrantName> for String {
    fn from(name: GrantName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for GrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The grants of this network to a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Grants(BTreeMap<GrantName, BTreeSet<OwnerName>>);

impl Grants {
    /// Checks the grants of an operator's request. The error is for people.
    pub(crate) fn parse(grants_sent: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        if grants_sent.len() > GRANTS_MAX {
            return Err(format!("an accord has at most {GRANTS_MAX} grants"));
        }
        let mut grants = BTreeMap::new();
        for (name, owners) in grants_sent {
            let grant: GrantName = name.parse().map_err(|error| format!("the grant {name:?} {error}"))?;
            if owners.is_empty() || owners.len() > GRANT_OWNERS_MAX {
                return Err(format!("the grant {name:?} must name 1 to {GRANT_OWNERS_MAX} owners"));
            }
            grants.insert(
                grant,
                owners.iter().map(|owner| parse_participant(owner)).collect::<Result<_, _>>()?,
            );
        }
        Ok(Self(grants))
    }

    /// The names, which are all that the peer learns.
    pub(crate) fn names(&self) -> BTreeSet<GrantName> {
        self.0.keys().cloned().collect()
    }

    pub(crate) fn owners_of(&self, grant: &GrantName) -> Option<&BTreeSet<OwnerName>> {
        self.0.get(grant)
    }

    /// All owners that take part.
    pub(crate) fn owners(&self) -> BTreeSet<&OwnerName> {
        self.0.values().flatten().collect()
    }

    /// The grants as they are shown to the operator.
    pub(crate) fn view(&self) -> BTreeMap<String, Vec<OwnerName>> {
        self.0.iter().map(|(name, owners)| (name.to_string(), owners.iter().cloned().collect())).collect()
    }
}

/// Checks an owner that is to take part. If its name contained `-at-`, the peer would take it for an owner of a third network.
fn parse_participant(owner: &str) -> Result<OwnerName, String> {
    let name: OwnerName = owner.parse().map_err(|_| format!("{owner:?} is not an owner"))?;
    if name.is_elsewhere() {
        return Err(format!("{owner:?} cannot take part: `-at-` in a name is for owners of other networks"));
    }
    Ok(name)
}

/// The names that a peer grants; `None` if one is invalid or there are too many.
pub(crate) fn parse_grant_names(names: &[String]) -> Option<BTreeSet<GrantName>> {
    if names.len() > GRANTS_MAX {
        return None;
    }
    names.iter().map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(grants: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |owners: &[&str]| owners.iter().map(|&owner| owner.to_owned()).collect();
        grants.iter().map(|(name, owners)| ((*name).to_owned(), owned(owners))).collect()
    }

    #[test]
    fn grants_name_owners() {
        let grants =
            Grants::parse(&request(&[("support", &["acme", "beta"]), ("sales", &["acme"])])).unwrap();
        assert_eq!(grants.owners().len(), 2);
        let names: Vec<String> = grants.names().into_iter().map(String::from).collect();
        assert_eq!(names, ["sales", "support"]);
        assert!(
            Grants::parse(&request(&[])).unwrap().owners().is_empty(),
            "none is allowed: nobody takes part"
        );
    }

    #[test]
    fn grants_past_their_limits_are_refused() {
        let long = "x".repeat(GRANT_NAME_BYTES_MAX + 1);
        for malformed in [
            request(&[("Support", &["acme"])]),
            request(&[("", &["acme"])]),
            request(&[("a b", &["acme"])]),
            request(&[(&long, &["acme"])]),
            request(&[("support", &[])]),
            request(&[("support", &["@acme.bot"])]),
            request(&[("support", &["nick-at-acme"])]),
        ] {
            assert!(Grants::parse(&malformed).is_err(), "{malformed:?}");
        }
        let many =
            |count: usize| (0..count).map(|nth| (format!("g{nth}"), vec!["acme".to_owned()])).collect();
        assert!(Grants::parse(&many(GRANTS_MAX)).is_ok());
        assert!(Grants::parse(&many(GRANTS_MAX + 1)).is_err());
        let owners = |count: usize| {
            BTreeMap::from([("g".to_owned(), (0..count).map(|nth| format!("o{nth}")).collect::<Vec<_>>())])
        };
        assert!(Grants::parse(&owners(GRANT_OWNERS_MAX)).is_ok());
        assert!(Grants::parse(&owners(GRANT_OWNERS_MAX + 1)).is_err());
        assert_eq!(parse_grant_names(&vec!["g".to_owned(); GRANTS_MAX + 1]), None);
        assert_eq!(parse_grant_names(&["no name".to_owned()]), None);
    }
}
