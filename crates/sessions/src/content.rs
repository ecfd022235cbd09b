//! Message content (ASP-37, ASP-38): a string, or typed parts whose objects are closed.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Most parts of one message; past it 400.
pub(crate) const PARTS_MAX: usize = 256;

/// Message content.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Content {
    /// Short for one text part.
    Text(#[schemars(length(min = 1))] String),
    /// Typed parts.
    Parts(#[schemars(length(min = 1, max = 256))] Vec<Part>),
}

/// A part of a message.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "lowercase", tag = "type", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// By reference or inline: `url` or `data_uri`.
    Image {
        /// Where it is.
        url: Option<String>,
        /// The image itself, `data:…`.
        data_uri: Option<String>,
        /// With `url`: the hash of what is there.
        hash: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
        /// Its name.
        name: Option<String>,
    },
    /// Always by reference.
    File {
        /// Where it is.
        url: String,
        /// Its name.
        name: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
        /// Its size in octets.
        size: Option<u64>,
    },
    /// Structured data.
    Data {
        /// Any object.
        data: Map<String, Value>,
    },
}

/// Checks content; the error says what is wrong, for people.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.starts_with('"') {
        return if text == "\"\"" { Err("content must not be empty".into()) } else { Ok(()) };
    }
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Array(parts) = value else {
        return Err("content must be a string or a list of parts".into());
    };
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return Err(format!("content must have 1 to {PARTS_MAX} parts"));
    }
    parts
        .iter()
        .enumerate()
        .try_for_each(|(nth, part)| check_part(part).map_err(|why| format!("content[{nth}]: {why}")))
}

fn check_part(part: &Value) -> Result<(), String> {
    let Value::Object(part) = part else { return Err("a part must be an object".into()) };
    let kind = part.get("type").and_then(Value::as_str).ok_or("a part must have a `type`")?;
    match kind {
        "text" => {
            closed(part, &["type", "text"])?;
            text(part, "text", true).map(drop)
        }
        "image" => {
            closed(part, &["type", "url", "data_uri", "hash", "mime_type", "name"])?;
            let (url, data_uri) = (text(part, "url", false)?, text(part, "data_uri", false)?);
            if url.is_some() == data_uri.is_some() {
                return Err("an image has either `url` or `data_uri`".into());
            }
            if data_uri.is_some_and(|uri| !uri.starts_with("data:")) {
                return Err("`data_uri` must begin with `data:`".into());
            }
            if part.contains_key("hash") && url.is_none() {
                return Err("`hash` goes with `url` only".into());
            }
            optional_texts(part, &["hash", "mime_type", "name"])
        }
        "file" => {
            closed(part, &["type", "url", "name", "mime_type", "size"])?;
            text(part, "url", true)?;
            if part.get("size").is_some_and(|size| size.as_u64().is_none()) {
                return Err("`size` must be an integer of at least 0".into());
            }
            optional_texts(part, &["name", "mime_type"])
        }
        "data" => {
            closed(part, &["type", "data"])?;
            match part.get("data") {
                Some(Value::Object(_)) => Ok(()),
                _ => Err("`data` must be an object".into()),
            }
        }
        _ => Err("`type` must be text, image, file or data".into()),
    }
}

fn closed(part: &Map<String, Value>, members: &[&str]) -> Result<(), String> {
    match part.keys().find(|key| !members.contains(&key.as_str())) {
        Some(_) => Err(format!("only these members are allowed: {}", members.join(", "))),
        None => Ok(()),
    }
}

fn text<'a>(part: &'a Map<String, Value>, member: &str, required: bool) -> Result<Option<&'a str>, String> {
    match part.get(member) {
        None if !required => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        _ => Err(format!("`{member}` must be a string of at least 1 character")),
    }
}

fn optional_texts(part: &Map<String, Value>, members: &[&str]) -> Result<(), String> {
    members.iter().try_for_each(|member| match part.get(*member) {
        None | Some(Value::String(_)) => Ok(()),
        Some(_) => Err(format!("`{member}` must be a string")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(json: &str) -> bool {
        check(json).is_ok()
    }

    #[test]
    fn asp_37_content_is_a_string_or_parts_and_never_empty() {
        assert!(accepts(r#""hi""#) && accepts(r#"[{"type":"text","text":"hi"}]"#));
        for bad in [r#""""#, "[]", "{}", "5", "null", "true", r#"["hi"]"#, r#"[{"text":"hi"}]"#] {
            assert!(!accepts(bad), "{bad}");
        }
    }

    #[test]
    fn asp_38_there_are_four_closed_kinds_of_part() {
        for good in [
            r#"[{"type":"image","url":"https://a/b.png"}]"#,
            r#"[{"type":"image","url":"https://a/b.png","hash":"sha256:00","mime_type":"image/png","name":"b"}]"#,
            r#"[{"type":"image","data_uri":"data:image/png;base64,AA=="}]"#,
            r#"[{"type":"file","url":"https://a/q3.pdf","name":"q3.pdf","size":0}]"#,
            r#"[{"type":"data","data":{"a":{"b":[1,2]}}},{"type":"text","text":"x"}]"#,
        ] {
            assert!(accepts(good), "{good}");
        }
        for bad in [
            r#"[{"type":"text","text":""}]"#,
            r#"[{"type":"text"}]"#,
            r#"[{"type":"text","text":7}]"#,
            r#"[{"type":"Text","text":"a"}]"#,
            r#"[{"type":7}]"#,
            r#"[null]"#,
            r#"[{"type":"text","text":"a","more":1}]"#,
            r#"[{"type":"text","text":"a"},{"type":"text","text":""}]"#,
            r#"[{"type":"image"}]"#,
            r#"[{"type":"image","url":7}]"#,
            r#"[{"type":"image","url":"https://a","size":1}]"#,
            r#"[{"type":"image","hash":"sha256:00"}]"#,
            r#"[{"type":"image","data_uri":"http://a"}]"#,
            r#"[{"type":"image","data_uri":"data:,a","url":"https://a"}]"#,
            r#"[{"type":"file","name":"a"}]"#,
            r#"[{"type":"file","data_uri":"data:text/plain,x"}]"#,
            r#"[{"type":"file","url":"https://a","size":-1}]"#,
            r#"[{"type":"file","url":"https://a","size":1.5}]"#,
            r#"[{"type":"file","url":"https://a","size":"1"}]"#,
            r#"[{"type":"file","url":"https://a","name":null}]"#,
            r#"[{"type":"file","url":"https://a","data":"aGk="}]"#,
            r#"[{"type":"data"}]"#,
            r#"[{"type":"data","data":"x"}]"#,
            r#"[{"type":"data","data":null}]"#,
            r#"[{"type":"data","data":[1]}]"#,
            r#"[{"type":"data","data":{},"text":"x"}]"#,
            r#"[{"type":"video","url":"https://a"}]"#,
        ] {
            assert!(!accepts(bad), "{bad}");
        }
    }
}
