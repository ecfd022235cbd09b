//! What shapes read, what they refuse and with which words, and that their schemas agree with the readers.

use plenary_kernel::{AgentHandle, Class, Refusal};
use proptest::prelude::*;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    Bounds, Field, Form, Grammar, Items, List, Manner, Misfit, Missing, Null, Order, Rule, Shape, Switch,
    Twice, Unit, Unknown, at_most, bounds, optional, required,
};

const LENIENT: Manner = Manner {
    class: Class::Unprocessable,
    quote: "`",
    stop: ".",
    integer: "an integer from ",
    code: "invalid",
    whole: ("invalid_body", "The body must be a JSON object"),
    twice: Twice::Whole("invalid_query", "Each parameter once"),
    missing: Missing::AsWrong,
    unknown: Unknown::Ignored,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: false,
    items: Items::Whole,
    describes_forms: false,
};
static ROOM: Manner = LENIENT;
static CLOSED: Manner = Manner {
    missing: Missing::Code("missing", " is required"),
    unknown: Unknown::Refused("unknown", " is not a field here"),
    twice: Twice::Each("invalid", " must be sent once"),
    null: Null::Wrong,
    order: Order::MissingFirst,
    items: Items::Each,
    ..LENIENT
};

static HANDLE: Grammar = Grammar::of::<AgentHandle>("a handle");
static INNER: Shape = Shape::new(
    "Inner",
    &CLOSED,
    &[
        required("label", Form::Text(Unit::Bytes, bounds(1, 4)), "A label."),
        optional("flag", Form::Flag, ""),
        optional("other", Form::Flag, ""),
    ],
)
.rules(&[Rule::OneIsTrue(&["flag", "other"])]);
const TAGS: List = List {
    items: bounds(0, 2),
    of: Form::Text(Unit::Bytes, bounds(1, 4)),
    noun: "",
    type_says: "",
    is_set: false,
};
const FIELDS: [Field; 7] = [
    required("title", Form::Shown(Unit::Characters, bounds(1, 5)), "What it is."),
    optional("count", Form::Integer(bounds(1, 9)), ""),
    optional("kind", Form::OneOf(&["a", "b"]), "Which."),
    optional("tags", Form::List(&TAGS), ""),
    optional("inner", Form::Object(&INNER), ""),
    optional("free", Form::Map, ""),
    optional("to", Form::Of(&HANDLE), ""),
];
static THING: Shape = Shape::new("Thing", &ROOM, &FIELDS);
static STRICT: Shape = Shape::new("", &CLOSED, &FIELDS);
static RULED: Shape = Shape::new(
    "",
    &ROOM,
    &[
        optional("a", Form::Any, ""),
        optional("b", Form::Flag, "").code("of_b"),
        optional("c", Form::Text(Unit::Bytes, at_most(2)), "").null(Null::Given),
    ],
)
.rules(&[
    Rule::Some(&["a", "c"], "nothing", "Name a or c"),
    Rule::With("b", "a", "needs_a", " needs an `a`"),
]);

/// Which code and words a body is refused with; `ok` when it is not.
fn said(shape: &'static Shape, body: &str) -> (&'static str, String) {
    let raw = shape.read_body(body.as_bytes()).map(drop);
    if let Ok(value) = serde_json::from_str::<Value>(body) {
        let tree = shape.read(&value).map(drop);
        let words = |misfit: Misfit| (misfit.code, misfit.sentence());
        assert_eq!(raw.clone().map_err(words), tree.map_err(words), "{body}: as sent and as a tree");
    }
    match raw {
        Ok(()) => ("ok", String::new()),
        Err(misfit) => (misfit.code, misfit.sentence()),
    }
}

#[test]
fn a_wrong_value_is_refused_with_the_code_and_the_words_of_its_field() {
    for (shape, body, code, words) in [
        (&THING, r#"{"title":"x"}"#, "ok", ""),
        (&THING, r#"{"title":"x","more":1,"count":null,"tags":[],"to":"@a.b"}"#, "ok", ""),
        (&THING, "", "invalid", "`title` must be a string of 1 to 5 characters."),
        (&THING, "[]", "invalid_body", "The body must be a JSON object."),
        (&THING, r#"{"title":null}"#, "invalid", "`title` must be a string of 1 to 5 characters."),
        (&THING, r#"{"title":"xxxxxx"}"#, "invalid", "`title` must be a string of 1 to 5 characters."),
        (&THING, r#"{"title":"äöüäö"}"#, "ok", ""),
        (&THING, r#"{"title":"x","count":10}"#, "invalid", "`count` must be an integer from 1 to 9."),
        (&THING, r#"{"title":"x","count":2.0}"#, "invalid", "`count` must be an integer from 1 to 9."),
        (&THING, r#"{"title":"x","kind":"c"}"#, "invalid", "`kind` must be one of \"a\", \"b\"."),
        (
            &THING,
            r#"{"title":"x","tags":["a",1]}"#,
            "invalid",
            "`tags` must be 0 to 2 strings of 1 to 4 bytes each.",
        ),
        (&THING, r#"{"title":"x","free":[]}"#, "invalid", "`free` must be an object."),
        (&THING, r#"{"title":"x","inner":{}}"#, "missing", "`inner.label` is required."),
        (&STRICT, r#"{"title":"x","count":null}"#, "invalid", "`count` must be an integer from 1 to 9."),
        (&STRICT, r#"{"more":1}"#, "unknown", "`more` is not a field here."),
        (&STRICT, r#"{"count":0}"#, "missing", "`title` is required."),
        (
            &STRICT,
            r#"{"title":"x","tags":["a",""]}"#,
            "invalid",
            "`tags[1]` must be 0 to 2 strings of 1 to 4 bytes each.",
        ),
        (
            &STRICT,
            r#"{"title":"x","inner":{"label":"x","flag":false,"other":false}}"#,
            "invalid",
            "`inner` must leave one of flag, other open.",
        ),
        (&RULED, "{}", "nothing", "Name a or c."),
        (&RULED, r#"{"c":null}"#, "ok", ""),
        (&RULED, r#"{"c":"x","b":true}"#, "needs_a", "`b` needs an `a`."),
        (&RULED, r#"{"c":"x","b":false}"#, "ok", ""),
        (&RULED, r#"{"b":1}"#, "of_b", "`b` must be true or false."),
    ] {
        assert_eq!(said(shape, body), (code, words.to_owned()), "{body}");
    }
    let (code, words) = said(&THING, r#"{"title":"a\nb"}"#);
    assert_eq!(code, "invalid");
    assert!(words.starts_with("`title` must be one line"), "{words}");
}

#[test]
fn a_misfit_is_a_refusal_of_its_room() {
    let refusal = Refusal::from(THING.read_body(b"{}").unwrap_err());
    assert_eq!((refusal.class, refusal.code), (Class::Unprocessable, "invalid"));
}

#[test]
fn what_was_read_is_handed_out_as_what_it_is() {
    let body = r#"{"title":"\u0078","tags":["a","b"],"to":"@a.b","inner":{"label":"l","flag":true},"free":{ "z" : 1.0 }}"#;
    let sent = THING.read_body(body.as_bytes()).unwrap();
    assert_eq!(sent.needed("title"), "x");
    assert_eq!(sent.list::<String, Vec<_>>("tags"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(sent.needed_parsed::<AgentHandle>("to").as_str(), "@a.b");
    assert_eq!(sent.object("inner").unwrap().flag("flag"), Some(true));
    assert_eq!(sent.get("free").map(RawValue::get), Some(r#"{ "z" : 1.0 }"#), "the very bytes");
    assert_eq!((sent.text("kind"), sent.number("count")), (None, None));
}

#[test]
fn a_query_is_read_by_the_same_shapes() {
    const LIMIT: Bounds = bounds(1, 500);
    static SWITCH: Switch = Switch { on: &["1", "yes"], off: &["0"], is_exact: false };
    static QUERY: Shape = Shape::new(
        "",
        &CLOSED,
        &[
            optional("limit", Form::Clamped(LIMIT), ""),
            optional("all", Form::Switch(&SWITCH), ""),
            optional("page", Form::Integer(bounds(0, 9)), ""),
        ],
    );
    let read = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let sent = QUERY.read_query(&pairs).map_err(|misfit| misfit.sentence())?;
        Ok((sent.number("limit"), sent.flag("all"), sent.number("page")))
    };
    assert_eq!(read(&[]), Ok((None, None, None)));
    assert_eq!(read(&[("limit", "-7"), ("all", "YES"), ("page", "007")]), Ok((Some(1), Some(true), Some(7))));
    assert_eq!(read(&[("limit", "99999999999999999999999")]), Ok((Some(500), None, None)));
    for (pair, words) in [
        (("limit", "x"), "`limit` must be an integer."),
        (("limit", "1.5"), "`limit` must be an integer."),
        (("all", "maybe"), "`all` must be true or false."),
        (("page", "10"), "`page` must be an integer from 0 to 9."),
        (("page", "+1"), "`page` must be an integer from 0 to 9."),
        (("more", "1"), "`more` is not a field here."),
    ] {
        assert_eq!(read(&[pair]), Err(words.to_owned()));
    }
    assert_eq!(read(&[("page", "1"), ("page", "1")]), Err("`page` must be sent once.".to_owned()));
}

#[test]
fn the_first_member_that_is_no_field_is_named_with_its_path() {
    let unknown = |shape: &'static Shape, body: Value| shape.unknown(&body);
    assert_eq!(unknown(&THING, json!({"title": "x", "sender": 1})).as_deref(), Some("sender"));
    assert_eq!(unknown(&THING, json!({"inner": {"label": "x", "b": 2}})).as_deref(), Some("inner.b"));
    assert_eq!(unknown(&THING, json!({"free": {"any": 1}, "tags": []})), None);
    assert_eq!(unknown(&THING, json!([])), None);
    assert_eq!(THING.names().collect::<Vec<_>>(), ["title", "count", "kind", "tags", "inner", "free", "to"]);
}

fn schema(shape: &'static Shape) -> (Value, Map<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = shape.schema(&mut generator);
    (root, generator.take_definitions(true))
}

#[test]
fn the_schema_says_what_the_shape_says() {
    let (root, definitions) = schema(&THING);
    assert_eq!(root, json!({"$ref": "#/$defs/Thing"}));
    let thing = &definitions["Thing"];
    assert_eq!(thing["required"], json!(["title"]));
    assert_eq!(
        thing["properties"]["title"],
        json!({"type": "string", "minLength": 1, "maxLength": 5, "description": "What it is."})
    );
    assert_eq!(
        thing["properties"]["count"],
        json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9})
    );
    assert_eq!(
        thing["properties"]["kind"],
        json!({"type": ["string", "null"], "enum": ["a", "b", null], "description": "Which."})
    );
    assert_eq!(definitions["Inner"]["additionalProperties"], json!(false));
    assert_eq!(schema(&STRICT).0["properties"]["count"]["type"], "integer", "null is a value there");
}

/// Whether a value fits a schema, as far as shapes make schemas.
fn fits(schema: &Value, definitions: &Map<String, Value>, value: &Value) -> bool {
    let fits_in = |schema: &Value, value: &Value| fits(schema, definitions, value);
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        // The grammar of a named type is that of its reader.
        let Some(schema) = definitions.get(name) else { return false };
        return if name == "AgentHandle" {
            value.as_str().is_some_and(|text| text.parse::<AgentHandle>().is_ok())
        } else {
            fits_in(schema, value)
        };
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        return forms.iter().any(|form| fits_in(form, value));
    }
    if schema.get("not").is_some_and(|not| {
        let closed = not["properties"].as_object().unwrap();
        closed.keys().all(|name| value.get(name) == Some(&json!(false)))
    }) {
        return false;
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = &schema["type"];
    if !types.is_null()
        && types != kind
        && !types.as_array().is_some_and(|types| types.contains(&json!(kind)))
    {
        return false;
    }
    if value.is_null() {
        return true;
    }
    let at_least = |name: &str, number: u64| schema[name].as_u64().is_none_or(|min| min <= number);
    let most = |name: &str, number: u64| schema[name].as_u64().is_none_or(|max| number <= max);
    if schema["enum"].as_array().is_some_and(|texts| !texts.contains(value)) {
        return false;
    }
    match value {
        Value::String(text) => {
            let length = text.chars().count() as u64;
            at_least("minLength", length) && most("maxLength", length)
        }
        Value::Number(number) => {
            number.as_u64().is_some_and(|number| at_least("minimum", number) && most("maximum", number))
        }
        Value::Array(items) => {
            let many = items.len() as u64;
            at_least("minItems", many)
                && most("maxItems", many)
                && items.iter().all(|item| fits_in(&schema["items"], item))
        }
        Value::Object(members) => {
            let required = schema["required"].as_array();
            required.is_none_or(|names| names.iter().all(|name| members.contains_key(name.as_str().unwrap())))
                && members.iter().all(|(name, member)| match schema["properties"].get(name) {
                    Some(property) => fits_in(property, member),
                    None => schema["additionalProperties"] != json!(false),
                })
        }
        Value::Null | Value::Bool(_) => true,
    }
}

/// Values near what the shapes want: of the right names, and often of the right form. ASCII without hidden characters,
/// where characters are bytes and the schema can say all.
fn near() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u64..12).prop_map(Value::from),
        Just(json!(2.5)),
        "[ab@.]{0,6}".prop_map(Value::from),
        Just(json!("@a.b")),
    ];
    let name = prop_oneof![
        Just("title"),
        Just("count"),
        Just("kind"),
        Just("tags"),
        Just("inner"),
        Just("free"),
        Just("to"),
        Just("label"),
        Just("flag"),
        Just("other"),
        Just("more"),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_fits_the_schema_is_read_and_whatever_is_read_fits_it(mut value in near(), title in "[ab]{1,5}") {
        if let (Some(members), true) = (value.as_object_mut(), title.len() > 1) {
            members.insert("title".to_owned(), title.into());
        }
        for shape in [&THING, &STRICT] {
            let (root, definitions) = schema(shape);
            let (is_read, fits) = (shape.read(&value).is_ok(), fits(&root, &definitions, &value));
            prop_assert_eq!(is_read, fits, "{} {}", shape.name, value);
        }
    }

    #[test]
    fn any_bytes_end_in_an_answer(body: Vec<u8>) {
        let _ = THING.read_body(&body);
        let _ = STRICT.read_body(&body);
    }
}
