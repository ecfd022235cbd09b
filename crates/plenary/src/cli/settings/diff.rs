//! What a change does to a text, line by line, for people.
//! Must not know: files.

/// Lines shown around what changed.
const AROUND: usize = 2;
/// Beyond so many pairs of lines the middle is shown as replaced whole.
const PAIRS_MAX: usize = 1 << 22;

/// One line of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// Lines that go begin with `-`, lines that come with `+`, the rest with a blank; far from changes `…`.
pub(crate) fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = changes(&old, &new);
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, Line::Same(_)))
        .map(|(at, _)| at)
        .collect();
    let near = |at: usize| {
        let behind = changed.partition_point(|place| *place + AROUND < at);
        changed.get(behind).is_some_and(|place| place.abs_diff(at) <= AROUND)
    };
    let mut shown = Vec::new();
    let mut skipped = false;
    for (at, line) in lines.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            shown.push("…".to_owned());
        }
        shown.push(match line {
            Line::Same(text) => format!("  {text}"),
            Line::Gone(text) => format!("- {text}"),
            Line::New(text) => format!("+ {text}"),
        });
    }
    shown
}

fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<Line<'a>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(a, b));
    lines.extend(old[old.len() - tail..].iter().map(|line| Line::Same(line)));
    lines
}

/// The longest common subsequence stays.
fn middle<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<Line<'a>> {
    if a.len().saturating_mul(b.len()) > PAIRS_MAX {
        return a.iter().map(|line| Line::Gone(line)).chain(b.iter().map(|line| Line::New(line))).collect();
    }
    let width = b.len() + 1;
    let mut length = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i * width + j] = if a[i] == b[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push(Line::Same(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && length[(i + 1) * width + j] >= length[i * width + j + 1]) {
            lines.push(Line::Gone(a[i]));
            i += 1;
        } else {
            lines.push(Line::New(b[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_shown_with_its_surroundings() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj";
        let shown = diff(before, after);
        assert_eq!(shown, ["…", "  c", "  d", "- e", "+ E", "  f", "  g", "  h", "  i", "+ j"]);
        assert_eq!(diff("", "x\ny"), ["+ x", "+ y"]);
        assert!(diff(before, before).is_empty());
    }

    #[test]
    fn past_the_limit_the_middle_is_replaced_whole() {
        let many = |word: &str| (0..2100).map(|n| format!("{word}{n}\n")).collect::<String>() + "same";
        let shown = diff(&many("a"), &many("b"));
        assert_eq!(shown.iter().filter(|line| line.starts_with('-')).count(), 2100);
        assert_eq!(shown.last().map(String::as_str), Some("  same"));
    }
}
