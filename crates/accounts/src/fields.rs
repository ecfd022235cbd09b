//! The members of a request body, one by one, each with its error code (wire.md 2.3). Unknown members are ignored
//! (wire.md D.9); null means absent.
//! Must not know: any one request.

use std::{collections::BTreeSet, ops::RangeInclusive, str::FromStr};

use plenary_edge::StrictJson;
use plenary_kernel::{AgentHandle, AllowEntry, MalformedText, OwnerName, Refusal, TimestampMs, text};
use serde_json::{Map, Value};

use crate::{
    AttentionLevel, Policy, Token,
    agent::profile::{ProfileChange, Visibility},
    limits::{
        CARD_BYTES_MAX, DESCRIPTION_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, ROLES_PER_MEMBER_MAX,
        SEARCH_CHARS_MAX, SEARCH_CHARS_MIN, TOKEN_BYTES_MAX, TOKEN_BYTES_MIN,
    },
    org::state::Role,
};

/// The members of one body.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// The members of a body that must be there.
    pub(crate) fn of(body: &StrictJson) -> Result<Self, Refusal> {
        // A map takes `null` for one without members.
        let Value::Object(members) = body.parse()? else {
            return Err(Refusal::malformed(
                "invalid_body",
                "The body does not fit: it must be a JSON object.",
            ));
        };
        Ok(Self(members))
    }

    /// The members of a body that may be left out.
    pub(crate) fn of_optional(body: &StrictJson) -> Result<Self, Refusal> {
        if body.is_empty() { Ok(Self(Map::new())) } else { Self::of(body) }
    }

    /// Members that are in hand already.
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// A member that is not among these.
    pub(crate) fn unknown_member(&self, names: &[&str]) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| !names.contains(name))
    }

    /// Whether a member is named, with a value or null.
    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn parse_member<T: FromStr<Err = MalformedText>>(
        &self,
        name: &str,
        code: &'static str,
    ) -> Result<T, Refusal> {
        match self.get(name) {
            Some(Value::String(text)) => {
                text.parse().map_err(|reason| Refusal::malformed(code, format!("{name}: {reason}.")))
            }
            Some(_) => Err(Refusal::malformed(code, format!("{name} must be a string."))),
            None => Err(Refusal::malformed(code, format!("{name} is missing."))),
        }
    }

    /// Whether a member was sent, and is not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// An agent's handle; wrong or absent it is `invalid_handle`.
    pub(crate) fn handle(&self, name: &str) -> Result<AgentHandle, Refusal> {
        self.parse_member(name, "invalid_handle")
    }

    /// An owner's name; wrong or absent it is `invalid_owner`.
    pub(crate) fn owner(&self, name: &str) -> Result<OwnerName, Refusal> {
        self.parse_member(name, "invalid_owner")
    }

    /// A policy, if any; wrong it is `invalid_policy`.
    pub(crate) fn policy(&self, name: &str) -> Result<Option<Policy>, Refusal> {
        let invalid = || Refusal::malformed("invalid_policy", format!("{name} must be allowlist or open."));
        match self.get(name).map(Value::as_str) {
            None => Ok(None),
            Some(Some("allowlist")) => Ok(Some(Policy::Allowlist)),
            Some(Some("open")) => Ok(Some(Policy::Open)),
            Some(_) => Err(invalid()),
        }
    }

    /// What an agent lets itself be disturbed by, and until when; wrong it is `invalid_attention`.
    pub(crate) fn attention(&self) -> Result<(Option<AttentionLevel>, Option<TimestampMs>), Refusal> {
        let invalid = |text: &'static str| Refusal::malformed("invalid_attention", text);
        let level = match self.get("attention").map(Value::as_str) {
            None => None,
            Some(Some("open")) => Some(AttentionLevel::Open),
            Some(Some("focus")) => Some(AttentionLevel::Focus),
            Some(Some("dnd")) => Some(AttentionLevel::Dnd),
            Some(_) => return Err(invalid("attention must be open, focus or dnd.")),
        };
        let until = match self.get("attention_until").map(Value::as_u64) {
            None => None,
            Some(Some(ms)) if level.is_some() => Some(TimestampMs(ms)),
            Some(_) => {
                return Err(invalid("attention_until must be ms since the epoch, and comes with attention."));
            }
        };
        Ok((level, until))
    }

    /// A flag, if any; wrong it has this code.
    pub(crate) fn flag(&self, name: &str, code: &'static str) -> Result<Option<bool>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(Refusal::malformed(code, format!("{name} must be true or false."))),
        }
    }

    /// A token that the caller chose, if any; wrong it is `invalid_token`.
    pub(crate) fn token(&self, name: &str) -> Result<Option<Token>, Refusal> {
        self.token_of_at_least(name, TOKEN_BYTES_MIN, Token::chosen)
    }

    /// The same of a seed file, where it may be shorter.
    pub(crate) fn seeded_token(&self, name: &str) -> Result<Option<Token>, Refusal> {
        self.token_of_at_least(name, 1, Token::seeded)
    }

    fn token_of_at_least(
        &self,
        name: &str,
        bytes_min: usize,
        parse: fn(&str) -> Option<Token>,
    ) -> Result<Option<Token>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = format!(
            "{name} must be a string of {bytes_min} to {TOKEN_BYTES_MAX} printable ASCII characters without spaces."
        );
        let token = value.as_str().and_then(parse);
        token.map(Some).ok_or_else(|| Refusal::malformed("invalid_token", text))
    }

    /// A text of 1 to `bytes_max` bytes, if any; wrong it has this code.
    pub(crate) fn text(
        &self,
        name: &str,
        bytes_max: usize,
        code: &'static str,
    ) -> Result<Option<String>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if (1..=bytes_max).contains(&text.len()) => Ok(Some(text.clone())),
            Some(_) => {
                Err(Refusal::malformed(code, format!("{name} must be a string of 1 to {bytes_max} bytes.")))
            }
        }
    }

    /// A whole number of this range, if any; wrong it has this code.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        code: &'static str,
    ) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_u64().filter(|number| range.contains(number)).map(Some).ok_or_else(|| {
            let (min, max) = range.into_inner();
            Refusal::malformed(code, format!("{name} must be a whole number from {min} to {max}."))
        })
    }

    /// The members of a profile. Unlike elsewhere null is not absent: it removes a text.
    pub(crate) fn profile(&self) -> Result<ProfileChange, Refusal> {
        let line = |text: &str, chars_max: usize| {
            if text.chars().count() > chars_max {
                return Err(format!("must have at most {chars_max} characters"));
            }
            text::check_line(text)
        };
        let display_name = self.profile_text("display_name", "invalid_display_name", |name| match name {
            "" => Err("must not be empty; null removes it".to_owned()),
            name => line(name, DISPLAY_NAME_CHARS_MAX),
        })?;
        let description = self
            .profile_text("description", "invalid_description", |text| line(text, DESCRIPTION_CHARS_MAX))?;
        let card_body = self.profile_text("card_body", "invalid_card_body", card)?;
        let visibility = match self.get("visibility").map(Value::as_str) {
            None => None,
            Some(Some("public")) => Some(Visibility::Public),
            Some(Some("private")) => Some(Visibility::Private),
            Some(_) => {
                let text = "visibility must be public or private.";
                return Err(Refusal::malformed("invalid_visibility", text));
            }
        };
        Ok(ProfileChange { display_name, description, card_body, visibility })
    }

    /// A text of a profile; the empty text for null.
    fn profile_text(
        &self,
        name: &str,
        code: &'static str,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<Option<String>, Refusal> {
        let reason = match self.0.get(name) {
            None => return Ok(None),
            Some(Value::Null) => return Ok(Some(String::new())),
            Some(Value::String(text)) => match check(text) {
                Ok(()) => return Ok(Some(text.clone())),
                Err(reason) => reason,
            },
            Some(_) => "must be a string".to_owned(),
        };
        Err(Refusal::malformed(code, format!("{name} {reason}.")))
    }

    /// So many entries of an allowlist; wrong, too many or too few it is `invalid_allowlist_entry`.
    pub(crate) fn entries(
        &self,
        name: &str,
        count: RangeInclusive<usize>,
    ) -> Result<Vec<AllowEntry>, Refusal> {
        let code = "invalid_allowlist_entry";
        let entries = self.list(name, code)?;
        if count.contains(&entries.len()) {
            return Ok(entries);
        }
        let text = format!("{name} must be a list of {} to {} entries.", count.start(), count.end());
        Err(Refusal::malformed(code, text))
    }

    /// Roles, none when absent; wrong or too many it is `invalid_roles`.
    pub(crate) fn roles(&self, name: &str) -> Result<BTreeSet<Role>, Refusal> {
        let roles: BTreeSet<_> = self.list(name, "invalid_roles")?.into_iter().collect();
        if roles.len() <= ROLES_PER_MEMBER_MAX {
            return Ok(roles);
        }
        let text = format!("{name} must be a list of at most {ROLES_PER_MEMBER_MAX} roles.");
        Err(Refusal::malformed("invalid_roles", text))
    }

    fn list<T: FromStr<Err = MalformedText>>(
        &self,
        name: &str,
        code: &'static str,
    ) -> Result<Vec<T>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let strings =
            value.as_array().and_then(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let strings =
            strings.ok_or_else(|| Refusal::malformed(code, format!("{name} must be a list of strings.")))?;
        let result = strings.into_iter().map(str::parse).collect::<Result<_, _>>();
        result.map_err(|reason| Refusal::malformed(code, format!("{name}: {reason}.")))
    }
}

/// Markdown has lines and tabs; what else a reader does not see is refused as elsewhere.
fn card(text: &str) -> Result<(), String> {
    if text.len() > CARD_BYTES_MAX {
        return Err(format!("must have at most {CARD_BYTES_MAX} bytes"));
    }
    let is_visible = |c: char| matches!(c, '\n' | '\r' | '\t');
    text::hidden(text).find(|(_, c)| !is_visible(*c)).map_or(Ok(()), |(_, c)| {
        Err(format!(
            "must not contain control, direction or invisible characters; it contains U+{:04X}",
            u32::from(c)
        ))
    })
}

/// The text of a search, `q`, in lower case.
///
/// # Errors
/// 400 `invalid_query`.
pub fn searched_text(q: Option<&str>) -> Result<String, Refusal> {
    let q = q.filter(|q| (SEARCH_CHARS_MIN..=SEARCH_CHARS_MAX).contains(&q.chars().count()));
    let text = || format!("q must be a text of {SEARCH_CHARS_MIN} to {SEARCH_CHARS_MAX} characters.");
    q.map(str::to_lowercase).ok_or_else(|| Refusal::malformed("invalid_query", text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ENTRIES_PER_REQUEST_MAX;

    fn fields(json: &str) -> Fields {
        Fields::of(&StrictJson::check(json.to_owned().into()).unwrap()).ok().unwrap()
    }

    fn code<T>(read: Result<T, Refusal>) -> &'static str {
        read.err().map_or("fine", |refusal| refusal.code)
    }

    #[test]
    fn each_member_has_its_code() {
        let wrong = fields(
            r#"{"handle":"x","number":7,"policy":"ajar","token":"","text":"","entries":["@a"],"roles":["A"],"self_service":1}"#,
        );
        assert_eq!(code(wrong.handle("handle")), "invalid_handle");
        assert_eq!(code(wrong.handle("number")), "invalid_handle");
        assert_eq!(code(wrong.handle("absent")), "invalid_handle");
        assert_eq!(code(wrong.owner("absent")), "invalid_owner");
        assert_eq!(code(wrong.policy("policy")), "invalid_policy");
        assert_eq!(code(wrong.policy("number")), "invalid_policy");
        assert_eq!(code(wrong.token("token")), "invalid_token");
        assert_eq!(code(wrong.text("text", 10, "invalid_message")), "invalid_message");
        assert_eq!(code(wrong.entries("entries", 1..=ENTRIES_PER_REQUEST_MAX)), "invalid_allowlist_entry");
        assert_eq!(code(wrong.entries("number", 1..=ENTRIES_PER_REQUEST_MAX)), "invalid_allowlist_entry");
        assert_eq!(code(wrong.entries("absent", 1..=ENTRIES_PER_REQUEST_MAX)), "invalid_allowlist_entry");
        assert_eq!(code(wrong.roles("roles")), "invalid_roles");
        assert_eq!(code(wrong.flag("self_service", "invalid_self_service")), "invalid_self_service");
    }

    #[test]
    fn what_is_optional_may_be_absent_or_null() {
        let empty = fields(r#"{"policy":null,"token":null,"entries":null}"#);
        assert_eq!(empty.policy("policy"), Ok(None));
        assert_eq!(empty.token("token"), Ok(None));
        assert_eq!(empty.entries("entries", 0..=ENTRIES_PER_REQUEST_MAX), Ok(Vec::new()));
        assert_eq!(empty.flag("absent", "x"), Ok(None));
    }

    #[test]
    fn past_their_limits_lists_and_texts_are_refused() {
        let list =
            |n: usize, one: &str| (0..n).map(|n| format!("\"{one}{n}\"")).collect::<Vec<_>>().join(",");
        let entries_of = |n| fields(&format!("{{\"entries\":[{}]}}", list(n, "@a.n")));
        assert_eq!(
            code(entries_of(ENTRIES_PER_REQUEST_MAX).entries("entries", 1..=ENTRIES_PER_REQUEST_MAX)),
            "fine"
        );
        assert_eq!(
            code(entries_of(ENTRIES_PER_REQUEST_MAX + 1).entries("entries", 1..=ENTRIES_PER_REQUEST_MAX)),
            "invalid_allowlist_entry"
        );
        let roles_of = |n| fields(&format!("{{\"roles\":[{}]}}", list(n, "r")));
        assert_eq!(code(roles_of(ROLES_PER_MEMBER_MAX).roles("roles")), "fine");
        assert_eq!(code(roles_of(ROLES_PER_MEMBER_MAX + 1).roles("roles")), "invalid_roles");
        let token = |n: usize| fields(&format!("{{\"token\":\"{}\"}}", "x".repeat(n)));
        assert_eq!(code(token(TOKEN_BYTES_MAX).token("token")), "fine");
        for wrong in [TOKEN_BYTES_MIN - 1, TOKEN_BYTES_MAX + 1] {
            assert_eq!(code(token(wrong).token("token")), "invalid_token");
        }
        assert_eq!(code(token(1).seeded_token("token")), "fine");
    }

    #[test]
    fn a_profile_has_its_limits_and_no_hidden_characters() {
        let code_of = |name: &str, text: &str| {
            let member = Map::from_iter([(name.to_owned(), Value::from(text))]);
            code(Fields::new(member).profile())
        };
        for (name, max, wrong) in [
            ("display_name", DISPLAY_NAME_CHARS_MAX, "invalid_display_name"),
            ("description", DESCRIPTION_CHARS_MAX, "invalid_description"),
        ] {
            assert_eq!(code_of(name, &"ä".repeat(max)), "fine");
            for text in [&*"x".repeat(max + 1), "two\nlines", "\u{202e}txt.exe", "zero\u{200b}width"] {
                assert_eq!(code_of(name, text), wrong, "{text:?}");
            }
        }
        assert_eq!(code_of("card_body", &"x".repeat(CARD_BYTES_MAX)), "fine");
        assert_eq!(code_of("card_body", "# Nick\r\n\n\t- says no 👩\u{200d}🔧\n"), "fine");
        for text in [&*"x".repeat(CARD_BYTES_MAX + 1), "\u{1b}[2J", "\u{2066}x", "a\u{200d}b"] {
            assert_eq!(code_of("card_body", text), "invalid_card_body", "{text:?}");
        }
        assert_eq!(code_of("display_name", ""), "invalid_display_name");
        assert_eq!(code_of("visibility", "all"), "invalid_visibility");
        let wrong = fields(r#"{"display_name":7,"visibility":[]}"#);
        assert_eq!(code(wrong.profile()), "invalid_display_name");
        let nulls = fields(r#"{"display_name":null,"description":null,"card_body":null,"visibility":null}"#);
        let empty = Some(String::new());
        let removed = ProfileChange {
            display_name: empty.clone(),
            description: empty.clone(),
            card_body: empty,
            visibility: None,
        };
        assert_eq!(nulls.profile(), Ok(removed));
        assert_eq!(fields("{}").profile(), Ok(ProfileChange::default()));
    }

    #[test]
    fn only_an_object_is_a_body() {
        for (json, expected) in
            [("[]", "invalid_body"), ("null", "invalid_body"), ("7", "invalid_body"), ("", "invalid_json")]
        {
            let body = StrictJson::check(json.as_bytes().to_vec().into()).unwrap();
            assert_eq!(code(Fields::of(&body)), expected);
        }
        let absent = StrictJson::check(bytes::Bytes::new()).unwrap();
        assert_eq!(code(Fields::of_optional(&absent)), "fine");
    }
}
