//! The cursors of lists: writes the end of a page, and rejects a text that is not a cursor of the list.
//! Must not know: the listed objects.

use crate::{index::BESIDE, key::OF_OWNER, moment::Moment};

/// Whether a text has the form of a part of a key, as `key::part` writes it.
fn is_part(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.%~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Whether it is a moment in the form of keys.
fn is_moment(text: &str) -> bool {
    Moment::parse(&format!("{text}Z")).is_some_and(|moment| moment.as_str() == text)
}

/// A cursor of packages or sessions: `<moment>/<id>`.
pub(crate) fn is_by_time(cursor: &str) -> bool {
    cursor.split_once('/').is_some_and(|(at, id)| is_moment(at) && is_part(id))
}

/// A cursor of projects: the key of one.
pub(crate) fn is_of_projects(cursor: &str) -> bool {
    let (id, owner) = cursor.split_once(OF_OWNER).unwrap_or((cursor, "-"));
    is_part(id) && is_part(owner)
}

/// A cursor of current facts: `<subject>/<predicate>`.
pub(crate) fn is_of_current_facts(cursor: &str) -> bool {
    cursor.split_once('/').is_some_and(|(subject, predicate)| is_part(subject) && is_part(predicate))
}

/// A cursor of facts that may have ended: `<subject>/<predicate>/<moment>`, optionally with `/end`, or with `~<id>` if
/// another fact outranks it.
pub(crate) fn is_of_all_facts(cursor: &str) -> bool {
    let fact = cursor.strip_suffix("/end").unwrap_or(cursor);
    let is_place = |place: &str| match place.split_once(BESIDE) {
        Some((since, id)) => is_moment(since) && is_part(id),
        None => is_moment(place),
    };
    fact.rsplit_once('/').is_some_and(|(of, place)| is_of_current_facts(of) && is_place(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_told_from_other_text() {
        let at = "2026-04-18T20:00:00.000000000";
        let (by_time, fact) = (format!("{at}/pkg%2F1"), format!("lexer/status/{at}"));
        assert!(is_by_time(&by_time) && is_of_all_facts(&fact) && is_of_all_facts(&format!("{fact}/end")));
        assert!(is_of_all_facts(&format!("{fact}~fact_1")));
        assert!(!is_of_all_facts(&format!("{fact}~")) && !is_of_all_facts("lexer/status/zzz~fact_1"));
        assert!(is_of_current_facts("lexer/status") && is_of_current_facts("~a1/%C3%A9"));
        for text in ["", "zzz", "/", "a/", "/b", "a b/c", &format!("{at}/"), "2026-04-18T20:00:00Z/p", "é/p"]
        {
            assert!(!is_by_time(text) && !is_of_all_facts(text), "{text}");
        }
        for text in ["", "zzz", "/", "a/", "/b", "a b/c", &fact] {
            assert!(!is_of_current_facts(text), "{text}");
        }
        assert!(is_of_projects("a%3Ab:nick") && is_of_projects("legacy"));
        for text in ["", ":nick", "a:", "a/b", "a b"] {
            assert!(!is_of_projects(text), "{text}");
        }
        assert!(!is_of_all_facts("lexer/status"));
    }
}
