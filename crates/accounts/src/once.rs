//! `Idempotency-Key` for every operation that writes: the same request gets the first answer again, another request
//! with the same key is refused, and no write happens twice after a crash. The write claims the key in its own append
//! (`plenary_engine::Once`); the answer is stored beside it.
//! Must not know: what an operation does, or the form of its room's refusals.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use plenary_edge::{layer_where, read_bytes};
use plenary_engine::{IdempotentRequest, KeyUse};
use plenary_kernel::{
    OwnerName, Refusal,
    json::{Nulls, canonical, digest},
    limits::BODY_BYTES_MAX,
};
use plenary_log::{Batch, Charge, Fault, KeyClaim, Log, Outcome, Usage};
use plenary_room::{IDEMPOTENCY_KEY, InvalidIdempotencyKey, fault_refusal, idempotency_key};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Accounts, Authority, Credentials, Principal,
    console::cookie::cookie_of,
    extract::{bearer, identify},
    limits::ANSWER_STORED_BYTES_MAX,
    token::random_hex,
};

/// The row of the server's own part of a request's secret.
const OWN_SECRET: &str = "once/own-secret";
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// How the operations of a room use idempotency keys.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredOnce {
    /// The form of the room's refusals.
    pub form: fn(Refusal) -> Response,
    /// Operations, by method and path, that handle the key themselves, or that take effect at every call.
    pub apart: &'static [(Method, &'static str)],
    /// Operations whose answers contain a secret: it is not stored, but derived again for the same token or cookie.
    pub secret: &'static [(Method, &'static str)],
}

#[derive(Clone)]
struct Room(Arc<(Accounts, AnsweredOnce)>);

/// Adds idempotency keys to the operations of a room.
pub fn once(router: Router, accounts: Accounts, room: AnsweredOnce) -> Router {
    layer_where(router, has_key, from_fn_with_state(Room(Arc::new((accounts, room))), answer_once))
}

/// A cheap check that rules out most requests.
fn has_key(request: &Request) -> bool {
    !request.method().is_safe() && request.headers().contains_key(&IDEMPOTENCY_KEY)
}

/// The refusal of a key that was used by another request.
pub(crate) fn key_reused() -> Refusal {
    Refusal::conflict(
        "idempotency_key_reused",
        "This Idempotency-Key was used by another request; use a new one.",
    )
}

fn of_another_token() -> Refusal {
    Refusal::conflict(
        "idempotency_key_reused",
        "This Idempotency-Key was used with another token, to which its answer is bound; use a new key.",
    )
}

fn invalid_key() -> Refusal {
    Refusal::malformed("invalid_idempotency_key", format!("{InvalidIdempotencyKey}."))
}

/// A stored answer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// Which part handles the key of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyHandling {
    /// The operation itself.
    Operation,
    /// This middleware.
    Middleware,
    /// This middleware, which does not store the answer.
    MiddlewareWithSecret,
}

fn key_handling(room: &AnsweredOnce, request: &Request) -> KeyHandling {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    let is_in = |list: &[(Method, &str)]| {
        list.iter().any(|(method, pattern)| method == request.method() && *pattern == path)
    };
    if is_in(room.apart) {
        KeyHandling::Operation
    } else if is_in(room.secret) {
        KeyHandling::MiddlewareWithSecret
    } else {
        KeyHandling::Middleware
    }
}

async fn answer_once(State(Room(room)): State<Room>, request: Request, next: Next) -> Response {
    let (accounts, room) = &*room;
    let handling = key_handling(room, &request);
    if handling == KeyHandling::Operation {
        return next.run(request).await;
    }
    let is_secret = handling == KeyHandling::MiddlewareWithSecret;
    let (parts, body) = request.into_parts();
    // The room refuses a request without a valid token in its own form.
    let Ok(principal) = identify(&parts, accounts, Credentials::Header).await else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let (key, body) = match key(&parts, &principal, body).await {
        Ok(key_and_body) => key_and_body,
        Err(refusal) => return (room.form)(refusal),
    };
    let secret = match secret(accounts, &parts, is_secret).await {
        Ok(secret) => secret,
        Err(fault) => return (room.form)(fault_refusal(&fault)),
    };
    match accounts.log().read_key(&key.scope, &key.key).await {
        Err(fault) => return (room.form)(fault_refusal(&fault)),
        Ok(Some(earlier)) if earlier.digest != key.digest => return (room.form)(key_reused()),
        Ok(Some(earlier)) if is_secret && earlier.outcome != fingerprint(secret) => {
            return (room.form)(of_another_token());
        }
        Ok(Some(earlier)) => {
            if let Some(answer) = replayed(&earlier.outcome) {
                return answer;
            }
        }
        Ok(None) => {}
    }
    let request = Request::from_parts(parts, Body::from(body));
    let answer = IdempotentRequest::new(key.clone(), secret).carry_out(next.run(request)).await;
    if !answer.status().is_success() {
        return answer;
    }
    let secret = is_secret.then(|| fingerprint(secret));
    store_answer(accounts, room, (key, principal), answer, secret).await
}

/// The key of a request and its body. Equal JSON is the same request.
async fn key(parts: &Parts, principal: &Principal, body: Body) -> Result<(KeyUse, Bytes), Refusal> {
    let key = idempotency_key(&parts.headers).ok().flatten().ok_or_else(invalid_key)?.to_owned();
    let body = read_bytes(&parts.headers, body, BODY_BYTES_MAX).await?;
    let canonical_body = match serde_json::from_slice::<Value>(&body) {
        Ok(value) => canonical(&value, Nulls::Keep),
        Err(_) => body.to_vec(),
    };
    let actor = Authority::from(principal.clone()).by;
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    // The target is part of a key of the store, so its length is bounded by a digest.
    let target = hex::encode(digest(target.as_bytes()));
    let scope = format!("once/{actor}/{}/{target}", parts.method);
    Ok((KeyUse { scope, key, digest: digest(&canonical_body) }, body))
}

/// The secret of a request. It needs the token or cookie, which the server does not store, and a value of this server,
/// so that neither the store nor a token that leaked is enough to derive what it protects.
async fn secret(accounts: &Accounts, parts: &Parts, is_secret: bool) -> Result<Option<[u8; 32]>, Fault> {
    let token = bearer(&parts.headers).ok().flatten().or_else(|| cookie_of(&parts.headers));
    let Some(token) = token.filter(|_| is_secret) else { return Ok(None) };
    let own = own_secret(accounts).await?;
    Ok(Some(digest(&[b"a secret of a request\0", &own[..], token.as_bytes()].concat())))
}

/// The secret of this server, which all processes of a store share.
pub(crate) async fn own_secret(accounts: &Accounts) -> Result<[u8; 32], Fault> {
    Ok(digest(&accounts.log().row_created_once(OWN_SECRET, || Ok(random_hex().into())).await?))
}

/// What is stored of a request with a secret: whether a repetition has the same one.
fn fingerprint(secret: Option<[u8; 32]>) -> Bytes {
    let secret = secret.unwrap_or_default();
    Bytes::copy_from_slice(&digest(&[b"the same secret\0", &secret[..]].concat()))
}

fn replayed(stored: &[u8]) -> Option<Response> {
    let StoredAnswer { status, headers, body } = serde_json::from_slice(stored).ok()?;
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).ok()?;
    for (name, value) in headers {
        answer.headers_mut().insert(HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
    }
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Some(answer)
}

/// Stores an answer before it is sent. A long answer, or one with a secret, is computed again when the request is repeated:
/// its effect still happens once. Of one with a secret only the fingerprint is stored.
async fn store_answer(
    accounts: &Accounts,
    room: &AnsweredOnce,
    (key, principal): (KeyUse, Principal),
    answer: Response,
    secret: Option<Bytes>,
) -> Response {
    let (mut parts, body) = answer.into_parts();
    let is_long =
        http_body::Body::size_hint(&body).upper().is_none_or(|bytes| bytes > ANSWER_STORED_BYTES_MAX as u64);
    if is_long && secret.is_none() {
        return Response::from_parts(parts, body);
    }
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await.map(|body| body.to_bytes()) else {
        return (room.form)(fault_refusal(&Fault::OutcomeUnknown("an answer can't be read".into())));
    };
    // Without an outcome, the digest of the request is stored, so that another request with the key is refused.
    let outcome = secret.or_else(|| form(&parts.headers, parts.status, &body)).unwrap_or_default();
    let KeyUse { scope, key, digest } = key;
    let claim = KeyClaim { scope, key, digest, outcome };
    match append_answer(accounts.log(), claim, Authority::from(principal).by.owner()).await {
        Ok(Outcome::AlreadyDone { outcome }) => replayed(&outcome).unwrap_or_else(|| {
            parts.headers.insert(REPLAYED, HeaderValue::from_static("true"));
            Response::from_parts(parts, body.into())
        }),
        Ok(Outcome::KeyReused) => (room.form)(key_reused()),
        Ok(Outcome::Appended(_) | Outcome::Conflict { .. } | Outcome::RowConflict { .. }) => {
            Response::from_parts(parts, body.into())
        }
        Err(fault) => (room.form)(fault_refusal(&fault)),
    }
}

/// Stores an answer, which counts for the owner's quota; also beyond the quota, because the effect has happened.
async fn append_answer(log: &Log, claim: KeyClaim, owner: Option<OwnerName>) -> Result<Outcome, Fault> {
    let usage = Usage::of_key(&claim);
    let charge = owner.map(|owner| Charge::of_owner(&owner, usage));
    let pledge = match &charge {
        Some(charge) => log.pledge(charge, true).await?.ok(),
        None => None,
    };
    let charges = charge.into_iter().collect();
    let outcome = log.append(Batch { key: Some(claim), charges, ..Batch::default() }).await;
    if let Some(pledge) = pledge {
        pledge.settle(&outcome);
    }
    outcome
}

fn form(headers: &HeaderMap, status: StatusCode, body: &Bytes) -> Option<Bytes> {
    let headers = headers.iter().filter(|(name, _)| **name != header::CONTENT_LENGTH);
    let headers = headers
        .map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect::<Option<_>>()?;
    let body = String::from_utf8(body.to_vec()).ok()?;
    serde_json::to_vec(&StoredAnswer { status: status.as_u16(), headers, body }).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stored_answer_is_replayed_unchanged() {
        let headers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"a\""))]);
        let body = Bytes::from_static("{\"a\":\"é\"}".as_bytes());
        let stored = form(&headers, StatusCode::CREATED, &body).unwrap();
        assert_eq!(
            stored,
            "{\"status\":201,\"headers\":[[\"etag\",\"\\\"a\\\"\"]],\"body\":\"{\\\"a\\\":\\\"é\\\"}\"}"
        );
        let answer = replayed(&stored).unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()[header::ETAG]),
            (StatusCode::CREATED, &HeaderValue::from_static("\"a\""))
        );
        assert_eq!(answer.headers()[REPLAYED], "true");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);
        assert!(replayed(b"").is_none(), "an answer with a secret is made again");
    }
}
