//! The relevant lines of Markdown: headings, list items, and lines in a fence.
//! Must not know: the meaning of a section.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The text as written, without its line break.
    pub(super) text: &'a str,
    pub(super) kind: Kind<'a>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// `## text`
    Heading {
        /// The number of `#`.
        level: usize,
        /// The text after them.
        text: &'a str,
    },
    /// `- text`, `* text`, `+ text`, `1. text`, `1) text`, with or without a box.
    Item(&'a str),
    /// Nothing but white space.
    Blank,
    /// Anything else, and everything in a fence.
    Text,
}

pub(super) fn parse(text: &str) -> Vec<Line<'_>> {
    let mut fence: Option<&str> = None;
    text.lines()
        .map(|line| {
            let text = line.trim_end_matches('\r');
            let mark = ["```", "~~~"].into_iter().find(|mark| text.trim_start().starts_with(mark));
            let kind = match (fence, mark) {
                (Some(open), Some(mark)) if open == mark => {
                    fence = None;
                    Kind::Text
                }
                (None, Some(mark)) => {
                    fence = Some(mark);
                    Kind::Text
                }
                (Some(_), _) => Kind::Text,
                (None, None) => kind(text),
            };
            Line { text, kind }
        })
        .collect()
}

fn kind(line: &str) -> Kind<'_> {
    let text = line.trim();
    if text.is_empty() {
        return Kind::Blank;
    }
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])) {
        let text = rest.trim().trim_end_matches('#').trim();
        return Kind::Heading { level, text };
    }
    item(text).map_or(Kind::Text, Kind::Item)
}

fn item(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+'])?,
        _ => text[digits..].strip_prefix(['.', ')'])?,
    };
    let item = rest.strip_prefix([' ', '\t'])?.trim();
    let unboxed = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|mark| item.strip_prefix(mark));
    Some(unboxed.unwrap_or(item).trim())
}

/// The entries of a section: its items with their continuation lines, and its other paragraphs.
pub(super) fn items(lines: &[Line<'_>]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for Line { text, kind } in lines {
        match kind {
            Kind::Blank => open = false,
            Kind::Heading { text, .. } => {
                items.push((*text).to_owned());
                open = false;
            }
            Kind::Item(text) => {
                items.push((*text).to_owned());
                open = true;
            }
            Kind::Text => match items.last_mut().filter(|_| open) {
                Some(last) => {
                    last.push(' ');
                    last.push_str(text.trim());
                }
                None => {
                    items.push(text.trim().to_owned());
                    open = true;
                }
            },
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}
