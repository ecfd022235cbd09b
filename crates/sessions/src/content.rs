//! Message content (ASP-37, ASP-38): a string, or typed parts, which accept no unknown members. The `file_id` of a file
//! or image part names an uploaded file.

use std::collections::BTreeMap;

use plenary_kernel::FileId;
use serde_json::{Map, Value, value::RawValue};

use crate::files::FILES_PER_MESSAGE_MAX;

/// Most parts of one message; beyond it 400.
pub(crate) const PARTS_MAX: usize = 256;

/// Checks content and returns the files that it names, without duplicates. The error is a text for people.
pub(crate) fn check(raw: &RawValue) -> Result<Vec<FileId>, String> {
    let text = raw.get();
    if text.starts_with('"') {
        return if text == "\"\"" { Err("content must not be empty".into()) } else { Ok(Vec::new()) };
    }
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Array(parts) = value else {
        return Err("content must be a string or a list of parts".into());
    };
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return Err(format!("content must have 1 to {PARTS_MAX} parts"));
    }
    let mut files = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        let file = check_part(part).map_err(|reason| format!("content[{nth}]: {reason}"))?;
        files.extend(file.filter(|id| !files.contains(id)));
    }
    if files.len() > FILES_PER_MESSAGE_MAX {
        return Err(format!("content must name at most {FILES_PER_MESSAGE_MAX} files"));
    }
    Ok(files)
}

/// Checked content that names these files by other ids. Parts that name none of them keep their bytes.
pub(crate) fn rename_files(raw: &RawValue, names: &BTreeMap<FileId, FileId>) -> Option<Box<RawValue>> {
    let parts: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    let mut renamed_parts = Vec::new();
    for part in parts {
        let mut value: Map<String, Value> = serde_json::from_str(part.get()).ok()?;
        let id = value.get("file_id").and_then(|id| id.as_str()?.parse::<FileId>().ok());
        match id.and_then(|id| names.get(&id)) {
            Some(name) => {
                value.insert("file_id".to_owned(), name.as_str().into());
                renamed_parts.push(Value::Object(value).to_string());
            }
            None => renamed_parts.push(part.get().to_owned()),
        }
    }
    RawValue::from_string(format!("[{}]", renamed_parts.join(","))).ok()
}

/// The file that a part names, if it names one.
fn check_part(part: &Value) -> Result<Option<FileId>, String> {
    let Value::Object(part) = part else { return Err("a part must be an object".into()) };
    let kind = part.get("type").and_then(Value::as_str).ok_or("a part must have a `type`")?;
    match kind {
        "text" => {
            closed(part, &["type", "text"])?;
            text(part, "text", true).map(|_| None)
        }
        "image" => {
            closed(part, &["type", "url", "data_uri", "file_id", "hash", "mime_type", "name", "size"])?;
            let (url, data_uri) = (reference(part)?, text(part, "data_uri", false)?);
            let file = file_id(part)?;
            if [url.is_some(), data_uri.is_some(), file.is_some()].iter().filter(|has| **has).count() != 1 {
                return Err("an image has either `url` or `data_uri` or `file_id`".into());
            }
            if part.contains_key("size") && file.is_none() {
                return Err("`size` goes with `file_id` only".into());
            }
            size(part)?;
            if data_uri.is_some_and(|uri| !uri.starts_with("data:")) {
                return Err("`data_uri` must begin with `data:`".into());
            }
            if part.contains_key("hash") && url.is_none() {
                return Err("`hash` goes with `url` only".into());
            }
            optional_texts(part, &["hash", "mime_type", "name"])?;
            Ok(file)
        }
        "file" => {
            closed(part, &["type", "url", "file_id", "name", "mime_type", "size"])?;
            let (url, file) = (reference(part)?, file_id(part)?);
            if url.is_some() == file.is_some() {
                return Err("a file has either `url` or `file_id`".into());
            }
            size(part)?;
            optional_texts(part, &["name", "mime_type"])?;
            Ok(file)
        }
        "data" => {
            closed(part, &["type", "data"])?;
            match part.get("data") {
                Some(Value::Object(_)) => Ok(None),
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

/// The URL of a part: a reference, neither the content itself (ASP-38) nor a program.
fn reference(part: &Map<String, Value>) -> Result<Option<&str>, String> {
    let url = text(part, "url", false)?;
    // A URL parser drops these characters at the front, and tabs and line breaks anywhere.
    let is_significant = |letter: &char| !matches!(letter, '\t' | '\n' | '\r');
    let begins = |url: &str, scheme: &str| {
        let url = url.trim_start_matches(|letter: char| letter <= ' ');
        let begin: String = url.chars().filter(is_significant).take(scheme.len()).collect();
        begin.eq_ignore_ascii_case(scheme)
    };
    match url.filter(|url| begins(url, "data:") || begins(url, "javascript:")) {
        Some(_) => Err("`url` must not begin with `data:` or `javascript:`".into()),
        None => Ok(url),
    }
}

fn file_id(part: &Map<String, Value>) -> Result<Option<FileId>, String> {
    let id = text(part, "file_id", false)?;
    id.map(str::parse).transpose().map_err(|_| "`file_id` must be the id of a file, `file_…`".to_owned())
}

fn size(part: &Map<String, Value>) -> Result<(), String> {
    match part.get("size") {
        // The part is delivered as it is written, and clients with typed integers cannot read `1.0`.
        Some(size) if size.as_u64().is_none() => {
            Err("`size` must be an integer of at least 0, without a fraction or an exponent".into())
        }
        _ => Ok(()),
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
        check(&RawValue::from_string(json.to_owned()).unwrap()).is_ok()
    }

    #[test]
    fn asp_37_content_is_a_string_or_parts_and_never_empty() {
        assert!(accepts(r#""hi""#) && accepts(r#"[{"type":"text","text":"hi"}]"#));
        for bad in [r#""""#, "[]", "{}", "5", "null", "true", r#"["hi"]"#, r#"[{"text":"hi"}]"#] {
            assert!(!accepts(bad), "{bad}");
        }
        let parts = |count: usize| format!("[{}]", vec![r#"{"type":"text","text":"x"}"#; count].join(","));
        assert!(accepts(&parts(PARTS_MAX)) && !accepts(&parts(PARTS_MAX + 1)));
    }

    #[test]
    fn asp_38_there_are_four_closed_kinds_of_part() {
        for good in [
            r#"[{"type":"image","url":"https://a/b.png"}]"#,
            r#"[{"type":"image","url":"https://a/b.png","hash":"sha256:00","mime_type":"image/png","name":"b"}]"#,
            r#"[{"type":"image","data_uri":"data:image/png;base64,AA=="}]"#,
            r#"[{"type":"file","url":"https://a/q3.pdf","name":"q3.pdf","size":0}]"#,
            r#"[{"type":"data","data":{"a":{"b":[1,2]}}},{"type":"text","text":"x"}]"#,
            r#"[{"type":"file","file_id":"file_01A","name":"a","mime_type":"text/plain","size":1}]"#,
            r#"[{"type":"image","file_id":"file_01A","name":"a","mime_type":"image/png","size":1}]"#,
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
            r#"[{"type":"file","url":"data:text/plain,hello"}]"#,
            r#"[{"type":"file","url":" DATA:text/plain,hello"}]"#,
            r#"[{"type":"file","url":"java\nscript:alert(1)"}]"#,
            r#"[{"type":"image","url":"data:image/png;base64,AA=="}]"#,
            r#"[{"type":"image","url":"javascript:alert(1)"}]"#,
            r#"[{"type":"file","url":"https://a","size":-1}]"#,
            r#"[{"type":"file","url":"https://a","size":1.5}]"#,
            r#"[{"type":"file","url":"https://a","size":1.0}]"#,
            r#"[{"type":"file","url":"https://a","size":"1"}]"#,
            r#"[{"type":"file","url":"https://a","name":null}]"#,
            r#"[{"type":"file","url":"https://a","data":"aGk="}]"#,
            r#"[{"type":"file","file_id":"file_01A","url":"https://a"}]"#,
            r#"[{"type":"file","file_id":"01A"}]"#,
            r#"[{"type":"file","file_id":"file_../a"}]"#,
            r#"[{"type":"image","file_id":"file_01A","data_uri":"data:,a"}]"#,
            r#"[{"type":"image","file_id":"file_01A","hash":"sha256:00"}]"#,
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

    #[test]
    fn files_get_other_ids_and_everything_else_keeps_its_bytes() {
        let names =
            [("file_A", "file_B")].map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap())).into();
        let rewrite = |json: &str| {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            rename_files(&raw, &names).map(|raw| raw.get().to_owned())
        };
        let data = r#"{"type":"data" , "data":{"file_id":"file_A","n":1.0}}"#;
        let text = r#"{"type":"text","text":"file_A"}"#;
        let content = format!(
            r#"[{data}, {{"file_id":"\u0066ile_A","type":"file"}}, {text},{{"type":"image","file_id":"file_C"}}]"#
        );
        let expected = format!(
            r#"[{data},{{"file_id":"file_B","type":"file"}},{text},{{"type":"image","file_id":"file_C"}}]"#
        );
        assert_eq!(rewrite(&content).unwrap(), expected);
        assert_eq!(rewrite(r#""file_A""#), None);
    }

    #[test]
    fn the_files_that_content_names_are_each_named_once_and_are_not_too_many() {
        let parts = |count: usize| {
            let part = |n: usize| format!(r#"{{"type":"file","file_id":"file_{n}"}}"#);
            let parts: Vec<String> = (0..count).chain([0]).map(part).collect();
            check(&RawValue::from_string(format!("[{}]", parts.join(","))).unwrap())
        };
        assert_eq!(parts(FILES_PER_MESSAGE_MAX).unwrap().len(), FILES_PER_MESSAGE_MAX);
        parts(FILES_PER_MESSAGE_MAX + 1).unwrap_err();
        assert!(check(&RawValue::from_string(r#""file_1""#.to_owned()).unwrap()).unwrap().is_empty());
    }
}
