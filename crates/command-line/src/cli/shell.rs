//! Quoting for a POSIX shell.
//! Must not know: the meaning of the words.

/// The word, quoted so that the shell reads it back unchanged.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_word_gets_no_quotes() {
        assert_eq!(quoted("/usr/bin/plenary"), "/usr/bin/plenary");
        assert_eq!(quoted("a b'c"), r"'a b'\''c'");
        assert_eq!(quoted(""), "''");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_shell_reads_every_word_unchanged(word in "[ -~äö\n]{0,20}") {
            let script = format!("printf %s {}", quoted(&word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
