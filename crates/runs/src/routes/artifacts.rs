//! Download of artifacts, for callers that may read the thread (SC-47), in a form that no browser executes.
//! Must not know: where they are stored.

use axum::{
    body::Body,
    extract::{Path, State},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_edge::Operation;
use plenary_kernel::Class;

use super::{Answer, doc};
use crate::{Runs, caller::StreamCaller, event::Artifact};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let artifact_doc = doc(
        "run.artifact",
        Method::GET,
        "/artifacts/{artifact_id}",
        "Get an artifact of an agent",
    )
    .no_tool("bytes of any kind")
    .description(
        "For callers that may read its thread. A browser, which cannot set headers, passes `?ticket=`.",
    )
    .path_parameter::<String>("artifact_id", "The id from ArtifactGenerated.")
    .reply_type("application/octet-stream")
    .errors(Class::NotFound, &["artifact_not_found"]);
    vec![Operation::new(artifact_doc, artifact)]
}

async fn artifact(
    State(runs): State<Runs>,
    StreamCaller(asking): StreamCaller,
    Path(id): Path<String>,
) -> Answer {
    let artifact = runs.artifact(&asking.actor(), &id).await?;
    let content = runs.content(&artifact).await?;
    Ok((headers(&artifact), Body::from_stream(content.stream)).into_response())
}

fn headers(artifact: &Artifact) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let bytes = HeaderValue::from_static("application/octet-stream");
    let mime_type = HeaderValue::from_str(&artifact.mime_type).ok().filter(|text| !text.is_empty());
    headers.insert(header::CONTENT_TYPE, mime_type.unwrap_or(bytes));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(artifact.bytes));
    let name = utf8_percent_encode(&artifact.name, NON_ALPHANUMERIC);
    // RFC 6266: encoded, so that no name breaks out of the header.
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers
}
