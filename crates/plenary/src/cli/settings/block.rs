//! A marked block at the end of a TOML text, which is put in and taken out whole; the rest is never rewritten.
//! Must not know: what the block says.

use super::Odd;

const BEGIN: &str = "# >>> plenary connect >>>";
const END: &str = "# <<< plenary connect <<<";

/// The text with the block: where it stood before, else at the end.
///
/// # Errors
/// Where either text is no TOML, or what the block defines is there already.
pub(crate) fn with_block(before: &str, block: &str) -> Result<String, Odd> {
    parse(before)?;
    let block = format!("{BEGIN}\n{}\n{END}\n", block.trim_end());
    let after = match around(before) {
        Some((head, tail)) => format!("{head}{block}{tail}"),
        None => format!("{before}{}{block}", gap(before)),
    };
    parse(&after)?;
    Ok(after)
}

/// The text without the block.
pub(crate) fn without_block(text: &str) -> String {
    let Some((head, tail)) = around(text) else { return text.to_owned() };
    format!("{}{tail}", head.strip_suffix('\n').unwrap_or(head))
}

/// The line break between a text and the block: an empty line, but behind a text that ended without one.
const fn gap(before: &str) -> &'static str {
    if before.is_empty() { "" } else { "\n" }
}

/// What stands before and behind the block.
fn around(text: &str) -> Option<(&str, &str)> {
    let from = text.find(BEGIN)?;
    let to = from + text[from..].find(END)? + END.len();
    Some((&text[..from], text[to..].strip_prefix('\n').unwrap_or(&text[to..])))
}

fn parse(text: &str) -> Result<(), Odd> {
    match toml::from_str::<toml::Table>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Odd::new(format!("it is no TOML, or would be none: {}", error.message()))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: &str = "[servers.ours]\ncommand = \"x\"\n";

    #[test]
    fn the_block_is_put_in_once_and_replaced_where_it_stands() {
        let once = with_block("a = 1 # one\n", BLOCK).unwrap();
        assert_eq!(once, format!("a = 1 # one\n\n{BEGIN}\n{BLOCK}{END}\n"));
        assert_eq!(with_block(&once, BLOCK), Ok(once.clone()));
        let more = format!("{once}[later]\nb = 2\n");
        let moved = with_block(&more, "[servers.ours]\ncommand = \"y\"\n").unwrap();
        assert!(moved.contains("\"y\"") && !moved.contains("\"x\"") && moved.ends_with("[later]\nb = 2\n"));
        assert_eq!(without_block(&moved), "a = 1 # one\n[later]\nb = 2\n");
    }

    #[test]
    fn what_would_be_there_twice_or_is_no_toml_is_refused() {
        for odd in ["[servers.ours]\n", "servers = 1\n", "servers = {}\n", "a = \n"] {
            assert!(with_block(odd, BLOCK).is_err(), "{odd}");
        }
        assert!(with_block("[servers]\nx = 1\n", BLOCK).is_ok());
    }

    proptest! {
        #[test]
        fn what_was_put_in_is_taken_out_to_the_octet(
            lines in prop::collection::vec("([a-z]{4}[0-9]{4} = [1-9]( # note)?|# note|)", 0..5), end in "\n{0,3}"
        ) {
            let text = format!("{}{end}", lines.join("\n"));
            prop_assume!(parse(&text).is_ok());
            let there = with_block(&text, BLOCK).unwrap();
            prop_assert_eq!(with_block(&there, BLOCK).unwrap(), there.clone());
            prop_assert_eq!(without_block(&there), text);
        }
    }
}
