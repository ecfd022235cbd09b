//! Random frames from the table: every valid frame is accepted, one unknown member anywhere is refused, and no input
//! makes the reader panic.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::samples::{fault, read};
use crate::{
    catalogue::{ENVELOPE, ENVELOPE_VERSION, Kind},
    frame::Frame,
    shape::{Bounds, Form, Shape},
    submission::Submission,
};

fn text(bytes: Bounds) -> BoxedStrategy<Value> {
    // Characters of one byte and of three, so that the bound in bytes is what counts.
    let (min, max) = (usize::try_from(bytes.min).unwrap(), usize::try_from(bytes.max).unwrap().min(300));
    ("[ -~é€]{0,300}", "[a-z]{8}")
        .prop_map(move |(mut text, pad)| {
            text.truncate(text.floor_char_boundary(max));
            while text.len() < min {
                text.push_str(&pad[..1]);
            }
            text.into()
        })
        .boxed()
}

fn value(form: &'static Form) -> BoxedStrategy<Value> {
    let from = |pattern: &'static str| pattern.prop_map(Value::from).boxed();
    match form {
        Form::Selector | Form::Payload => Just(Value::Null).boxed(),
        Form::Text(bytes) | Form::Line(bytes) => text(*bytes),
        Form::OneOf(texts) => prop::sample::select(*texts).prop_map(Value::from).boxed(),
        Form::Uuid => from("[0-9a-fA-F]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89abAB][0-9a-f]{3}-[0-9A-F]{12}"),
        Form::Handle | Form::Principal => from("~[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?"),
        Form::Instrument => from("~[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?(@[A-Za-z0-9._+-]{1,64})?"),
        Form::Time => from(
            "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|z|[+-][01][0-9]:[0-5][0-9])",
        ),
        Form::Scope => {
            from("~[a-z0-9]{1,8}(/\\*|/[a-z][a-z-]{0,8}\\*|/[a-z0-9]{1,8}@[!-)+-.0-?A-~]{1,128})?")
        }
        Form::Namespaced(_) => from("[a-z]{1,60}[.:/][a-z]{0,60}"),
        Form::Integer(bounds) => (bounds.min..=bounds.max).prop_map(Value::from).boxed(),
        Form::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Form::Texts { items, bytes } => {
            let count = usize::try_from(items.min).unwrap()..=5;
            prop::collection::vec(text(*bytes), count).prop_map(Value::from).boxed()
        }
        Form::Object(shape) => object(shape).prop_map(Value::from).boxed(),
        Form::Objects { items, shape } => {
            let count = usize::try_from(items.min).unwrap()..=usize::try_from(items.max).unwrap();
            prop::collection::vec(object(shape).prop_map(Value::from), count).prop_map(Value::from).boxed()
        }
    }
}

/// An object of a shape, with any of its optional members; rules between members are put right.
fn object(shape: &'static Shape) -> BoxedStrategy<Map<String, Value>> {
    let members: Vec<_> =
        shape.fields.iter().map(|field| (Just(field), value(&field.form), any::<bool>())).collect();
    members
        .prop_map(|members| {
            let mut object: Map<String, Value> = members
                .into_iter()
                .filter(|(field, _, is_chosen)| field.required || *is_chosen)
                .map(|(field, value, _)| (field.name.to_owned(), value))
                .collect();
            if object.contains_key("recommended_idx") {
                object.insert("recommended_idx".into(), json!(1));
            }
            if object.get("free_text") == Some(&json!(false)) {
                object.insert("dialogue".into(), json!(true));
            }
            object
        })
        .boxed()
}

fn frames() -> impl Strategy<Value = Value> {
    let kinds: Vec<_> = Kind::all().collect();
    prop::sample::select(kinds).prop_flat_map(|kind| {
        (Just(kind), object(&ENVELOPE), object(&kind.def().shape)).prop_map(|(kind, mut frame, payload)| {
            frame.insert("envelope_version".into(), ENVELOPE_VERSION.into());
            frame.insert("kind".into(), kind.def().name.into());
            frame.insert("payload".into(), payload.into());
            frame.into()
        })
    })
}

/// Puts an unknown member into the nth object of a value.
fn intrude(value: &mut Value, nth: &mut usize) -> bool {
    match value {
        Value::Object(members) if *nth == 0 => members.insert("zz_unknown".into(), json!(1)).is_none(),
        Value::Object(members) => {
            *nth -= 1;
            members.values_mut().any(|member| intrude(member, nth))
        }
        Value::Array(items) => items.iter_mut().any(|item| intrude(item, nth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

proptest! {
    #[test]
    fn whatever_fits_the_table_is_accepted_and_kept(frame in frames()) {
        let text = serde_json::to_vec(&frame).unwrap();
        let read = Frame::read(&Bytes::from(text.clone())).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        prop_assert_eq!(&read.line, &text);
        // Written over many lines it is the same frame on one line.
        let pretty = Bytes::from(serde_json::to_vec_pretty(&frame).unwrap());
        let submitted = Submission::read(&pretty, None).unwrap().frame;
        prop_assert!(!submitted.line.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
        prop_assert_eq!(serde_json::from_slice::<Value>(&submitted.line).unwrap(), frame);
    }

    #[test]
    fn fo_5_an_unknown_member_anywhere_is_refused(frame in frames(), nth in 0_usize..6) {
        let mut frame = frame;
        if intrude(&mut frame, &mut nth.clone()) {
            let (code, field) = fault(&frame);
            prop_assert_eq!(code, "field-unknown");
            prop_assert!(field.ends_with("zz_unknown"));
        }
    }

    #[test]
    fn fo_63_a_missing_required_member_is_refused(frame in frames(), nth in any::<prop::sample::Index>()) {
        let required: Vec<_> = ENVELOPE.fields.iter().filter(|field| field.required).collect();
        let removed = nth.get(&required).name;
        let mut frame = frame;
        frame.as_object_mut().unwrap().remove(removed);
        prop_assert_eq!(read(&frame).unwrap_err().field.unwrap(), removed);
    }

    #[test]
    fn any_bytes_end_in_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        let _ = Submission::read(&Bytes::from(bytes), None);
    }

    #[test]
    fn any_json_ends_in_an_answer(text in "[\\[\\]{}:,\" 01a-f]{0,48}") {
        let _ = Submission::read(&Bytes::from(text), Some("~nick"));
    }
}
