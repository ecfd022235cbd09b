//! The package for Debian and Ubuntu: the binary, a hardened unit, and a configuration file for the
//! administrator.
//! Must not know: systemd or dpkg beyond their files.

use anyhow::Result;

use super::{
    Release,
    archive::{Entry, ar, gzip, tar_gz},
    elf::{Cpu, Libc},
};

const UNIT: &str = include_str!("../../../packaging/deb/plenary.service");
const CONFIGURATION: &str = include_str!("../../../packaging/deb/plenary.toml");
const COPYRIGHT: &str = include_str!("../../../packaging/deb/copyright");
const BASH: &str = include_str!("../../../packaging/deb/completions/plenary");
const ZSH: &str = include_str!("../../../packaging/deb/completions/_plenary");
const FISH: &str = include_str!("../../../packaging/deb/completions/plenary.fish");
const POSTINST: &str = include_str!("../../../packaging/deb/postinst");
const PRERM: &str = include_str!("../../../packaging/deb/prerm");
const POSTRM: &str = include_str!("../../../packaging/deb/postrm");
/// The file that the administrator may change and an upgrade keeps.
const CONFFILE: &str = "/etc/plenary/plenary.toml";

/// The package's file name and bytes.
pub(super) fn pack(release: &Release) -> Result<(String, Vec<u8>)> {
    let architecture = match release.platform.cpu {
        Cpu::X86 => "amd64",
        Cpu::Arm => "arm64",
    };
    let changes = gzip(super::CHANGES.as_bytes(), release.level)?;
    let data = [
        Entry::program("usr/bin/plenary", &release.program),
        Entry::file("usr/lib/systemd/system/plenary.service", UNIT.as_bytes()),
        Entry::file(CONFFILE.trim_start_matches('/'), CONFIGURATION.as_bytes()),
        Entry::file("usr/share/bash-completion/completions/plenary", BASH.as_bytes()),
        Entry::file("usr/share/zsh/vendor-completions/_plenary", ZSH.as_bytes()),
        Entry::file("usr/share/fish/vendor_completions.d/plenary.fish", FISH.as_bytes()),
        Entry::file("usr/share/doc/plenary/copyright", COPYRIGHT.as_bytes()),
        Entry::file("usr/share/doc/plenary/changelog.gz", &changes),
    ];
    let bytes: usize = data.iter().map(|entry| entry.content.unwrap_or_default().len()).sum();
    let depends = match release.platform.libc {
        Libc::Gnu(minor) => format!("Depends: libc6 (>= 2.{minor}), libgcc-s1\n"),
        Libc::None => String::new(),
    };
    let control = format!(
        "Package: plenary\nVersion: {}\nArchitecture: {architecture}\nMaintainer: {}\nInstalled-Size: {}\n{depends}\
         Recommends: ca-certificates\nSection: net\nPriority: optional\nDescription: {}\n{}",
        release.version,
        release.maintainer,
        bytes.div_ceil(1024),
        super::SUMMARY,
        folded(super::ABOUT),
    );
    let conffiles = format!("{CONFFILE}\n");
    let control = [
        Entry::file("control", control.as_bytes()),
        Entry::file("conffiles", conffiles.as_bytes()),
        Entry::program("postinst", POSTINST.as_bytes()),
        Entry::program("prerm", PRERM.as_bytes()),
        Entry::program("postrm", POSTRM.as_bytes()),
    ];
    let control = tar_gz(&control, release.epoch, release.level)?;
    let data = tar_gz(&with_directories(data), release.epoch, release.level)?;
    let members: [(&str, &[u8]); 3] =
        [("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)];
    Ok((format!("plenary_{}_{architecture}.deb", release.version), ar(&members, release.epoch)?))
}

/// Adds each directory before its content, as dpkg requires.
fn with_directories<'a>(files: impl IntoIterator<Item = Entry<'a>>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = vec![Entry::directory(".")];
    for file in files {
        for (at, _) in file.path.match_indices('/') {
            let directory = format!("./{}", &file.path[..at]);
            if entries.iter().all(|entry| entry.path != directory) {
                entries.push(Entry::directory(directory));
            }
        }
        entries.push(Entry { path: format!("./{}", file.path), ..file });
    }
    entries
}

/// Text as the continuation of a field.
fn folded(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_once_and_first() {
        let files = [Entry::file("a/b/c", b""), Entry::file("a/d", b"")];
        let paths: Vec<_> = with_directories(files).into_iter().map(|entry| entry.path).collect();
        assert_eq!(paths, [".", "./a", "./a/b", "./a/b/c", "./a/d"]);
    }

    #[test]
    fn an_empty_line_of_a_description_is_a_dot() {
        assert_eq!(folded("a\n\nb\n"), " a\n .\n b\n");
    }
}
