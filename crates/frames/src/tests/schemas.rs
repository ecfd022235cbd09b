//! The schema equals the table.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::{
    catalogue::{ENVELOPE, Kind},
    schema::AnySubmission,
};

fn frame() -> Value {
    let mut generator = SchemaGenerator::default();
    generator.subschema_for::<AnySubmission>();
    generator.definitions()["Frame"].clone()
}

/// The schemas of the kinds, in their order.
fn kinds() -> Vec<Value> {
    let mut generator = SchemaGenerator::default();
    generator.subschema_for::<AnySubmission>();
    let forms = frame()["oneOf"].as_array().unwrap().clone();
    let name = |form: &Value| form["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap().to_owned();
    forms.iter().map(|form| generator.definitions()[&name(form)].clone()).collect()
}

#[test]
fn every_field_of_every_kind_is_in_the_schema_and_nothing_else_is_admitted() {
    let names =
        |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (frame, kinds) = (frame(), kinds());
    assert_eq!((kinds.len(), frame["discriminator"]["mapping"].as_object().unwrap().len()), (15, 15));
    for (kind, schema) in Kind::all().zip(&kinds) {
        assert_eq!(names(schema).len(), ENVELOPE.fields.len());
        assert_eq!(schema["additionalProperties"], json!(false));
        assert!(schema["required"].as_array().unwrap().contains(&json!("kind")));
        assert_eq!(schema["properties"]["kind"]["const"], kind.def().name);
        let payload = &schema["properties"]["payload"];
        let mut fields: Vec<_> = kind.def().shape.fields.iter().map(|field| field.name.to_owned()).collect();
        fields.sort();
        assert_eq!(names(payload), fields);
        assert_eq!(payload["additionalProperties"], json!(false));
        let required = kind.def().shape.fields.iter().filter(|field| field.required).count();
        assert_eq!(payload["required"].as_array().unwrap().len(), required);
    }
}

#[test]
fn a_bound_stands_in_the_schema() {
    let kinds = kinds();
    let lock = kinds.iter().find(|kind| kind["title"] == "agent_lock_request");
    let payload = &lock.unwrap()["properties"]["payload"]["properties"];
    assert_eq!(
        (&payload["ttl_ms"]["minimum"], &payload["ttl_ms"]["maximum"]),
        (&json!(1), &json!(3_600_000))
    );
    assert_eq!(
        (&payload["resource"]["minLength"], &payload["resource"]["maxLength"]),
        (&json!(1), &json!(512))
    );
}
