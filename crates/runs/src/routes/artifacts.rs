//! Download of artifacts, for callers that may read the thread (SC-47), in a form that no browser executes.
//! Must not know: where they are stored.

use axum::{
    extract::{Path, State},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_edge::Operation;
use plenary_kernel::Class;
use plenary_room::while_allowed;

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
        "For callers that may read its thread. The response has the artifact's own media type. A browser, which cannot set headers, \
         passes `?ticket=`.",
    )
    .path_parameter::<String>("artifact_id", "The id from ArtifactGenerated.")
    .reply_type("*/*")
    .answers_file()
    .errors(Class::NotFound, &["artifact_not_found"]);
    vec![artifact_doc.handled_by(artifact)]
}

async fn artifact(
    State(runs): State<Runs>,
    StreamCaller(caller): StreamCaller,
    Path(id): Path<String>,
) -> Answer {
    let artifact = runs.artifact(&caller.actor(), &id).await?;
    let content = runs.content(&artifact).await?;
    let headers = headers(&artifact);
    let is_allowed = move || {
        let (runs, caller, id) = (runs.clone(), caller.clone(), id.clone());
        async move {
            runs.accounts().is_valid(&caller.0).await.is_ok_and(|is_valid| is_valid)
                && runs.artifact(&caller.actor(), &id).await.is_ok()
        }
    };
    Ok((headers, while_allowed(content.stream, is_allowed)).into_response())
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
    let own = Some(&artifact.mime_type).filter(|text| is_media_type(text));
    let mime_type = own.and_then(|text| HeaderValue::from_str(text).ok());
    headers.insert(header::CONTENT_TYPE, mime_type.unwrap_or(bytes));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(artifact.bytes));
    let name = utf8_percent_encode(&artifact.name, NON_ALPHANUMERIC);
    // RFC 6266: encoded, so that no name breaks out of the header.
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers
}

/// Whether an agent's text begins with a type and a subtype (RFC 6838, 4.2), as the header requires.
fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_has_its_own_type_if_that_is_one() {
        for (mime_type, sent) in [
            ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
            ("image/svg+xml", "image/svg+xml"),
            ("nonsense", "application/octet-stream"),
            ("", "application/octet-stream"),
            ("a/", "application/octet-stream"),
            ("a b/c", "application/octet-stream"),
            ("text/plain\r\nx: y", "application/octet-stream"),
            ("text/plain; a=\r\nx: y", "application/octet-stream"),
        ] {
            let artifact = Artifact {
                id: "art_1".to_owned(),
                name: "a".to_owned(),
                mime_type: mime_type.to_owned(),
                bytes: 1,
                sha256: String::new(),
            };
            assert_eq!(headers(&artifact)[header::CONTENT_TYPE], sent, "{mime_type:?}");
        }
    }
}
