//! The session of a first message: its topic if the sender names none, and the key under which parallel first messages create one
//! session. Pure.
//! Must not know: how sessions are found or created.

use crate::{AgentHandle, inbox::CODING_SESSION_TOPIC, json::digest, text};

/// Maximum length of a topic that is taken from a message, in characters.
const OPENING_CHARS_MAX: usize = 80;

/// The key for these recipients and this topic. `earlier` is the newest session of the sender with them, which takes no messages
/// any more. Calls that find the same sessions get the same key.
pub fn first_message_key(to: &[AgentHandle], topic: Option<&str>, earlier: Option<&str>) -> String {
    let mut to: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
    to.sort_unstable();
    to.dedup();
    let text = serde_json::json!([to, topic, earlier]).to_string();
    format!("first-message-{}", hex::encode(digest(text.as_bytes())))
}

/// The beginning of a message, as the topic of a session that is created without one: an invited agent sees only the topic before
/// it joins.
pub fn opening(message: &str) -> Option<String> {
    let line = message.lines().map(one_line).find(|line| !line.is_empty())?;
    let mut opening: String = line.chars().take(OPENING_CHARS_MAX).collect();
    if opening.len() < line.len() {
        opening.push('…');
    }
    Some(opening)
}

/// Whether the topic alone shows that a message without a topic belongs in a session, or does not; `None` if the session's first
/// message decides it.
pub fn takes_untitled(topic: Option<&str>) -> Option<bool> {
    match topic {
        None => Some(true),
        Some(topic) if topic.starts_with(CODING_SESSION_TOPIC) => Some(false),
        Some(_) => None,
    }
}

/// Whether a session with a topic was created without one, for this first message.
pub fn is_untitled(topic: &str, first_message: &str) -> bool {
    opening(first_message).is_some_and(|opening| opening == topic)
}

/// A line without escape sequences of a terminal and other characters that no topic may have.
fn one_line(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line.chars());
    while let Some(character) = rest.next() {
        if character == '\u{1b}' {
            // `ESC [ … m`: the letter ends the sequence.
            rest.by_ref().take_while(|next| !next.is_ascii_alphabetic()).for_each(drop);
        } else {
            text.push(if character.is_control() { ' ' } else { character });
        }
    }
    let hidden: Vec<usize> = text::hidden(&text).map(|(index, _)| index).collect();
    let visible = text.char_indices().filter(|(index, _)| !hidden.contains(index));
    visible.map(|(_, character)| character).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_the_recipients_the_topic_and_the_earlier_session() {
        let handles = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        let key = |to: &[&str], topic, earlier| first_message_key(&handles(to), topic, earlier);
        let one = key(&["@a.b", "@a.c"], Some("x"), None);
        assert_eq!(one, key(&["@a.c", "@a.b", "@a.c"], Some("x"), None));
        for other in [
            key(&["@a.b"], Some("x"), None),
            key(&["@a.b", "@a.c"], None, None),
            key(&["@a.b", "@a.c"], Some("x"), Some("sess_1")),
            key(&["@a.b", "@a.c"], None, Some("x")),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_topic_from_a_message_has_no_character_that_a_topic_may_not_have() {
        for (text, topic) in [
            ("hello", Some("hello")),
            ("\n  a\tb  \nc", Some("a b")),
            ("\u{1b}[01;34mdir\u{1b}[0m", Some("dir")),
            ("\u{feff}\u{202e}hi", Some("hi")),
            ("👩\u{200d}👧 and", Some("👩\u{200d}👧 and")),
            ("\u{1b}[0m\n\u{200b}", None),
        ] {
            let opened = opening(text);
            assert_eq!(opened.as_deref(), topic, "{text:?}");
            assert!(opened.is_none_or(|topic| text::check_line(&topic).is_ok()));
        }
    }

    #[test]
    fn a_session_with_a_topic_of_its_own_takes_no_message_without_one() {
        let long = "word ".repeat(40);
        assert!(is_untitled(&opening(&long).unwrap(), &long));
        assert!(is_untitled("plain", "plain\nand more") && !is_untitled("Topic T", "plain"));
        assert_eq!(takes_untitled(None), Some(true));
        assert_eq!(takes_untitled(Some("coding session 4f1c")), Some(false));
        assert_eq!(takes_untitled(Some("Topic T")), None, "the first message decides");
    }
}
