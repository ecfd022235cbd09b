//! The operator's token (wire.md D.1): from the environment, or generated at the first start and stored in a file
//! that only its owner can read.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use plenary_accounts::{
    Token, TokenKind,
    limits::{TOKEN_BYTES_MAX, TOKEN_BYTES_MIN},
};

use super::{privacy, private_file};
use crate::paths::OPERATOR_TOKEN_FILE as FILE;

/// The operator's token, and its file if it did not come from the environment.
pub(crate) struct OperatorToken {
    secret: String,
    file: Option<PathBuf>,
    is_new: bool,
}

impl OperatorToken {
    /// A token from the environment.
    pub(crate) fn from_secret(secret: String) -> anyhow::Result<Self> {
        if Token::chosen(&secret).is_none() {
            bail!(
                "PLENARY_OPERATOR_TOKEN must have {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} printable ASCII characters \
                 without spaces; leave it out, and one is made"
            );
        }
        Ok(Self { secret, file: None, is_new: false })
    }

    /// The token of a data directory, or a new one that is not in its file yet.
    pub(crate) fn of_directory(directory: &Path) -> anyhow::Result<Self> {
        let file = directory.join(FILE);
        let (secret, is_new) = match std::fs::read_to_string(&file) {
            Ok(text) => (read(&file, &text)?, false),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (Token::random(TokenKind::Operator).expose().to_owned(), true)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                bail!("{} is a file; name a directory with --data", directory.display())
            }
            Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
        };
        Ok(Self { secret, file: Some(file), is_new })
    }

    /// Writes a new token to its file, once the store is open, so that a start that is refused leaves none behind. If
    /// another process has written one meanwhile, that one is valid.
    pub(crate) fn keep(&mut self) -> anyhow::Result<()> {
        let Some(directory) = self.file.as_deref().filter(|_| self.is_new).and_then(Path::parent) else {
            return Ok(());
        };
        let found = Self::of_directory(directory)?;
        if found.is_new {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot make the directory {}", directory.display()))?;
            private_file::write(directory, FILE, &found.secret)?;
        }
        *self = found;
        Ok(())
    }

    /// The token itself.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Whether this start made it.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The file that holds it, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

fn read(file: &Path, text: &str) -> anyhow::Result<String> {
    privacy::secret(file)?;
    let secret = text.trim();
    if Token::chosen(secret).is_none() {
        bail!(
            "{} does not contain a token of {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} printable ASCII characters; remove it, and \
             the next start creates a new one",
            file.display()
        );
    }
    Ok(secret.to_owned())
}
