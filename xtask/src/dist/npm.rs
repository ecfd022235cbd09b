//! The packages for npm: `plenary` is a launcher, and one package per platform has the binary.
//! Must not know: where they are published.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Release,
    archive::{Entry, tar_gz},
    elf::{Cpu, Libc},
};

/// The launcher script, which finds the platform's package and runs its binary.
const LAUNCHER: &str = include_str!("../../../packaging/npm/plenary.js");
/// Every platform that a release may have a package for. npm skips those that do not match or do not
/// exist.
const PLATFORMS: [&str; 4] = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"];

/// Both file names, and their bytes.
pub(super) fn pack(release: &Release) -> Result<Vec<(String, Vec<u8>)>> {
    let version = &release.version;
    let platform = platform(release);
    let (cpu, libc) = match platform.strip_prefix("linux-").unwrap_or_default().split_once('-') {
        Some((cpu, _)) => (cpu, None),
        None => (platform.trim_start_matches("linux-"), Some(["glibc"])),
    };
    let mut own = manifest(&scoped(platform), version, &format!("The binary of Plenary for {platform}"));
    own["os"] = json!(["linux"]);
    own["cpu"] = json!([cpu]);
    if let Some(libc) = libc {
        own["libc"] = json!(libc);
    }
    own["files"] = json!(["bin/plenary"]);
    let mut launcher = manifest("plenary", version, super::SUMMARY);
    launcher["bin"] = json!({"plenary": "bin/plenary.js"});
    launcher["engines"] = json!({"node": ">=18"});
    launcher["files"] = json!(["bin/plenary.js"]);
    launcher["optionalDependencies"] = PLATFORMS.iter().map(|name| (scoped(name), json!(version))).collect();
    Ok(vec![
        (
            format!("plenary-{platform}-{version}.tgz"),
            package(release, &own, "bin/plenary", &release.program)?,
        ),
        (
            format!("plenary-{version}.tgz"),
            package(release, &launcher, "bin/plenary.js", LAUNCHER.as_bytes())?,
        ),
    ])
}

fn platform(release: &Release) -> &'static str {
    match (release.platform.cpu, release.platform.libc) {
        (Cpu::X86, Libc::Gnu(_)) => "linux-x64",
        (Cpu::X86, Libc::None) => "linux-x64-musl",
        (Cpu::Arm, Libc::Gnu(_)) => "linux-arm64",
        (Cpu::Arm, Libc::None) => "linux-arm64-musl",
    }
}

fn scoped(platform: &str) -> String {
    format!("@plenary/{platform}")
}

fn manifest(name: &str, version: &str, description: &str) -> Value {
    json!({"name": name, "version": version, "description": description, "license": "Apache-2.0"})
}

fn package(release: &Release, manifest: &Value, path: &str, program: &[u8]) -> Result<Vec<u8>> {
    let manifest = serde_json::to_string_pretty(manifest)? + "\n";
    let entries = [
        Entry::file("package/package.json", manifest.as_bytes()),
        Entry::file("package/LICENSE", super::LICENSE.as_bytes()),
        Entry::file("package/README.md", super::ABOUT.as_bytes()),
        Entry::program(format!("package/{path}"), program),
    ];
    tar_gz(&entries, release.epoch, release.level)
}
