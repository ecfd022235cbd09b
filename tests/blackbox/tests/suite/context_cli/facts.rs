//! Facts from the command line: now, as of a moment, and ever.

use blackbox::{Cli, Server};
use serde_json::json;

use super::{desk, json_of};

#[tokio::test]
async fn ap_47_ap_51_ap_52_a_fact_is_asserted_superseded_asked_for_and_ended() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let get = ["context", "fact", "get", "lexer", "status"];
    let none = ann.run(&get).await;
    assert_eq!((none.code, none.out.as_str()), (1, ""), "{none:?}");
    let first = ["context", "fact", "assert", "lexer", "status", "-1", "--confidence", "0.5", "--tag", "t"];
    let first = json_of(
        &ann.run_ok(&[&first[..], &["--valid-from", "2026-01-01T00:00:00Z", "--json"]].concat()).await,
    );
    assert_eq!(
        (&first["value"], &first["confidence"], &first["tags"]),
        (&json!("-1"), &json!(0.5), &json!(["t"]))
    );
    let said = ann.run_ok(&["context", "fact", "assert", "lexer", "status", "done"]).await;
    assert!(said.starts_with("- lexer status: **done** (since "), "{said}");
    assert_eq!(ann.run_ok(&get).await, "done", "the value alone, for scripts");
    for moment in ["2026-01-01", "2026-01-01T00:00:00Z"] {
        assert_eq!(ann.run_ok(&[&get[..], &["--as-of", moment]].concat()).await, "-1");
    }
    assert_eq!(ann.run(&[&get[..], &["--as-of", "2025-12-31"]].concat()).await.code, 1);
    let history = ann.run_ok(&["context", "fact", "history", "lexer"]).await;
    let lines: Vec<&str> = history.lines().collect();
    assert!(lines.len() == 3 && lines[1].ends_with("-1") && lines[2].contains("now"), "{history}");
    let pages = json_of(&ann.run_ok(&["context", "fact", "history", "lexer", "status", "--json"]).await);
    assert_eq!(pages["facts"][0]["valid_to"], pages["facts"][1]["valid_from"], "AP-48");
    let kept = ann.run_ok(&["context", "fact", "invalidate", "lexer", "status", "--object", "other"]).await;
    assert_eq!(kept, "there was no such current fact", "AP-67");
    let ended = json_of(&ann.run_ok(&["context", "fact", "invalidate", "lexer", "status", "--json"]).await);
    assert_eq!(ended, json!({"invalidated": 1}), "AP-66");
    assert_eq!(ann.run(&get).await.code, 1);
    assert!(ann.run(&["context", "fact", "get"]).await.err.contains("context fact assert"));
}

/// D.4: what a person accepts is the person's fact, also with the operator's token.
#[tokio::test]
async fn ap_57_a_person_asserts_in_its_own_name() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let id = ann.run_ok(&["context", "deposit", "--title", "The lexer is done"]).await;
    let operator = server.operator();
    let person = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_AS", "@nick.ann"),
        ("PLENARY_OPERATOR_TOKEN", operator.token()),
        ("PLENARY_PROJECT", "parser"),
    ]);
    let assert =
        ["context", "--human", "fact", "assert", "lexer", "status", "done", "--source", &id, "--json"];
    let made = json_of(&person.run_ok(&assert).await);
    assert_eq!(made["asserted_by"], json!({"id": "nick", "type": "human"}));
}
