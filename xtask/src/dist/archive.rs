//! Archives whose bytes depend only on their entries: tar, gzip, zip and ar, and the digest of a file.
//! Must not know: the content. Pure.

use std::io::{self, Write as _};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, write::DeflateEncoder};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// One file or directory of an archive.
pub(super) struct Entry<'a> {
    /// Its path, without a leading or trailing slash.
    pub(super) path: String,
    /// Its permissions.
    pub(super) mode: u32,
    /// Its user and group.
    pub(super) owner: u64,
    /// Its content; none for a directory.
    pub(super) content: Option<&'a [u8]>,
}

impl<'a> Entry<'a> {
    /// A world-readable file.
    pub(super) fn file(path: impl Into<String>, content: &'a [u8]) -> Self {
        Self { path: path.into(), mode: 0o644, owner: 0, content: Some(content) }
    }

    /// A world-executable file.
    pub(super) fn program(path: impl Into<String>, content: &'a [u8]) -> Self {
        Self { mode: 0o755, ..Self::file(path, content) }
    }

    /// A directory that all users may enter.
    pub(super) fn directory(path: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o755, owner: 0, content: None }
    }
}

/// A tar archive whose entries have the time `epoch`, in seconds.
pub(super) fn tar(entries: &[Entry<'_>], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for entry in entries {
        let content = entry.content.unwrap_or_default();
        let mut header = Header::new_ustar();
        header.set_mode(entry.mode);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        header.set_mtime(epoch);
        header.set_size(content.len() as u64);
        let (kind, slash) = match entry.content {
            Some(_) => (EntryType::Regular, ""),
            None => (EntryType::Directory, "/"),
        };
        header.set_entry_type(kind);
        let path = format!("{}{slash}", entry.path);
        archive.append_data(&mut header, &path, content).with_context(|| format!("could not pack {path}"))?;
    }
    Ok(archive.into_inner()?)
}

/// Gzip without a name or a time.
pub(super) fn gzip(bytes: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::new(level));
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// A compressed tar archive.
pub(super) fn tar_gz(entries: &[Entry<'_>], epoch: u64, level: u32) -> Result<Vec<u8>> {
    gzip(&tar(entries, epoch)?, level)
}

/// The common fields of both zip headers of a file, from the required version to the extra field.
fn zip_fields(entry: &Entry<'_>, content: &[u8], deflated: &[u8]) -> Result<Vec<u8>> {
    /// 1 January 1980, the first day of the format.
    const DAY: u16 = 1 << 5 | 1;
    let mut fields = Vec::with_capacity(26);
    for short in [20, 1 << 11, 8, 0, DAY] {
        fields.extend(short.to_le_bytes());
    }
    fields.extend(crc32fast::hash(content).to_le_bytes());
    for size in [deflated.len(), content.len()] {
        fields.extend(u32::try_from(size).context("a file of 4 GiB")?.to_le_bytes());
    }
    fields.extend(u16::try_from(entry.path.len())?.to_le_bytes());
    fields.extend(0_u16.to_le_bytes());
    Ok(fields)
}

/// A zip archive of files. The existing crates would add ciphers.
pub(super) fn zip(entries: &[Entry<'_>], level: u32) -> Result<Vec<u8>> {
    /// The version of the format, on Unix.
    const MADE_BY: u16 = 3 << 8 | 20;
    const REGULAR: u32 = 0o100_000;
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let content = entry.content.context("a directory in a zip archive")?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(content)?;
        let deflated = encoder.finish()?;
        let fields = zip_fields(entry, content, &deflated)?;
        let at = u32::try_from(archive.len()).context("an archive of 4 GiB")?;
        archive.extend(b"PK\x03\x04");
        archive.extend(&fields);
        archive.extend(entry.path.as_bytes());
        archive.extend(&deflated);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&fields);
        // No comment, the first disk, no attributes of DOS.
        directory.extend([0; 6]);
        directory.extend(((REGULAR | entry.mode) << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(entry.path.as_bytes());
    }
    let count = u16::try_from(entries.len())?.to_le_bytes();
    let (at, length) = (u32::try_from(archive.len())?, u32::try_from(directory.len())?);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count);
    archive.extend(count);
    archive.extend(length.to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0; 2]);
    Ok(archive)
}

/// An ar archive, the format of a Debian package.
pub(super) fn ar(members: &[(&str, &[u8])], epoch: u64) -> io::Result<Vec<u8>> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let (mode, length) = ("100644", content.len());
        writeln!(archive, "{name:<16}{epoch:<12}{:<6}{:<6}{mode:<8}{length:<10}`", 0, 0)?;
        archive.extend_from_slice(content);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    Ok(archive)
}

/// The SHA-256 digest of bytes.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tar_archive_has_what_was_packed() {
        let entries = [Entry::directory("a"), Entry::program("a/b", b"content")];
        let bytes = tar(&entries, 7).unwrap();
        let mut archive = tar::Archive::new(&bytes[..]);
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let (header, path) = (entry.header(), entry.path().unwrap().display().to_string());
                (path, header.mode().unwrap(), header.mtime().unwrap(), header.size().unwrap())
            })
            .collect();
        assert_eq!(found, [("a/".to_owned(), 0o755, 7, 0), ("a/b".to_owned(), 0o755, 7, 7)]);
    }

    #[test]
    fn an_ar_archive_pads_to_even_lengths() {
        let bytes = ar(&[("x", b"abc"), ("y", b"d")], 5).unwrap();
        assert_eq!(bytes.len(), 8 + 60 + 4 + 60 + 2);
        assert_eq!(&bytes[8..68], b"x               5           0     0     100644  3         `\n");
        assert_eq!(&bytes[72..73], b"y");
    }
}
