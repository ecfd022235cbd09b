//! Agent cards (section 4.4.1): the self-description of an agent. Pure.
//! Must not know: permissions to read a card.

use serde_json::{Value, json};

use crate::access::{VERSION, VisibleAgent};

/// The accepted media types of a message part. Other kinds of text are read as text.
const INPUT_MODES: [&str; 13] = [
    "text/plain",
    "text/markdown",
    "text/html",
    "text/csv",
    "application/json",
    "application/pdf",
    "application/octet-stream",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/mpeg",
    "audio/wav",
];

/// Whether a message part may have this media type; its parameters are ignored.
pub(crate) fn takes(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/") || INPUT_MODES.contains(&&*essence)
}

/// The difference between the two cards of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// For everybody who sees the agent.
    Public,
    /// For callers that may send requests to it.
    Extended,
}

/// The card of an agent; `base_url` is the URL under which clients reach the server.
pub(crate) fn card(seen: &VisibleAgent, base_url: &str, extent: Extent) -> Value {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let handle = seen.handle.as_str();
    let name = text(&seen.profile["display_name"]).unwrap_or_else(|| handle.to_owned());
    let mut description = text(&seen.profile["description"])
        .or_else(|| text(&seen.descriptor["purpose"]))
        .unwrap_or_else(|| format!("The agent {handle}."));
    if let Some(body) = text(&seen.profile["card_body"]).filter(|_| extent == Extent::Extended) {
        description = format!("{description}\n\n{body}");
    }
    let url = url(seen, base_url);
    let interface =
        |binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": VERSION});
    let mut interfaces = vec![interface("JSONRPC"), interface("HTTP+JSON")];
    // gRPC has no paths: it is not offered behind a path prefix, and the tenant names the agent.
    if base_url.split_once("://").is_some_and(|(_, authority_and_path)| !authority_and_path.contains('/')) {
        let mut grpc = interface("GRPC");
        grpc["url"] = base_url.into();
        grpc["tenant"] = handle.trim_start_matches('@').into();
        interfaces.push(grpc);
    }
    json!({
        "name": name,
        "description": description,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": interfaces,
        "provider": {"organization": seen.handle.owner(), "url": base_url},
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {
            "scheme": "Bearer", "description": "The token of an agent of this server.",
        }}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": INPUT_MODES,
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": skills(seen, &description, extent),
    })
}

pub(crate) fn url(seen: &VisibleAgent, base_url: &str) -> String {
    format!("{base_url}/a2a/{}", seen.handle.as_str().trim_start_matches('@'))
}

fn skills(seen: &VisibleAgent, description: &str, extent: Extent) -> Value {
    let chat = json!({"id": "chat", "name": "Chat", "description": description, "tags": ["chat"]});
    let operations = seen.descriptor["operations"].as_array().into_iter().flatten();
    let others = operations.filter(|operation| extent == Extent::Extended && operation["name"] != "chat");
    let skill = |operation: &Value| {
        json!({
            "id": operation["name"], "name": operation["name"], "description": operation["description"], "tags": ["operation"],
        })
    };
    std::iter::once(chat).chain(others.map(skill)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_one_of_the_cards_or_a_text() {
        for media_type in
            ["text/plain", "Text/Markdown; charset=utf-8", "text/x-rust", "application/json", "image/png"]
        {
            assert!(takes(media_type), "{media_type}");
        }
        for media_type in ["", "application/x-unknown", "image/*", "png", "application/json5"] {
            assert!(!takes(media_type), "{media_type}");
        }
    }

    #[test]
    fn the_extended_card_says_more() {
        let seen = VisibleAgent {
            handle: "@nick.coder".parse().unwrap(),
            descriptor: json!({"purpose": "Codes.", "operations": [{"name": "chat"}, {"name": "lint", "description": "Lints."}]}),
            profile: json!({"display_name": "Coder", "description": null, "card_body": "Ask me."}),
        };
        let public = card(&seen, "https://h", Extent::Public);
        assert_eq!(public["name"], "Coder");
        assert_eq!(public["description"], "Codes.");
        assert_eq!(public["supportedInterfaces"][0]["url"], "https://h/a2a/nick.coder");
        let grpc = json!({"url": "https://h", "protocolBinding": "GRPC", "protocolVersion": VERSION, "tenant": "nick.coder"});
        assert_eq!(public["supportedInterfaces"][2], grpc);
        let with_path = card(&seen, "https://h/below", Extent::Public);
        assert_eq!(with_path["supportedInterfaces"].as_array().unwrap().len(), 2, "no path, no gRPC");
        assert_eq!(public["skills"].as_array().unwrap().len(), 1);
        let extended = card(&seen, "https://h", Extent::Extended);
        assert_eq!(extended["description"], "Codes.\n\nAsk me.");
        assert_eq!(extended["skills"][1]["id"], "lint");
    }
}
