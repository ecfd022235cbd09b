//! Strict handling, for debugging clients: with `?strict=1` or `Prefer: handling=strict` a body with an unknown
//! member is refused; otherwise unknown members are ignored.
//! Must not know: any operation; its known members follow from the schema of its request.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Uri, header::HeaderName};
use plenary_kernel::Refusal;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::operation::SchemaOf;

/// The header with a client's preferences (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header that reports an applied preference.
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Its value.
pub(crate) const HANDLING_STRICT: HeaderValue = HeaderValue::from_static("handling=strict");
/// The path of referenced schemas.
const DEFINITIONS: &str = "#/$defs/";

/// The members that an operation's request may have.
#[derive(Debug)]
pub(crate) struct Shape {
    root: Value,
    definitions: Map<String, Value>,
}

/// A request extension for strict handling: the shape to check its body against.
#[derive(Debug, Clone)]
pub(crate) struct Strict(pub(crate) Arc<Shape>);

/// How a request asks for strict handling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrictRequest {
    /// By its query.
    Query,
    /// By a preference, which the response confirms.
    Preference,
}

/// Whether a request asks for strict handling.
pub(crate) fn requested(uri: &Uri, headers: &HeaderMap) -> Option<StrictRequest> {
    let preferences = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut preferences = preferences.flat_map(|value| value.split([',', ';'])).map(str::trim);
    if preferences.any(|preference| preference.eq_ignore_ascii_case("handling=strict")) {
        return Some(StrictRequest::Preference);
    }
    let mut pairs = uri.query()?.split('&');
    pairs.any(|pair| matches!(pair, "strict=1" | "strict=true")).then_some(StrictRequest::Query)
}

impl Shape {
    /// The shape of the request that this schema describes.
    pub(crate) fn of(request: SchemaOf) -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let root = request(&mut generator).to_value();
        Self { root, definitions: generator.take_definitions(true) }
    }

    /// Whether it can refuse any body.
    pub(crate) fn is_closed(&self) -> bool {
        let variants = self.variants(&[&self.root]);
        variants.iter().any(|variant| variant.get("properties").is_some())
            && !variants.iter().any(|variant| is_open(variant))
    }

    /// Refuses a body for its first unknown member.
    pub(crate) fn check(&self, body: &[u8]) -> Result<(), Refusal> {
        // The reader of the body refuses invalid JSON.
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
        match self.unknown(&[&self.root], &body) {
            None => Ok(()),
            Some(path) => Err(Refusal::malformed(
                "unknown_member",
                format!("`{path}` is not a member of this request; without strict handling it is ignored."),
            )),
        }
    }

    /// The path of a member of `value` that none of these alternative schemas has.
    fn unknown(&self, schemas: &[&Value], value: &Value) -> Option<String> {
        let variants = self.variants(schemas);
        match value {
            Value::Object(members) => {
                let tables: Vec<_> =
                    variants.iter().filter_map(|variant| variant.get("properties")?.as_object()).collect();
                if tables.is_empty() || variants.iter().any(|variant| is_open(variant)) {
                    return None;
                }
                members.iter().find_map(|(name, member)| {
                    let known: Vec<_> = tables.iter().filter_map(|table| table.get(name)).collect();
                    if known.is_empty() {
                        return Some(name.clone());
                    }
                    let within = self.unknown(&known, member)?;
                    let joint = if within.starts_with('[') { "" } else { "." };
                    Some(format!("{name}{joint}{within}"))
                })
            }
            Value::Array(items) => {
                let known: Vec<_> = variants.iter().filter_map(|variant| variant.get("items")).collect();
                items.iter().enumerate().find_map(|(nth, item)| {
                    let within = self.unknown(&known, item)?;
                    let joint = if within.starts_with('[') { "" } else { "." };
                    Some(format!("[{nth}]{joint}{within}"))
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    /// These schemas with all that they consist of.
    fn variants<'a>(&'a self, schemas: &[&'a Value]) -> Vec<&'a Value> {
        let mut found: Vec<&Value> = Vec::new();
        let mut pending = schemas.to_vec();
        while let Some(schema) = pending.pop() {
            if found.iter().any(|known| std::ptr::eq(*known, schema)) {
                continue;
            }
            found.push(schema);
            let named =
                schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(DEFINITIONS));
            pending.extend(named.and_then(|name| self.definitions.get(name)));
            for keyword in ["allOf", "anyOf", "oneOf"] {
                pending.extend(schema.get(keyword).and_then(Value::as_array).into_iter().flatten());
            }
        }
        found
    }
}

/// Whether an object may have members that its schema does not name.
fn is_open(schema: &Value) -> bool {
    let named = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    named.iter().any(|name| schema.get(name).is_some_and(|more| *more != Value::Bool(false)))
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is made from it")]
    struct Request {
        name: String,
        inner: Option<Inner>,
        parts: Vec<Part>,
        free: Map<String, Value>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is made from it")]
    struct Inner {
        a: u8,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "type")]
    #[expect(dead_code, reason = "the schema is made from it")]
    enum Part {
        Text { text: String },
        Data { data: Inner },
    }

    fn refused(body: &str) -> Option<String> {
        let shape = Shape::of(|generator| generator.subschema_for::<Request>());
        let refusal = shape.check(body.as_bytes()).err()?;
        assert_eq!(refusal.code, "unknown_member");
        refusal.message.split('`').nth(1).map(str::to_owned)
    }

    #[test]
    fn the_first_unknown_member_is_named_with_its_path() {
        for (body, path) in [
            (r#"{"name":"x","sender":1}"#, Some("sender")),
            (r#"{"inner":{"a":1,"b":2}}"#, Some("inner.b")),
            (
                r#"{"parts":[{"type":"Text","text":"t"},{"type":"Data","data":{"c":1}}]}"#,
                Some("parts[1].data.c"),
            ),
            (r#"{"parts":[{"type":"Text","extra":1}]}"#, Some("parts[0].extra")),
            (r#"{"name":"x","inner":null,"parts":[],"free":{"anything":{"at":["all"]}}}"#, None),
            ("[]", None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(refused(body).as_deref(), path, "{body}");
        }
    }

    #[test]
    fn strict_handling_is_requested_by_the_query_or_a_preference() {
        let strictness = |uri: &str, prefer: &[&str]| {
            let headers = prefer.iter().map(|value| (PREFER, value.parse().unwrap())).collect();
            requested(&uri.parse().unwrap(), &headers)
        };
        assert_eq!(strictness("/x?a=b&strict=1", &[]), Some(StrictRequest::Query));
        assert_eq!(strictness("/x", &["respond-async, Handling=Strict"]), Some(StrictRequest::Preference));
        assert_eq!(
            strictness("/x?strict=1", &["wait=5", "handling=strict"]),
            Some(StrictRequest::Preference)
        );
        for (uri, prefer) in [("/x", &[][..]), ("/x?strict=0", &[]), ("/x?strictly=1", &["handling=lenient"])]
        {
            assert_eq!(strictness(uri, prefer), None, "{uri}");
        }
    }
}
