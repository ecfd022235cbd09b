//! A block of the agent's message, as text or as a document. Pure.
//! Must not know: the transport.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use plenary_runs::Event;
use serde_json::Value;

/// A part of the answer.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// Text, or a link within it.
    Text(String),
    /// A picture, a sound or a file.
    Document(Event),
}

/// The part of the answer that a block contains; `None` for a block of a later version, or without content.
pub(super) fn piece(block: &Value) -> Option<Piece> {
    let member = |value: &Value| value.as_str().map(str::to_owned);
    match block["type"].as_str() {
        Some("resource_link") => {
            let uri = member(&block["uri"])?;
            let name = member(&block["name"]).filter(|name| !name.is_empty()).unwrap_or_else(|| uri.clone());
            Some(Piece::Text(format!("[{name}]({uri})")))
        }
        Some(kind @ ("image" | "audio")) => {
            let bytes = STANDARD.decode(block["data"].as_str()?).ok()?;
            Some(document(&block["uri"], kind, &block["mimeType"], "application/octet-stream", bytes.into()))
        }
        Some("resource") => {
            let resource = &block["resource"];
            let (bytes, default) = match member(&resource["text"]) {
                Some(text) => (text.into(), "text/plain"),
                None => {
                    (STANDARD.decode(resource["blob"].as_str()?).ok()?.into(), "application/octet-stream")
                }
            };
            Some(document(&resource["uri"], "file", &resource["mimeType"], default, bytes))
        }
        _ => member(&block["text"]).map(Piece::Text),
    }
}

/// A document with the last part of its address as its name.
fn document(uri: &Value, kind: &str, mime_type: &Value, default: &str, bytes: Bytes) -> Piece {
    let last = uri.as_str().and_then(|uri| uri.trim_end_matches('/').rsplit('/').next());
    let name = last.filter(|name| !name.is_empty()).unwrap_or(kind);
    let mime_type = mime_type.as_str().filter(|mime_type| !mime_type.is_empty()).unwrap_or(default);
    Piece::Document(Event::artifact(name, mime_type, bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_is_text_or_a_document() {
        let text = |text: &str| Some(Piece::Text(text.to_owned()));
        let file = |name: &str, mime_type: &str, bytes: &'static [u8]| {
            Some(Piece::Document(Event::artifact(name, mime_type, Bytes::from_static(bytes))))
        };
        for (block, expected) in [
            (json!({"type": "text", "text": "a"}), text("a")),
            (
                json!({"type": "resource_link", "name": "b.rs", "uri": "file:///b.rs"}),
                text("[b.rs](file:///b.rs)"),
            ),
            (json!({"type": "resource_link", "uri": "file:///b.rs"}), text("[file:///b.rs](file:///b.rs)")),
            (
                json!({"type": "image", "data": "AQI=", "mimeType": "image/png"}),
                file("image", "image/png", &[1, 2]),
            ),
            (
                json!({"type": "resource", "resource": {"uri": "file:///x/c.md", "text": "hi"}}),
                file("c.md", "text/plain", b"hi"),
            ),
            (
                json!({"type": "resource", "resource": {"uri": "", "blob": "AQI="}}),
                file("file", "application/octet-stream", &[1, 2]),
            ),
            (json!({"type": "image", "data": "?", "mimeType": "image/png"}), None),
            (json!({"type": "resource", "resource": {"uri": "u"}}), None),
            (json!({"type": "later"}), None),
            (json!(7), None),
        ] {
            assert_eq!(piece(&block), expected, "{block}");
        }
    }
}
