//! Forms in words, and the page KINDS.md that is made of the table.
//! Must not know: what is done with a frame.

use std::fmt::Write as _;

use plenary_shape::{Field, Form, List, Rule, Shape};

use crate::{
    catalogue::{ENVELOPE, Kind},
    reconstructed::RECONSTRUCTED,
    shape::MANNER,
};

/// The page `KINDS.md`: the envelope and every kind, from the table.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# The kinds of frames\n\nGenerated from the table in `src/catalogue.rs` and `src/reconstructed.rs`; a test keeps \
         both equal. Objects\nare closed: a field that is not listed here is refused. Lengths count bytes of UTF-8.\n",
    );
    page.push_str("\n## The envelope\n");
    fields(&mut page, &ENVELOPE, "");
    for kind in Kind::all() {
        let def = kind.def();
        let _ = write!(page, "\n## {}\n\n{}", def.name, def.says);
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
        let Field { name, required, form, says, .. } = field;
        let words = field.words(&MANNER);
        let required = if *required { "yes" } else { "" };
        let _ = writeln!(page, "| `{before}{name}` | {required} | {words}{} | {says} |", rules(shape, name));
        if let Form::Object(inner) = form {
            fields(page, inner, &format!("{before}{name}."));
        }
        if let Form::List(List { of: Form::Object(inner), .. }) = form {
            fields(page, inner, &format!("{before}{name}[]."));
        }
    }
}

fn rules(shape: &Shape, name: &str) -> String {
    let mut text = String::new();
    for rule in shape.rules {
        match rule {
            Rule::Index { index, of } if *index == name => {
                let _ = write!(text, ", less than the number of `{of}`");
            }
            Rule::OneIsTrue(flags) if flags.contains(&name) => {
                let _ = write!(
                    text,
                    ", not both false with `{}`",
                    flags.iter().filter(|f| **f != name).copied().collect::<Vec<_>>().join("`, `")
                );
            }
            Rule::Index { .. } | Rule::OneIsTrue(_) | Rule::Some(..) | Rule::With(..) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_table() {
        let (page, kept) = (page(), include_str!("../KINDS.md"));
        assert!(page == kept, "KINDS.md must read:\n{page}");
    }
}
