//! Exports with the contents of deliverables: beside a file, in a backup, and back on another server.

use blackbox::{Cli, Server};
use serde_json::{Value, json};

use super::{desk, json_of, transfer::operator};

/// The SHA-256 of `one`.
const ONE: &str = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";

/// Two packages: one whose file was uploaded, and one whose file was not.
async fn fill(ann: &Cli) {
    for (name, text) in [("one.md", "one"), ("two.md", "two")] {
        std::fs::write(ann.dir().join(name), text).expect("a file");
    }
    ann.run_ok(&["context", "deposit", "--title", "One", "--deliverable", "one.md", "--upload"]).await;
    ann.run_ok(&["context", "deposit", "--title", "Two", "--deliverable", "two.md"]).await;
}

async fn content(cli: &Cli, hash: &str) -> Option<String> {
    let ran = cli.run(&["context", "blob", "get", hash, "--project", "parser"]).await;
    (ran.code == 0).then_some(ran.out)
}

fn contents(report: &Value) -> (u64, u64, u64) {
    let count = |name: &str| report["contents"][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
    (count("restored"), count("known"), count("refused_count"))
}

#[tokio::test]
async fn ap_80_a_file_takes_the_contents_of_deliverables_along() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    fill(&ann).await;
    let report = json_of(&ann.run_ok(&["context", "export", "out.ndjson", "--blobs", "--json"]).await);
    assert_eq!(
        (&report["blobs"]["attempted"], &report["blobs"]["stored"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    assert_eq!(report["blobs"]["errors"][0]["code"], "blob_not_found");
    let beside = ann.dir().join("out.ndjson.blobs");
    assert_eq!(std::fs::read_to_string(beside.join("sha256").join(ONE)).expect("a content"), "one");
    assert!(!ann.dir().join("out.ndjson.blobs.part").exists());
    let again = ann.run(&["context", "export", "out.ndjson", "--blobs"]).await;
    assert!(again.code == 2 && again.err.contains("already exists"), "{again:?}");
    let standard = ann.run(&["context", "export", "-", "--blobs"]).await;
    assert!(standard.code == 2 && standard.out.is_empty(), "{standard:?}");

    let root = operator(&there, &[]).await;
    let file = ann.dir().join("out.ndjson").display().to_string();
    let dry = json_of(&root.run_ok(&["context", "import", &file, "--dry-run", "--json"]).await);
    assert_eq!(contents(&dry), (1, 0, 0), "{dry}");
    assert_eq!(content(&root, ONE).await, None, "nothing was written");
    for expected in [(1, 0, 0), (0, 1, 0)] {
        let report = json_of(&root.run_ok(&["context", "import", &file, "--json"]).await);
        assert_eq!(contents(&report), expected, "{report}");
        assert_eq!(content(&root, ONE).await.as_deref(), Some("one"));
    }
    std::fs::write(beside.join("sha256").join(ONE), "other").expect("a content that is damaged");
    let damaged = root.run(&["context", "import", &file, "--json"]).await;
    let report = json_of(&damaged.out);
    assert_eq!((damaged.code, contents(&report)), (1, (0, 0, 1)), "{report}");
    assert_eq!(report["contents"]["refused"][0]["code"], "hash_mismatch");
    assert_eq!(content(&root, ONE).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn ap_2_ap_80_a_backup_takes_contents_along_into_a_project_that_is_archived() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    fill(&ann).await;
    let own = operator(&here, &[]).await;
    own.run_ok(&["context", "project", "archive", "parser"]).await;
    let show = ["context", "project", "show", "parser", "--json"];
    let before = json_of(&own.run_ok(&show).await);
    let bare = ann.run_ok(&["context", "export", "--format", "backup", "bare"]).await;
    assert!(!bare.contains("contents"), "only when they are asked for: {bare}");
    let made = ann.run_ok(&["context", "export", "--format", "backup", "--blobs", "backup"]).await;
    assert!(made.contains("contents of 1 deliverable") && made.contains("1 more"), "{made}");
    let manifest = std::fs::read_to_string(ann.dir().join("backup/manifest.json")).expect("a manifest");
    let manifest = json_of(&manifest);
    let counts = &manifest["counts"];
    assert_eq!((&counts["blobs_attempted"], &counts["blobs_stored"]), (&json!(2), &json!(1)));
    assert_eq!(manifest["blob_errors"][0]["code"], "blob_not_found");

    let root = operator(&there, &[]).await;
    let dir = ann.dir().join("backup").display().to_string();
    let report = json_of(&root.run_ok(&["context", "import", &dir, "--json"]).await);
    assert_eq!(contents(&report), (1, 0, 0), "{report}");
    assert_eq!(content(&root, ONE).await.as_deref(), Some("one"));
    let after = json_of(&root.run_ok(&show).await);
    assert_eq!(after["archived_at"], before["archived_at"], "it is archived since then, as it came");
    // One that is archived here takes nothing new, and says so for what it does not have.
    let again = json_of(&root.run_ok(&["context", "import", &dir, "--json"]).await);
    assert_eq!((&again["imported"], contents(&again)), (&json!(0), (0, 1, 0)), "{again}");
}
