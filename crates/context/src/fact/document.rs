//! Facts as JSON: the client's assertion, and the resulting document (sections 7.1, 7.2).
//! Must not know: the current fact.

use plenary_kernel::json::Tree;

use crate::{
    limits::{FACT_BYTES_MAX, TERM_BYTES_MAX, VALUE_BYTES_MAX},
    malformed::ContextFault,
    members::{Object, appended, quoted},
    moment::Moment,
    schema::{Creator, creator},
    shape::Shape,
};

/// Members that the server sets; a client's values for them are ignored.
const OURS: [&str; 5] = ["fact_id", "project_id", "valid_from", "valid_to", "created_at"];
/// The other members that are defined for a fact.
const KNOWN: [&str; 7] =
    ["subject", "predicate", "value", "source_package_id", "confidence", "asserted_by", "tags"];

/// The assertion of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The entity.
    pub subject: String,
    /// The property.
    pub predicate: String,
    /// Its value; numbers are strings too (AP-42).
    pub value: String,
    /// The source package.
    pub source_package_id: Option<String>,
    /// The actor that asserts it.
    pub asserted_by: Option<Creator>,
    /// The beginning of its validity.
    pub valid_from: Option<Moment>,
    /// The same, as the client wrote it.
    pub valid_from_text: Option<String>,
    /// The members as they were sent.
    raw: String,
}

impl Assertion {
    /// Reads an assertion for a project; `is_project` checks the name of the project in it. `text` is checked
    /// strict JSON.
    ///
    /// # Errors
    /// `invalid_schema` with the first invalid field.
    pub fn read(text: &str, is_project: impl Fn(&str) -> bool) -> Result<Self, ContextFault> {
        let value = Tree::read(text).map_err(|_| ContextFault::whole("The body must be a JSON object."))?;
        let shape = Shape::root(&value)?;
        if text.len() > FACT_BYTES_MAX {
            return Err(ContextFault::whole("The fact is larger than the maximum."));
        }
        if shape.any("project_id").is_some() && !is_project(shape.text("project_id")?) {
            return shape.wrong("project_id", "the project of the path");
        }
        let subject = shape.bounded("subject", TERM_BYTES_MAX)?.to_owned();
        let predicate = shape.bounded("predicate", TERM_BYTES_MAX)?.to_owned();
        let value = shape.text("value")?;
        if value.len() > VALUE_BYTES_MAX {
            return shape.wrong("value", "a string of at most 65536 bytes");
        }
        if let Some(confidence) = shape.any("confidence")
            && !confidence.number().is_some_and(|number| (0.0..=1.0).contains(&number))
        {
            return shape.wrong("confidence", "a number from 0 to 1");
        }
        shape.texts("tags")?;
        let asserted_by = match shape.any("asserted_by") {
            None | Some(Tree::Null) => None,
            Some(by) => Some(creator("asserted_by", by)?),
        };
        let valid_from = match shape.any("valid_from") {
            None | Some(Tree::Null) => None,
            Some(_) => Some(shape.exact_moment("valid_from")?),
        };
        let valid_from_text = valid_from.map(|_| shape.text("valid_from")).transpose()?.map(str::to_owned);
        Ok(Self {
            value: value.to_owned(),
            source_package_id: shape.id_or_null("source_package_id")?.map(str::to_owned),
            subject,
            predicate,
            asserted_by,
            valid_from,
            valid_from_text,
            raw: text.to_owned(),
        })
    }

    /// Reads an assertion without an end: a fact ends when another supersedes it or when it is invalidated, so
    /// `valid_to` is refused.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_open(text: &str, is_project: impl Fn(&str) -> bool) -> Result<Self, ContextFault> {
        let asserted = Self::read(text, is_project)?;
        match Object::parse(text).and_then(|object| object.get("valid_to")) {
            None | Some("null") => Ok(asserted),
            Some(_) => Err(ContextFault::field("valid_to", "null or absent in an assertion")),
        }
    }

    /// The stored document of the fact: every member as it was sent, defaults for missing ones (AP-44), the members of
    /// the server, and no `valid_to`.
    pub fn document(&self, server_members: &ServerMembers<'_>) -> String {
        let sent = Object::parse(&self.raw);
        let sent =
            |name: &str| sent.as_ref().and_then(|object| object.get(name)).filter(|raw| *raw != "null");
        let mut text = String::from("{}");
        for (name, value) in [
            ("fact_id", quoted(server_members.fact_id)),
            ("project_id", quoted(server_members.project_id)),
            ("subject", quoted(&self.subject)),
            ("predicate", quoted(&self.predicate)),
            ("value", quoted(&self.value)),
            (
                "valid_from",
                quoted(&self.valid_from_text.clone().unwrap_or_else(|| server_members.valid_from.micros())),
            ),
            ("created_at", quoted(&server_members.created_at.micros())),
            ("source_package_id", self.source_package_id.as_deref().map_or("null".to_owned(), quoted)),
            ("confidence", sent("confidence").unwrap_or("1.0").to_owned()),
            ("asserted_by", sent("asserted_by").unwrap_or(server_members.asserted_by).to_owned()),
            ("tags", sent("tags").unwrap_or("[]").to_owned()),
        ] {
            text = appended(&text, name, &value);
        }
        let further = Object::parse(&self.raw);
        let further = further.iter().flat_map(Object::iter);
        for (name, value) in further.filter(|(name, _)| !OURS.contains(name) && !KNOWN.contains(name)) {
            text.pop();
            text.push_str(&format!(",{}:{value}}}", quoted(name)));
        }
        text
    }
}

/// The members of a fact that the server sets.
#[derive(Debug, Clone, Copy)]
pub struct ServerMembers<'a> {
    /// Its id.
    pub fact_id: &'a str,
    /// Its project.
    pub project_id: &'a str,
    /// The beginning of its validity.
    pub valid_from: Moment,
    /// When it was recorded.
    pub created_at: Moment,
    /// The asserting actor as JSON, if the client named none.
    pub asserted_by: &'a str,
}

/// The id of a stored fact.
pub fn id_of(document: &str) -> Option<String> {
    serde_json::from_str(Object::parse(document)?.get("fact_id")?).ok()
}

/// The document for a reader: with its end, or null.
pub fn shown(document: &str, valid_to: Option<&str>) -> String {
    appended(document, "valid_to", &valid_to.map_or("null".to_owned(), quoted))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(value: &Value) -> String {
        Assertion::read(&value.to_string(), |id| id == "p").unwrap_err().field.unwrap()
    }

    #[test]
    fn ap_41_to_ap_44_what_a_fact_may_be() {
        let with = |name: &str, value: Value| {
            let mut fact = json!({"subject": "s", "predicate": "p", "value": "v"});
            fact[name] = value;
            fact
        };
        for (name, value) in [
            ("subject", json!("")),
            ("predicate", json!(null)),
            ("value", json!(97.0)),
            ("value", json!(null)),
            ("confidence", json!(1.1)),
            ("confidence", json!(-0.1)),
            ("confidence", json!("1")),
            ("confidence", json!(null)),
            ("subject", json!(null)),
            ("predicate", json!(["x"])),
            ("confidence", json!(true)),
            ("valid_from", json!("2026-04-10")),
            ("valid_from", json!("2026-04-10T12:00:00")),
            ("valid_from", json!("2026-04-10T12:00:00+02:00")),
            ("valid_from", json!("2026-02-30T12:00:00Z")),
            ("valid_from", json!(1_776_542_400)),
            ("source_package_id", json!(1)),
            ("tags", json!({})),
            ("asserted_by", json!("nick")),
            ("project_id", json!("q")),
            ("value", json!("x".repeat(VALUE_BYTES_MAX + 1))),
            ("subject", json!("x".repeat(TERM_BYTES_MAX + 1))),
        ] {
            assert_eq!(refused(&with(name, value)), name);
        }
        assert_eq!(refused(&with("tags", json!([1]))), "tags[0]");
        assert_eq!(refused(&with("tags", json!(["x", null]))), "tags[1]");
        assert_eq!(refused(&with("asserted_by", json!({"type": "agent"}))), "asserted_by.id");
        let session = json!({"id": "a", "type": "agent", "session_id": 7});
        assert_eq!(refused(&with("asserted_by", session)), "asserted_by.session_id");
        assert_eq!(refused(&with("asserted_by", json!({"id": "a", "type": "x"}))), "asserted_by.type");
        for (name, value) in [
            ("value", json!("")),
            ("confidence", json!(0)),
            ("confidence", json!(1)),
            ("confidence", json!(1e-9)),
            ("valid_from", json!(null)),
            ("asserted_by", json!(null)),
            ("project_id", json!("p")),
        ] {
            Assertion::read(&with(name, value).to_string(), |id| id == "p").unwrap();
        }
    }

    #[test]
    fn ap_44_ap_89_defaults_are_shown_and_further_members_kept() {
        let by = r#"{"id":"nick","type":"human"}"#;
        let at = Moment::parse("2026-04-10T12:00:00Z").unwrap();
        let server_members = ServerMembers {
            fact_id: "fact_1",
            project_id: "p",
            valid_from: at,
            created_at: at,
            asserted_by: by,
        };
        let text = r#"{"value":"\u0039","subject":"s","predicate":"p","x-a":{"b":[1.50]},"fact_id":"mine","tags":null}"#;
        let text = text.replace(",\"tags\":null", "");
        let document = Assertion::read(&text, |_| true).unwrap().document(&server_members);
        assert_eq!(
            shown(&document, None),
            concat!(
                r#"{"fact_id":"fact_1","project_id":"p","subject":"s","predicate":"p","value":"9","#,
                r#""valid_from":"2026-04-10T12:00:00.000000Z","created_at":"2026-04-10T12:00:00.000000Z","#,
                r#""source_package_id":null,"confidence":1.0,"asserted_by":{"id":"nick","type":"human"},"#,
                r#""tags":[],"x-a":{"b":[1.50]},"valid_to":null}"#
            )
        );
    }
}
