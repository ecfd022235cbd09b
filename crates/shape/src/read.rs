//! Reading an object by its shape: the first fault, or the values of its fields. Pure.
//! Must not know: which shapes there are.

use std::{borrow::Cow, collections::BTreeSet, str::FromStr};

use plenary_kernel::text::check_line;
use serde_json::Value;

use crate::{
    form::{Form, List},
    misfit::{Misfit, Path},
    node::{Node, Raw, members_of},
    shape::{Field, Items, Missing, Null, Order, Rule, Shape, Twice, Unknown},
};

/// The values of an object that fits its shape.
#[derive(Debug, Clone)]
pub struct Sent<N> {
    shape: &'static Shape,
    values: Vec<Option<N>>,
}

/// Why a value is not of its form.
enum Wrong {
    /// It is of another type.
    Type,
    /// It is not of the form.
    Form,
    /// For this reason, the rest of a sentence.
    Says(String),
    /// For this reason, a sentence of its own.
    Whole(String),
    /// Something within it is wrong.
    Within(Misfit),
}

impl Shape {
    /// Reads a value.
    ///
    /// # Errors
    /// The first fault.
    pub fn read<'a, N: Node<'a>>(&'static self, node: N) -> Result<Sent<N>, Misfit> {
        let values = read(self, &Path::TOP, |see| node.members(see))?;
        Ok(Sent { shape: self, values })
    }

    /// Reads a value that stands somewhere.
    ///
    /// # Errors
    /// The first fault, with its path from there.
    pub fn read_at<'a, N: Node<'a>>(&'static self, node: N, at: &Path<'_>) -> Result<Sent<N>, Misfit> {
        let values = read(self, at, |see| node.members(see))?;
        Ok(Sent { shape: self, values })
    }

    /// Reads a body as it was sent, which is known to be JSON; an empty one is `{}`.
    ///
    /// # Errors
    /// The first fault.
    pub fn read_body<'a>(&'static self, body: &'a [u8]) -> Result<Sent<Raw<'a>>, Misfit> {
        let is_empty = body.trim_ascii().is_empty();
        let values = read(self, &Path::TOP, |see| is_empty || members_of(body, see))?;
        Ok(Sent { shape: self, values })
    }

    /// Reads the pairs of a query.
    ///
    /// # Errors
    /// The first fault.
    pub fn read_query<'a>(&'static self, query: &'a [(String, String)]) -> Result<Sent<&'a str>, Misfit> {
        let values = read(self, &Path::TOP, |see| {
            query.iter().for_each(|(name, value)| see(name, value.as_str()));
            true
        })?;
        Ok(Sent { shape: self, values })
    }

    /// The path of the first member, at any depth, that is no field; none where a shape is open.
    #[must_use]
    pub fn unknown(&'static self, value: &Value) -> Option<String> {
        let members = value.as_object().filter(|_| !matches!(self.manner.unknown, Unknown::Kept))?;
        members.iter().find_map(|(name, member)| {
            let Some(field) = self.field(name) else { return Some(name.clone()) };
            let within = unknown_in(&field.form, member)?;
            let joint = if within.starts_with('[') { "" } else { "." };
            Some(format!("{name}{joint}{within}"))
        })
    }
}

fn unknown_in(form: &'static Form, value: &Value) -> Option<String> {
    match form {
        Form::Object(shape) => shape.unknown(value),
        Form::List(list) => value.as_array()?.iter().enumerate().find_map(|(nth, item)| {
            let within = unknown_in(&list.of, item)?;
            Some(format!("[{nth}].{within}"))
        }),
        Form::Any
        | Form::Text(..)
        | Form::Line(..)
        | Form::Shown(..)
        | Form::OneOf(_)
        | Form::Of(_)
        | Form::Integer(_)
        | Form::Whole(_)
        | Form::Clamped(_)
        | Form::Number(_)
        | Form::Flag
        | Form::Switch(_)
        | Form::Map
        | Form::Json(_) => None,
    }
}

/// The values of an object's fields.
fn read<'a, N: Node<'a>>(
    shape: &'static Shape,
    at: &Path<'_>,
    members: impl FnOnce(&mut dyn FnMut(&str, N)) -> bool,
) -> Result<Vec<Option<N>>, Misfit> {
    let mut values: Vec<Option<N>> = vec![None; shape.fields.len()];
    let (mut unknown, mut twice) = (None, None::<usize>);
    let is_object =
        members(&mut |name, value| match shape.fields.iter().position(|field| field.name == name) {
            Some(nth) => twice = values[nth].replace(value).map(|_| nth).or(twice),
            None if unknown.is_none() => unknown = Some(name.to_owned()),
            None => {}
        });
    if !is_object {
        return Err(at.misfit(shape.manner, shape.manner.whole.0, shape.manner.whole.1));
    }
    if let (Unknown::Refused(code, says), Some(name)) = (shape.manner.unknown, &unknown) {
        return Err(at.member(name).misfit(shape.manner, code, says));
    }
    if let Some(nth) = twice {
        return Err(match shape.manner.twice {
            Twice::Whole(code, says) => at.misfit(shape.manner, code, says),
            Twice::Each(code, says) => at.member(shape.fields[nth].name).misfit(shape.manner, code, says),
        });
    }
    if shape.manner.order == Order::MissingFirst {
        shape.fields.iter().zip(&values).try_for_each(|(field, value)| present(shape, field, *value, at))?;
    }
    for (nth, field) in shape.fields.iter().enumerate() {
        let null = shape.null_of(field);
        if values[nth].is_some_and(Node::is_null) && matches!(null, Null::Absent | Null::Named) {
            values[nth] = None;
        }
        present(shape, field, values[nth], at)?;
        match values[nth] {
            Some(value) if value.is_null() && null == Null::Given => {}
            Some(value) => fits(shape, field, value, &at.member(field.name))?,
            None => {}
        }
        let of_field = |rule: &&Rule| matches!(rule, Rule::With(name, ..) if *name == field.name);
        shape.rules.iter().filter(of_field).try_for_each(|rule| holds(shape, rule, &values, at))?;
    }
    let of_all = |rule: &&Rule| !matches!(rule, Rule::With(..));
    shape.rules.iter().filter(of_all).try_for_each(|rule| holds(shape, rule, &values, at))?;
    Ok(values)
}

fn present<'a, N: Node<'a>>(
    shape: &Shape,
    field: &Field,
    value: Option<N>,
    at: &Path<'_>,
) -> Result<(), Misfit> {
    if value.is_some() || !field.required {
        return Ok(());
    }
    let at = at.member(field.name);
    Err(match field.missing.unwrap_or(shape.manner.missing) {
        Missing::AsWrong => {
            at.misfit(shape.manner, shape.code_of(field), must_be(&field.words(shape.manner)))
        }
        Missing::Says(says) => at.misfit(shape.manner, shape.code_of(field), says),
        Missing::Code(code, says) => at.misfit(shape.manner, code, says),
        Missing::Whole(says) => at.around().misfit(shape.manner, shape.code_of(field), says),
    })
}

/// The rest of a sentence; one that begins with a colon is said as it is.
fn must_be(what: &str) -> String {
    if what.starts_with(':') { what.to_owned() } else { format!(" must be {what}") }
}

fn fits<'a, N: Node<'a>>(
    shape: &Shape,
    field: &'static Field,
    value: N,
    at: &Path<'_>,
) -> Result<(), Misfit> {
    let Err(wrong) = is_of(&field.form, shape, value, at) else { return Ok(()) };
    let says = match wrong {
        Wrong::Within(misfit) => return Err(misfit),
        Wrong::Whole(why) => {
            return Err(at.around().misfit(shape.manner, shape.code_of(field), format!(": {why}")));
        }
        Wrong::Type | Wrong::Form | Wrong::Says(_) if !field.wants.is_empty() => must_be(field.wants),
        Wrong::Type if shape.null_of(field) == Null::Named => must_be("a string or null"),
        Wrong::Type => must_be(&field.form.type_words(shape.manner)),
        Wrong::Form => must_be(&field.form.words(shape.manner)),
        Wrong::Says(says) => says,
    };
    Err(at.misfit(shape.manner, shape.code_of(field), says))
}

fn is_of<'a, N: Node<'a>>(form: &'static Form, shape: &Shape, value: N, at: &Path<'_>) -> Result<(), Wrong> {
    let is = match form {
        Form::Any => true,
        Form::Text(unit, bounds) => bounds.hold(unit.of(&text(value)?)),
        Form::Line(unit, bounds) => {
            let text = text(value)?;
            bounds.hold(unit.of(&text)) && !text.contains(['\n', '\r'])
        }
        Form::Shown(unit, bounds) => {
            let text = text(value)?;
            let is_shown = || check_line(&text).map_err(|why| Wrong::Says(format!(" {why}")));
            bounds.hold(unit.of(&text)) && is_shown().map(|()| true)?
        }
        Form::OneOf(texts) => texts.contains(&&*text(value)?),
        Form::Of(grammar) => match (grammar.check)(&text(value)?) {
            Ok(()) => true,
            Err(why) if why.is_empty() => false,
            Err(why) => return Err(Wrong::Says(why)),
        },
        Form::Integer(bounds) => value.number().and_then(|n| n.as_u64()).is_some_and(|n| bounds.hold(n)),
        Form::Whole(bounds) => value.number().is_some_and(|n| bounds.hold_float(&n, true)),
        Form::Number(bounds) => value.number().is_some_and(|n| bounds.hold_float(&n, false)),
        Form::Clamped(_) => value.number().is_some_and(|n| !n.is_f64()),
        Form::Flag => value.flag().is_some(),
        Form::Switch(switch) => value.text().is_some_and(|text| switch.read(&text).is_some()),
        Form::Map => value.is_object(),
        Form::List(list) => return list_of(list, shape, value, at),
        Form::Object(_) if !value.is_object() => false,
        Form::Object(inner) => {
            return read(inner, at, |see| value.members(see)).map(drop).map_err(Wrong::Within);
        }
        Form::Json(json) => return (json.check)(&value.json()).map_err(Wrong::Whole),
    };
    if is { Ok(()) } else { Err(Wrong::Form) }
}

fn text<'a, N: Node<'a>>(value: N) -> Result<Cow<'a, str>, Wrong> {
    value.text().ok_or(Wrong::Type)
}

fn list_of<'a, N: Node<'a>>(
    list: &'static List,
    shape: &Shape,
    value: N,
    at: &Path<'_>,
) -> Result<(), Wrong> {
    let items = value.items().ok_or(Wrong::Type)?;
    let counts = |many: usize| if list.items.hold(many as u64) { Ok(()) } else { Err(Wrong::Form) };
    match shape.manner.items {
        Items::Each => {
            counts(items.len())?;
            items.iter().enumerate().try_for_each(|(nth, item)| {
                let at = at.item(nth);
                let says = match is_of(&list.of, shape, *item, &at) {
                    Ok(()) => return Ok(()),
                    Err(Wrong::Within(misfit)) => return Err(Wrong::Within(misfit)),
                    Err(Wrong::Says(says) | Wrong::Whole(says)) => says,
                    Err(Wrong::Type | Wrong::Form)
                        if !list.type_says.is_empty() || matches!(list.of, Form::Object(_)) =>
                    {
                        must_be(&list.of.words(shape.manner))
                    }
                    Err(Wrong::Type | Wrong::Form) => must_be(&list.to_string()),
                };
                Err(Wrong::Within(at.misfit(shape.manner, shape.manner.code, says)))
            })
        }
        Items::Whole => {
            if items.iter().any(|item| matches!(is_of(&list.of, shape, *item, at), Err(Wrong::Type))) {
                return Err(Wrong::Type);
            }
            items.iter().try_for_each(|item| is_of(&list.of, shape, *item, at))?;
            let distinct = || items.iter().filter_map(|item| item.text()).collect::<BTreeSet<_>>().len();
            counts(if list.is_set { distinct() } else { items.len() })
        }
    }
}

fn holds<'a, N: Node<'a>>(
    shape: &Shape,
    rule: &Rule,
    values: &[Option<N>],
    at: &Path<'_>,
) -> Result<(), Misfit> {
    let value = |name: &str| values[shape.place(name)];
    let code = shape.manner.code;
    match *rule {
        Rule::Index { index, of } => {
            let items = value(of).and_then(Node::items).map_or(0, |items| items.len()) as u64;
            let named = value(index).and_then(Node::number).and_then(|number| number.as_u64());
            if named.is_none_or(|named| named < items) {
                return Ok(());
            }
            Err(at.member(index).misfit(
                shape.manner,
                code,
                format!(" must count one of the {items} {of}, from 0"),
            ))
        }
        Rule::OneIsTrue(flags) => {
            if flags.iter().any(|flag| value(flag).and_then(Node::flag) != Some(false)) {
                return Ok(());
            }
            Err(at.misfit(shape.manner, code, format!(" must leave one of {} open", flags.join(", "))))
        }
        Rule::Some(names, code, says) => {
            let is_some = names.iter().any(|name| value(name).is_some());
            if is_some { Ok(()) } else { Err(at.misfit(shape.manner, code, says)) }
        }
        Rule::With(name, other, code, says) => {
            let is_said = value(name).is_some_and(|value| value.flag() != Some(false));
            if is_said && value(other).is_none() {
                Err(at.member(name).misfit(shape.manner, code, says))
            } else {
                Ok(())
            }
        }
    }
}

/// Why a value of a field that was read can be taken for what it is.
const FITS: &str = "what was read fits its shape";

impl<'a, N: Node<'a>> Sent<N> {
    fn form(&self, name: &str) -> &'static Form {
        &self.shape.fields[self.shape.place(name)].form
    }

    /// The value of a field, if it is there.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<N> {
        self.values[self.shape.place(name)]
    }

    /// A text, if it is there.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(Node::text)
    }

    /// The same, for keeps.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// A text that is required.
    ///
    /// # Panics
    /// Where the field is not required.
    #[must_use]
    pub fn needed(&self, name: &str) -> String {
        self.string(name).expect(FITS)
    }

    /// A text of a grammar, if it is there.
    ///
    /// # Panics
    /// Where the field has another grammar.
    #[must_use]
    pub fn parsed<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).map(|text| text.parse().ok().expect(FITS))
    }

    /// A text of a grammar that is required.
    ///
    /// # Panics
    /// Where the field is not required, or has another grammar.
    #[must_use]
    pub fn needed_parsed<T: FromStr>(&self, name: &str) -> T {
        self.parsed(name).expect(FITS)
    }

    /// A word that is required, as what it stands for.
    ///
    /// # Panics
    /// Where the field is not required, or has other words.
    #[must_use]
    pub fn word<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        self.text(name).and_then(|word| parse(&word)).expect(FITS)
    }

    /// The texts of a list, each of a grammar; none where the list is not there.
    ///
    /// # Panics
    /// Where its items have another grammar.
    #[must_use]
    pub fn list<T: FromStr, L: FromIterator<T>>(&self, name: &str) -> Option<L> {
        let items = self.get(name)?.items().expect(FITS).into_iter();
        Some(items.map(|item| item.text().and_then(|text| text.parse().ok()).expect(FITS)).collect())
    }

    /// An object of a shape, if it is there.
    ///
    /// # Panics
    /// Where the field is no such object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        let value = self.get(name)?;
        let Form::Object(shape) = self.form(name) else { panic!("{name} is an object of a shape") };
        Some(shape.read(value).expect(FITS))
    }

    /// A boolean, if it is there.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        let Form::Switch(switch) = self.form(name) else { return value.flag() };
        switch.read(&value.text()?)
    }

    /// An integer, if it is there; within its bounds.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let number = self.get(name)?.number()?;
        let Form::Clamped(bounds) = self.form(name) else { return number.as_u64() };
        Some(number.as_u64().unwrap_or(bounds.min).clamp(bounds.min, bounds.max))
    }

    /// A number of things in memory, if it is there.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<usize> {
        self.number(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }
}
