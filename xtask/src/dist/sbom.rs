//! The bill of materials: every crate in the binary, as CycloneDX 1.6.
//! Must not know: any kind of package.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::archive::sha256;
use crate::process;

/// The crate of the binary.
const ROOT: &str = "plenary";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The bill of materials for a target.
pub(super) fn pack(root: &Path, triple: &str, epoch: u64) -> Result<Vec<u8>> {
    let args = ["metadata", "--format-version", "1", "--locked", "--filter-platform", triple];
    let metadata: Metadata = serde_json::from_str(&process::output(&mut process::cargo(root, &args))?)?;
    let lock: Lock = toml::from_str(&std::fs::read_to_string(root.join("Cargo.lock"))?)?;
    let mut date = Command::new("date");
    let time = process::output(date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &format!("@{epoch}")]))?;
    bill(&metadata, &lock, time.trim())
}

fn bill(metadata: &Metadata, lock: &Lock, time: &str) -> Result<Vec<u8>> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let root = metadata.packages.iter().find(|package| package.name == ROOT && package.source.is_none());
    let root = root.context("the workspace has no crate `plenary`")?;
    let mut within: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut waiting = vec![root.id.as_str()];
    while let Some(id) = waiting.pop() {
        if within.contains_key(id) {
            continue;
        }
        let node = nodes.get(id).context("a crate is not in the graph")?;
        // Dependencies of builds and tests only are not in the binary.
        let linked = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let needs: Vec<&str> = node.deps.iter().filter(linked).map(|found| found.pkg.as_str()).collect();
        waiting.extend(&needs);
        within.insert(id, needs);
    }
    let checksums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|found| Some(((found.name.as_str(), found.version.as_str()), found.checksum.as_deref()?)))
        .collect();
    let reference = |id: &str| -> Result<String> {
        let package = packages.get(id).context("a crate of the graph is not among the packages")?;
        Ok(format!("pkg:cargo/{}@{}", package.name, package.version))
    };
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for (id, needs) in &within {
        let own = reference(id)?;
        let needs: BTreeSet<String> = needs.iter().map(|id| reference(id)).collect::<Result<_>>()?;
        dependencies.insert(own.clone(), json!({"ref": own, "dependsOn": needs}));
        let package = packages.get(id).context("a crate of the graph is not among the packages")?;
        let checksum = checksums.get(&(package.name.as_str(), package.version.as_str())).copied();
        components.insert(own.clone(), component(package, &own, checksum));
    }
    let subject = components.remove(&reference(&root.id)?).context("the binary is in its own graph")?;
    let components: Vec<Value> = components.into_values().collect();
    let dependencies: Vec<Value> = dependencies.into_values().collect();
    let digest = hex::encode(sha256(json!([subject, components, dependencies, time]).to_string().as_bytes()));
    let (a, b, c, d) = (&digest[..8], &digest[8..12], &digest[13..16], &digest[17..20]);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{a}-{b}-8{c}-8{d}-{}", &digest[20..32]),
        "version": 1,
        "metadata": {"timestamp": time, "component": subject},
        "components": components,
        "dependencies": dependencies,
    });
    Ok((serde_json::to_string_pretty(&bill)? + "\n").into_bytes())
}

fn component(package: &Package, reference: &str, checksum: Option<&str>) -> Value {
    let kind = if package.name == ROOT { "application" } else { "library" };
    let mut component = json!({
        "type": kind, "bom-ref": reference, "name": package.name, "version": package.version,
    });
    if package.source.is_some() {
        component["purl"] = json!(reference);
    }
    if let Some(license) = &package.license {
        // Older manifests write `MIT/Apache-2.0`.
        component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Metadata {
        let package = |name: &str, source: Option<&str>| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source});
        serde_json::from_value(json!({
            "packages": [package("plenary", None), package("linked", Some("r")), package("tested", Some("r"))],
            "resolve": {"nodes": [
                {"id": "plenary", "deps": [
                    {"pkg": "linked", "dep_kinds": [{"kind": "dev"}, {"kind": null}]},
                    {"pkg": "tested", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]},
                ]},
                {"id": "linked", "deps": []},
                {"id": "tested", "deps": []},
            ]},
        }))
        .unwrap()
    }

    #[test]
    fn the_bill_lists_what_is_linked_and_nothing_else() {
        let lock: Lock =
            toml::from_str("[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n")
                .unwrap();
        let bytes = bill(&graph(), &lock, "2026-01-01T00:00:00Z").unwrap();
        let bill: Value = serde_json::from_slice(&bytes).unwrap();
        let names: Vec<_> =
            bill["components"].as_array().unwrap().iter().map(|found| &found["name"]).collect();
        assert_eq!(names, ["linked"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(bill["metadata"]["component"]["name"], "plenary");
        let edges = &bill["dependencies"][1];
        assert_eq!(
            edges,
            &json!({"ref": "pkg:cargo/plenary@1.0.0", "dependsOn": ["pkg:cargo/linked@1.0.0"]})
        );
    }
}
