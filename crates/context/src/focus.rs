//! Snippets of packages that have to do with a focus: the more of its words a text has, the nearer.
//! Must not know: where packages are kept. This is no search: it looks at the packages that it is given.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::limits::SNIPPET_CHARACTERS;

/// A part of a package that has to do with the focus (wire.md 0.1).
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
    /// How many of the focus's words it has, from 0 to 1.
    pub score: f64,
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The parts of a package that have a word of the focus.
#[must_use]
pub fn find(focus: &str, package: &str) -> Vec<Snippet> {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let wanted = words(focus);
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let texts = |name: &str| {
        let items = package[name].as_array().map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let about = [text("title"), text("description")].join("\n");
    let parts = [("context_md", about.trim().to_owned()), ("context_md", text("content_md"))]
        .into_iter()
        .chain(texts("decisions_made").into_iter().map(|text| ("decision", text)))
        .chain(texts("open_questions").into_iter().map(|text| ("question", text)))
        .chain([("handoff", text("handoff_note"))]);
    let mut found = Vec::new();
    for (content_type, content) in parts {
        let has = words(&content).intersection(&wanted).count();
        if has > 0 {
            found.push(Snippet {
                package_id: text("package_id"),
                project_id: text("project_id"),
                content_type,
                content: content.chars().take(SNIPPET_CHARACTERS).collect(),
                score: ratio(has, wanted.len()),
            });
        }
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "word counts are small")]
fn ratio(has: usize, of: usize) -> f64 {
    has as f64 / of as f64
}

/// The nearest first, and no more than so many. Of two that are as near the one that came first stays first.
pub fn rank(snippets: &mut Vec<Snippet>, max: usize) {
    snippets.sort_by(|a, b| b.score.total_cmp(&a.score));
    snippets.truncate(max);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ap_62_what_has_more_of_the_words_comes_first() {
        let package = json!({
            "package_id": "a", "project_id": "p", "title": "Login", "description": "bug",
            "decisions_made": ["Fix the LOGIN bug", "ship"], "open_questions": ["Why login?"], "handoff_note": "none"
        });
        let mut found = find("login bug", &package.to_string());
        rank(&mut found, 10);
        let seen: Vec<_> = found.iter().map(|snippet| (snippet.content_type, snippet.score)).collect();
        assert_eq!(seen, [("context_md", 1.0), ("decision", 1.0), ("question", 0.5)]);
        rank(&mut found, 1);
        assert_eq!(found.len(), 1);
        assert!(find("", &package.to_string()).is_empty());
    }
}
