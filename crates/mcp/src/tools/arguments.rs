//! Checks arguments against a tool's schema, with errors from which a model can correct its call.
//! Must not know: any one tool.

use serde_json::{Map, Value};

/// Maximum number of errors reported at once.
const ERRORS_MAX: usize = 5;

/// Fixes a single value where a list is expected, and a list of one where a value is: models confuse them, and the
/// meaning is the same.
pub(super) fn mend(schema: &Map<String, Value>, arguments: &mut Map<String, Value>) {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, value) in arguments.iter_mut() {
        match (known.get(name).and_then(kind), &mut *value) {
            (Some("array"), Value::String(_)) => *value = Value::Array(vec![value.take()]),
            (Some("string"), Value::Array(items)) if items.len() == 1 && items[0].is_string() => {
                *value = items[0].take();
            }
            _ => {}
        }
    }
}

/// The errors against the schema, each with the name of its argument; `None` if all fit. Null counts as absent.
pub(super) fn misfits(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Option<String> {
    let empty = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let is_given = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).filter(|name| !is_given(name));
    let mut errors: Vec<String> = missing.map(|name| format!("`{name}` is missing")).collect();
    for (name, value) in arguments {
        match known.get(name) {
            None => {
                let names: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
                errors.push(format!("there is no argument `{name}`; the arguments are {}", names.join(", ")));
            }
            Some(schema) if !value.is_null() => {
                errors.extend(misfit(schema, value).map(|expected| format!("`{name}` must be {expected}")));
            }
            Some(_) => {}
        }
    }
    errors.truncate(ERRORS_MAX);
    (!errors.is_empty()).then(|| format!("The arguments are not valid: {}.", errors.join("; ")))
}

/// The type of a schema; null counts as absent.
fn kind(schema: &Value) -> Option<&str> {
    let kind = &schema["type"];
    let any =
        kind.as_array().and_then(|kinds| kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"));
    any.or(kind.as_str())
}

/// The expected form of a value; `None` if the value fits.
fn misfit(schema: &Value, value: &Value) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array() {
        let named: Vec<String> = choices.iter().map(Value::to_string).collect();
        return (!choices.contains(value)).then(|| format!("one of {}", named.join(", ")));
    }
    let expected = match kind(schema)? {
        "string" if !value.is_string() => "a text".to_owned(),
        "boolean" if !value.is_boolean() => "true or false".to_owned(),
        // No argument of a composed tool is negative.
        "integer" if !value.is_u64() => "a whole number, 0 or more".to_owned(),
        "number" if !value.is_number() => "a number".to_owned(),
        "object" if !value.is_object() => "an object".to_owned(),
        "array" => {
            let item = misfit(&schema["items"], &Value::Null);
            let list = item.map_or_else(|| "a list".to_owned(), |item| format!("a list, each of it {item}"));
            let items = value.as_array().map(Vec::as_slice);
            let fits = |items: &[Value]| items.iter().all(|item| misfit(&schema["items"], item).is_none());
            return (!items.is_some_and(fits)).then_some(list);
        }
        _ => return None,
    };
    Some(expected)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: &Value) -> Option<String> {
        let schema = json!({"type": "object", "required": ["to", "text"], "properties": {
            "to": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"},
            "limit": {"type": "integer"}, "after": {"type": ["integer", "null"]}, "action": {"type": "string", "enum": ["a", "b"]},
            "payload": {"type": "object"}, "end": {"type": "boolean"}, "any": {},
        }});
        misfits(schema.as_object().unwrap(), arguments.as_object().unwrap())
    }

    #[test]
    fn what_fits_is_let_through() {
        let more = json!({"limit": 2, "action": "a", "payload": {}, "end": null, "any": [1]});
        let mut all = json!({"to": ["@o.a"], "text": ""});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(check(&all), None);
    }

    #[test]
    fn one_thing_and_a_list_of_one_stand_for_each_other() {
        let schema = json!({"properties": {
            "to": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"},
        }});
        let mended = |arguments: Value| {
            let mut arguments = arguments.as_object().unwrap().clone();
            mend(schema.as_object().unwrap(), &mut arguments);
            Value::from(arguments)
        };
        assert_eq!(mended(json!({"to": "@o.a", "text": ["x"]})), json!({"to": ["@o.a"], "text": "x"}));
        for unchanged in [json!({"to": ["@o.a", "@o.b"], "text": ["x", "y"]}), json!({"to": 1, "text": [1]})]
        {
            assert_eq!(mended(unchanged.clone()), unchanged);
        }
    }

    #[test]
    fn each_misfit_is_told_by_its_name_and_what_it_must_be() {
        let errors = check(&json!({"to": "@o.a", "limit": "5", "action": "z", "zap": 1})).unwrap();
        for piece in [
            "`text` is missing",
            "`to` must be a list, each of it a text",
            "`limit` must be a whole number, 0 or more",
            r#"`action` must be one of "a", "b""#,
            "there is no argument `zap`; the arguments are `action`,",
        ] {
            assert!(errors.contains(piece), "{piece}: {errors}");
        }
        assert!(check(&json!({"to": [], "text": "x", "limit": -1})).unwrap().contains("0 or more"));
        assert!(check(&json!({"to": [], "text": "x", "after": -1})).unwrap().contains("0 or more"));
        assert!(check(&json!({"to": [1], "text": "x"})).unwrap().contains("each of it a text"));
        assert!(
            check(&json!({"to": [], "text": "x", "payload": 1, "end": 0})).unwrap().contains("true or false")
        );
    }
}
