//! FO-18 to FO-22, FO-81: announcements compel nobody: no lease is a lock, no intent is a claim.
//! Must not know: the bounds of their payloads.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::speak::{frame, sent, submit, subscribe, uuid};

async fn announce(from: &Agent, kind: &str, payload: Value) -> Value {
    let frame = frame(from, "~nick", kind, payload);
    sent(&submit(from, &frame).await, &frame);
    frame
}

/// Two sessions claim the same resource under the same lease; both are heard, and neither is told
/// of the other.
#[tokio::test]
async fn fo_18_19_20_claims_do_not_exclude_each_other() {
    let (_server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let mut stream = subscribe(&one).await;
    let lease = uuid();
    let claim = json!({"resource": "src/main.rs", "lease_id": lease, "ttl_ms": 3_600_000});
    let mut said = Vec::new();
    for from in [&one, &two, &one] {
        said.push(announce(from, "agent_lock_request", claim.clone()).await);
    }
    let other = json!({"resource": "src/lib.rs", "lease_id": lease, "ttl_ms": 1});
    said.push(announce(&two, "agent_lock_request", other).await);
    // FO-18: who goes on regardless is not held up.
    said.push(announce(&two, "agent_advisory", json!({"advisory_text": "editing src/main.rs"})).await);
    for frame in said {
        assert_eq!(stream.event().await.frame, frame);
    }
}

/// FO-21: a release or an extension of a lease that nobody knows, or that is somebody else's, or that was released.
#[tokio::test]
async fn fo_21_unknown_leases_are_no_error() {
    let (_server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let mut stream = subscribe(&one).await;
    let lease = uuid();
    let mut said = vec![
        announce(&one, "agent_lock_release", json!({"lease_id": uuid()})).await,
        announce(&one, "agent_lease_extend", json!({"lease_id": uuid(), "ttl_ms": 5})).await,
    ];
    let claim = json!({"resource": "src/main.rs", "lease_id": lease, "ttl_ms": 60_000});
    said.push(announce(&one, "agent_lock_request", claim).await);
    for from in [&two, &one, &one] {
        let release = json!({"lease_id": lease, "resource": "another/file"});
        said.push(announce(from, "agent_lock_release", release).await);
        said.push(announce(from, "agent_lease_extend", json!({"lease_id": lease, "ttl_ms": 60_000})).await);
    }
    for frame in said {
        assert_eq!(stream.event().await.frame, frame);
    }
}

/// FO-22: intents are withdrawn and executed by whoever says so, declared or not.
#[tokio::test]
async fn fo_22_convergence_carries_no_authority() {
    let (_server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let mut stream = subscribe(&one).await;
    let class = "github.pull/acme";
    let at = "2026-05-22T10:00:00Z";
    let mut said = Vec::new();
    let withdrawal = json!({"convergence_class": class, "intent_ref": "never declared", "withdrawn_at": at});
    said.push(announce(&two, "intent_withdraw", withdrawal).await);
    let flush = json!({
        "convergence_class": class, "result_ref": "pr/7", "executed_at": at, "batch_refs": ["never declared"],
    });
    said.push(announce(&two, "flush_executed", flush.clone()).await);
    for from in [&one, &two] {
        let intent = json!({
            "convergence_class": class, "payload_ref": "branch/a", "acted_by": "~nick",
            "drafted_with": "~cc-example-model", "declared_at": at, "ttl": 60_000, "withdrawable": false,
        });
        said.push(announce(from, "intent_declare", intent).await);
        // Not withdrawable is the sender's word, not the substrate's rule.
        let withdrawal = json!({"convergence_class": class, "intent_ref": "branch/a", "withdrawn_at": at});
        said.push(announce(from, "intent_withdraw", withdrawal).await);
        said.push(announce(from, "flush_executed", flush.clone()).await);
    }
    for frame in said {
        assert_eq!(stream.event().await.frame, frame);
    }
}
