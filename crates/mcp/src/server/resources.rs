//! The resources, by URI: each is the answer of one operation, on behalf of the caller.
//! Must not know: how a change is noticed, or the purpose of the operations.

use http::{Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::{
    ErrorData,
    model::{ErrorCode, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::json;

use crate::operations::{Caller, Operations, Reply};

/// The resource with an agent's news.
pub(super) const INBOX: &str = "plenary://inbox";
/// The characters that need no encoding in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'@');
/// The code of a refusal that is not an error of the message.
const REFUSED: ErrorCode = ErrorCode(-32_000);

struct ResourceKind {
    /// The URI, or the template of URIs.
    uri: &'static str,
    /// The path of the operation, with the same variables.
    path: &'static str,
    /// The path of the operation whose answer shows a change.
    watched: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
}

/// Resources whose own answer shows a change.
const fn kind(
    uri: &'static str,
    path: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
) -> ResourceKind {
    ResourceKind { uri, path, watched: path, name, title, description }
}

/// All resources and templates, in the order of lists.
const RESOURCES: &[ResourceKind] = &[
    kind(INBOX, "/inbox", "inbox", "Inbox", "What is new for this agent: messages, invitations, mentions."),
    kind(
        "plenary://me",
        "/agents/me",
        "me",
        "Agent",
        "The agent of the token, and the agents that it trusts.",
    ),
    kind("plenary://sessions", "/sessions", "sessions", "Sessions", "The conversations of this agent."),
    kind(
        "plenary://sessions/{id}",
        "/sessions/{id}",
        "session",
        "Session",
        "One conversation: its state and its participants.",
    ),
    ResourceKind {
        watched: "/sessions/{id}",
        ..kind(
            "plenary://sessions/{id}/events",
            "/sessions/{id}/events",
            "session-events",
            "Events of a session",
            "The events of one conversation.",
        )
    },
    kind(
        "plenary://sessions/{id}/messages/{sequence}",
        "/sessions/{id}/messages/{sequence}/status",
        "message",
        "Message",
        "The state of a message for each recipient; a subscription acts as a receipt.",
    ),
    kind(
        "plenary://channels",
        "/agent-channel",
        "channels",
        "Channels",
        "The channels of this agent's owner, newest first.",
    ),
    ResourceKind {
        watched: "/agent-channel/{id}/events?limit=1",
        ..kind(
            "plenary://channels/{id}",
            "/agent-channel/{id}",
            "channel",
            "Channel",
            "A channel: its participants, charter, state and recent events.",
        )
    },
    kind(
        "plenary://projects",
        "/v1/projects",
        "projects",
        "Projects",
        "The projects whose context this agent may read.",
    ),
    kind(
        "plenary://projects/{project_id}",
        "/v1/projects/{project_id}",
        "project",
        "Project",
        "One project.",
    ),
    kind(
        "plenary://projects/{project_id}/packages",
        "/v1/projects/{project_id}/packages",
        "packages",
        "Packages of a project",
        "The newest packages: work done, decisions, open questions.",
    ),
    kind(
        "plenary://packages/{package_id}",
        "/v1/packages/{package_id}",
        "package",
        "Package",
        "One package of work done.",
    ),
];

/// A resource found by its URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundResource {
    /// The path of the operation that answers it.
    pub(super) path: String,
    /// The path of the operation whose answer shows a change.
    pub(super) watched: String,
}

impl ResourceKind {
    fn is_served(&self, operations: &Operations) -> bool {
        operations.docs().iter().any(|doc| *doc.method() == Method::GET && doc.path() == self.path)
    }

    fn is_template(&self) -> bool {
        self.uri.contains('{')
    }
}

fn served(operations: &Operations) -> impl Iterator<Item = &'static ResourceKind> + '_ {
    RESOURCES.iter().filter(move |kind| kind.is_served(operations))
}

/// The resources without variables.
pub(super) fn list(operations: &Operations) -> Vec<Resource> {
    let described = |kind: &ResourceKind| {
        Resource::new(kind.uri, kind.name)
            .with_title(kind.title)
            .with_description(kind.description)
            .with_mime_type("application/json")
    };
    served(operations).filter(|kind| !kind.is_template()).map(described).collect()
}

/// The templates of the resources with variables.
pub(super) fn templates(operations: &Operations) -> Vec<ResourceTemplate> {
    let described = |kind: &ResourceKind| {
        ResourceTemplate::new(kind.uri, kind.name)
            .with_title(kind.title)
            .with_description(kind.description)
            .with_mime_type("application/json")
    };
    served(operations).filter(|kind| kind.is_template()).map(described).collect()
}

/// The resource of a URI; `None` for an unknown URI.
pub(super) fn find(operations: &Operations, uri: &str) -> Option<FoundResource> {
    served(operations).find_map(|kind| {
        let values = values(kind.uri, uri)?;
        let filled = |path: &str| {
            values
                .iter()
                .fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value))
        };
        Some(FoundResource { path: filled(kind.path), watched: filled(kind.watched) })
    })
}

/// The values of a template's variables in a URI, percent-encoded.
fn values(template: &'static str, uri: &str) -> Option<Vec<(&'static str, String)>> {
    let (mut template_parts, mut uri_parts) = (template.split('/'), uri.split('/'));
    let mut values = Vec::new();
    loop {
        match (template_parts.next(), uri_parts.next()) {
            (None, None) => return Some(values),
            (Some(template_parts), Some(uri_parts)) => {
                match template_parts.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(name) => values.push((name, segment(uri_parts)?)),
                    None if template_parts == uri_parts => {}
                    None => return None,
                }
            }
            (None, Some(_)) | (Some(_), None) => return None,
        }
    }
}

/// A segment of a URI as a segment of a path; `None` if it is empty, `.` or `..`, or contains `?` or `#`.
fn segment(text: &str) -> Option<String> {
    let plain = percent_decode_str(text).decode_utf8().ok()?;
    let is_one = !plain.is_empty() && plain != "." && plain != ".." && !text.contains(['?', '#']);
    is_one.then(|| utf8_percent_encode(&plain, SEGMENT).to_string())
}

/// Reads a resource.
///
/// # Errors
/// Not found, or the operation's refusal.
pub(super) async fn read(
    operations: &Operations,
    caller: &Caller,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let found = find(operations, uri).ok_or_else(|| not_found(uri))?;
    let reply = operations.ask(caller, Method::GET, &found.path, None).await;
    let reply = reply.map_err(|error| {
        tracing::warn!(%error, "a resource could not be read");
        ErrorData::internal_error("The answer was interrupted; try again.", None)
    })?;
    if !reply.status.is_success() {
        return Err(refused(uri, &reply));
    }
    let kind = reply.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("text/plain").to_owned();
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

/// An operation's refusal. A resource that the caller may not see counts as missing.
fn refused(uri: &str, reply: &Reply) -> ErrorData {
    if reply.status == StatusCode::NOT_FOUND {
        return not_found(uri);
    }
    let value = reply.value();
    let text = |name: &str| value["error"][name].as_str().or(value[name].as_str()).map(str::to_owned);
    let message = text("message").unwrap_or_else(|| format!("Refused with {}.", reply.status));
    let data = json!({"uri": uri, "status": reply.status.as_u16(), "code": text("code")});
    ErrorData::new(REFUSED, message, Some(data))
}

pub(super) fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use plenary_edge::OperationDoc;

    use super::*;

    fn operations() -> Operations {
        let doc = |path| OperationDoc::new("a.b", Method::GET, path, "");
        let paths = ["/sessions", "/sessions/{id}", "/sessions/{id}/events", "/agent-channel/{id}"];
        Operations::new(Router::new(), paths.map(doc).to_vec())
    }

    fn path(uri: &str) -> Option<String> {
        find(&operations(), uri).map(|found| found.path)
    }

    #[test]
    fn a_uri_names_the_operation_that_answers_it() {
        assert_eq!(path("plenary://sessions").as_deref(), Some("/sessions"));
        assert_eq!(path("plenary://sessions/ses_1").as_deref(), Some("/sessions/ses_1"));
        assert_eq!(path("plenary://sessions/ses_1/events").as_deref(), Some("/sessions/ses_1/events"));
        assert_eq!(path("plenary://sessions/a%2Fb%3F").as_deref(), Some("/sessions/a%2Fb%3F"));
        let channel = find(&operations(), "plenary://channels/AB12").unwrap();
        assert_eq!(channel.watched, "/agent-channel/AB12/events?limit=1");
    }

    #[test]
    fn what_could_be_another_path_names_nothing() {
        for uri in [
            "",
            "plenary://",
            "plenary://inbox",
            "plenary://sessions/",
            "plenary://sessions/..",
            "plenary://sessions/%2e%2e",
            "plenary://sessions/a?b=c",
            "plenary://sessions/a#b",
            "plenary://sessions/%ff",
            "plenary://sessions/a/events/b",
            "http://sessions",
            "PLENARY://sessions",
        ] {
            assert_eq!(path(uri), None, "{uri}");
        }
    }

    #[test]
    fn only_what_is_served_is_listed() {
        let listed: Vec<_> = list(&operations()).into_iter().map(|resource| resource.uri).collect();
        assert_eq!(listed, ["plenary://sessions"]);
        let listed: Vec<_> =
            templates(&operations()).into_iter().map(|template| template.uri_template).collect();
        assert_eq!(
            listed,
            ["plenary://sessions/{id}", "plenary://sessions/{id}/events", "plenary://channels/{id}"]
        );
    }
}
