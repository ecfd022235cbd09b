//! Why JSON is not a structure, in the words of JSON instead of those of Rust. Long values are left out. Pure.
//! Must not know: requests.

/// The characters of a name, or of a text that a type of ours gives, that are repeated to the caller.
const TEXT_MAX: usize = 300;

/// The fault of a parser in plain words, with its place in the text.
pub(crate) fn misfit(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, place)) => format!("{}, at line {place}", plain(message)),
        None => plain(&text),
    }
}

fn plain(message: &str) -> String {
    let (what, rest) = message.split_once(": ").unwrap_or(("", message));
    if let ("invalid type" | "invalid value", Some((found, expected))) =
        (what, rest.rsplit_once(", expected "))
    {
        return format!("expected {}, found {}", wanted(expected), kind(found));
    }
    if let Some((name, known)) = known(message, "unknown variant ") {
        return format!("{name} is not a known value, only {known}");
    }
    if let Some((name, known)) = known(message, "unknown field ") {
        return format!("there is no member {name} here, only {known}");
    }
    match message.strip_prefix("missing field ") {
        Some(name) => format!("the member {name} is missing"),
        None => shortened(message),
    }
}

/// The name after `start`, and the names that are known.
fn known<'a>(message: &'a str, start: &str) -> Option<(String, &'a str)> {
    let (name, known) = message.strip_prefix(start)?.rsplit_once(", expected ")?;
    Some((shortened(name), known.trim_start_matches("one of ")))
}

/// The kind of a value, without the value.
fn kind(found: &str) -> &'static str {
    match found.split(' ').next().unwrap_or_default() {
        "string" | "character" => "a string",
        "integer" | "floating" => "a number",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" => "an object",
        "null" | "unit" | "Option" => "null",
        _ => "another value",
    }
}

fn wanted(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        "unit" => "null".to_owned(),
        "variant identifier" => "a name".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("internally tagged enum ") => {
            "an object".to_owned()
        }
        other if other.starts_with("enum ") => "a known value".to_owned(),
        other => shortened(other),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Choice {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(rename = "count")]
        _count: u32,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Inner,
        #[serde(rename = "choice")]
        _choice: Option<Choice>,
    }

    fn misfit_of(text: &str) -> String {
        misfit(&crate::objects::read::<Outer>(text.as_bytes()).unwrap_err())
    }

    #[test]
    fn a_fault_names_what_is_wanted_in_the_words_of_json() {
        for (text, expected) in [
            (r#"{"inner": 5}"#, "expected an object, found a number, at line 1"),
            (
                r#"{"inner": {"count": "x, expected y"}}"#,
                "expected a whole number from 0, found a string, at line 1",
            ),
            (r#"{"inner": {"count": -1}}"#, "expected a whole number from 0, found a number, at line 1"),
            (r#"{"inner": {"coutn": 1}}"#, "there is no member `coutn` here, only `count`, at line 1"),
            (
                r#"{"inner": {"count": 1}, "choice": "three"}"#,
                "`three` is not a known value, only `one` or `two`, at",
            ),
            (r"{}", "the member `inner` is missing, at line 1"),
        ] {
            let said = misfit_of(text);
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let long = "x".repeat(100_000);
        for text in [
            format!(r#"{{"inner": "{long}"}}"#),
            format!(r#"{{"inner": {{"{long}": 1}}}}"#),
            format!(r#"{{"inner": {{"count": 1}}, "choice": "{long}"}}"#),
        ] {
            let said = misfit_of(&text);
            assert!(said.len() < 500, "{} bytes", said.len());
        }
    }
}
