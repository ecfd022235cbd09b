//! Packages from notes in Markdown.

use blackbox::Server;
use serde_json::json;

use super::{desk, package};

const NOTE: &str = "\
---
type: decision
tags: [a, b]
deliverables: [NOTE.md]
significance: 9
---
# Keep the lexer

It is fast enough.

## Decisions
- Keep it
- Measure it monthly

## Open questions
- Who measures?

## Handoff
See bench/.
";

#[tokio::test]
async fn ap_31_a_note_becomes_a_package_and_flags_win() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    std::fs::write(ann.dir().join("NOTE.md"), NOTE).expect("a file can be made");
    let args = ["context", "deposit", "--file", "NOTE.md", "--tag", "c", "--decision", "Tell everybody"];
    let stored = package(&ann, &ann.run_ok(&args).await).await;
    for (member, expected) in [
        ("title", json!("Keep the lexer")),
        ("package_type", json!("decision")),
        ("tags", json!(["c", "a", "b"])),
        ("significance", json!(9)),
        ("decisions_made", json!(["Tell everybody", "Keep it", "Measure it monthly"])),
        ("open_questions", json!(["Who measures?"])),
        ("handoff_note", json!("See bench/.")),
        ("content_md", json!("It is fast enough.")),
    ] {
        assert_eq!(stored[member], expected, "{member}");
    }
    assert_eq!(stored["deliverables"][0]["size_bytes"], NOTE.len());
    let titled = ann.run_ok(&["context", "deposit", "--file", "NOTE.md", "--title", "Mine"]).await;
    assert_eq!(package(&ann, &titled).await["title"], "Mine");
}

#[tokio::test]
async fn ap_22_a_package_needs_a_title_that_fits() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let none = ann.run(&["context", "deposit", "--decision", "x"]).await;
    assert!(none.code == 2 && none.err.contains("--title"), "{none:?}");
    let long = ann.run(&["context", "deposit", "--title", &"é".repeat(201)]).await;
    assert!(long.code == 2 && long.err.contains("201 characters"), "{long:?}");
    ann.run_ok(&["context", "deposit", "--title", &"é".repeat(200)]).await;
    let absent = ann.run(&["context", "deposit", "--title", "x", "--deliverable", "absent"]).await;
    assert!(absent.code == 1 && absent.err.contains("absent"), "{absent:?}");
    let kind = ann.run(&["context", "deposit", "--title", "x", "--type", "memo"]).await;
    assert!(kind.code == 1 && kind.err.contains("package_type"), "AP-30: {kind:?}");
    std::fs::write(ann.dir().join("n.md"), "---\nsignificance: much\n---\n# x").expect("a file can be made");
    let much = ann.run(&["context", "deposit", "--file", "n.md"]).await;
    assert!(much.code == 2 && much.err.contains("1 to 10"), "{much:?}");
    let dry = ann.run_ok(&["context", "deposit", "--title", "x", "--dry-run"]).await;
    assert!(dry.contains("\"title\": \"x\""), "{dry}");
    assert_eq!(ann.run_ok(&["context", "pull", "--short"]).await.lines().count(), 2, "one was deposited");
}
