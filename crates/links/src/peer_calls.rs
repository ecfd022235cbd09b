//! Requests to other networks: for their documents, and signed calls under an accord. They have a time limit and a size limit,
//! and pass the guard against private addresses.
//! Must not know: the use of a response.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use plenary_outward::within;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::timeout;

use crate::{
    Links,
    key::PublicKey,
    limits::{ANSWER_BYTES_MAX, ANSWER_WITHIN},
    network::NetworkUrl,
    signature::{SignedParts, sign},
    wire::NetworkDocument,
};

/// The path of a network's document.
pub(crate) const DOCUMENT_PATH: &str = "/.well-known/plenary";
/// The path of the calls of peers.
pub(crate) const ACCORDS_PATH: &str = "/link/v1/accords";

/// A peer answers 404 to a request under an accord that is active here.
const UNKNOWN_ACCORD: &str = "it answers 404: it knows no such accord, because it was revoked there or because one \
     of the networks was restored from a backup; revoke it here and make another one";
/// The code of a refusal because of the time of a signature.
const EXPIRED: &str = "signature_expired";
/// Longest code of a refusal that is shown.
const CODE_BYTES_MAX: usize = 64;

/// Why another network gave no usable response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallFailure {
    /// The network was not reached, or its response is not that of a network; the text is for people.
    Unreachable(String),
    /// The network refused with this status, and this code if it gave one.
    Refused(StatusCode, Option<Box<str>>),
}

impl CallFailure {
    /// Why a request under an accord failed, for people.
    pub(crate) fn of_accord(&self) -> String {
        match self {
            Self::Refused(StatusCode::NOT_FOUND, _) => UNKNOWN_ACCORD.to_owned(),
            Self::Refused(..) | Self::Unreachable(_) => self.to_string(),
        }
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Refused(status, Some(code)) if &**code == EXPIRED => {
                let status = status.as_u16();
                write!(
                    f,
                    "it answers {status} {code}: its clock and the clock of this server differ too much; compare them"
                )
            }
            Self::Refused(status, Some(code)) => write!(f, "it answers {} {code}", status.as_u16()),
            Self::Refused(status, None) => write!(f, "it answers {}", status.as_u16()),
        }
    }
}

/// The limits of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits {
    /// The maximum size in bytes.
    pub(crate) bytes: usize,
    /// The maximum duration.
    pub(crate) within: Duration,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { bytes: ANSWER_BYTES_MAX, within: ANSWER_WITHIN }
    }
}

/// The code of a refusal. It comes from another network and goes into this one's log, so it has only the characters of a code.
fn code_of(body: &[u8]) -> Option<Box<str>> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let code = body.pointer("/error/code")?.as_str()?;
    let is_code = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (code.len() <= CODE_BYTES_MAX && code.bytes().all(is_code)).then(|| code.into())
}

fn unreachable(text: impl Into<String>) -> CallFailure {
    CallFailure::Unreachable(text.into())
}

impl Links {
    /// Checks that requests to a network are permitted. The error is for people.
    pub(crate) fn may_ask(&self, network: &NetworkUrl) -> Result<(), String> {
        if network.is_plain() && !self.0.allows_http {
            return Err("must begin with https://".into());
        }
        let Some(pool) = &self.0.pool else {
            return Err("cannot be asked: there are no certificate authorities".into());
        };
        pool.guard().url(network.as_str()).map(drop).map_err(str::to_owned)
    }

    /// Sends a request; the body of the response is still to be read. No time limit of its own.
    pub(crate) async fn send(
        &self,
        network: &NetworkUrl,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallFailure> {
        self.may_ask(network).map_err(unreachable)?;
        let pool = self.0.pool.as_ref().ok_or_else(|| unreachable("there are no certificate authorities"))?;
        pool.send(request).await.map_err(unreachable)
    }

    async fn exchange(
        &self,
        network: &NetworkUrl,
        request: Request<Full<Bytes>>,
        limits: AnswerLimits,
    ) -> Result<(StatusCode, Bytes), CallFailure> {
        let exchange = async {
            let answer = self.send(network, request).await?;
            let status = answer.status();
            let body = within(answer.into_body(), limits.bytes).await.map_err(unreachable)?;
            if status.is_success() {
                Ok((status, body))
            } else {
                Err(CallFailure::Refused(status, code_of(&body)))
            }
        };
        let timed_out = || unreachable(format!("no answer within {} seconds", limits.within.as_secs()));
        timeout(limits.within, exchange).await.map_err(|_| timed_out())?
    }

    /// The keys that a network publishes at its own domain.
    pub(crate) async fn keys_of(&self, network: &NetworkUrl) -> Result<Vec<PublicKey>, CallFailure> {
        let request = request(Method::GET, &format!("{network}{DOCUMENT_PATH}"), Bytes::new())?;
        let (_, body) = self.exchange(network, request, AnswerLimits::default()).await.map_err(
            |failure| match failure {
                CallFailure::Refused(..) => unreachable("it does not say who it is"),
                CallFailure::Unreachable(_) => failure,
            },
        )?;
        let document: NetworkDocument =
            serde_json::from_slice(&body).map_err(|_| unreachable("it does not say who it is"))?;
        if document.network.parse::<NetworkUrl>() != Ok(network.clone()) {
            return Err(unreachable("it says that it is another network"));
        }
        Ok(document.keys.iter().filter_map(PublicKey::of).collect())
    }

    /// Sends a signed request to a network.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        network: &NetworkUrl,
        (method, path): (Method, &str),
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, CallFailure> {
        self.call_within(network, (method, path), body, AnswerLimits::default()).await
    }

    /// Calls a peer, with these limits for the response.
    pub(crate) async fn call_within<T: DeserializeOwned>(
        &self,
        network: &NetworkUrl,
        (method, path): (Method, &str),
        body: Option<&(impl Serialize + Sync)>,
        limits: AnswerLimits,
    ) -> Result<T, CallFailure> {
        let body = body.map(|body| serde_json::to_vec(body).expect("texts and lists can be written"));
        let request = self.signed_request(network, (&method, path), body.unwrap_or_default().into()).await?;
        let (_, answer) = self.exchange(network, request, limits).await?;
        let answer = if answer.is_empty() { Bytes::from_static(b"null") } else { answer };
        serde_json::from_slice(&answer).map_err(|_| unreachable("its answer cannot be read"))
    }

    /// Tells a network something. Only 204 confirms it: whatever is in front of that network may answer anything else.
    pub(crate) async fn tell(&self, network: &NetworkUrl, path: &str) -> Result<(), CallFailure> {
        let request = self.signed_request(network, (&Method::POST, path), Bytes::new()).await?;
        match self.exchange(network, request, AnswerLimits::default()).await? {
            (StatusCode::NO_CONTENT, _) => Ok(()),
            (status, _) => Err(CallFailure::Refused(status, None)),
        }
    }
}

impl Links {
    /// A request that this network has signed, with a nonce of its own.
    pub(crate) async fn signed_request(
        &self,
        network: &NetworkUrl,
        (method, path): (&Method, &str),
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, CallFailure> {
        let target = format!("{network}{path}");
        let key = self.key().await.map_err(|fault| {
            tracing::warn!(%fault, "the key of this network cannot be read");
            unreachable("the key of this network cannot be read now")
        })?;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).expect("the system has randomness");
        let parts = SignedParts { method: method.as_str(), target: &target, body: &body };
        let headers = sign(&parts, key, self.now(), nonce);
        let mut request = request(method.clone(), &target, body)?;
        request.headers_mut().extend(headers);
        Ok(request)
    }
}

fn request(method: Method, target: &str, body: Bytes) -> Result<Request<Full<Bytes>>, CallFailure> {
    let uri: Uri = target.parse().map_err(|_| unreachable("its URL can't be asked"))?;
    let mut request = Request::new(Full::new(body));
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::ACCEPT, json.clone());
    request.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refusal_is_shown_if_it_is_a_code() {
        let shown =
            |body: &str| CallFailure::Refused(StatusCode::UNAUTHORIZED, code_of(body.as_bytes())).to_string();
        let clocks = shown(r#"{"error":{"code":"signature_expired","message":"x"}}"#);
        assert!(clocks.contains("401 signature_expired") && clocks.contains("clock"), "{clocks}");
        assert_eq!(shown(r#"{"error":{"code":"too_many_requests"}}"#), "it answers 401 too_many_requests");
        for other in ["", "<html>", r#"{"error":{"code":"A\nB"}}"#, r#"{"error":{"code":7}}"#] {
            assert_eq!(shown(other), "it answers 401");
        }
    }
}
