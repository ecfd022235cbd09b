//! The package for PyPI: a wheel with the binary among its scripts, and no Python.
//! Must not know: where it is published.

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    Release,
    archive::{Entry, sha256, zip},
    elf::Libc,
};

/// The distribution's name. `plenary` on PyPI is another project.
pub(super) const NAME: &str = "plenary-server";
/// A script that runs the binary, so that `uvx plenary-server` finds a program of that name.
const ALIAS: &str = "#!/bin/sh\nexec \"$(dirname \"$0\")/plenary\" \"$@\"\n";

/// The wheel's file name and bytes.
pub(super) fn pack(release: &Release, sbom: &[u8]) -> Result<(String, Vec<u8>)> {
    let stem = format!("{}-{}", NAME.replace('-', "_"), release.version);
    let tags = tags(release);
    let (info, scripts) = (format!("{stem}.dist-info"), format!("{stem}.data/scripts"));
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {}\nLicense-Expression: Apache-2.0\n\
         License-File: LICENSE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
        release.version,
        super::SUMMARY,
        super::ABOUT
    );
    let mut wheel = "Wheel-Version: 1.0\nGenerator: plenary xtask\nRoot-Is-Purelib: false\n".to_owned();
    for tag in &tags {
        wheel.push_str(&format!("Tag: py3-none-{tag}\n"));
    }
    let entries = vec![
        Entry::program(format!("{scripts}/plenary"), &release.program),
        Entry::program(format!("{scripts}/{NAME}"), ALIAS.as_bytes()),
        Entry::file(format!("{info}/METADATA"), metadata.as_bytes()),
        Entry::file(format!("{info}/WHEEL"), wheel.as_bytes()),
        Entry::file(format!("{info}/licenses/LICENSE"), super::LICENSE.as_bytes()),
        Entry::file(format!("{info}/sboms/plenary.cdx.json"), sbom),
    ];
    Ok((format!("{stem}-py3-none-{}.whl", tags.join(".")), with_record(entries, &info, release.level)?))
}

/// A wheel of these files, with their digests.
pub(super) fn with_record(entries: Vec<Entry<'_>>, info: &str, level: u32) -> Result<Vec<u8>> {
    let mut record = String::new();
    for entry in &entries {
        let content = entry.content.unwrap_or_default();
        let digest = BASE64_URL_SAFE_NO_PAD.encode(sha256(content));
        record.push_str(&format!("{},sha256={digest},{}\n", entry.path, content.len()));
    }
    record.push_str(&format!("{info}/RECORD,,\n"));
    let mut packed: Vec<Entry<'_>> = entries;
    packed.push(Entry::file(format!("{info}/RECORD"), record.as_bytes()));
    zip(&packed, level)
}

/// The platforms that the binary supports: with a C library at least as new as required, or with any.
fn tags(release: &Release) -> Vec<String> {
    let machine = release.platform.machine();
    match release.platform.libc {
        // 2.17 is the oldest that installers know by this form of name.
        Libc::Gnu(minor) => vec![format!("manylinux_2_{}_{machine}", minor.max(17))],
        Libc::None => vec![format!("manylinux_2_17_{machine}"), format!("musllinux_1_1_{machine}")],
    }
}
