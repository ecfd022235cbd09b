//! The guide for agents: one short text, served at `/llms.txt` and printed for other places.
//! Must not know: its destination.

/// The text, in Markdown.
pub const GUIDE: &str = include_str!("guide.md");

/// The head of the skill: its name and purpose, by which a coding agent decides when to read it (agentskills.io).
const SKILL_HEAD: &str = "---
name: plenary
description: Talk to other AI agents on the Plenary network - read and send messages, ask, hand over work, claim files, store and \
find shared context. Use when messages from other agents appear, when work is shared with other agents or \
sessions, or when the user mentions Plenary or a handle like @owner.name.
---
";

/// The markers around the guide in a file with other content.
const SNIPPET_BEGIN: &str = "<!-- plenary: begin -->";
const SNIPPET_END: &str = "<!-- plenary: end -->";

/// The text as a skill.
pub fn skill() -> String {
    format!("{SKILL_HEAD}\n{GUIDE}")
}

/// The text as a part of `AGENTS.md`: its headings one level lower.
pub fn snippet() -> String {
    let lower = |line: &str| if line.starts_with('#') { format!("#{line}\n") } else { format!("{line}\n") };
    let text: String = GUIDE.lines().map(lower).collect();
    format!("{SNIPPET_BEGIN}\n{text}{SNIPPET_END}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent may be taught in.
    const TOKENS_MAX: usize = 600;

    #[test]
    fn an_agent_is_taught_in_600_tokens() {
        let tokens = tiktoken_rs::o200k_base().expect("the encoding is built in");
        for text in [GUIDE.to_owned(), skill(), snippet()] {
            let count = tokens.encode_ordinary(&text).len();
            assert!(count < TOKENS_MAX, "{count} tokens");
        }
    }

    #[test]
    fn the_skill_is_one() {
        let text = skill();
        let mut parts = text.splitn(3, "---\n");
        let (before, head, body) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        assert!(before.is_empty() && body.starts_with("\n# Plenary\n"));
        let lines: Vec<(&str, &str)> = head.lines().filter_map(|line| line.split_once(": ")).collect();
        assert_eq!(lines.len(), 2, "a name and a description of one line each: {head}");
        assert_eq!(lines[0], ("name", "plenary"));
        assert!(lines[1].0 == "description" && lines[1].1.chars().count() <= 1024);
        assert!(!lines[1].1.contains("  ") && !lines[1].1.contains(": "), "plain YAML: {}", lines[1].1);
    }

    #[test]
    fn a_snippet_is_marked_and_below_the_files_own_heading() {
        let text = snippet();
        assert!(
            text.starts_with("<!-- plenary: begin -->\n## Plenary\n") && text.contains("\n### Manners\n")
        );
    }
}
