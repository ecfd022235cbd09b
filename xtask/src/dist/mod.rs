//! The packages of a release, from one binary: a wheel, npm packages, a Debian package, a container
//! image, an archive with its installer, a formula, a bill of materials; the typed clients for Python
//! and npm; and the checksums of all. The same input gives the same bytes.
//! Must not know: the place or the person of publication.

mod archive;
mod bundle;
mod clients;
mod deb;
mod elf;
mod image;
mod npm;
mod sbom;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use crate::{console, needs, process, suite, workspace};
use elf::Platform;

/// The one-line description of Plenary.
const SUMMARY: &str = "One server for networks of AI agents";
/// The description in every package.
const ABOUT: &str = include_str!("../../../packaging/about.md");
const CHANGES: &str = include_str!("../../../CHANGELOG.md");
const LICENSE: &str = include_str!("../../../LICENSE");
/// The file with the checksums of all others.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The binary to pack [default: one is built in the profile `dist`]
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Build a static binary with musl, which the image requires, and test the image; installs missing tools
    #[arg(long, conflicts_with = "binary")]
    pub(crate) musl: bool,
    /// Directory for the packages, emptied first [default: `packages` in the target directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// URL at which the files will be published, for the installer and the formula
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Maintainer of the Debian package
    #[arg(
        long,
        value_name = "NAME <ADDRESS>",
        default_value = "The maintainers of Plenary <maintainers@plenary.invalid>"
    )]
    pub(crate) maintainer: String,
    /// Compression level, 0 to 9
    #[arg(long, value_name = "LEVEL", default_value_t = 9, value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) level: u32,
}

/// The input of every package.
struct Release {
    version: String,
    /// The time of every file, in seconds.
    epoch: u64,
    platform: Platform,
    program: Vec<u8>,
    url: Option<String>,
    maintainer: String,
    level: u32,
}

/// Makes the packages and lists them.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let target = workspace::metadata(root)?.target_directory;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build(root, &target, args.musl)?,
    };
    let program = fs::read(&binary).with_context(|| format!("could not read {}", binary.display()))?;
    let release = Release {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        epoch: epoch(root)?,
        platform: Platform::of(&program).with_context(|| format!("{}", binary.display()))?,
        program,
        url: args.url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
        maintainer: args.maintainer.clone(),
        level: args.level,
    };
    let bill = sbom::pack(root, &release.platform.triple(), release.epoch)?;
    let mut files = pack(&release, bill)?;
    files.extend(clients::pack(root, &release)?);
    files.extend(bundle::formula(root, &release)?);
    let out = args.out.clone().unwrap_or_else(|| target.join("packages"));
    write(&out, files)?;
    if args.musl {
        suite::dist::attempt(root, &out, &["image"])?;
    }
    Ok(())
}

/// All packages of the binary.
fn pack(release: &Release, bill: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = vec![wheel::pack(release, &bill)?];
    files.extend(npm::pack(release)?);
    files.push(deb::pack(release)?);
    files.push(bundle::pack(release, &bill)?);
    files.push(("install.sh".to_owned(), bundle::installer(release).into_bytes()));
    match image::pack(release)? {
        Some(image) => files.push(image),
        None => console::print_line(
            "    no image: it has no libraries, and this binary needs some (docs/packaging.md)",
        ),
    }
    files.push((format!("plenary-{}-{}.cdx.json", release.version, release.platform.triple()), bill));
    Ok(files)
}

/// Writes the files and their checksums.
fn write(out: &Path, mut files: Vec<(String, Vec<u8>)>) -> Result<()> {
    files.sort();
    let sums: String = files
        .iter()
        .map(|(name, bytes)| format!("{}  {name}\n", hex::encode(archive::sha256(bytes))))
        .collect();
    if out.exists() {
        // A directory with other files was not created by this command.
        ensure!(
            out.join(SUMS).is_file() || fs::read_dir(out)?.next().is_none(),
            "{} holds something other than packages",
            out.display()
        );
        fs::remove_dir_all(out).with_context(|| format!("could not remove {}", out.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("could not make {}", out.display()))?;
    for (name, bytes) in files {
        fs::write(out.join(&name), &bytes).with_context(|| format!("could not write {name}"))?;
        console::print_line(&format!("    {:>9} KiB  {name}", bytes.len().div_ceil(1024)));
    }
    fs::write(out.join(SUMS), sums)?;
    console::print_line(&format!("    {}", out.join(SUMS).display()));
    Ok(())
}

/// Builds the binary for publication: small, without paths of this machine.
fn build(root: &Path, target: &Path, is_static: bool) -> Result<PathBuf> {
    let mut args = vec!["build", "--locked", "--profile", "dist", "--package", "plenary"];
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    if is_static {
        needs::musl::ensure(&triple)?;
        args.extend(["--target", &triple]);
    }
    process::run(&mut process::cargo(root, &args))?;
    let target = if is_static { target.join(&triple) } else { target.to_owned() };
    Ok(target.join("dist/plenary"))
}

/// The time from the environment, or that of the commit.
/// <https://reproducible-builds.org/specs/source-date-epoch/>
fn epoch(root: &Path) -> Result<u64> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(given) => given.parse().context("SOURCE_DATE_EPOCH is a number of seconds"),
        Err(_) => bundle::committed(root),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read as _};

    use super::*;

    fn release() -> Release {
        let program = elf::tests::static_program();
        Release {
            version: "1.2.3".into(),
            epoch: 1_700_000_000,
            platform: Platform::of(&program).unwrap(),
            program,
            url: None,
            maintainer: "A <a@example.org>".into(),
            level: 6,
        }
    }

    fn packed() -> BTreeMap<String, Vec<u8>> {
        pack(&release(), b"{}\n".to_vec()).unwrap().into_iter().collect()
    }

    #[test]
    fn the_same_input_makes_the_same_bytes() {
        assert_eq!(packed(), packed());
    }

    #[test]
    fn every_package_of_a_static_binary_is_made() {
        let names: Vec<_> = packed().into_keys().collect();
        assert_eq!(
            names,
            [
                "install.sh",
                "plenary-1.2.3-linux-amd64.oci.tar",
                "plenary-1.2.3-x86_64-unknown-linux-musl.cdx.json",
                "plenary-1.2.3-x86_64-unknown-linux-musl.tar.gz",
                "plenary-1.2.3.tgz",
                "plenary-linux-x64-musl-1.2.3.tgz",
                "plenary_1.2.3_amd64.deb",
                "plenary_server-1.2.3-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl",
            ]
        );
    }

    /// Every blob of an image is named by its digest, and every descriptor names a blob of its size.
    #[test]
    fn an_image_holds_what_its_index_names() {
        let image = &packed()["plenary-1.2.3-linux-amd64.oci.tar"];
        let files: BTreeMap<String, Vec<u8>> = tar::Archive::new(&image[..])
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                (entry.path().unwrap().display().to_string(), bytes)
            })
            .collect();
        let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        let blob = |descriptor: &serde_json::Value| {
            let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
            let bytes = files[&format!("blobs/sha256/{digest}")].clone();
            assert_eq!(hex::encode(archive::sha256(&bytes)), digest);
            assert_eq!(descriptor["size"], bytes.len());
            bytes
        };
        let manifest = json(&blob(&json(&files["index.json"])["manifests"][0]));
        let config = json(&blob(&manifest["config"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        let mut layer = Vec::new();
        flate2::read::GzDecoder::new(&blob(&manifest["layers"][0])[..]).read_to_end(&mut layer).unwrap();
        let digest = format!("sha256:{}", hex::encode(archive::sha256(&layer)));
        assert_eq!(config["rootfs"]["diff_ids"][0], digest);
        let mut layer = tar::Archive::new(&layer[..]);
        let data = layer
            .entries()
            .unwrap()
            .map(Result::unwrap)
            .find(|entry| entry.path_bytes().ends_with(b"plenary/"));
        assert_eq!(data.unwrap().header().uid().unwrap(), 65_532);
    }

    #[test]
    fn an_output_directory_with_other_files_is_left_alone() {
        let out = std::env::temp_dir().join(format!("plenary-packages-{}", std::process::id()));
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("mine"), "").unwrap();
        assert!(write(&out, Vec::new()).is_err());
        assert!(out.join("mine").exists());
        fs::remove_dir_all(out).unwrap();
    }
}
