//! The operations of files: upload and download. Files are opaque: the server does not read their content, and no
//! browser treats them as a page of this server.
//! Must not know: permissions to read a file.

use std::ops::Range;

use axum::{
    body::Body,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_accounts::{AgentCaller, Caller};
use plenary_edge::{
    Auth, Operation, OperationDoc,
    ranges::{ByteRange, is_known, requested_range},
    read_stream,
};
use plenary_kernel::{Class, FileId, Refusal};
use plenary_room::while_allowed;
use schemars::JsonSchema;

use super::{
    UPLOAD_FRAME_BYTES_MAX,
    command::UploadedFile,
    multipart,
    refusals::{damaged_file, missing_file, store_refusal},
    room::Row,
    upload::{Uploader, name_of},
};
use crate::{Sessions, refusals::SessionRefusal, request::header_key, routes::answer};

/// Media types that a browser may show by itself: images that hold no script.
const INLINE_TYPES: [&str; 5] = ["image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"];
/// What every other file is given out as.
const OPAQUE: &str = "application/octet-stream";

/// The parts of `POST /files`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "described, and read part by part")]
struct Upload {
    /// The content, with its file name and its media type in the head of its part.
    #[schemars(extend("format" = "binary"))]
    file: String,
}

pub(crate) fn operations() -> Vec<Operation<Sessions>> {
    let upload_doc = OperationDoc::new("file.upload", Method::POST, "/files", "Upload a file for a message")
        .room("sessions")
        .no_tool("bytes of any kind; `plenary session send --attach` sends them")
        .description(
            "The body is multipart/form-data with one part, `file`, which has a file name. A message names the file by \
             `file_id` in a part of the type `file` or `image`. A file that no message names by `expires_at` is removed.",
        )
        .request::<Upload>()
        .request_type("multipart/form-data")
        .reply::<UploadedFile>()
        .success(StatusCode::CREATED)
        .errors(Class::Malformed, &["invalid_multipart", "invalid_filename"])
        .errors(Class::Forbidden, &["quota_exceeded"])
        .errors(Class::Timeout, &["request_timeout"])
        .errors(Class::TooLarge, &["body_too_large"])
        .errors(Class::UnsupportedMedia, &["unsupported_media_type"])
        .errors(Class::TooMany, &["too_many_uploads"])
        .errors(Class::NotImplemented, &["not_implemented"])
        .errors(Class::Unavailable, &["too_many_puts", "overloaded"]);
    let get_doc = OperationDoc::new("file.get", Method::GET, "/files/{id}", "Get a file")
        .room("sessions")
        .auth(Auth::Any)
        .for_guests()
        .no_tool("bytes of any kind; `plenary session file` gets them")
        .description(
            "For the agent that uploaded it, its owner, and every participant that may read a message that \
             names it. As an attachment, except images without scripts. `HEAD` gives its size, and ranges are \
             supported. A damaged file is never sent whole: the response is 500, or the connection closes before its end. \
             A file of a session of another network comes from there.",
        )
        .path_parameter::<FileId>("id", "The file.")
        .reply_type(OPAQUE)
        .answers_file()
        .answers_ranges()
        .or_status(StatusCode::PARTIAL_CONTENT)
        .or_empty(StatusCode::NOT_MODIFIED)
        .or_refusal(StatusCode::RANGE_NOT_SATISFIABLE)
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::TooMany, &["too_many_requests"])
        .errors(Class::NotImplemented, &["not_implemented"])
        .errors(Class::Unavailable, &["peer_unreachable"])
        .errors(Class::Internal, &["content_damaged"]);
    let get_doc = INLINE_TYPES.iter().fold(get_doc, |doc, kind| doc.or_reply_type(kind));
    vec![upload_doc.handled_by(upload), get_doc.handled_by(get)]
}

async fn upload(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, SessionRefusal> {
    sessions.contents()?;
    let _share = sessions.upload_share(&agent.handle)?;
    let key = header_key(&headers)?.map(str::to_owned);
    let boundary = multipart::boundary(&headers)?;
    let bytes_max = sessions.0.config.file_bytes_max.saturating_add(UPLOAD_FRAME_BYTES_MAX);
    let body = read_stream(&headers, body, bytes_max)?;
    let (declaration, content) = multipart::read(boundary, body).await?;
    let uploader = Uploader { authority: agent.authority(), handle: agent.handle };
    // The state of an upload is on the heap, because it lives as long as the upload.
    let execution = Box::pin(sessions.upload(&uploader, declaration, content, key)).await?;
    Ok(answer(StatusCode::CREATED, execution))
}

/// What every answer about a file says.
fn file_headers(row: &Row, etag: &str) -> HeaderMap {
    let is_inline = INLINE_TYPES.contains(&row.media_type.as_str());
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::ACCEPT_RANGES, "bytes"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let kind = if is_inline { row.media_type.as_str() } else { OPAQUE };
    headers.insert(header::CONTENT_TYPE, ascii(kind));
    headers.insert(header::CONTENT_DISPOSITION, ascii(&disposition(is_inline, &row.name)));
    headers.insert(header::ETAG, ascii(etag));
    headers
}

/// How a browser takes a file, and under which name: for old clients in ASCII, for others as it is (RFC 6266).
fn disposition(is_inline: bool, name: &str) -> String {
    let kind = if is_inline { "inline" } else { "attachment" };
    let plain = |c: char| if matches!(c, ' '..='~') && !matches!(c, '"' | '%') { c } else { '_' };
    let plain: String = name.chars().map(plain).collect();
    let encoded = utf8_percent_encode(name, NON_ALPHANUMERIC);
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).expect("it is made of printable ASCII")
}

async fn get(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    Path(id): Path<String>,
    parts: Parts,
) -> Result<Response, SessionRefusal> {
    let id: FileId = id.parse().map_err(|_| SessionRefusal::new(Refusal::not_found()))?;
    let Some(row) = sessions.file_for(&principal.who, &id).await? else {
        let source = sessions.peer_file_source(&principal.who, &id).await?;
        let (agent, peer) = source.ok_or_else(|| SessionRefusal::new(Refusal::not_found()))?;
        let response = sessions.peer_file(&agent, (&peer, &id), &parts).await?;
        let is_allowed = move || {
            let (accounts, principal) = (sessions.accounts().clone(), principal.clone());
            async move { accounts.is_valid(&principal).await.is_ok_and(|is_valid| is_valid) }
        };
        return Ok(response.map(|body| while_allowed(body.into_data_stream(), is_allowed)));
    };
    let (method, request_headers) = (parts.method, parts.headers);
    let (etag, bytes) = (format!("\"sha256:{}\"", row.sha256), row.bytes);
    let mut headers = file_headers(&row, &etag);
    if is_known(&request_headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    if method == Method::HEAD {
        headers.insert(header::CONTENT_LENGTH, bytes.into());
        return Ok((headers, Body::empty()).into_response());
    }
    let (status, range) = match requested_range(&request_headers, &etag, bytes) {
        ByteRange::Whole => (StatusCode::OK, None),
        ByteRange::Part(range) => (StatusCode::PARTIAL_CONTENT, Some(range)),
        ByteRange::Nothing => {
            let refusal = Refusal::malformed("invalid_range", "The range starts after the end of the file.");
            let mut response = SessionRefusal::new(refusal).into_response();
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            response.headers_mut().insert(header::CONTENT_RANGE, ascii(&format!("bytes */{bytes}")));
            return Ok(response);
        }
    };
    let content_id = row.sha256.parse().map_err(|_| damaged_file(&id))?;
    let content = sessions.contents()?.read(&name_of(&id), &content_id, range).await;
    let content = content.map_err(|fault| store_refusal(&fault))?.ok_or_else(|| missing_file(&id))?;
    // Detected before the first byte is sent.
    if content.bytes != bytes {
        return Err(damaged_file(&id).into());
    }
    let Range { start, end } = content.range;
    headers.insert(header::CONTENT_LENGTH, (end - start).into());
    if status == StatusCode::PARTIAL_CONTENT {
        let content_range = format!("bytes {start}-{}/{bytes}", end - 1);
        headers.insert(header::CONTENT_RANGE, ascii(&content_range));
    }
    let is_allowed = move || {
        let (sessions, principal, id) = (sessions.clone(), principal.clone(), id.clone());
        async move {
            sessions.accounts().is_valid(&principal).await.is_ok_and(|is_valid| is_valid)
                && matches!(sessions.file_for(&principal.who, &id).await, Ok(Some(_)))
        }
    };
    Ok((status, headers, while_allowed(content.stream, is_allowed)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_disposition_has_ascii_and_utf8_names() {
        for (name, expected) in [
            ("q3.pdf", "attachment; filename=\"q3.pdf\"; filename*=UTF-8''q3%2Epdf"),
            ("é \"x\"%", "attachment; filename=\"_ _x__\"; filename*=UTF-8''%C3%A9%20%22x%22%25"),
        ] {
            assert_eq!(disposition(false, name), expected);
        }
        assert!(disposition(true, "a.png").starts_with("inline; "));
    }
}
