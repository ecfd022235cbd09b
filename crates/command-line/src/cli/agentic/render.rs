//! Packages, facts and questions in Markdown, for people and agents; foreign text is escaped.
//! Must not know: their source.

use plenary_client::context::{Creator, Deliverable, Fact, OpenQuestion, Package};

use crate::out::{Out, clean, clean_block, second};

/// The indent of an item's second and later lines.
const INDENT: &str = "  ";

/// Notes that the list continues after this cursor.
pub(super) fn more(out: &Out, cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        out.note(&format!("for more: --cursor '{}'", clean(cursor)));
    }
}

/// An actor and its session.
pub(super) fn actor(creator: &Creator) -> String {
    format!("{} ({})", clean(&creator.id), clean(&creator.kind))
}

/// ` by human`; empty for `none`, because a package may await review without naming who reviews it.
pub(super) fn reviewer(review_type: &str) -> String {
    if review_type == "none" { String::new() } else { format!(" by {}", clean(review_type)) }
}

/// A heading over items; empty without items.
pub(super) fn list<'a>(heading: &str, items: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let items: Vec<String> =
        items.into_iter().map(|item| format!("- {}", clean_block(item.trim(), INDENT))).collect();
    if items.is_empty() { Vec::new() } else { section(heading, items) }
}

/// A heading and its lines, after a blank line.
pub(super) fn section(heading: &str, lines: Vec<String>) -> Vec<String> {
    let mut all = vec![String::new(), format!("## {heading}"), String::new()];
    all.extend(lines);
    all
}

/// The lines of a text, each cleaned; its headings stay below `##`.
fn prose(text: &str) -> Vec<String> {
    text.trim().lines().map(|line| clean(line.trim_end_matches('\r')).into_owned()).collect()
}

/// A package as one item: its title, and the information that the next reader needs.
pub(super) fn brief(package: &Package) -> Vec<String> {
    let state = match package.status.as_str() {
        "complete" => String::new(),
        "awaiting_review" => format!(", awaits review{}", reviewer(&package.review_type)),
        other => format!(", {}", clean(other)),
    };
    let kind = match package.package_type.as_str() {
        "standard" => String::new(),
        other => format!("{}, ", clean(other)),
    };
    let mut lines = vec![format!(
        "- **{}** ({kind}{}, {}{state}) `{}`",
        clean(&package.title),
        second(&package.created_at),
        clean(&package.created_by.id),
        clean(&package.package_id),
    )];
    let below = |mark: &str, text: &str| format!("  - {mark}: {}", clean_block(text.trim(), "    "));
    if !package.description.trim().is_empty() {
        lines.push(format!("  {}", clean_block(package.description.trim(), INDENT)));
    }
    lines.extend(package.decisions_made.iter().map(|text| below("decided", text)));
    lines.extend(package.open_questions.iter().map(|text| below("open", text)));
    if !package.handoff_note.trim().is_empty() {
        let next = package.estimated_next_actor.as_deref().map(|actor| format!(" to {}", clean(actor)));
        lines.push(below(&format!("handoff{}", next.unwrap_or_default()), &package.handoff_note));
    }
    lines
}

/// A package with all its members.
pub(super) fn whole(package: &Package) -> Vec<String> {
    let mut lines = vec![format!("# {}", clean(&package.title)), String::new()];
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("- {name}: {value}"));
        }
    };
    fact("package", &clean(&package.package_id));
    fact("project", &clean(&package.project_id));
    fact("type", &clean(&package.package_type));
    fact("status", &clean(&package.status));
    if package.review_type != "none" {
        fact("review by", &clean(&package.review_type));
    }
    fact("created", &clean(&package.created_at));
    fact("by", &actor(&package.created_by));
    fact("session", &clean(package.created_by.session_id.as_deref().unwrap_or_default()));
    fact("commit", &clean(package.created_by.git_commit.as_deref().unwrap_or_default()));
    fact("parent", &clean(package.parent_package_id.as_deref().unwrap_or_default()));
    fact("significance", &package.significance.map(|n| n.to_string()).unwrap_or_default());
    fact("topic", &clean(package.topic.as_deref().unwrap_or_default()));
    fact("tags", &clean(&package.tags.join(", ")));
    fact("hash", &clean(package.content_hash.as_deref().unwrap_or_default()));
    if !package.description.trim().is_empty() {
        lines.push(String::new());
        lines.extend(prose(&package.description));
    }
    lines.extend(list("Decisions", package.decisions_made.iter().map(String::as_str)));
    lines.extend(list("Open questions", package.open_questions.iter().map(String::as_str)));
    if !package.handoff_note.trim().is_empty() {
        let next = package.estimated_next_actor.as_deref().map(|actor| format!(", to {}", clean(actor)));
        lines.extend(section(&format!("Handoff{}", next.unwrap_or_default()), prose(&package.handoff_note)));
    }
    let delivered: Vec<String> = package.deliverables.iter().map(deliverable).collect();
    if !delivered.is_empty() {
        lines.extend(section("Deliverables", delivered));
    }
    if !package.content_md.trim().is_empty() {
        lines.push(String::new());
        lines.extend(prose(&package.content_md));
    }
    lines
}

fn deliverable(item: &Deliverable) -> String {
    let size = item.size_bytes.map(|size| format!(", {size} bytes")).unwrap_or_default();
    let hash = item.hash.as_deref().map(|hash| format!(", {}", clean(hash))).unwrap_or_default();
    format!("- {} ({}{size}{hash})", clean(&item.path), clean(&item.kind))
}

/// A fact in one item.
pub(super) fn fact(fact: &Fact) -> String {
    let doubt = fact.confidence.filter(|sure| *sure < 1.0).map(|sure| format!(", confidence {sure}"));
    format!(
        "- {} {}: **{}** (since {}{})",
        clean(&fact.subject),
        clean(&fact.predicate),
        clean_block(&fact.value, INDENT),
        second(&fact.valid_from),
        doubt.unwrap_or_default()
    )
}

/// An open question in one item.
pub(super) fn question(open: &OpenQuestion) -> String {
    format!(
        "- {} ({}, `{}`)",
        clean_block(open.question.trim(), INDENT),
        second(&open.created_at),
        clean(&open.package_id)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_package_is_printed_whole_or_in_brief_and_forges_no_line() {
        let package: Package = serde_json::from_value(json!({
            "package_id": "pkg_1", "project_id": "p", "title": "T\u{1b}[2J\n# forged", "status": "awaiting_review",
            "package_type": "decision", "review_type": "human", "created_at": "2026-04-18T20:00:00Z",
            "created_by": {"id": "@a.b", "type": "agent"}, "decisions_made": ["one\n## forged"], "handoff_note": "go\non",
            "open_questions": ["why?"], "estimated_next_actor": "human", "content_md": "body\u{9b}",
            "deliverables": [{"path": "a.md", "type": "md", "size_bytes": 3}], "significance": 7.0,
        }))
        .unwrap();
        let brief = brief(&package).join("\n");
        let head = "- **T\\u{1b}[2J\\n# forged** (decision, 2026-04-18 20:00:00Z, @a.b, awaits review by human) `pkg_1`";
        let rest = "  - decided: one\n    ## forged\n  - open: why?\n  - handoff to human: go\n    on";
        assert_eq!(brief, format!("{head}\n{rest}"));
        let of_anybody = Package { review_type: "none".into(), ..package.clone() };
        assert!(super::brief(&of_anybody)[0].ends_with("@a.b, awaits review) `pkg_1`"));
        let whole = whole(&package).join("\n");
        for piece in [
            "# T\\u{1b}",
            "- significance: 7\n",
            "## Decisions\n\n- one\n  ## forged",
            "body\\u{9b}",
            "- a.md (md, 3 bytes)",
        ] {
            assert!(whole.contains(piece), "{piece}: {whole}");
        }
    }
}
