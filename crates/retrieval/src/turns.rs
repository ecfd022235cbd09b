//! Splits a conversation that is stored as text into its turns.
//! Must not know: the content of a turn.

use std::collections::HashMap;

/// The usual names of speakers in conversations with models.
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
/// Characters that may precede a speaker: headings, lists, quotations, brackets, emphasis.
const MARKS: [char; 13] = ['#', '>', '-', '*', '+', '_', '[', '(', '<', '`', ' ', '\t', '•'];
/// Characters that may stand between a speaker and the colon.
const CLOSING: [char; 8] = ['*', '_', ']', ')', '>', '`', ' ', '\t'];
/// Longest name of a speaker, in bytes.
const NAME_BYTES_MAX: usize = 40;
/// Most words of a name.
const NAME_WORDS_MAX: usize = 3;
/// A name that is not a role is a speaker if it begins at least this many lines, and another name does too.
const LINES_MIN: usize = 2;

/// The turns of a conversation, preceded by the text before the first; a single part if the text is not a
/// conversation.
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

/// The speakers that are not roles.
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

/// The speaker that begins on this line, if any, and whether it is a role.
fn speaker(line: &str) -> Option<(&str, bool)> {
    let named = line.trim_start_matches(MARKS);
    let is_marked = named.trim_start().len() < line.trim_start().len();
    let end = named.find(|c: char| !c.is_alphanumeric()).unwrap_or(named.len());
    let word = &named[..end];
    if ROLES.iter().any(|role| word.eq_ignore_ascii_case(role)) {
        let after = without_note(named[end..].trim_start_matches(CLOSING)).trim_start_matches(CLOSING);
        let speaks = after.starts_with(':') || (is_marked && after.trim().is_empty());
        return speaks.then_some((word, true));
    }
    let (name, _) = named.split_once(':')?;
    let name = name.trim_end_matches(CLOSING);
    let is_name = name.starts_with(char::is_uppercase)
        && name.len() <= NAME_BYTES_MAX
        && name.split_whitespace().count() <= NAME_WORDS_MAX
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | '_'));
    is_name.then_some((name, false))
}

/// The text after a note in brackets, such as a time, which may follow a name.
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
    fn turns_begin_at_a_speaker_in_many_notations() {
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
    fn a_text_without_speakers_is_one_part() {
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
