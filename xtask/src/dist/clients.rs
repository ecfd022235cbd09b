//! The packages of the typed clients: a wheel of pure Python, and an npm package with the compiled
//! TypeScript.
//! Must not know: the purpose of the clients.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    Release,
    archive::{Entry, tar_gz},
    wheel,
};
use crate::{needs::clients, process};

/// Both file names, and their bytes.
pub(super) fn pack(root: &Path, release: &Release) -> Result<Vec<(String, Vec<u8>)>> {
    Ok(vec![python(&root.join("clients/python"), release)?, npm(&root.join("clients/typescript"), release)?])
}

fn python(directory: &Path, release: &Release) -> Result<(String, Vec<u8>)> {
    let described: toml::Table = fs::read_to_string(directory.join("pyproject.toml"))?.parse()?;
    let project = described.get("project").context("pyproject.toml describes a project")?;
    let text = |member: &str| {
        project
            .get(member)
            .and_then(toml::Value::as_str)
            .with_context(|| format!("pyproject.toml has no {member}"))
    };
    let (name, version) = (text("name")?, text("version")?);
    ensure!(version == release.version, "{name} is of version {version}");
    let mut metadata = format!(
        "Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nSummary: {}\nLicense-Expression: {}\n\
         License-File: LICENSE\nRequires-Python: {}\n",
        text("description")?,
        text("license")?,
        text("requires-python")?,
    );
    for (member, header) in [("classifiers", "Classifier"), ("dependencies", "Requires-Dist")] {
        for value in project
            .get(member)
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
        {
            metadata.push_str(&format!("{header}: {value}\n"));
        }
    }
    metadata.push_str("Description-Content-Type: text/markdown\n\n");
    metadata.push_str(&fs::read_to_string(directory.join("README.md"))?);

    let stem = format!("{}-{version}", name.replace('-', "_"));
    let info = format!("{stem}.dist-info");
    let files = files(&directory.join("src"), &["py", "typed"])?;
    let mut entries: Vec<Entry<'_>> =
        files.iter().map(|(path, content)| Entry::file(path, content)).collect();
    let tags = "Wheel-Version: 1.0\nGenerator: plenary xtask\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    entries.push(Entry::file(format!("{info}/METADATA"), metadata.as_bytes()));
    entries.push(Entry::file(format!("{info}/WHEEL"), tags.as_bytes()));
    entries.push(Entry::file(format!("{info}/licenses/LICENSE"), super::LICENSE.as_bytes()));
    Ok((format!("{stem}-py3-none-any.whl"), wheel::with_record(entries, &info, release.level)?))
}

fn npm(directory: &Path, release: &Release) -> Result<(String, Vec<u8>)> {
    let described = fs::read_to_string(directory.join("package.json"))?;
    let mut manifest: Value = serde_json::from_str(&described)?;
    let version = manifest["version"].as_str().unwrap_or_default();
    ensure!(version == release.version, "the client for npm is of version {version}");
    // Only the build needs them, and it is done.
    for member in ["scripts", "devDependencies"] {
        manifest.as_object_mut().context("package.json is an object")?.remove(member);
    }
    let manifest = serde_json::to_string_pretty(&manifest)? + "\n";

    let compiler = clients::compiler(directory)?;
    let built = directory.join("dist");
    if built.exists() {
        fs::remove_dir_all(&built).with_context(|| format!("could not remove {}", built.display()))?;
    }
    process::run(
        Command::new(&compiler.node)
            .current_dir(directory)
            .arg(&compiler.tsc)
            .args(["--project", "tsconfig.json"]),
    )?;
    let files = files(&built, &["js", "ts"])?;
    let readme = fs::read(directory.join("README.md"))?;
    let mut entries = vec![
        Entry::file("package/package.json", manifest.as_bytes()),
        Entry::file("package/LICENSE", super::LICENSE.as_bytes()),
        Entry::file("package/README.md", &readme),
    ];
    entries.extend(files.iter().map(|(path, content)| Entry::file(format!("package/dist/{path}"), content)));
    Ok((format!("plenary-client-{}.tgz", release.version), tar_gz(&entries, release.epoch, release.level)?))
}

/// Every file below a directory with one of these endings, by its relative path, sorted.
fn files(directory: &Path, endings: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut directories: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(current) = directories.pop() {
        for entry in
            fs::read_dir(&current).with_context(|| format!("could not list {}", current.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
                let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
                found.push((name, fs::read(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}
