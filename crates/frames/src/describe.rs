//! The text descriptions of shapes, and the page KINDS.md, generated from the table.
//! Must not know: the use of a frame.

use std::fmt::{self, Write as _};

use crate::{
    catalogue::{ENVELOPE, Kind},
    limits::SCOPE_BYTES_MAX,
    reconstructed::RECONSTRUCTED,
    shape::{Bounds, Field, Form, Rule, Shape},
};

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector => f.write_str("a value of the catalogue"),
            Self::Payload => f.write_str("an object of the kind's own shape"),
            Self::Text(bytes) => write!(f, "a string of {bytes} bytes"),
            Self::Line(bytes) => write!(f, "a string of {bytes} bytes on one line"),
            Self::OneOf(texts) => write!(f, "one of \"{}\"", texts.join("\", \"")),
            Self::Uuid => f.write_str("a version-4 UUID"),
            Self::Handle => f.write_str("a canonical handle, ~owner"),
            Self::Principal => f.write_str("the sender's own canonical handle, ~owner"),
            Self::Instrument => f.write_str("a canonical handle, ~name or ~name@version"),
            Self::Time => f.write_str("an RFC 3339 time with a zone"),
            Self::Scope => write!(f, "a recipient scope of 1 to {SCOPE_BYTES_MAX} bytes"),
            Self::Namespaced(bytes) => {
                write!(f, "a string of {bytes} bytes with a namespace (`.`, `:` or `/`)")
            }
            Self::Integer(bounds) => write!(f, "an integer, {bounds}"),
            Self::Flag => f.write_str("true or false"),
            Self::Texts { items, bytes } => write!(f, "{items} strings of {bytes} bytes each"),
            Self::Object(_) => f.write_str("an object"),
            Self::Objects { items, .. } => write!(f, "{items} objects"),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// The page `KINDS.md`: the envelope and every kind, from the table.
pub fn page() -> String {
    let mut page = String::from(
        "# The kinds of frames\n\nGenerated from the table in `src/catalogue.rs` and `src/reconstructed.rs`; a test keeps \
         both equal. Objects\nare closed: a field that is not listed here is refused. Lengths count bytes of UTF-8.\n",
    );
    page.push_str("\n## The envelope\n");
    fields(&mut page, &ENVELOPE, "");
    for kind in Kind::all() {
        let def = kind.def();
        let _ = write!(page, "\n## {}\n\n{}", def.name, def.description);
        if RECONSTRUCTED.iter().any(|lost| lost.name == def.name) {
            page.push_str(" Reconstructed: the published page lost this shape.");
        }
        if let Some(decay) = def.decay {
            let _ = write!(page, " Retained copies are forgotten at `{}` plus `{}`.", decay.since, decay.ms);
        }
        page.push('\n');
        fields(&mut page, &def.shape, "");
    }
    page
}

fn fields(page: &mut String, shape: &Shape, before: &str) {
    if before.is_empty() {
        page.push_str("\n| field | required | value | what it is |\n|---|---|---|---|\n");
    }
    for field in shape.fields {
        let Field { name, required, form, description } = field;
        let required = if *required { "yes" } else { "" };
        let _ = writeln!(
            page,
            "| `{before}{name}` | {required} | {form}{} | {description} |",
            rules(shape, name)
        );
        match form {
            Form::Object(inner) => fields(page, inner, &format!("{before}{name}.")),
            Form::Objects { shape, .. } => fields(page, shape, &format!("{before}{name}[].")),
            Form::Selector
            | Form::Payload
            | Form::Text(_)
            | Form::Line(_)
            | Form::OneOf(_)
            | Form::Uuid
            | Form::Handle
            | Form::Principal
            | Form::Instrument
            | Form::Time
            | Form::Scope
            | Form::Namespaced(_)
            | Form::Integer(_)
            | Form::Flag
            | Form::Texts { .. } => {}
        }
    }
}

fn rules(shape: &Shape, name: &str) -> String {
    let mut text = String::new();
    for rule in shape.rules {
        match rule {
            Rule::Index { index, array } if *index == name => {
                let _ = write!(text, ", less than the number of `{array}`");
            }
            Rule::OneIsTrue(flags) if flags.contains(&name) => {
                let _ = write!(
                    text,
                    ", not both false with `{}`",
                    flags.iter().filter(|f| **f != name).copied().collect::<Vec<_>>().join("`, `")
                );
            }
            Rule::Index { .. } | Rule::OneIsTrue(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_table() {
        let (page, stored) = (page(), include_str!("../KINDS.md"));
        assert!(page == stored, "KINDS.md must read:\n{page}");
    }
}
