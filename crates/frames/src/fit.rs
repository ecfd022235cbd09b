//! Checks whether a value fits its shape. Faults come in the order unknown, missing, invalid, at every level (wire.md
//! D.5). Pure.
//! Must not know: the list of shapes.

use plenary_kernel::{SovereignHandle, rfc3339};
use serde_json::{Map, Value};

use crate::{
    limits::{PATH_BYTES_MAX, SCOPE_BYTES_MAX},
    malformed::{Code, FrameFault},
    scope::Scope,
    shape::{Bounds, Field, Form, Rule, Shape},
};

/// The characters that end a line (Unicode, 5.8): none is in a text on one line.
pub(crate) const LINE_BREAKS: [char; 7] = ['\n', '\u{b}', '\u{c}', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// A location in a frame, from the outermost object inwards.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Top,
    Name(&'a str),
    Item(usize),
}

impl<'a> Path<'a> {
    /// The outermost object.
    pub(crate) const TOP: Self = Self { outer: None, step: Step::Top };

    pub(crate) const fn member(&'a self, name: &'a str) -> Self {
        Self { outer: Some(self), step: Step::Name(name) }
    }

    const fn item(&'a self, nth: usize) -> Self {
        Self { outer: Some(self), step: Step::Item(nth) }
    }

    /// `payload.question.options[1].label`, truncated to the longest path of a refusal.
    fn render(&self) -> String {
        let mut text = self.outer.map(Path::render).unwrap_or_default();
        match self.step {
            Step::Top => {}
            Step::Name(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Item(nth) => text.push_str(&format!("[{nth}]")),
        }
        text.truncate(text.floor_char_boundary(PATH_BYTES_MAX));
        text
    }

    /// A fault at this location.
    pub(crate) fn fault(&self, code: Code, problem: &str) -> FrameFault {
        let field = self.render();
        let message = format!("`{field}` {problem}.");
        FrameFault::of(code, field, message)
    }
}

/// Checks that an object has exactly the members of a shape, each with a valid value. Selectors and the
/// payload pass: they are checked once the kind is known.
pub(crate) fn fit(shape: &Shape, object: &Map<String, Value>, path: &Path<'_>) -> Result<(), FrameFault> {
    if let Some(name) = object.keys().find(|name| shape.field(name).is_none()) {
        return Err(path.member(name).fault(Code::FieldUnknown, "is not a field of this object"));
    }
    if let Some(field) = shape.fields.iter().find(|field| field.required && !object.contains_key(field.name))
    {
        return Err(path.member(field.name).fault(Code::FieldMissing, "is required"));
    }
    for field in shape.fields {
        if let Some(value) = object.get(field.name) {
            fits(field, value, &path.member(field.name))?;
        }
    }
    shape.rules.iter().try_for_each(|rule| check_rule(rule, object, path))
}

fn fits(field: &Field, value: &Value, path: &Path<'_>) -> Result<(), FrameFault> {
    let fits = match &field.form {
        Form::Selector | Form::Payload => true,
        Form::Flag => value.is_boolean(),
        Form::Integer(bounds) => value.as_u64().is_some_and(|number| bounds.hold(number)),
        Form::Object(shape) => match value.as_object() {
            Some(inner) => return fit(shape, inner, path),
            None => false,
        },
        Form::Objects { items, shape } => match array(value, *items) {
            Some(inner) => return fit_all(shape, inner, path),
            None => false,
        },
        Form::Texts { items, bytes } => match array(value, *items) {
            Some(texts) => return all_texts(*bytes, texts, path),
            None => false,
        },
        Form::Text(_)
        | Form::Line(_)
        | Form::OneOf(_)
        | Form::Uuid
        | Form::Handle
        | Form::Principal
        | Form::Instrument
        | Form::Time
        | Form::Scope
        | Form::Namespaced(_) => value.as_str().is_some_and(|text| fits_text(&field.form, text)),
    };
    if fits { Ok(()) } else { Err(invalid(&field.form, path)) }
}

fn array(value: &Value, items: Bounds) -> Option<&[Value]> {
    value.as_array().map(Vec::as_slice).filter(|array| items.hold(array.len() as u64))
}

fn fit_all(shape: &Shape, items: &[Value], path: &Path<'_>) -> Result<(), FrameFault> {
    for (nth, item) in items.iter().enumerate() {
        let path = path.item(nth);
        match item.as_object() {
            Some(inner) => fit(shape, inner, &path)?,
            None => return Err(path.fault(Code::FieldInvalid, "must be an object")),
        }
    }
    Ok(())
}

fn all_texts(bytes: Bounds, texts: &[Value], path: &Path<'_>) -> Result<(), FrameFault> {
    let fits = |text: &Value| text.as_str().is_some_and(|text| bytes.hold(text.len() as u64));
    match texts.iter().position(|text| !fits(text)) {
        Some(nth) => Err(invalid(&Form::Text(bytes), &path.item(nth))),
        None => Ok(()),
    }
}

/// Whether a text matches its form.
fn fits_text(form: &Form, text: &str) -> bool {
    let length = text.len() as u64;
    match form {
        Form::Text(bytes) => bytes.hold(length),
        Form::Line(bytes) => bytes.hold(length) && !text.contains(LINE_BREAKS),
        Form::OneOf(texts) => texts.contains(&text),
        Form::Uuid => is_uuid_4(text),
        Form::Handle | Form::Principal => text.parse::<SovereignHandle>().is_ok(),
        Form::Instrument => is_instrument(text),
        Form::Time => rfc3339::parse(text).is_some(),
        Form::Scope => length <= SCOPE_BYTES_MAX && text.parse::<Scope>().is_ok(),
        Form::Namespaced(bytes) => bytes.hold(length) && text.contains(['.', ':', '/']),
        Form::Selector
        | Form::Payload
        | Form::Integer(_)
        | Form::Flag
        | Form::Texts { .. }
        | Form::Object(_)
        | Form::Objects { .. } => false,
    }
}

/// `xxxxxxxx-xxxx-4xxx-[89ab]xxx-xxxxxxxxxxxx`, in either case (FO-7).
fn is_uuid_4(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(nth, byte)| match nth {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'4',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A canonical handle, perhaps with `@version` (wire.md D.1).
fn is_instrument(text: &str) -> bool {
    let is_version = |version: &str| {
        (1..=64).contains(&version.len())
            && version.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-'))
    };
    let (handle, version) = match text.split_once('@') {
        Some((handle, version)) => (handle, Some(version)),
        None => (text, None),
    };
    handle.parse::<SovereignHandle>().is_ok() && version.is_none_or(is_version)
}

fn invalid(form: &Form, path: &Path<'_>) -> FrameFault {
    path.fault(Code::FieldInvalid, &format!("must be {form}"))
}

fn check_rule(rule: &Rule, object: &Map<String, Value>, path: &Path<'_>) -> Result<(), FrameFault> {
    match rule {
        Rule::Index { index, array } => {
            let items = object.get(*array).and_then(Value::as_array).map_or(0, Vec::len) as u64;
            let named = object.get(*index).and_then(Value::as_u64);
            if named.is_none_or(|named| named < items) {
                return Ok(());
            }
            let problem = format!("must count one of the {items} {array}, from 0");
            Err(path.member(index).fault(Code::FieldInvalid, &problem))
        }
        Rule::OneIsTrue(flags) => {
            if flags.iter().any(|flag| object.get(*flag).is_none_or(|value| value != &Value::Bool(false))) {
                return Ok(());
            }
            Err(path.fault(Code::FieldInvalid, &format!("must leave one of {} open", flags.join(", "))))
        }
    }
}
