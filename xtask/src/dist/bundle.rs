//! The installation without a package manager: an archive of the binary and the script that downloads
//! it; and the formula that builds from source.
//! Must not know: packages.

use std::path::Path;

use anyhow::{Context, Result};

use super::{
    Release,
    archive::{Entry, gzip, sha256, tar_gz},
};
use crate::process;

const INSTALLER: &str = include_str!("../../../packaging/install.sh");
const FORMULA: &str = include_str!("../../../packaging/plenary.rb");

/// The archive's file name and bytes.
pub(super) fn pack(release: &Release, sbom: &[u8]) -> Result<(String, Vec<u8>)> {
    let stem = format!("plenary-{}-{}", release.version, release.platform.triple());
    let entries = [
        Entry::directory(stem.as_str()),
        Entry::program(format!("{stem}/plenary"), &release.program),
        Entry::file(format!("{stem}/LICENSE"), super::LICENSE.as_bytes()),
        Entry::file(format!("{stem}/README.md"), super::ABOUT.as_bytes()),
        Entry::file(format!("{stem}/plenary.cdx.json"), sbom),
    ];
    Ok((format!("{stem}.tar.gz"), tar_gz(&entries, release.epoch, release.level)?))
}

/// The script that downloads the archive, or takes it from its own directory.
pub(super) fn installer(release: &Release) -> String {
    INSTALLER
        .replace("@VERSION@", &release.version)
        .replace("@URL@", release.url.as_deref().unwrap_or_default())
}

/// The source as in Git, and the formula that builds it; only if the download URL is known.
pub(super) fn formula(root: &Path, release: &Release) -> Result<Vec<(String, Vec<u8>)>> {
    let Some(url) = &release.url else { return Ok(Vec::new()) };
    let stem = format!("plenary-{}", release.version);
    let mut git = std::process::Command::new("git");
    git.current_dir(root).args(["archive", "--format=tar", &format!("--prefix={stem}/"), "HEAD"]);
    let output = git.output().context("could not start git")?;
    anyhow::ensure!(
        output.status.success(),
        "git archive: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let source = gzip(&output.stdout, release.level)?;
    let formula = FORMULA
        .replace("@URL@", url)
        .replace("@VERSION@", &release.version)
        .replace("@SHA256@", &hex::encode(sha256(&source)));
    Ok(vec![(format!("{stem}-source.tar.gz"), source), ("plenary.rb".to_owned(), formula.into_bytes())])
}

/// The time of the commit, in seconds.
pub(super) fn committed(root: &Path) -> Result<u64> {
    let mut git = std::process::Command::new("git");
    git.current_dir(root).args(["log", "-1", "--format=%ct"]);
    let time = process::output(&mut git).context("set SOURCE_DATE_EPOCH where there is no Git")?;
    time.trim().parse().context("git printed no time")
}
