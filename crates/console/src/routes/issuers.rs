//! Sign-in with an external issuer (OpenID Connect): the list of issuers, the redirect to one, and the return. A cookie ties
//! the browser to its attempt. All parameters derive from the cookie's secret, so nothing is stored here.
//! Must not know: the rules of admission; the issuer has them.

use std::net::SocketAddr;

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_accounts::{
    ConsoleCookie, Failure, IssuerSubject, Rejection, Rights, TokenDigest, client_of,
    limits::ISSUER_SESSION_MS_MAX,
};
use plenary_edge::{Auth, Operation, OperationDoc, Peer, see_other};
use plenary_issuers::{Flaw, Issuer, Proven, SignInAttempt};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConsoleRefusal, FOR_PEOPLE};
use crate::{
    challenges::random,
    console::ConsoleState,
    limits::{ATTEMPT_MS_MAX, RETURN_BYTES_MAX},
    wire::{IssuerList, IssuerView},
};

/// The name of an attempt's cookie.
const ATTEMPT: &str = "plenary_sign_in";
const SECRET_BYTES: usize = 32;
/// Maximum length of a stored name or subject, in characters.
const SUBJECT_CHARS_MAX: usize = 255;

/// The query of the redirect to an issuer.
#[derive(Debug, Deserialize, JsonSchema)]
struct SignInQuery {
    /// The query of `/oauth/authorize`, if an application waits for the person.
    request: Option<String>,
}

/// The query with which an issuer returns a browser.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Back {
    /// The authorization code.
    code: Option<String>,
    /// The `state` of the attempt.
    state: Option<String>,
    /// The error, if there is no code.
    error: Option<String>,
    /// The issuer (RFC 9207).
    iss: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary).auth(Auth::None).room("console").no_tool(FOR_PEOPLE)
    };
    let list_doc = doc("console.issuers", "/console/issuers", "List the issuers by which people sign in")
        .reply::<IssuerList>();
    let leave_doc = doc(
        "console.sign_in_at",
        "/console/sign-in/{issuer}",
        "Send a browser to an issuer, to sign in there",
    )
    .path_parameter::<String>("issuer", "The issuer's name")
    .query::<SignInQuery>()
    .success(StatusCode::SEE_OTHER)
    .sets_cookie()
    .errors(Class::Malformed, &["invalid_query"])
    .errors(Class::NotFound, &["not_found"]);
    let back_doc = doc(
        "console.signed_in_at",
        "/console/signed-in/{issuer}",
        "Where a browser comes back from an issuer",
    )
    .description(
        "It goes on to the console, with a session, or with `#trouble=CODE` that says why not: `denied`, `not_admitted`, \
         `sign_in_failed`, `issuer_unavailable` or `too_many_attempts`.",
    )
    .path_parameter::<String>("issuer", "The issuer's name")
    .query::<Back>()
    .success(StatusCode::SEE_OTHER)
    .sets_cookie()
    .errors(Class::NotFound, &["not_found"]);
    vec![list_doc.handled_by(list), leave_doc.handled_by(leave), back_doc.handled_by(complete_sign_in)]
}

async fn list(State(state): State<ConsoleState>) -> Json<IssuerList> {
    let issuers = state.console.issuers().iter().filter(|issuer| issuer.signs_in());
    let view = |issuer: &Issuer| IssuerView { name: issuer.name().into(), title: issuer.title().into() };
    Json(IssuerList { issuers: issuers.map(|issuer| view(issuer)).collect() })
}

/// An attempt of a browser, stored in its cookie: the secret, and the query of `/oauth/authorize` to return to.
struct Attempt {
    secret: String,
    request: String,
}

impl Attempt {
    fn begin(request: Option<String>) -> Result<Self, Refusal> {
        let request = request.unwrap_or_default();
        if request.len() > RETURN_BYTES_MAX {
            let text = format!("request has at most {RETURN_BYTES_MAX} bytes.");
            return Err(Refusal::malformed("invalid_query", text));
        }
        let secret = random::<SECRET_BYTES>()
            .map_err(|_| Refusal::new(Class::Internal, "internal", "There are no random bytes."))?;
        Ok(Self { secret: URL_SAFE_NO_PAD.encode(secret), request })
    }

    fn of(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut attempts = pairs.filter(|(name, _)| *name == ATTEMPT).map(|(_, value)| value);
        let (secret, request) = attempts.next().filter(|_| attempts.next().is_none())?.split_once('.')?;
        let is_secret = URL_SAFE_NO_PAD.decode(secret).is_ok_and(|bytes| bytes.len() == SECRET_BYTES);
        let request = String::from_utf8(URL_SAFE_NO_PAD.decode(request).ok()?).ok()?;
        is_secret.then(|| Self { secret: secret.to_owned(), request })
    }

    fn cookie(&self) -> String {
        format!("{}.{}", self.secret, URL_SAFE_NO_PAD.encode(&self.request))
    }

    fn sign_in(&self, issuer: &Issuer) -> SignInAttempt {
        SignInAttempt::of(issuer.name(), &self.secret)
    }
}

/// The URL to which the issuer returns a browser.
fn return_url(state: &ConsoleState, peer: SocketAddr, headers: &HeaderMap, issuer: &Issuer) -> String {
    format!("{}/console/signed-in/{}", state.origin.base_url(peer, headers), issuer.name())
}

/// The header that sets or removes the cookie of an attempt. Unlike a session's cookie, the browser also sends it when another
/// site redirects here, but only to the return path.
fn attempt_cookie(value: &str, lasts_s: u64, is_tls: bool) -> HeaderValue {
    let secure = if is_tls { "; Secure" } else { "" };
    let text = format!(
        "{ATTEMPT}={value}; HttpOnly; SameSite=Lax; Path=/console/signed-in; Max-Age={lasts_s}{secure}"
    );
    HeaderValue::try_from(text).expect("base64 is visible ASCII")
}

fn redirect<const N: usize>(url: &str, cookies: [HeaderValue; N]) -> Result<Response, Refusal> {
    let wrong = || Refusal::new(Class::Internal, "internal", "The way cannot be written.");
    let mut answer = see_other(url).ok_or_else(wrong)?;
    for cookie in cookies {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(answer)
}

async fn leave(
    State(state): State<ConsoleState>,
    Peer(peer): Peer,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<SignInQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ConsoleRefusal> {
    let Path(name) = path.map_err(|_| Refusal::not_found())?;
    let issuer = state.console.issuers().signing_in(&name).ok_or_else(Refusal::not_found)?;
    let Query(SignInQuery { request }) =
        query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let attempt = Attempt::begin(request)?;
    let redirect_uri = return_url(&state, peer, &headers, issuer);
    let is_tls = redirect_uri.starts_with("https://");
    match issuer.sign_in_url(&attempt.sign_in(issuer), &redirect_uri, state.console.now()).await {
        Ok(url) => {
            let set = attempt_cookie(&attempt.cookie(), ATTEMPT_MS_MAX / 1_000, is_tls);
            Ok(redirect(&url, [set])?)
        }
        Err(flaw) => Ok(redirect(&trouble(flaw), [])?),
    }
}

/// The console's page with the reason why the sign-in failed.
fn trouble(flaw: Flaw) -> String {
    let is_shown = matches!(flaw, Flaw::NotAdmitted | Flaw::Unavailable);
    let code = if is_shown { flaw.code() } else { "sign_in_failed" };
    format!("/#trouble={code}")
}

async fn complete_sign_in(
    State(state): State<ConsoleState>,
    Peer(peer): Peer,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<Back>, QueryRejection>,
    parts: Parts,
) -> Result<Response, ConsoleRefusal> {
    let Path(name) = path.map_err(|_| Refusal::not_found())?;
    let issuer = state.console.issuers().signing_in(&name).ok_or_else(Refusal::not_found)?;
    let redirect_uri = return_url(&state, peer, &parts.headers, issuer);
    let is_tls = redirect_uri.starts_with("https://");
    let over = attempt_cookie("", 0, is_tls);
    let budget = state.origin.client_address(peer, &parts.headers);
    let (failures, now) = (state.console.failures(), state.console.now());
    if !failures.may_try(now, budget) {
        return Ok(redirect("/#trouble=too_many_attempts", [over])?);
    }
    let back = query.map(|Query(back)| back).unwrap_or_default();
    if back.error.is_some() {
        return Ok(redirect("/#trouble=denied", [over])?);
    }
    let Some((attempt, code)) = answered(issuer, &parts.headers, &back) else {
        failures.failed(now, budget);
        return Ok(redirect("/#trouble=sign_in_failed", [over])?);
    };
    let redeemed = issuer.redeem(&attempt.sign_in(issuer), code, &redirect_uri, now).await;
    let admitted = match redeemed {
        Ok(proven) => admit(&state, issuer, &proven, budget.unwrap_or(peer.ip()).to_string(), &parts).await,
        Err(flaw) => Err(flaw.into()),
    };
    let cookie = match admitted {
        Ok(cookie) => cookie,
        Err(No::Flaw(flaw)) => {
            if flaw != Flaw::Unavailable {
                failures.failed(now, budget);
            }
            tracing::warn!(issuer = issuer.name(), code = flaw.code(), "nobody was signed in at the console");
            return Ok(redirect(&trouble(flaw), [over])?);
        }
        Err(No::Failure(failure)) => return Err(failure.into()),
    };
    let set = cookie.set_header(ISSUER_SESSION_MS_MAX / 1_000, is_tls);
    let next = match attempt.request.as_str() {
        "" => "/".to_owned(),
        request => format!("/oauth/authorize?{request}"),
    };
    Ok(redirect(&next, [set, over])?)
}

/// The attempt and the code of an issuer's response. The browser that returns must be the one that left.
fn answered<'a>(issuer: &Issuer, headers: &HeaderMap, back: &'a Back) -> Option<(Attempt, &'a str)> {
    let attempt = Attempt::of(headers)?;
    let expected = TokenDigest::of(&attempt.sign_in(issuer).state());
    let is_its = TokenDigest::of(back.state.as_deref()?).matches(&expected);
    let is_from = back.iss.as_deref().is_none_or(|from| from == issuer.url());
    let code = back.code.as_deref().filter(|code| !code.is_empty())?;
    (is_its && is_from).then_some((attempt, code))
}

/// Why a sign-in failed.
enum No {
    Flaw(Flaw),
    Failure(Failure),
}

impl From<Flaw> for No {
    fn from(flaw: Flaw) -> Self {
        Self::Flaw(flaw)
    }
}

/// Signs in the person that the issuer identifies, if a rule admits it. Returns the cookie.
async fn admit(
    state: &ConsoleState,
    issuer: &Issuer,
    proven: &Proven,
    address: String,
    parts: &Parts,
) -> Result<ConsoleCookie, No> {
    let rule = issuer.person(proven)?;
    let short = |text: &str| text.chars().take(SUBJECT_CHARS_MAX).collect::<String>();
    let identity = IssuerSubject {
        issuer: issuer.name().to_owned(),
        subject: short(&proven.subject),
        shown: short(proven.display_name()),
    };
    let rights = Rights { through: issuer.person_proof(rule), role: rule.role, person: rule.person.clone() };
    let client = client_of(address, &parts.headers);
    match state.console.accounts().sign_in_at_issuer(&rule.keyring, identity, rights, client).await {
        Ok((_, cookie)) => Ok(cookie),
        Err(Failure::Rejected(Rejection::NotFound)) => {
            tracing::warn!(issuer = issuer.name(), "the owner or person that a rule names is not there");
            Err(Flaw::NotAdmitted.into())
        }
        Err(failure) => Err(No::Failure(failure)),
    }
}
