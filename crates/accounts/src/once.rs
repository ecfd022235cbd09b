//! `Idempotency-Key` for every operation that writes: the same request gets the first answer again, another request
//! with the same key is refused, and no write happens twice after a crash. The write claims the key in its own append
//! (`plenary_engine::Once`); the answer is stored beside it.
//! Must not know: what an operation does, or the form of its room's refusals.

mod stored;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, request::Parts};
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
use serde_json::Value;

use stored::{Answers, Repeated};

use crate::{
    Accounts, Authority, Credentials, Principal,
    console::cookie::cookie_of,
    extract::{bearer, identify},
    limits::ANSWER_STORED_BYTES_MAX,
    token::random_hex,
    turns::Turns,
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
struct Room(Arc<(Accounts, AnsweredOnce, Turns)>);

/// Adds idempotency keys to the operations of a room.
pub fn once(router: Router, accounts: Accounts, room: AnsweredOnce) -> Router {
    layer_where(
        router,
        has_key,
        from_fn_with_state(Room(Arc::new((accounts, room, Turns::default()))), answer_once),
    )
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

/// Which part handles the key of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyHandling {
    /// The operation itself.
    Operation,
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
    let (accounts, room, turns) = &*room;
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
    let once = IdempotentRequest::new(key.clone(), secret);
    let answers = Answers { once: once.clone(), proof: is_secret.then(|| stored::proof(secret)) };
    // A repetition of what is under way gets the answer of that, not one about the state in between.
    let _turn = turns.turn((key.scope.clone(), key.key.clone())).await;
    match accounts.log().read_key(&key.scope, &key.key).await {
        Err(fault) => return (room.form)(fault_refusal(&fault)),
        Ok(Some(earlier)) if earlier.digest != key.digest => return (room.form)(key_reused()),
        Ok(Some(earlier)) => match answers.repeated(&earlier.outcome) {
            Repeated::Answer(answer) => return answer,
            Repeated::OfAnotherToken => return (room.form)(of_another_token()),
            Repeated::MadeAgain => {}
        },
        Ok(None) => {}
    }
    let request = Request::from_parts(parts, Body::from(body));
    let answer = once.carry_out(next.run(request)).await;
    if !answer.status().is_success() {
        return answer;
    }
    store_answer(accounts, room, (key, principal), answer, &answers).await
}

/// The key of a request and its body. Equal JSON is the same request.
async fn key(parts: &Parts, principal: &Principal, body: Body) -> Result<(KeyUse, Bytes), Refusal> {
    let key = idempotency_key(&parts.headers).ok().flatten().ok_or_else(invalid_key)?.to_owned();
    let body = read_bytes(parts, body, BODY_BYTES_MAX).await?;
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

/// Stores an answer before it is sent. One that cannot be stored is made again when the request is repeated: its effect still
/// happens once.
async fn store_answer(
    accounts: &Accounts,
    room: &AnsweredOnce,
    (key, principal): (KeyUse, Principal),
    answer: Response,
    answers: &Answers,
) -> Response {
    let (mut parts, body) = answer.into_parts();
    let is_long =
        http_body::Body::size_hint(&body).upper().is_none_or(|bytes| bytes > ANSWER_STORED_BYTES_MAX as u64);
    if is_long && answers.proof.is_none() {
        return Response::from_parts(parts, body);
    }
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await.map(|body| body.to_bytes()) else {
        return (room.form)(fault_refusal(&Fault::OutcomeUnknown("an answer can't be read".into())));
    };
    let outcome = answers.outcome(parts.status, &parts.headers, &body);
    let KeyUse { scope, key, digest } = key;
    let claim = KeyClaim { scope, key, digest, outcome };
    match append_answer(accounts.log(), claim, Authority::from(principal).by.owner()).await {
        Ok(Outcome::AlreadyDone { outcome }) => match answers.repeated(&outcome) {
            Repeated::Answer(answer) => answer,
            Repeated::OfAnotherToken => (room.form)(of_another_token()),
            Repeated::MadeAgain => {
                parts.headers.insert(REPLAYED, HeaderValue::from_static("true"));
                Response::from_parts(parts, body.into())
            }
        },
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
