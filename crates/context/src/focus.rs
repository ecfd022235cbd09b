//! Snippets of packages for a focus: a text with more of its words ranks higher.
//! Must not know: where packages are stored, or how they are found.

use plenary_retrieval::{Kind, Query, Section, passages};
use schemars::JsonSchema;
use serde::Serialize;

use crate::limits::{SNIPPET_CHARACTERS, SNIPPETS_OF_PACKAGE_MAX};

/// A part of a package that matches the focus (wire.md 0.1).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Snippet {
    /// The package.
    pub package_id: String,
    /// Its project.
    pub project_id: String,
    /// `context_md`, `decision`, `question` or `handoff`.
    pub content_type: &'static str,
    /// The text, shortened.
    pub content: String,
    /// The score, from 0 to 1: the share of the focus's words that it contains, or the similarity in meaning.
    pub score: f64,
}

const fn content_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Title | Kind::Body => "context_md",
        Kind::Decision => "decision",
        Kind::Question => "question",
        Kind::Handoff => "handoff",
    }
}

/// The passages of a package that have a word of the focus, best first.
pub fn find(focus: &Query, (package_id, project_id): (&str, &str), sections: &[Section]) -> Vec<Snippet> {
    let mut found = Vec::new();
    for section in sections {
        for passage in passages(&section.text, SNIPPET_CHARACTERS) {
            let score = focus.coverage(passage);
            if score > 0.0 {
                found.push(snippet((package_id, project_id), section.kind, passage, score));
            }
        }
    }
    rank(&mut found, SNIPPETS_OF_PACKAGE_MAX);
    found
}

/// A text of a package as a snippet, shortened.
pub fn snippet((package_id, project_id): (&str, &str), kind: Kind, text: &str, score: f64) -> Snippet {
    Snippet {
        package_id: package_id.to_owned(),
        project_id: project_id.to_owned(),
        content_type: content_type(kind),
        content: text.chars().take(SNIPPET_CHARACTERS).collect(),
        score,
    }
}

impl Snippet {
    /// Whether both are of the same member of a package and one text contains the other.
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.package_id, &self.project_id, self.content_type)
            == (&other.package_id, &other.project_id, other.content_type)
            && (self.content.contains(&other.content) || other.content.contains(&self.content))
    }
}

/// Sorts by descending score and cuts to a limit. Equal scores keep their order.
pub fn rank(snippets: &mut Vec<Snippet>, max: usize) {
    snippets.sort_by(|a, b| b.score.total_cmp(&a.score));
    snippets.truncate(max);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(kind: Kind, text: &str) -> Section {
        Section { kind, text: text.to_owned() }
    }

    #[test]
    fn ap_62_what_has_more_of_the_words_comes_first() {
        let sections = [
            section(Kind::Title, "Login"),
            section(Kind::Body, "bug"),
            section(Kind::Decision, "Fixed the LOGIN bugs"),
            section(Kind::Decision, "ship"),
            section(Kind::Question, "Why login?"),
        ];
        let focus = Query::read("login bug").unwrap();
        let found = find(&focus, ("a", "p"), &sections);
        let seen: Vec<_> = found.iter().map(|snippet| (snippet.content_type, snippet.score)).collect();
        assert_eq!(seen, [("decision", 1.0), ("context_md", 0.5), ("context_md", 0.5), ("question", 0.5)]);
        let mut ranked = found;
        rank(&mut ranked, 1);
        assert_eq!(ranked.len(), 1);
    }

    #[test]
    fn a_long_text_gives_its_best_passages() {
        let filler = "nothing of it\n".repeat(100);
        let text = format!("{filler}the login bug\n{filler}a login\n{filler}");
        let found = find(&Query::read("login bug").unwrap(), ("a", "p"), &[section(Kind::Body, &text)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].content.contains("the login bug") && found[1].content.contains("a login"));
        assert!(found.iter().all(|snippet| snippet.content.chars().count() <= SNIPPET_CHARACTERS));
    }
}
