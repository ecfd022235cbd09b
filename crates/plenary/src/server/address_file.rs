//! The server's local address, in a file of its data directory while it runs, so that commands find it. It is only a
//! convenience: if the file cannot be written, the server still runs.
//! Must not know: the readers.

use std::path::PathBuf;

use super::private_file;
use crate::paths::SERVER_URL_FILE as FILE;

/// The file, removed when the server stops in order.
pub(crate) struct AddressFile {
    file: PathBuf,
    text: String,
}

impl AddressFile {
    /// Writes the file, if there is a data directory.
    pub(crate) fn write(directory: Option<&PathBuf>, url: &str) -> Option<Self> {
        let directory = directory.filter(|directory| directory.is_dir())?;
        match private_file::write(directory, FILE, url) {
            Ok(()) => Some(Self { file: directory.join(FILE), text: format!("{url}\n") }),
            Err(error) => {
                tracing::warn!(error = %format!("{error:#}"), "commands on this machine will not find the server");
                None
            }
        }
    }

    /// Removes the file, unless another process on the same directory has replaced it.
    pub(crate) fn remove_url_file(self) {
        if std::fs::read_to_string(&self.file).is_ok_and(|text| text == self.text) {
            let _removed = std::fs::remove_file(&self.file);
        }
    }
}
