//! The encoding of free text in names of streams and in keys of indexes: without a `/`, and bounded.
//! Must not know: what the text names.

use std::fmt::Write as _;

use plenary_kernel::{OwnerName, json::digest};

use crate::limits::KEY_PART_BYTES_MAX;

/// Encodes a text as one part of a key. Different texts have different parts: a text that is too long becomes `~` and
/// its SHA-256, and no other part begins with `~`.
pub fn part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
        if part.len() > KEY_PART_BYTES_MAX {
            return format!("~{}", hex::encode(digest(text.as_bytes())));
        }
    }
    part
}

/// The text of a part; the part itself if its text was too long.
pub(crate) fn text(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| behind.get(..2).and_then(|digits| hex::decode(digits).ok()));
        match escaped.flatten() {
            Some(byte) => {
                bytes.extend(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Separates a project's id from its owner in a key; no part of a key contains it.
pub const OF_OWNER: char = ':';

/// The key of a project: the encoded id, then the owner. The keys of projects from before ids were a namespace of their
/// owner are the encoded id alone, which no other key can equal.
pub fn project(owner: &OwnerName, id: &str) -> String {
    format!("{}{OF_OWNER}{owner}", part(id))
}

/// The owner in the key of a project; `None` for a key from before ids were a namespace.
pub(crate) fn owner(project: &str) -> Option<OwnerName> {
    project.rsplit_once(OF_OWNER)?.1.parse().ok()
}

/// Joins parts to a key.
pub fn join(parts: &[&str]) -> String {
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_20_any_text_is_a_part_of_its_own() {
        assert_eq!(part("pkg_1a.b-C"), "pkg_1a.b-C");
        assert_eq!(part("a/b c~é"), "a%2Fb%20c%7E%C3%A9");
        assert_eq!(part("a%2Fb"), "a%252Fb");
        assert_eq!(part(""), "");
        for id in ["pkg_1a.b-C", "a/b c~é", "a%2Fb", "", "%"] {
            assert_eq!(text(&part(id)), id);
        }
        let (long, longer) = ("x".repeat(KEY_PART_BYTES_MAX + 1), "x".repeat(KEY_PART_BYTES_MAX + 2));
        assert_eq!(part(&long).len(), 65);
        assert!(part(&long).starts_with('~'));
        assert_ne!(part(&long), part(&longer));
        assert_eq!(part(&"x".repeat(KEY_PART_BYTES_MAX)).len(), KEY_PART_BYTES_MAX);
    }

    #[test]
    fn ap_1_a_project_of_an_owner_has_a_key_that_no_id_alone_has() {
        let nick = "nick".parse().unwrap();
        assert_eq!(project(&nick, "parser"), "parser:nick");
        assert_eq!(project(&nick, "urn:x"), "urn%3Ax:nick");
        assert_eq!(owner(&project(&nick, "urn:x")), Some(nick.clone()));
        assert_eq!(owner(&part("urn:x")), None);
        assert_ne!(part("parser:nick"), project(&nick, "parser"));
    }
}
