//! Blobs of deliverables: upload and download (section 10.2 `blob_storage`; wire.md D.7). They are opaque: the server
//! does not read their content, and no browser treats them as a page of this server.

use std::ops::Range;

use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use plenary_blobs::BlobId;
use plenary_edge::{
    Operation, OperationDoc,
    ranges::{ByteRange, is_known, requested_range},
    read_stream,
};
use plenary_kernel::Class;
use plenary_room::while_allowed;

use super::{Bearer, Downloader, Path, in_project};
use crate::{
    Context,
    contents::BlobFailure,
    malformed::ContextFault,
    refusals::ContextRefusal,
    rejection::{BlobRejection, Rejection},
    wire::Blob,
};

fn of_blob(id: &'static str, method: Method, summary: &'static str) -> OperationDoc {
    in_project(id, method, "/v1/projects/{project_id}/blobs/{sha256}", summary)
        .path_parameter::<String>("sha256", "The SHA-256 of the content, 64 lower-case hex digits")
        .errors(Class::Malformed, &["invalid_parameter"])
        .errors(Class::NotImplemented, &["not_implemented"])
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let put_doc = of_blob("context.put_blob", Method::PUT, "Store the content of a deliverable")
        .no_tool("bytes of any kind")
        .without_key()
        .description(
            "The body is the content itself, of any type. 201 if it is new to the project, otherwise 200. A \
             body with another SHA-256 is refused, and nothing is stored.",
        )
        .success(StatusCode::CREATED)
        .or_status(StatusCode::OK)
        .request_type("application/octet-stream")
        .reply::<Blob>()
        .errors(Class::Malformed, &["hash_mismatch"])
        .errors(Class::Forbidden, &["unauthorized", "project_archived"])
        .errors(Class::TooLarge, &["body_too_large"])
        .errors(Class::Unavailable, &["too_many_puts"]);
    let get_doc = of_blob("context.get_blob", Method::GET, "Get the content of a deliverable")
        .no_tool("bytes of any kind")
        .description(
            "As an attachment without a type. `HEAD` gives its size; ranges are supported. Damaged content \
             is never sent whole: the response is 500, or the connection closes before the last bytes.",
        )
        .reply_type("application/octet-stream")
        .answers_file()
        .answers_ranges()
        .or_status(StatusCode::PARTIAL_CONTENT)
        .or_empty(StatusCode::NOT_MODIFIED)
        .or_refusal(StatusCode::RANGE_NOT_SATISFIABLE)
        .errors(Class::NotFound, &["blob_not_found"])
        .errors(Class::Internal, &["content_damaged"]);
    vec![put_doc.handled_by(put), get_doc.handled_by(get)]
}

impl From<BlobFailure> for ContextRefusal {
    fn from(failure: BlobFailure) -> Self {
        match failure {
            BlobFailure::Failure(failure) => failure.into(),
            BlobFailure::Body(refusal) => refusal.into(),
            BlobFailure::Blobs(fault) => {
                tracing::error!(%fault, "a blob cannot be stored or read");
                let rejection = match fault {
                    plenary_blobs::Fault::Unavailable(_) => BlobRejection::Unavailable,
                    plenary_blobs::Fault::Full => BlobRejection::Full,
                    plenary_blobs::Fault::Damaged(_) => BlobRejection::Damaged,
                };
                Rejection::from(rejection).into()
            }
        }
    }
}

fn blob_id(text: &str) -> Result<BlobId, ContextFault> {
    text.parse().map_err(|_| ContextFault::parameter("sha256", "64 lower-case hex digits"))
}

async fn put(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, sha256)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Blob>), ContextRefusal> {
    let id = blob_id(&sha256)?;
    let project = context.may_put(&project_id, &authority).await?;
    let content = read_stream(&headers, body, context.config().blob_bytes_max)?;
    let kept = context.put_blob(&project, authority, &id, content).await?;
    let status = if kept.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Blob { hash: format!("sha256:{id}"), size_bytes: kept.bytes })))
}

/// The headers of every response about a blob.
fn headers(etag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::ACCEPT_RANGES, "bytes"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::ETAG, HeaderValue::try_from(etag).expect("a hash is ASCII"));
    headers
}

fn number(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("numbers are ASCII")
}

async fn get(
    State(context): State<Context>,
    reader: Downloader,
    Path((project_id, sha256)): Path<(String, String)>,
    method: Method,
    sent: HeaderMap,
) -> Result<Response, ContextRefusal> {
    let id = blob_id(&sha256)?;
    let bytes = context.blob_size(&project_id, &reader.actor(), &id).await?;
    let etag = format!("\"sha256:{id}\"");
    let mut headers = headers(&etag);
    if is_known(&sent, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    if method == Method::HEAD {
        headers.insert(header::CONTENT_LENGTH, number(bytes.to_string()));
        return Ok((headers, Body::empty()).into_response());
    }
    let (status, range) = match requested_range(&sent, &etag, bytes) {
        ByteRange::Whole => (StatusCode::OK, None),
        ByteRange::Part(range) => (StatusCode::PARTIAL_CONTENT, Some(range)),
        ByteRange::Nothing => {
            let mut refused =
                ContextRefusal::from(ContextFault::parameter("Range", "within the content")).into_response();
            *refused.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            refused.headers_mut().insert(header::CONTENT_RANGE, number(format!("bytes */{bytes}")));
            return Ok(refused);
        }
    };
    let content = context.blob(&id, bytes, range).await?;
    let Range { start, end } = content.range;
    headers.insert(header::CONTENT_LENGTH, number((end - start).to_string()));
    if status == StatusCode::PARTIAL_CONTENT {
        headers.insert(header::CONTENT_RANGE, number(format!("bytes {start}-{}/{bytes}", end - 1)));
    }
    let is_allowed = move || {
        let (context, reader, project_id) = (context.clone(), reader.clone(), project_id.clone());
        async move {
            reader.is_valid(&context).await && context.readable(&project_id, &reader.actor()).await.is_ok()
        }
    };
    Ok((status, headers, while_allowed(content.stream, is_allowed)).into_response())
}
