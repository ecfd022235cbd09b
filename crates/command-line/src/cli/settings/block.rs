//! A marked block at the end of a TOML text, which can be added and removed; the rest is never rewritten. Text that
//! others wrote into the block stays: in the block if it belongs to the block's table, otherwise after it.
//! Must not know: the content of the block.

use super::SettingsError;

const BEGIN: &str = "# >>> plenary connect >>>";
const END: &str = "# <<< plenary connect <<<";

/// Whether this program writes a given line below a given header.
pub(crate) type IsOwn<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The text with the block: in its old place, else at the end.
///
/// # Errors
/// If either text is not TOML, or the text already defines a table of the block.
pub(crate) fn with_block(before: &str, block: &str, is_own: IsOwn<'_>) -> Result<String, SettingsError> {
    parse(before)?;
    let wrapped = |block: &str| format!("{BEGIN}\n{}\n{END}\n", block.trim_end());
    let after = match around(before) {
        Some((head, inner, tail)) => {
            let (block, foreign) = merged(block, inner, is_own);
            format!("{head}{}{foreign}{tail}", wrapped(&block))
        }
        None => format!("{before}{}{}", gap(before), wrapped(block)),
    };
    parse(&after)?;
    Ok(after)
}

/// The text without the block; foreign text for other tables stays.
///
/// # Errors
/// If the text is TOML, and the rest would not be.
pub(crate) fn without_block(text: &str) -> Result<String, SettingsError> {
    let Some((head, inner, tail)) = around(text) else { return Ok(text.to_owned()) };
    let headers = sections(inner).into_iter().map(|section| section.header);
    let main = headers.into_iter().find(|header| !header.is_empty()).unwrap_or_default();
    let foreign: String = sections(inner)
        .iter()
        .filter(|section| !section.is_below(main))
        .map(|section| section.text)
        .collect();
    let gap = ["\r\n", "\n"].into_iter().find_map(|end| head.strip_suffix(end));
    let rest = format!("{}{foreign}{tail}", gap.unwrap_or(head));
    if parse(text).is_ok() {
        parse(&rest)?;
    }
    Ok(rest)
}

/// A table's header, without brackets, and its whole text.
struct Section<'a> {
    header: &'a str,
    text: &'a str,
}

impl Section<'_> {
    fn is_below(&self, main: &str) -> bool {
        self.header.strip_prefix(main).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The lines that this program does not write.
    fn foreign(&self, is_own: IsOwn<'_>) -> Vec<&str> {
        let lines = self.text.lines().skip(usize::from(!self.header.is_empty()));
        lines.filter(|line| !line.trim().is_empty() && !is_own(self.header, line.trim())).collect()
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let text = text.trim_start_matches(['\r', '\n']);
    let mut starts = vec![0];
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if offset > 0 && line.trim_start().starts_with('[') {
            starts.push(offset);
        }
        offset += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let header = |text: &str| text.lines().next().unwrap_or_default().trim().starts_with('[');
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| &text[*from..to])
        .map(|text| Section {
            header: if header(text) {
                text.lines().next().unwrap_or_default().trim().trim_matches(['[', ']'])
            } else {
                ""
            },
            text,
        })
        .collect()
}

/// A new block with the foreign lines of its table from the old block, and the foreign text of other tables.
fn merged(block: &str, old: &str, is_own: IsOwn<'_>) -> (String, String) {
    let new = sections(block);
    let main = new.first().map_or("", |section| section.header);
    let (mut own, mut below, mut foreign) = (Vec::new(), Vec::new(), String::new());
    for section in sections(old) {
        if !section.is_below(main) {
            foreign.push_str(section.text);
        } else if section.header == main {
            own = section.foreign(is_own).into_iter().map(str::to_owned).collect();
        } else if !section.foreign(is_own).is_empty() {
            below.push((section.header.to_owned(), section.text.trim_end().to_owned()));
        }
    }
    let mut text = String::new();
    for (index, section) in new.iter().enumerate() {
        if below.iter().any(|(header, _)| header == section.header) {
            continue;
        }
        text.push_str(section.text.trim_end());
        text.push('\n');
        if index == 0 {
            own.iter().for_each(|line| text.extend([line, "\n"]));
        }
        text.push('\n');
    }
    for (_, section) in &below {
        text.extend([section, "\n\n"]);
    }
    (text, foreign)
}

/// The separator between a text and the block: it makes an empty line, unless the text lacks a final line break.
const fn gap(before: &str) -> &'static str {
    if before.is_empty() { "" } else { "\n" }
}

/// The text before the block, in it, and after it.
fn around(text: &str) -> Option<(&str, &str, &str)> {
    let from = text.find(BEGIN)?;
    let inner = from + BEGIN.len();
    let end = inner + text[inner..].find(END)?;
    let to = end + END.len();
    Some((&text[..from], after_line_break(&text[inner..end]), after_line_break(&text[to..])))
}

/// The text without its first line break, which an editor may have changed.
fn after_line_break(text: &str) -> &str {
    ["\r\n", "\n"].into_iter().find_map(|end| text.strip_prefix(end)).unwrap_or(text)
}

fn parse(text: &str) -> Result<(), SettingsError> {
    match toml::from_str::<toml::Table>(text) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(SettingsError::new(format!("it is not TOML, or would no longer be: {}", error.message())))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: &str = "[servers.ours]\ncommand = \"x\"\n";

    fn own(header: &str, line: &str) -> bool {
        (header == "servers.ours" && line.starts_with("command")) || line == "mode = \"approve\""
    }

    #[test]
    fn the_block_is_added_once_and_replaced_at_its_position() {
        let once = with_block("a = 1 # one\n", BLOCK, &own).unwrap();
        assert_eq!(once, format!("a = 1 # one\n\n{BEGIN}\n{BLOCK}{END}\n"));
        assert_eq!(with_block(&once, BLOCK, &own), Ok(once.clone()));
        let more = format!("{once}[later]\nb = 2\n");
        let moved = with_block(&more, "[servers.ours]\ncommand = \"y\"\n", &own).unwrap();
        assert!(moved.contains("\"y\"") && !moved.contains("\"x\"") && moved.ends_with("[later]\nb = 2\n"));
        assert_eq!(without_block(&moved).unwrap(), "a = 1 # one\n[later]\nb = 2\n");
    }

    #[test]
    fn a_duplicate_entry_or_invalid_toml_is_refused() {
        for text in ["[servers.ours]\n", "servers = 1\n", "servers = {}\n", "a = \n"] {
            assert!(with_block(text, BLOCK, &own).is_err(), "{text}");
        }
        assert!(with_block("[servers]\nx = 1\n", BLOCK, &own).is_ok());
    }

    #[test]
    fn lines_of_another_program_in_the_block_stay() {
        let block = format!("{BLOCK}\n[servers.ours.tools.a]\nmode = \"approve\"\n");
        let with_entry = with_block("a = 1\n", &block, &own).unwrap();
        let theirs = "enabled = false\n\n[servers.ours.tools.a]\nmode = \"prompt\"\n\n[servers.ours.tools.b]\nmode = \"approve\"\nx = 1\n\n\
            [projects.\"/w\"]\nlevel = \"trusted\"\n";
        let (head, _) = with_entry.split_once("\n[servers.ours.tools.a]").unwrap();
        let written = format!("{head}{theirs}{END}\n");
        let again = with_block(&written, &block.replace("\"x\"", "\"y\""), &own).unwrap();
        let parsed: toml::Table = toml::from_str(&again).unwrap();
        assert_eq!(parsed["servers"]["ours"]["command"].as_str(), Some("y"), "{again}");
        assert_eq!(parsed["servers"]["ours"]["enabled"].as_bool(), Some(false), "{again}");
        assert_eq!(parsed["servers"]["ours"]["tools"]["a"]["mode"].as_str(), Some("prompt"), "{again}");
        assert_eq!(parsed["servers"]["ours"]["tools"]["b"]["x"].as_integer(), Some(1), "{again}");
        assert!(again.ends_with(&format!("{END}\n[projects.\"/w\"]\nlevel = \"trusted\"\n")), "{again}");
        assert_eq!(with_block(&again, &block.replace("\"x\"", "\"y\""), &own).unwrap(), again);
        for text in [written, again] {
            assert_eq!(without_block(&text).unwrap(), "a = 1\n[projects.\"/w\"]\nlevel = \"trusted\"\n");
        }
    }

    #[test]
    fn a_comment_in_the_block_stays_and_an_unreadable_text_is_left_to_its_person() {
        let with_entry = with_block("a = 1\n", BLOCK, &own).unwrap();
        let noted = with_entry.replace("[servers.ours]", "\n# note\n[servers.ours]");
        assert_eq!(without_block(&noted).unwrap(), "a = 1\n# note\n");
        assert_eq!(without_block(&format!("{with_entry}b = \n")).unwrap(), "a = 1\nb = \n");
        let joined = with_entry.replace("a = 1\n\n", "a = 1 ");
        assert!(without_block(&format!("{joined}b = 1\n")).is_err(), "two lines would become one");
    }

    proptest! {
        #[test]
        fn an_added_block_is_removed_to_the_byte(
            lines in prop::collection::vec("([a-z]{4}[0-9]{4} = [1-9]( # note)?|# note|)", 0..5), end in "\n{0,3}"
        ) {
            let text = format!("{}{end}", lines.join("\n"));
            prop_assume!(parse(&text).is_ok());
            let with_entry = with_block(&text, BLOCK, &own).unwrap();
            prop_assert_eq!(&with_block(&with_entry, BLOCK, &own).unwrap(), &with_entry);
            prop_assert_eq!(&without_block(&with_entry).unwrap(), &text);
            // As an editor saves it.
            let saved = without_block(&with_entry.replace('\n', "\r\n")).unwrap();
            prop_assert_eq!(saved, text.replace('\n', "\r\n"));
        }
    }
}
