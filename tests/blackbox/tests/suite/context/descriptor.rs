//! What the server says of itself, and that it is true: AP-60, AP-78, AP-79, AP-88, AP-91.

use blackbox::{Caller, Response, assert_keys};
use serde_json::{Value, json};

use super::speak::{PROJECT, deposited, desk, package, package_at, packages_of};

async fn descriptor(caller: &Caller) -> Value {
    let found = caller.get("/v1/conformance").await.ok(200);
    let keys = ["protocol_version", "conformance_level", "capabilities", "implementation"];
    assert_keys(&found, &keys, &["x-search"]);
    found
}

/// AP-88: the document's descriptor, with its version and level.
#[tokio::test]
async fn ap_88_91_92_the_descriptor_has_its_shape() {
    let (_server, nick) = desk().await;
    let found = descriptor(&nick).await;
    assert_eq!(found["protocol_version"], "0.1");
    assert_eq!(found["conformance_level"], "L3", "review-aware");
    assert_keys(&found["implementation"], &["name", "version"], &[]);
    let name = found["implementation"]["name"].as_str().expect("a name");
    assert!(name.eq_ignore_ascii_case("plenary"), "{found}");
    assert_eq!(found["implementation"]["version"], nick.get("/healthz").await.ok(200)["version"]);
    let capabilities = found["capabilities"].as_object().expect("an object");
    for named in ["hybrid_search", "semantic_search", "realtime", "blob_storage"] {
        assert!(capabilities.contains_key(named), "{named}: {found}");
    }
    assert!(capabilities.values().all(Value::is_boolean), "{found}");
}

/// Whether the server declares this capability.
pub(super) async fn declares(caller: &Caller, capability: &str) -> bool {
    descriptor(caller).await["capabilities"][capability] == true
}

#[track_caller]
fn assert_missing(response: &Response, capability: &str) {
    response.assert_refused(501, "not_implemented");
    assert_eq!(response.json()["error"]["capability"], capability, "AP-79: {response}");
}

/// AP-79: what is not declared is 501 and names the capability; what is declared is not.
#[tokio::test]
async fn ap_79_undeclared_capabilities_say_so() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let capabilities = descriptor(&nick).await["capabilities"].clone();
    let has = |name: &str| capabilities[name] == true;
    let blob = format!("/v1/projects/{PROJECT}/blobs/{}", super::canonical::sha256(b"blob"));
    if has("blob_storage") {
        nick.get(&blob).await.refusal_code(404);
    } else {
        assert_missing(&nick.get(&blob).await, "blob_storage");
        assert_missing(&nick.put(&blob, json!({})).await, "blob_storage");
    }
    if !has("realtime") {
        assert_missing(&nick.get(&format!("/v1/projects/{PROJECT}/events")).await, "realtime");
    }
    let search = nick.get(&format!("{}?mode=relevant&query=archive", packages_of(PROJECT))).await;
    assert!(has("keyword_search"), "{capabilities}");
    search.ok(200);
    assert_eq!(nick.get(&package_at("one")).await.status, 200);
}
