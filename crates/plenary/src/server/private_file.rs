//! Files of the data directory that only its owner can read.
//! Must not know: their content.

use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use anyhow::Context as _;

/// Writes a temporary file and renames it, so that a crash leaves the whole file or none.
pub(super) fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let file = directory.join(name);
    let aside = directory.join(format!(".{name}.{}", std::process::id()));
    let mut written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&aside)
        .with_context(|| format!("writing {}", aside.display()))?;
    written.write_all(text.as_bytes())?;
    written.write_all(b"\n")?;
    written.sync_all()?;
    std::fs::rename(&aside, &file).with_context(|| format!("writing {}", file.display()))?;
    std::fs::File::open(directory)?.sync_all()?;
    Ok(())
}
