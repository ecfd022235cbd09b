//! Contents of deliverables: put and get (section 10.2 `blob_storage`; wire.md D.7). They are opaque: nothing looks
//! into them, and no browser takes them for a page of ours.

use std::ops::Range;

use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use plenary_blobs::BlobId;
use plenary_edge::{Operation, OperationDoc, read_stream};
use plenary_kernel::{Class, ErrorCode};

use super::{Bearer, Path, in_project, is_known};
use crate::{
    Context,
    contents::BlobFailure,
    malformed::Malformed,
    refusals::Refused,
    rejection::{BlobRejection, Rejection},
    wire::Blob,
};

fn of_blob(id: &'static str, method: Method, summary: &'static str) -> OperationDoc {
    in_project(id, method, "/v1/projects/{project_id}/blobs/{sha256}", summary)
        .path_parameter::<String>("sha256", "The SHA-256 of the content, 64 lower-case hex digits")
        .errors(Class::Malformed, &[ErrorCode::InvalidParameter])
        .errors(Class::NotImplemented, &[ErrorCode::NotImplemented])
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let put_doc = of_blob("context.put_blob", Method::PUT, "Keep the content of a deliverable")
        .no_tool("octets of any kind")
        .without_key()
        .description(
            "The body is the content itself, of any type. 201 when it is new to the project, 200 when it is not. A \
             content whose SHA-256 is another is refused, and nothing of it is kept.",
        )
        .success(StatusCode::CREATED)
        .or_status(StatusCode::OK)
        .request_type("application/octet-stream")
        .reply::<Blob>()
        .errors(Class::Malformed, &[ErrorCode::HashMismatch])
        .errors(Class::Forbidden, &[ErrorCode::Unauthorized, ErrorCode::ProjectArchived])
        .errors(Class::TooLarge, &[ErrorCode::BodyTooLarge])
        .errors(Class::Unavailable, &[ErrorCode::TooManyPuts]);
    let get_doc = of_blob("context.get_blob", Method::GET, "Get the content of a deliverable")
        .no_tool("octets of any kind")
        .description(
            "As an attachment without a type; `HEAD` gives its size. A range may be asked for. A content that is damaged \
             never comes whole: 500, or a connection that breaks off before the last octets.",
        )
        .reply_type("application/octet-stream")
        .or_status(StatusCode::PARTIAL_CONTENT)
        .or_empty(StatusCode::NOT_MODIFIED)
        .or_refusal(StatusCode::RANGE_NOT_SATISFIABLE)
        .errors(Class::NotFound, &[ErrorCode::BlobNotFound])
        .errors(Class::Internal, &[ErrorCode::ContentDamaged]);
    vec![Operation::new(put_doc, put), Operation::new(get_doc, get)]
}

impl From<BlobFailure> for Refused {
    fn from(failure: BlobFailure) -> Self {
        match failure {
            BlobFailure::Failure(failure) => failure.into(),
            BlobFailure::Body(refusal) => refusal.into(),
            BlobFailure::Blobs(fault) => {
                tracing::error!(%fault, "a content can't be kept or given out");
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

fn blob_id(text: &str) -> Result<BlobId, Malformed> {
    text.parse().map_err(|_| Malformed::parameter("sha256", "64 lower-case hex digits"))
}

async fn put(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, sha256)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Blob>), Refused> {
    let id = blob_id(&sha256)?;
    let project = context.may_put(&project_id, &authority).await?;
    let content = read_stream(&headers, body, context.config().blob_octets_max)?;
    let kept = context.put_blob(&project, authority, &id, content).await?;
    let status = if kept.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Blob { hash: format!("sha256:{id}"), size_bytes: kept.octets })))
}

/// What a range asks for (RFC 9110, 14.1.2).
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Whole,
    Part(Range<u64>),
    /// Nothing that is there.
    Nothing,
}

/// Several ranges, other units, and what is no range are passed over: the answer is then the whole.
fn asked(headers: &HeaderMap, etag: &str, octets: u64) -> Asked {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // A range of another content is of no use to whoever has the beginning of this one.
    if text(header::IF_RANGE).is_some_and(|tag| tag != etag) {
        return Asked::Whole;
    }
    let range = text(header::RANGE).and_then(|range| range.strip_prefix("bytes="));
    let Some((from, until)) = range.and_then(|range| range.split_once('-')) else { return Asked::Whole };
    let number =
        |text: &str| text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let part = match (number(from), number(until)) {
        (None, Some(last)) if from.is_empty() => octets.saturating_sub(last)..octets,
        (Some(from), None) if until.is_empty() => from..octets,
        (Some(from), Some(until)) if from <= until => from..octets.min(until.saturating_add(1)),
        _ => return Asked::Whole,
    };
    if part.start < part.end { Asked::Part(part) } else { Asked::Nothing }
}

/// What every answer about a content says.
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
    Bearer(authority): Bearer,
    Path((project_id, sha256)): Path<(String, String)>,
    method: Method,
    sent: HeaderMap,
) -> Result<Response, Refused> {
    let id = blob_id(&sha256)?;
    let octets = context.blob_size(&project_id, &authority.by, &id).await?;
    let etag = format!("\"sha256:{id}\"");
    let mut headers = headers(&etag);
    if is_known(&sent, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    if method == Method::HEAD {
        headers.insert(header::CONTENT_LENGTH, number(octets.to_string()));
        return Ok((headers, Body::empty()).into_response());
    }
    let (status, range) = match asked(&sent, &etag, octets) {
        Asked::Whole => (StatusCode::OK, None),
        Asked::Part(range) => (StatusCode::PARTIAL_CONTENT, Some(range)),
        Asked::Nothing => {
            let mut refused =
                Refused::from(Malformed::parameter("Range", "within the content")).into_response();
            *refused.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            refused.headers_mut().insert(header::CONTENT_RANGE, number(format!("bytes */{octets}")));
            return Ok(refused);
        }
    };
    let content = context.blob(&id, octets, range).await?;
    let Range { start, end } = content.range;
    headers.insert(header::CONTENT_LENGTH, number((end - start).to_string()));
    if status == StatusCode::PARTIAL_CONTENT {
        headers.insert(header::CONTENT_RANGE, number(format!("bytes {start}-{}/{octets}", end - 1)));
    }
    Ok((status, headers, Body::from_stream(content.stream)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_http_has_it() {
        let of = |range: &str| {
            let headers = HeaderMap::from_iter([(header::RANGE, range.parse().unwrap())]);
            asked(&headers, "\"a\"", 10)
        };
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=3-5", 3..6),
            ("bytes=3-99", 3..10),
            ("bytes=9-", 9..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("bytes=0-18446744073709551615", 0..10),
        ] {
            assert_eq!(of(range), Asked::Part(part), "{range}");
        }
        for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            assert_eq!(of(range), Asked::Nothing, "{range}");
        }
        for range in
            ["bytes=5-3", "bytes=-", "bytes=0-1,3-4", "items=0-1", "bytes=a-b", "bytes=+1-2", "bytes=1"]
        {
            assert_eq!(of(range), Asked::Whole, "{range}");
        }
        let mut headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static("bytes=0-0"))]);
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"b\""));
        assert_eq!(asked(&headers, "\"a\"", 10), Asked::Whole, "another content");
    }
}
