//! The Model Context Protocol at /mcp: raw JSON in both eras, the shim on standard input and output, and clients that
//! were not written here.

mod cancelling;
mod door;
mod notices;
mod outside;
mod person;
mod resources;
mod said;
mod sessions;
mod single;
mod stdio;

/// Reads a resource.
pub(crate) async fn resource(agent: &blackbox::Agent, uri: &str) {
    said::result(agent, "resources/read", serde_json::json!({"uri": uri})).await;
}
