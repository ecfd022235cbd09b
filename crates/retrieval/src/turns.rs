//! Splits a conversation that is stored as text into its turns.
//! Must not know: the content of a turn.

use std::collections::HashMap;

/// Who speaks in the conversations of models.
const ROLES: [&str; 12] = [
    "agent",
    "ai",
    "assistant",
    "bot",
    "chatgpt",
    "claude",
    "developer",
    "human",
    "me",
    "model",
    "system",
    "user",
];
/// What may stand before a speaker: headings, lists, quotations, brackets, emphasis.
const MARKS: [char; 13] = ['#', '>', '-', '*', '+', '_', '[', '(', '<', '`', ' ', '\t', '•'];
/// What may stand between a speaker and the colon behind.
const CLOSING: [char; 8] = ['*', '_', ']', ')', '>', '`', ' ', '\t'];
/// Longest name of a speaker, in bytes.
const NAME_OCTETS_MAX: usize = 40;
/// Most words of a name.
const NAME_WORDS_MAX: usize = 3;
/// Names that are no roles are speakers where each of two or more begins so many lines.
const LINES_MIN: usize = 2;

/// The turns of a conversation, with what stands before the first; one part where a text is none.
pub(crate) fn turns(text: &str) -> Vec<&str> {
    let others = speakers(text);
    let (mut found, mut begin, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let begins = speaker(line).is_some_and(|(name, is_role)| is_role || others.contains(&name));
        if begins && at > begin {
            found.push(&text[begin..at]);
            begin = at;
        }
        at += line.len();
    }
    found.push(&text[begin..]);
    found.retain(|turn| !turn.trim().is_empty());
    found
}

/// The names that speak beside the roles.
fn speakers(text: &str) -> Vec<&str> {
    let mut lines = HashMap::<&str, usize>::new();
    for (name, is_role) in text.lines().filter_map(speaker) {
        if !is_role {
            *lines.entry(name).or_default() += 1;
        }
    }
    lines.retain(|_, count| *count >= LINES_MIN);
    if lines.len() < 2 { Vec::new() } else { lines.into_keys().collect() }
}

/// Who speaks from this line on, if it says so, and whether that is a role.
fn speaker(line: &str) -> Option<(&str, bool)> {
    let named = line.trim_start_matches(MARKS);
    let is_marked = named.trim_start().len() < line.trim_start().len();
    let end = named.find(|c: char| !c.is_alphanumeric()).unwrap_or(named.len());
    let word = &named[..end];
    if ROLES.iter().any(|role| word.eq_ignore_ascii_case(role)) {
        let behind = without_note(named[end..].trim_start_matches(CLOSING)).trim_start_matches(CLOSING);
        let speaks = behind.starts_with(':') || (is_marked && behind.trim().is_empty());
        return speaks.then_some((word, true));
    }
    let (name, _) = named.split_once(':')?;
    let name = name.trim_end_matches(CLOSING);
    let is_name = name.starts_with(char::is_uppercase)
        && name.len() <= NAME_OCTETS_MAX
        && name.split_whitespace().count() <= NAME_WORDS_MAX
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | '_'));
    is_name.then_some((name, false))
}

/// A time or the like in brackets behind a name is no part of it.
fn without_note(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    inner
        .or_else(|| text.strip_prefix('[').and_then(|rest| rest.split_once(']')))
        .map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_begin_where_somebody_speaks_in_many_notations() {
        for text in [
            "user: one\nmore\nassistant: two\nuser: three\n",
            "**User:** one\n\nmore\n\n**Assistant**: two\n\n**User:** three",
            "### User\none\n\n### Assistant\n\ntwo\n### User (10:04)\nthree",
            "- Human: one\n- AI: two\n- Human: three",
            "[user]: one\n[assistant]: two\n[user] (2025-01-06): three",
            "Caroline: one\nMel B.: two\nCaroline: three, see: this\nMel B.: four",
        ] {
            let count = if text.contains("four") { 4 } else { 3 };
            let found = turns(text);
            assert_eq!(found.len(), count, "{text}: {found:?}");
            assert_eq!(found.concat(), text);
        }
    }

    #[test]
    fn what_nobody_speaks_is_one_part() {
        for text in [
            "Note: one\nNote: two\nNote: three",
            "Users: many\nThe user said so: yes",
            "Goal: one\nState: two\nNext: three",
            "user interface\n\nassistant needed",
            "12:30 lunch\n12:30 dinner",
        ] {
            assert_eq!(turns(text), [text]);
        }
        assert!(turns(" \n").is_empty());
        assert_eq!(turns("Before.\nuser: one").len(), 2);
    }
}
