//! Reads a Markdown note as a package: its first heading is the title, sections "Decisions", "Open questions" and
//! "Handoff" become lists and the note, the rest is the body. Front matter may set the other members. Pure.
//! Must not know: the source of the note, or the form of a package.

mod front;
mod lines;

use front::Front;
use lines::{Kind, Line};

/// The content of a note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Note {
    /// Its first heading, or `title` of the front matter.
    pub(super) title: Option<String>,
    /// The items of "Decisions".
    pub(super) decisions: Vec<String>,
    /// The items of "Open questions".
    pub(super) questions: Vec<String>,
    /// The text of "Handoff".
    pub(super) handoff: String,
    /// All other text, unchanged.
    pub(super) content: String,
    /// The front matter's members other than the title.
    pub(super) front: Front,
}

/// The sections with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Decisions,
    Questions,
    Handoff,
}

impl Section {
    fn of(heading: &str) -> Option<Self> {
        let name = heading.trim_end_matches(':').trim().to_lowercase();
        match name.as_str() {
            "decisions" | "decision" | "decisions made" => Some(Self::Decisions),
            "open questions" | "open question" | "questions" => Some(Self::Questions),
            "handoff" | "hand-off" | "handoff note" | "handover" => Some(Self::Handoff),
            _ => None,
        }
    }
}

/// Reads a note. Every text is a valid note.
pub(super) fn read(text: &str) -> Note {
    let (front, body) = front::split(text);
    let mut note = Note { front, ..Note::default() };
    let (mut has_title, mut within) = (false, None::<(Section, usize)>);
    let (mut sections, mut content) = ([Vec::new(), Vec::new(), Vec::new()], Vec::new());
    for line in lines::parse(body) {
        if let Kind::Heading { level, text } = line.kind {
            if within.is_some_and(|(_, outer)| level <= outer) {
                within = None;
            }
            if !has_title {
                has_title = true;
                note.title = Some(text.to_owned()).filter(|text| !text.is_empty());
                continue;
            }
            if within.is_none()
                && let Some(section) = Section::of(text)
            {
                within = Some((section, level));
                continue;
            }
        }
        match within {
            Some((section, _)) => sections[section as usize].push(line),
            None => content.push(line.text),
        }
    }
    let [decisions, questions, handoff] = sections;
    note.decisions = lines::items(&decisions);
    note.questions = lines::items(&questions);
    let handoff: Vec<&str> = handoff.iter().map(|line: &Line<'_>| line.text).collect();
    note.handoff = handoff.join("\n").trim().to_owned();
    note.content = content.join("\n").trim().to_owned();
    if let Some(title) = note.front.title.take() {
        // With two titles, the heading is part of the body.
        let heading = note.title.replace(title);
        if let Some(heading) = heading.filter(|heading| Some(heading) != note.title.as_ref()) {
            note.content = format!("# {heading}\n\n{}", note.content).trim_end().to_owned();
        }
    }
    note
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTE: &str = "\
---
type: milestone
tags: [lexer, \"a, b\"]
significance: 7
colour: blue
---
# Ported the lexer

Every token kind is there.

## Decisions
- Keep the old names,
  also where they are odd
- [x] No regular expressions
1. Errors carry a span

Also: tabs count as one.

### Why
- nobody counts columns

## Details
```sh
# not a heading
- not an item
```

## Open questions:
* Is UTF-16 needed?

## Handoff
Start with `src/parse.rs`.

- then the tests
";

    #[test]
    fn ap_31_a_note_becomes_the_fields_of_a_package() {
        let note = read(NOTE);
        assert_eq!(note.title.as_deref(), Some("Ported the lexer"));
        let decisions = [
            "Keep the old names, also where they are odd",
            "No regular expressions",
            "Errors carry a span",
            "Also: tabs count as one.",
            "Why",
            "nobody counts columns",
        ];
        assert_eq!(note.decisions, decisions);
        assert_eq!(note.questions, ["Is UTF-16 needed?"]);
        assert_eq!(note.handoff, "Start with `src/parse.rs`.\n\n- then the tests");
        let content = "Every token kind is there.\n\n## Details\n```sh\n# not a heading\n- not an item\n```";
        assert_eq!(note.content, content);
        assert_eq!((note.front.tags.len(), note.front.significance.as_deref()), (2, Some("7")));
        assert_eq!(
            (note.front.kind.as_deref(), &note.front.unknown),
            (Some("milestone"), &vec!["colour".into()])
        );
    }

    #[test]
    fn what_has_no_structure_is_content_alone() {
        let note = read("just a line\r\n\r\nand another\n");
        assert_eq!((note.title, note.content.as_str()), (None, "just a line\n\nand another"));
        assert_eq!(read(""), Note::default());
        assert_eq!(read("---\nnever: closed\n").content, "---\nnever: closed");
    }

    #[test]
    fn a_title_of_the_front_matter_wins_and_the_heading_stays() {
        let note = read("---\ntitle: \"A: b\"\n---\n# Heading\ntext");
        assert_eq!((note.title.as_deref(), note.content.as_str()), (Some("A: b"), "# Heading\n\ntext"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_nothing_of_the_body_is_made_up(text in "(---\n)?([#*\\-`~ a:\\[\\]0-9.\"\\\\\n\r\t\u{e9}]|## Decisions\n|## Handoff\n|---\n){0,60}") {
            let note = read(&text);
            for piece in note.decisions.iter().chain(&note.questions) {
                prop_assert!(!piece.is_empty());
                for fragment in piece.split_whitespace() {
                    prop_assert!(text.contains(fragment), "{fragment:?}");
                }
            }
            for line in note.content.lines().chain(note.handoff.lines()) {
                prop_assert!(text.contains(line), "{line:?}");
            }
        }

        #[test]
        fn any_unicode_is_read(text in any::<String>()) {
            read(&text);
        }
    }
}
