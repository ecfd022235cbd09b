//! Members that may be left out of a request but not be null: the schema of an optional member admits null, unless it is
//! changed here.
//! Must not know: any one request.

use schemars::Schema;
use serde_json::{Map, Value};

/// A `transform` of the schema of a member: it admits no null.
pub fn not_null(schema: &mut Schema) {
    if let Some(members) = schema.as_object_mut() {
        without_null(members);
    }
}

/// A `transform` of the schema of a type, or of an enum with a tag: no member admits null.
pub fn members_not_null(schema: &mut Schema) {
    if let Some(members) = schema.as_object_mut() {
        of_members(members);
    }
}

fn of_members(schema: &mut Map<String, Value>) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        without_null(property);
    }
    for form in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        form.as_object_mut().into_iter().for_each(of_members);
    }
}

fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let is_null = |form: &Value| form.get("type").is_some_and(|name| name == "null");
    if let Some(Value::Array(mut forms)) = schema.remove("anyOf") {
        forms.retain(|form| !is_null(form));
        match forms.pop() {
            Some(Value::Object(only)) if forms.is_empty() => {
                for (name, value) in only {
                    schema.entry(name).or_insert(value);
                }
            }
            last => {
                forms.extend(last);
                schema.insert("anyOf".to_owned(), forms.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is made from it")]
    struct Inner {
        a: u8,
    }

    #[derive(JsonSchema)]
    #[schemars(transform = members_not_null)]
    #[expect(dead_code, reason = "the schema is made from it")]
    struct Closed {
        text: Option<String>,
        /// What is inside.
        inner: Option<Inner>,
    }

    #[derive(JsonSchema)]
    #[schemars(tag = "type", transform = members_not_null)]
    #[expect(dead_code, reason = "the schema is made from it")]
    enum Part {
        Text { text: Option<String> },
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is made from it")]
    struct Mixed {
        #[schemars(transform = not_null)]
        number: Option<f64>,
        text: Option<String>,
    }

    #[test]
    fn an_optional_member_admits_no_null() {
        let closed = schema_for!(Closed).to_value();
        assert_eq!(closed["properties"]["text"]["type"], "string");
        let inner = &closed["properties"]["inner"];
        assert_eq!((&inner["$ref"], inner.get("anyOf")), (&"#/$defs/Inner".into(), None), "{inner}");
        assert_eq!(inner["description"], "What is inside.");
        assert_eq!(closed.get("required"), None);
        let part = schema_for!(Part).to_value();
        assert_eq!(part["oneOf"][0]["properties"]["text"]["type"], "string", "{part}");
        let mixed = schema_for!(Mixed).to_value();
        assert_eq!(mixed["properties"]["number"]["type"], "number");
        assert_eq!(mixed["properties"]["text"]["type"], serde_json::json!(["string", "null"]));
    }
}
