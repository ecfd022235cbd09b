//! Forms: the values that a request asks a person for, as the flat JSON Schema of an elicitation (Model Context
//! Protocol 2025-11-25 and 2026-07-28, Agent Client Protocol 1). Other members of a schema are ignored. Pure.
//! Must not know: the requester, the presentation of a form, or the purpose of its values.

mod schema;

use serde_json::{Map, Value};

pub use schema::FormSchema;

use crate::{rfc3339, text};

/// Maximum number of fields of a form.
pub const FORM_FIELDS_MAX: usize = 50;
/// Maximum length of a field's name, in characters.
pub const FIELD_NAME_CHARS_MAX: usize = 128;

/// The fields of a form: in the order of its [`FormSchema`], otherwise sorted by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Form(Vec<Field>);

/// One value of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name of the member in the answer's arguments.
    pub name: String,
    /// The texts for a person: title, then description, each if present.
    pub texts: Vec<String>,
    /// The permitted values.
    pub kind: FieldKind,
    /// Whether an answer must contain the field.
    pub is_required: bool,
}

/// The permitted values of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A text whose length in characters is in this range, in this format if there is one.
    Text(Range, Option<TextFormat>),
    /// One of these texts.
    Choice(Vec<String>),
    /// A list of these texts whose length is in this range.
    Choices(Vec<String>, Range),
    /// A number in this range.
    Number {
        /// The minimum and the maximum.
        range: Range,
        /// Whether only whole numbers are permitted.
        is_whole: bool,
    },
    /// True or false.
    Truth,
}

/// The formats of texts that elicitations have. Any other `format` of a schema is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// A calendar day, such as `2026-02-28`.
    Date,
    /// An RFC 3339 time.
    DateTime,
    /// An e-mail address: something on both sides of an `@`, without spaces.
    Email,
    /// An absolute URI (RFC 3986): a scheme, a colon, and permitted characters.
    Uri,
}

impl TextFormat {
    fn of(schema: &Value) -> Option<Self> {
        match schema["format"].as_str()? {
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            _ => None,
        }
    }

    fn has(self, text: &str) -> bool {
        match self {
            Self::Date => text.len() == 10 && rfc3339::parse(&format!("{text}T00:00:00Z")).is_some(),
            Self::DateTime => rfc3339::parse(text).is_some(),
            Self::Email => {
                let parts = text.rsplit_once('@');
                let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
                is_plain && parts.is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty())
            }
            Self::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
                let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
                let is_part = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b);
                is_scheme && !rest.is_empty() && rest.bytes().all(is_part)
            }),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Date => "a date, e.g. 2026-02-28",
            Self::DateTime => "a time, e.g. 2026-02-28T09:30:00Z",
            Self::Email => "an e-mail address",
            Self::Uri => "a URI, e.g. https://example.com/a",
        }
    }
}

/// Minimum and maximum, both inclusive; `None` is unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range(pub Option<f64>, pub Option<f64>);

impl Range {
    fn of(schema: &Value, least: &str, most: &str) -> Self {
        Self(schema[least].as_f64(), schema[most].as_f64())
    }
    fn has(self, number: f64) -> bool {
        self.0.is_none_or(|least| least <= number) && self.1.is_none_or(|most| number <= most)
    }
    fn describe(self) -> String {
        match self {
            Self(None, None) => String::new(),
            Self(Some(least), None) => format!(", at least {least}"),
            Self(None, Some(most)) => format!(", at most {most}"),
            Self(Some(least), Some(most)) => format!(", {least} to {most}"),
        }
    }
}

impl Form {
    /// Reads a schema: `{"type": "object", "properties": {…}, "required": […]}`, where each property is a string, a number, an
    /// integer, a boolean, or a list of choices.
    ///
    /// # Errors
    /// What is wrong with the schema, as a predicate to the schema's name.
    pub fn read(schema: &Map<String, Value>) -> Result<Self, String> {
        if schema.get("type").is_some_and(|kind| kind != "object") {
            return Err("must be of type object".to_owned());
        }
        let none = Map::new();
        let properties = match schema.get("properties") {
            None => &none,
            Some(properties) => properties.as_object().ok_or("must have an object `properties`")?,
        };
        if properties.len() > FORM_FIELDS_MAX {
            return Err(format!("may have at most {FORM_FIELDS_MAX} fields"));
        }
        let required = match schema.get("required") {
            None => &[][..],
            Some(required) => required.as_array().ok_or("must have a list `required`")?,
        };
        if !required.iter().all(|name| name.as_str().is_some_and(|name| properties.contains_key(name))) {
            return Err("requires a field that it does not have".to_owned());
        }
        let field = |(name, schema): (&String, &Value)| {
            let fits = (1..=FIELD_NAME_CHARS_MAX).contains(&name.chars().count());
            if !fits || text::check_line(name).is_err() {
                return Err("has a field without a plain name".to_owned());
            }
            let texts = ["title", "description"].into_iter().filter_map(|member| schema[member].as_str());
            Ok(Field {
                name: name.clone(),
                texts: texts.map(str::to_owned).collect(),
                kind: kind(schema).ok_or_else(|| format!("has a field `{name}` of no known type"))?,
                is_required: required.iter().any(|required| required == name),
            })
        };
        properties.iter().map(field).collect::<Result<_, _>>().map(Self)
    }

    /// Checks the values of an answer against the form.
    ///
    /// # Errors
    /// What is wrong with the first invalid value.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        if let Some(name) = values.keys().find(|name| !self.0.iter().any(|field| field.name == **name)) {
            return Err(format!("`{name}` is not asked for"));
        }
        for field in &self.0 {
            match values.get(&field.name) {
                Some(value) if !field.kind.takes(value) => {
                    return Err(format!("`{}` must be {}", field.name, field.kind.describe()));
                }
                None if field.is_required => return Err(format!("`{}` is missing", field.name)),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Converts texts to the types of their fields, because a person at a prompt enters texts. A text that does not parse stays
    /// a text, and an empty text of an optional field is removed.
    pub fn typed(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let typed = values.iter().filter_map(|(name, value)| {
            let field = self.0.iter().find(|field| field.name == *name);
            let (Some(field), Value::String(text)) = (field, value) else {
                return Some((name.clone(), value.clone()));
            };
            if text.is_empty() && !field.is_required {
                return None;
            }
            let read = match field.kind {
                FieldKind::Text(..) | FieldKind::Choice(_) => None,
                FieldKind::Choices(..) | FieldKind::Number { .. } | FieldKind::Truth => {
                    serde_json::from_str(text).ok()
                }
            };
            Some((name.clone(), read.unwrap_or_else(|| value.clone())))
        });
        typed.collect()
    }

    /// The fields, in their order.
    pub fn fields(&self) -> &[Field] {
        &self.0
    }

    /// Whether the form has no fields, so that an answer is only a yes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A description of each field for a reader, by the field's name.
    pub fn describe(&self) -> Map<String, Value> {
        let descriptions = self.0.iter().map(|field| {
            let need = if field.is_required { "" } else { "; may be left out" };
            let kind = format!("({}{need})", field.kind.describe());
            let all: Vec<&str> = field.texts.iter().map(String::as_str).chain([kind.as_str()]).collect();
            (field.name.clone(), Value::from(all.join(" ")))
        });
        descriptions.collect()
    }
}

impl FieldKind {
    fn takes(&self, value: &Value) -> bool {
        let is_among = |choices: &[String], value: &Value| {
            value.as_str().is_some_and(|value| choices.iter().any(|choice| choice == value))
        };
        match self {
            Self::Text(range, format) => value.as_str().is_some_and(|text| {
                range.has(count(text.chars().count())) && format.is_none_or(|format| format.has(text))
            }),
            Self::Choice(choices) => is_among(choices, value),
            Self::Choices(choices, range) => value.as_array().is_some_and(|chosen| {
                range.has(count(chosen.len())) && chosen.iter().all(|one| is_among(choices, one))
            }),
            Self::Number { range, is_whole } => {
                value.as_f64().is_some_and(|number| range.has(number) && (!is_whole || number.fract() == 0.0))
            }
            Self::Truth => value.is_boolean(),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Text(Range(None, None), None) => "text".to_owned(),
            Self::Text(Range(None, None), Some(format)) => format.describe().to_owned(),
            Self::Text(range, None) => format!("text{} characters", range.describe()),
            Self::Text(range, Some(format)) => {
                format!("{}{} characters", format.describe(), range.describe())
            }
            Self::Choice(choices) => format!("one of: {}", choices.join(", ")),
            Self::Choices(choices, range) => {
                format!("a list{} of: {}", range.describe(), choices.join(", "))
            }
            Self::Number { range, is_whole } => {
                format!("{}{}", if *is_whole { "a whole number" } else { "a number" }, range.describe())
            }
            Self::Truth => "true or false".to_owned(),
        }
    }
}

fn count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The kind of field that a property's schema describes; `None` if forms do not support it.
fn kind(schema: &Value) -> Option<FieldKind> {
    match schema["type"].as_str()? {
        "string" => match choices(schema)? {
            Some(choices) => Some(FieldKind::Choice(choices)),
            None => {
                let range = Range::of(schema, "minLength", "maxLength");
                Some(FieldKind::Text(range, TextFormat::of(schema)))
            }
        },
        "array" => {
            let range = Range::of(schema, "minItems", "maxItems");
            choices(&schema["items"])?.map(|choices| FieldKind::Choices(choices, range))
        }
        "number" => {
            Some(FieldKind::Number { range: Range::of(schema, "minimum", "maximum"), is_whole: false })
        }
        "integer" => {
            Some(FieldKind::Number { range: Range::of(schema, "minimum", "maximum"), is_whole: true })
        }
        "boolean" => Some(FieldKind::Truth),
        _ => None,
    }
}

/// The choices of a schema: plain in `enum`, titled in `oneOf` or `anyOf`. `Some(None)` without choices; `None` if a choice is
/// not a text or the list is empty.
fn choices(schema: &Value) -> Option<Option<Vec<String>>> {
    let plain = schema["enum"].as_array().map(|choices| choices.iter().collect::<Vec<_>>());
    let titled = ["oneOf", "anyOf"].into_iter().find_map(|member| schema[member].as_array());
    let titled = titled.map(|choices| choices.iter().map(|choice| &choice["const"]).collect());
    let Some(found) = plain.or(titled) else { return Some(None) };
    let texts = found.into_iter().map(|choice| choice.as_str().map(str::to_owned));
    Some(Some(texts.collect::<Option<Vec<_>>>().filter(|choices| !choices.is_empty())?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: &Value) -> Result<Form, String> {
        Form::read(schema.as_object().unwrap())
    }

    fn whole() -> Form {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Name", "description": "As on the card.", "minLength": 2, "maxLength": 5},
                "age": {"type": "integer", "minimum": 18},
                "share": {"type": "number", "maximum": 0.5},
                "sure": {"type": "boolean", "default": false},
                "branch": {"type": "string", "enum": ["main", "next"], "enumNames": ["Main", "Next"]},
                "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
                "days": {"type": "array", "items": {"anyOf": [{"const": "mo"}, {"const": "tu"}]}, "minItems": 1},
                "mail": {"type": "string", "format": "email"},
                "day": {"type": "string", "format": "date"},
                "at": {"type": "string", "format": "date-time"},
                "page": {"type": "string", "format": "uri", "maxLength": 100},
                "other_format": {"type": "string", "format": "idn-email"}
            },
            "required": ["name", "sure"]
        });
        form(&schema).unwrap()
    }

    #[test]
    fn values_are_checked_one_by_one() {
        let form = whole();
        let good = json!({"name": "Ida", "sure": true});
        assert_eq!(form.check(good.as_object().unwrap()), Ok(()));
        for (member, value) in [
            ("age", json!(18)),
            ("age", json!(1e3)),
            ("share", json!(0.5)),
            ("branch", json!("next")),
            ("size", json!("l")),
            ("days", json!(["tu", "mo"])),
            ("mail", json!("ida@example.com")),
            ("day", json!("2028-02-29")),
            ("at", json!("2026-02-28T09:30:00.5+01:00")),
            ("page", json!("https://example.com/a?b=%20#c")),
            ("page", json!("urn:isbn:0")),
            ("other_format", json!("anything")),
        ] {
            let mut values = good.as_object().unwrap().clone();
            values.insert(member.into(), value.clone());
            assert_eq!(form.check(&values), Ok(()), "{member}: {value}");
        }
        for (member, value) in [
            ("name", json!("I")),
            ("name", json!("Idaida")),
            ("name", json!(7)),
            ("age", json!(17)),
            ("age", json!(18.5)),
            ("age", json!("18")),
            ("share", json!(0.6)),
            ("sure", json!("true")),
            ("branch", json!("old")),
            ("size", json!("Large")),
            ("days", json!([])),
            ("days", json!(["we"])),
            ("days", json!("mo")),
            ("name", Value::Null),
            ("other", json!(1)),
            ("mail", json!("nobody")),
            ("mail", json!("a b@example.com")),
            ("mail", json!("@example.com")),
            ("day", json!("31.12.2026")),
            ("day", json!("2026-02-30")),
            ("at", json!("yesterday")),
            ("at", json!("2026-02-28T09:30:00")),
            ("page", json!("not a uri")),
            ("page", json!("/a")),
            ("page", json!("https://example.com/<a>")),
        ] {
            let mut values = good.as_object().unwrap().clone();
            values.insert(member.into(), value.clone());
            let why = form.check(&values).unwrap_err();
            assert!(why.contains(&format!("`{member}`")), "{member}: {value}: {why}");
        }
        assert_eq!(form.check(json!({"sure": true}).as_object().unwrap()), Err("`name` is missing".into()));
    }

    #[test]
    fn what_is_no_form_is_named() {
        let property_form = |property: Value| json!({"properties": {"a": property}});
        for bad in [
            json!({"type": "array"}),
            json!({"properties": []}),
            json!({"required": ["a"]}),
            json!({"required": 5, "properties": {"a": {"type": "string"}}}),
            json!({"required": null, "properties": {"a": {"type": "string"}}}),
            property_form(json!({"type": "object"})),
            property_form(json!({})),
            property_form(json!({"type": "array", "items": {"type": "string"}})),
            property_form(json!({"type": "string", "enum": []})),
            property_form(json!({"type": "string", "enum": [1]})),
            property_form(json!({"type": "string", "oneOf": [{"title": "none"}]})),
            json!({"properties": {"": {"type": "string"}}}),
            json!({"properties": {"a\u{202e}": {"type": "string"}}}),
        ] {
            assert!(form(&bad).is_err(), "{bad}");
        }
        let many = |count: usize| {
            let fields = (0..count).map(|n| (n.to_string(), json!({"type": "boolean"})));
            json!({"properties": Map::from_iter(fields)})
        };
        assert!(form(&many(FORM_FIELDS_MAX)).is_ok() && form(&many(FORM_FIELDS_MAX + 1)).is_err());
        assert!(form(&json!({"type": "object"})).unwrap().is_empty());
    }

    #[test]
    fn texts_become_what_their_fields_have() {
        let texts = json!({"name": "7", "age": "18", "sure": "true", "days": "[\"mo\"]", "share": "much", "mail": "", "x": "1"});
        let typed = whole().typed(texts.as_object().unwrap());
        let expected =
            json!({"name": "7", "age": 18, "sure": true, "days": ["mo"], "share": "much", "x": "1"});
        assert_eq!(Value::from(typed), expected);
    }

    #[test]
    fn a_field_is_described() {
        let descriptions = whole().describe();
        assert_eq!(descriptions["name"], "Name As on the card. (text, 2 to 5 characters)");
        assert_eq!(descriptions["days"], "(a list, at least 1 of: mo, tu; may be left out)");
        assert_eq!(descriptions["age"], "(a whole number, at least 18; may be left out)");
    }
}
