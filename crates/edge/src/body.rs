//! Request bodies: read within the limit, checked as strict JSON, and passed on as the received bytes (wire.md D.3).
//! Must not know: the meaning of the JSON, or the form of a room's refusals.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
};
use bytes::BytesMut;
use futures_util::{Stream, TryStreamExt};
use http::{HeaderMap, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use plenary_kernel::{Class, Refusal, json, limits::BODY_BYTES_MAX};
use serde::de::DeserializeOwned;

use crate::{bodies::BodyShare, guard::Fault, misfit::misfit, objects, strict::Strict};

/// A body that passed the strict check of [`json::check`], or an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictJson(Bytes);

impl StrictJson {
    /// Checks bytes in memory. White space alone counts as empty.
    ///
    /// # Errors
    /// 400 `invalid_json`.
    pub fn check(bytes: Bytes) -> Result<Self, Refusal> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self(Bytes::new()));
        }
        match json::check(&bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(fault) => {
                Err(Refusal::malformed("invalid_json", format!("The body is not acceptable JSON: {fault}.")))
            }
        }
    }

    /// Whether there was no body.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes as received; empty if there was no body.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Parses the body as `T`.
    ///
    /// # Errors
    /// 400 `invalid_json` if there is no body, 400 `invalid_body` if it is not a `T`.
    pub fn parse<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, Refusal> {
        if self.is_empty() {
            return Err(Refusal::malformed("invalid_json", "The body is empty; send a JSON object."));
        }
        objects::read(&self.0).map_err(|fault| {
            Refusal::malformed("invalid_body", format!("The body does not fit: {}.", misfit(&fault)))
        })
    }

    /// Parses the body as `T`, an absent one as `{}`: for routes with an optional body.
    ///
    /// # Errors
    /// 400 `invalid_body` if it is not a `T`.
    pub fn parse_or_empty<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        if self.is_empty() { Self(Bytes::from_static(b"{}")).parse() } else { self.parse() }
    }
}

/// Reads a body of at most `bytes_max` and checks it.
///
/// # Errors
/// 413 `body_too_large`, as soon as the length is known to exceed the limit; 415 for a compressed body;
/// 400 `invalid_json`; 408 for one that came too slowly; 400 for broken framing; 429 or 503 `overloaded` without memory for it.
pub async fn read_json(parts: &Parts, body: Body, bytes_max: usize) -> Result<StrictJson, Refusal> {
    StrictJson::check(read_bytes(parts, body, bytes_max).await?)
}

/// Reads a body of at most `bytes_max` without checks.
///
/// # Errors
/// As [`read_json`], except `invalid_json`.
pub async fn read_bytes(parts: &Parts, mut body: Body, bytes_max: usize) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    check_coding(&parts.headers)?;
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let mut share = BodyShare::default();
    let mut read = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|error| body_refusal(&error))?.into_data() else { continue };
        let bytes = read.len() + joined.len() + data.len();
        if bytes > bytes_max {
            return Err(too_large(bytes_max));
        }
        // What is complete is used at once; only a body that is awaited holds memory for long.
        if !body.is_end_stream() {
            share.count(bytes, parts.extensions.get())?;
        }
        // Nearly every body arrives in one piece, which is not copied.
        if joined.is_empty() && read.is_empty() {
            read = data;
            continue;
        }
        if joined.is_empty() {
            joined.reserve(bytes);
            joined.extend_from_slice(&std::mem::take(&mut read));
        }
        joined.extend_from_slice(&data);
    }
    Ok(if joined.is_empty() { read } else { joined.freeze() })
}

/// A body without checks, piece by piece. The limit applies only to the announced length; the reader
/// must count the pieces.
///
/// # Errors
/// As [`read_bytes`], also for the pieces.
pub fn read_stream(
    headers: &HeaderMap,
    body: Body,
    bytes_max: u64,
) -> Result<impl Stream<Item = Result<Bytes, Refusal>> + Send + use<>, Refusal> {
    check_coding(headers)?;
    if body.size_hint().lower() > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(TryStreamExt::map_err(body.into_data_stream(), |error| body_refusal(&error)))
}

/// Refuses a compressed body.
pub(crate) fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.get(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity") {
        return Ok(());
    }
    Err(Refusal::new(
        Class::UnsupportedMedia,
        "unsupported_content_encoding",
        "Compressed bodies are not accepted; send the body uncompressed.",
    ))
}

fn too_large(bytes_max: impl std::fmt::Display) -> Refusal {
    Refusal::new(Class::TooLarge, "body_too_large", format!("The body is larger than {bytes_max} bytes."))
}

/// The refusal of a body that was not read to its end.
pub fn body_refusal(error: &axum::Error) -> Refusal {
    let source = std::error::Error::source(error);
    match (Fault::within(error), source.and_then(|source| source.downcast_ref::<Refusal>())) {
        (Some(fault), _) => fault.refusal(),
        (None, Some(refusal)) => refusal.clone(),
        (None, None) => Refusal::malformed("incomplete_body", "The body ended before its announced length."),
    }
}

/// A request extension: the limit of the body of an inner call, which says parts of the caller's request several times.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// Extracts the body of a request, or the reason of its refusal; the handler refuses in its room's form,
/// after the checks that precede the body.
#[derive(Debug)]
pub struct JsonBody(pub Result<StrictJson, Refusal>);

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(Self(Self::read(&parts, body).await))
    }
}

impl JsonBody {
    /// Reads the body of a request: for handlers that identify their caller first, so that a stranger's body is not read.
    ///
    /// # Errors
    /// As [`read_json`].
    pub async fn read(parts: &Parts, body: Body) -> Result<StrictJson, Refusal> {
        let bytes_max = parts.extensions.get().map_or(BODY_BYTES_MAX, |BodyLimit(bytes_max)| *bytes_max);
        Self::read_up_to(bytes_max, parts, body).await
    }

    /// The same with a limit.
    ///
    /// # Errors
    /// As [`read_json`].
    pub async fn read_up_to(bytes_max: usize, parts: &Parts, body: Body) -> Result<StrictJson, Refusal> {
        let json = read_json(parts, body, bytes_max).await?;
        if let Some(Strict(shape)) = parts.extensions.get::<Strict>() {
            shape.check(json.bytes())?;
        }
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures_util::{FutureExt, stream};

    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let with =
            |request: http::request::Builder, (name, value): &(&str, &str)| request.header(*name, *value);
        headers.iter().fold(http::Request::builder(), with).body(()).unwrap().into_parts().0
    }

    fn read(body: Body, bytes_max: usize) -> Result<StrictJson, Refusal> {
        read_json(&parts(&[]), body, bytes_max).now_or_never().unwrap()
    }

    fn pieces(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(*piece)).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[test]
    fn the_bytes_stay_as_received() {
        let text = "{ \"a\" : 1.0e2 ,\n\"b\":[] }";
        assert_eq!(read(Body::from(text), 64).unwrap().bytes(), text);
        assert_eq!(read(pieces(&["{ \"a\" : 1.0", "", "e2 ,\n\"b\"", ":[] }"]), 64).unwrap().bytes(), text);
    }

    #[test]
    fn at_the_limit_is_accepted_and_one_byte_more_is_413() {
        assert!(read(Body::from("[1,2]"), 5).is_ok());
        assert!(read(pieces(&["[1,", "2]"]), 5).is_ok());
        for body in [Body::from("[1,23]"), pieces(&["[1,", "23]"]), pieces(&["[1,23]"])] {
            let refusal = read(body, 5).unwrap_err();
            assert_eq!((refusal.class, refusal.code), (Class::TooLarge, "body_too_large"));
        }
    }

    #[test]
    fn an_absent_body_is_a_case_of_its_own() {
        for body in [Body::empty(), Body::from(" \r\n"), pieces(&["", " "])] {
            let json = read(body, 5).unwrap();
            assert!(json.is_empty());
            assert_eq!(json.parse::<serde_json::Value>().unwrap_err().code, "invalid_json");
            assert_eq!(json.parse_or_empty::<BTreeMap<String, u8>>().unwrap(), BTreeMap::new());
        }
    }

    #[test]
    fn what_is_not_strict_json_is_invalid_json_and_what_does_not_fit_invalid_body() {
        for body in ["{", "{\"a\":1,\"a\":2}", "\"\\u0000\"", "9007199254740993"] {
            let refusal = read(Body::from(body), 64).unwrap_err();
            assert_eq!((refusal.class, refusal.code), (Class::Malformed, "invalid_json"), "{body}");
        }
        let json = read(Body::from("[1]"), 64).unwrap();
        assert_eq!(json.parse::<BTreeMap<String, u8>>().unwrap_err().code, "invalid_body");
        assert_eq!(json.parse::<Vec<u8>>().unwrap(), [1]);
    }

    #[test]
    fn a_compressed_body_is_415() {
        let parts = parts(&[("content-encoding", "gzip")]);
        let refusal = read_json(&parts, Body::from("x"), 64).now_or_never().unwrap().unwrap_err();
        assert_eq!(refusal.class, Class::UnsupportedMedia);
    }
}
