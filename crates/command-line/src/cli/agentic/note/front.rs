//! Front matter: `key: value` lines, lists as `[a, b]` or on separate lines, between two lines of `---`.
//! Must not know: the rest of YAML; unknown syntax is text.

/// The values of a note's front matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Front {
    pub(in super::super) title: Option<String>,
    pub(in super::super) description: Option<String>,
    /// `type`
    pub(in super::super) kind: Option<String>,
    pub(in super::super) status: Option<String>,
    pub(in super::super) review: Option<String>,
    pub(in super::super) significance: Option<String>,
    pub(in super::super) next: Option<String>,
    pub(in super::super) topic: Option<String>,
    pub(in super::super) parent: Option<String>,
    pub(in super::super) tags: Vec<String>,
    pub(in super::super) deliverables: Vec<String>,
    /// Unknown keys.
    pub(in super::super) unknown: Vec<String>,
}

/// The front matter and the text after it; without front matter, all is text.
pub(super) fn split(text: &str) -> (Front, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (Front::default(), text);
    };
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return (read(&rest[..length]), &rest[length + line.len()..]);
        }
        length += line.len();
    }
    (Front::default(), text)
}

fn read(block: &str) -> Front {
    let mut front = Front::default();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let is_comment = line.trim_start().starts_with('#');
        let Some((key, value)) = line.split_once(':').filter(|_| !is_comment) else { continue };
        let mut values = listed(value);
        while let Some(item) = lines.peek().and_then(|line| line.trim_start().strip_prefix("- ")) {
            values.extend(plain(item));
            lines.next();
        }
        front.put(key.trim(), values, value);
    }
    front
}

impl Front {
    fn put(&mut self, key: &str, values: Vec<String>, line: &str) {
        let one = match key {
            "tags" => return self.tags.extend(values),
            "deliverables" => return self.deliverables.extend(values),
            "title" => &mut self.title,
            "description" => &mut self.description,
            "type" | "package_type" => &mut self.kind,
            "status" => &mut self.status,
            "review" | "review_type" => &mut self.review,
            "significance" => &mut self.significance,
            "next" | "estimated_next_actor" => &mut self.next,
            "topic" => &mut self.topic,
            "parent" | "parent_package_id" => &mut self.parent,
            _ => return self.unknown.push(key.to_owned()),
        };
        *one = plain(line);
    }
}

/// `[a, "b, c"]`, or a single value.
fn listed(value: &str) -> Vec<String> {
    let value = value.trim();
    let Some(inner) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return plain(value).into_iter().collect();
    };
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    for c in inner.chars() {
        match (quote, c) {
            (None, ',') => parts.push(std::mem::take(&mut part)),
            (None, '"' | '\'') => {
                quote = Some(c);
                part.push(c);
            }
            (Some(open), c) if c == open => {
                quote = None;
                part.push(c);
            }
            (_, c) => part.push(c),
        }
    }
    parts.push(part);
    parts.iter().filter_map(|part| plain(part)).collect()
}

/// A value without its quotes; `None` if it is empty.
fn plain(value: &str) -> Option<String> {
    let value = value.trim();
    let quoted = |mark| value.strip_prefix(mark).and_then(|rest: &str| rest.strip_suffix(mark));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_one_line_and_in_several() {
        let (front, rest) =
            split("---\r\ntags:\n  - a\n  - 'b c'\n# x: y\ndeliverables: docs/a.md\n...\nbody");
        assert_eq!(
            (front.tags, front.deliverables, rest),
            (vec!["a".into(), "b c".into()], vec!["docs/a.md".into()], "body")
        );
        assert_eq!(listed("[a, \"b, c\", , ]"), ["a", "b, c"]);
        assert_eq!(listed(" \"[x]\" "), ["[x]"]);
        assert_eq!(split("--- \nx\n---\n").0, Front::default());
    }
}
