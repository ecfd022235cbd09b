//! Where a downloaded content goes: to a file, or to standard output.
//! Must not know: the source of the content.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use clap::Args;

use super::failure::Failure;

/// The option of a command that downloads a content.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// Write to this file; - is standard output, even if that is a terminal [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
}

impl Destination {
    /// The file; `None` is standard output. A terminal obeys control characters in a content, so it gets one only on demand.
    pub(crate) fn file(&self) -> Result<Option<&Path>, Failure> {
        self.file_unless(io::stdout().is_terminal())
    }

    fn file_unless(&self, is_terminal: bool) -> Result<Option<&Path>, Failure> {
        match &self.out {
            Some(path) if path.as_os_str() == "-" => Ok(None),
            Some(path) => Ok(Some(path)),
            None if is_terminal => Err(Failure::usage(
                "a terminal obeys control characters, so it is shown no content of others",
                "name a file with --out PATH; --out - writes to the terminal all the same",
            )),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_a_content_only_on_demand() {
        let to = |out: Option<&str>| Destination { out: out.map(PathBuf::from) };
        assert!(matches!(to(None).file_unless(true), Err(Failure::Usage { .. })));
        assert!(matches!(to(None).file_unless(false), Ok(None)));
        for is_terminal in [true, false] {
            assert!(matches!(to(Some("-")).file_unless(is_terminal), Ok(None)));
            assert_eq!(to(Some("a.pdf")).file_unless(is_terminal).ok().flatten(), Some(Path::new("a.pdf")));
        }
    }
}
