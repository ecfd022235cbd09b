//! The difference of two texts, line by line, for people.
//! Must not know: files.

use similar::{ChangeTag, TextDiff};

/// Number of unchanged lines shown around a change.
const AROUND: usize = 2;

/// Removed lines begin with `-`, added lines with `+`, others with a blank; `…` replaces lines far from changes.
pub(crate) fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(AROUND) {
        if group.first().is_some_and(|first| first.old_range().start > 0) {
            lines.push("…".to_owned());
        }
        for change in group.iter().flat_map(|part| diff.iter_changes(part)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("{sign} {}", change.value()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_their_context() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj";
        let lines = diff(before, after);
        assert_eq!(lines, ["…", "  c", "  d", "- e", "+ E", "  f", "  g", "  h", "  i", "+ j"]);
        assert_eq!(diff("", "x\ny"), ["+ x", "+ y"]);
        assert!(diff(before, before).is_empty());
    }

    #[test]
    fn a_middle_with_nothing_in_common_is_replaced_whole() {
        let many = |word: &str| (0..2100).map(|n| format!("{word}{n}\n")).collect::<String>() + "same";
        let lines = diff(&many("a"), &many("b"));
        assert_eq!(lines.iter().filter(|line| line.starts_with('-')).count(), 2100);
        assert_eq!(lines.last().map(String::as_str), Some("  same"));
    }
}
