//! The searched text of a package: title, decisions, questions, handoff note, description and body (wire.md D.7).
//! Must not know: where packages are stored.

use plenary_kernel::json::Tree;
use plenary_retrieval::{Document, Kind, Section};

use crate::{lifecycle::Status, moment::Moment};

pub(crate) fn sections(package: &Tree<'_>) -> Vec<Section> {
    let members = [
        (Kind::Title, "title"),
        (Kind::Body, "description"),
        (Kind::Body, "content_md"),
        (Kind::Decision, "decisions_made"),
        (Kind::Question, "open_questions"),
        (Kind::Handoff, "handoff_note"),
    ];
    let mut sections = Vec::with_capacity(members.len());
    for (kind, name) in members {
        let Some(value) = package.get(name) else { continue };
        let texts = if matches!(kind, Kind::Decision | Kind::Question) {
            value.items().unwrap_or_default()
        } else {
            std::slice::from_ref(value)
        };
        let texts = texts.iter().filter_map(Tree::text);
        sections.extend(texts.map(|text| Section { kind, text: text.to_owned() }));
    }
    sections
}

/// A package as a search document. `id` is the id of its stream.
pub(super) fn document(id: &str, package: &[u8], status: Status, created_at: Moment) -> Document {
    // A deposited package is valid JSON; a damaged one has no words.
    let package = std::str::from_utf8(package).ok().and_then(|text| Tree::read(text).ok());
    Document {
        id: id.to_owned(),
        project: id.split_once('/').map_or(id, |(project, _)| project).to_owned(),
        created_at_ms: created_at.ms(),
        is_draft: status == Status::Draft,
        sections: package.as_ref().map(sections).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ap_60_what_is_searched_of_a_package() {
        let package = json!({
            "title": "T", "description": "D", "content_md": "C", "decisions_made": ["d1", "d2"],
            "open_questions": ["q"], "handoff_note": "h", "tags": ["no"], "topic": "no", "x-note": "no"
        });
        let at = Moment::parse("2026-04-18T20:00:00.5Z").unwrap();
        let document = document("p/a", package.to_string().as_bytes(), Status::Draft, at);
        let seen: Vec<_> =
            document.sections.iter().map(|section| (section.kind, section.text.as_str())).collect();
        let expected = [
            (Kind::Title, "T"),
            (Kind::Body, "D"),
            (Kind::Body, "C"),
            (Kind::Decision, "d1"),
            (Kind::Decision, "d2"),
            (Kind::Question, "q"),
            (Kind::Handoff, "h"),
        ];
        assert_eq!(seen, expected);
        assert_eq!((document.project.as_str(), document.is_draft), ("p", true));
        assert_eq!(document.created_at_ms, 1_776_542_400_500);
    }
}
