//! Rules of admission: they map the claims of a verified token to an account. Pure.
//! Must not know: how a token is verified.

use std::{collections::BTreeMap, fmt};

use plenary_accounts::{ConsoleRole, Keyring, Scope};
use plenary_kernel::AgentHandle;
use serde_json::{Map, Value};

/// Claims that people can choose freely; only `sub` identifies a person at an issuer (OpenID Connect Core, 5.1 and 5.7).
const CHOSEN: [&str; 8] = [
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "website",
];

/// The claims of a token.
pub type Claims = Map<String, Value>;

/// Text in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern(String);

impl Pattern {
    fn fits(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        false
    }
}

/// The required claims of a token, each by its name or by a path with dots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimPatterns(Vec<(String, Pattern)>);

impl ClaimPatterns {
    /// Patterns of claims, at least one.
    ///
    /// # Errors
    /// The reason why the rule is invalid.
    pub fn new(claims: BTreeMap<String, String>) -> Result<Self, &'static str> {
        if claims.is_empty() {
            return Err(
                "needs at least one claim: without any it would admit everybody whom the issuer knows",
            );
        }
        if claims.keys().any(String::is_empty) || claims.values().any(String::is_empty) {
            return Err("has a claim without a name or a pattern");
        }
        if claims.keys().all(|name| CHOSEN.contains(&name.as_str())) {
            return Err("names only claims that people may choose for themselves at the issuer: name `sub`");
        }
        Ok(Self(claims.into_iter().map(|(name, pattern)| (name, Pattern(pattern))).collect()))
    }

    /// Whether every claim fits. An email address counts only if the issuer has verified it.
    pub fn fit(&self, claims: &Claims) -> bool {
        let is_verified = || claims.get("email_verified") == Some(&Value::Bool(true));
        self.0.iter().all(|(name, pattern)| {
            (name != "email" || is_verified())
                && claim(claims, name).is_some_and(|value| value_fits(value, pattern))
        })
    }
}

impl fmt::Display for ClaimPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, Pattern(pattern))| write!(f, "{name:?}={pattern:?};"))
    }
}

/// The claim of a name, or of a path such as `realm_access.roles`.
fn claim<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| {
        let (above, below) = name.split_once('.')?;
        claim(claims.get(above)?.as_object()?, below)
    })
}

/// A list fits if one element fits.
fn value_fits(value: &Value, pattern: &Pattern) -> bool {
    match value {
        Value::String(text) => pattern.fits(text),
        Value::Number(number) => pattern.fits(&number.to_string()),
        Value::Bool(flag) => pattern.fits(&flag.to_string()),
        Value::Array(values) => values.iter().any(|value| !value.is_array() && value_fits(value, pattern)),
        Value::Null | Value::Object(_) => false,
    }
}

/// Admits people at the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRule {
    /// The required claims.
    pub claims: ClaimPatterns,
    /// The owner whose console opens.
    pub keyring: Keyring,
    /// The role at the console.
    pub role: ConsoleRole,
    /// The person; absent for the owner's default person.
    pub person: Option<AgentHandle>,
}

/// Admits the bearer of a token as an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRule {
    /// The required claims.
    pub claims: ClaimPatterns,
    /// The agent.
    pub agent: AgentHandle,
    /// The upper limit of its token's scope.
    pub scope: Scope,
    /// Longest validity of an exchanged token, in milliseconds.
    pub lasts_ms: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn claims(value: &Value) -> Claims {
        value.as_object().unwrap().clone()
    }

    fn patterns(pairs: &[(&str, &str)]) -> ClaimPatterns {
        let pairs = pairs.iter().map(|(name, pattern)| ((*name).to_owned(), (*pattern).to_owned()));
        ClaimPatterns::new(pairs.collect()).unwrap()
    }

    #[test]
    fn only_a_star_matches_any_characters() {
        let fits = |pattern: &str, text: &str| Pattern(pattern.into()).fits(text);
        for (pattern, text) in [
            ("acme/app", "acme/app"),
            ("*", ""),
            ("repo:acme/*", "repo:acme/app:ref:refs/heads/main"),
            ("*@acme.com", "ida@acme.com"),
            ("a*b*c", "a-b-b-c"),
            ("a*a", "aa"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("acme/app", "acme/app2"),
            ("acme/app", "xacme/app"),
            ("acme.com", "acmeXcom"),
            ("repo:acme/*", "repo:acme"),
            ("*@acme.com", "ida@acme.com.evil.example"),
            ("a*a", "a"),
            ("a*b*c", "a-c-b"),
            ("a?c", "abc"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn text_fits_itself_and_whatever_part_of_it_a_star_replaces(text in "[a-c*]{0,12}", from in 0usize..12, to in 0usize..12) {
            let text = text.replace('*', "x");
            let (from, to) = (from.min(text.len()), to.min(text.len()));
            let (from, to) = (from.min(to), from.max(to));
            prop_assert!(text.is_empty() || Pattern(text.clone()).fits(&text));
            let pattern = format!("{}*{}", &text[..from], &text[to..]);
            prop_assert!(Pattern(pattern).fits(&text));
        }
    }

    #[test]
    fn every_claim_must_fit_and_of_a_list_one_element() {
        let given = claims(&json!({
            "sub": "s", "groups": ["dev", "admins"], "realm_access": {"roles": ["ops"]}, "https://x.y/z": "url", "n": 7
        }));
        for fitting in [
            &[("groups", "admins")][..],
            &[("sub", "s"), ("realm_access.roles", "o*")],
            &[("https://x.y/z", "url"), ("n", "7")],
        ] {
            assert!(patterns(fitting).fit(&given), "{fitting:?}");
        }
        for other in [
            &[("groups", "dev,admins")][..],
            &[("sub", "s"), ("groups", "ops")],
            &[("absent", "*")],
            &[("realm_access", "*")],
            &[("realm_access.roles.x", "*")],
        ] {
            assert!(!patterns(other).fit(&given), "{other:?}");
        }
    }

    #[test]
    fn an_address_counts_only_where_it_is_verified() {
        let rule = patterns(&[("email", "*@acme.com")]);
        let mail = |verified: Value| claims(&json!({"email": "ida@acme.com", "email_verified": verified}));
        assert!(rule.fit(&mail(json!(true))));
        for other in [json!(false), json!("true"), json!(null)] {
            assert!(!rule.fit(&mail(other.clone())), "{other}");
        }
        assert!(!rule.fit(&claims(&json!({"email": "ida@acme.com"}))));
    }

    #[test]
    fn a_rule_names_a_claim() {
        assert!(ClaimPatterns::new(BTreeMap::new()).is_err());
        assert!(ClaimPatterns::new(BTreeMap::from([("sub".into(), String::new())])).is_err());
    }

    #[test]
    fn a_rule_names_a_claim_that_people_do_not_choose() {
        let rule = |names: &[&str]| {
            ClaimPatterns::new(names.iter().map(|name| ((*name).to_owned(), "ida".to_owned())).collect())
        };
        for chosen in [&["preferred_username"][..], &["name"], &["nickname", "profile"]] {
            assert!(rule(chosen).is_err(), "{chosen:?}");
        }
        for other in [&["sub"][..], &["preferred_username", "groups"], &["email"]] {
            assert!(rule(other).is_ok(), "{other:?}");
        }
    }
}
