//! `/console/passkeys`: challenges, passkeys, and sign-in with a passkey.
//! Must not know: how passkeys are stored, or the output of an authenticator.

use std::net::IpAddr;

use axum::{
    Json,
    body::Body,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode, request::Parts};
use plenary_accounts::{
    ConsoleCookie, Failure, NewPasskey, OpenSession, PasskeyUse, Rejection, SessionClient, TokenDigest,
    limits::PASSKEY_NAME_CHARS_MAX,
};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal, text};

use super::{
    ConsoleRefusal, FOR_PEOPLE, caller_and_session, keyring,
    sessions::{OfOwner, owner, removing},
};
use crate::{
    challenges::next_minute_s,
    console::ConsoleState,
    limits::CHALLENGE_MS_MAX,
    webauthn::{Answer, Key, Site, bytes},
    wire::{ChallengeMade, PasskeyAnswer, PasskeyList, PasskeyMade, PasskeyView},
};

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary)
            .needs_token(Auth::Owner)
            .room("console")
            .no_tool(FOR_PEOPLE)
    };
    let challenge_doc = OperationDoc::new(
        "passkey.challenge",
        Method::POST,
        "/console/passkeys/challenges",
        "Get a challenge for a passkey to sign",
    )
    .auth(Auth::None)
    .room("console")
    .no_tool(FOR_PEOPLE)
    .description("For registering a passkey, or for signing in with one. A challenge is used once.")
    .success(StatusCode::CREATED)
    .reply::<ChallengeMade>()
    .without_key()
    .errors(Class::Conflict, &["passkeys_unavailable"]);
    let add_doc =
        doc("passkey.add", Method::POST, "/console/passkeys", "Register a passkey for the person of the session")
            .description(
                "Only a console session does so. ES256 and Ed25519, with the user verified; an attestation is not asked for. \
                 The passkey ends with the token that the session was begun with.",
            )
            .success(StatusCode::CREATED)
            .request::<PasskeyMade>()
            .reply::<PasskeyView>()
            .without_key()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_name", "invalid_passkey"])
            .errors(Class::Unauthenticated, &["passkey_invalid"])
            .errors(Class::Forbidden, &["session_required", "read_only", "csrf"])
            .errors(Class::Conflict, &["passkey_exists", "too_many_passkeys", "passkeys_unavailable"]);
    let list_doc = doc("passkey.list", Method::GET, "/console/passkeys", "List the passkeys")
        .query::<OfOwner>()
        .reply::<PasskeyList>()
        .errors(Class::Malformed, &["invalid_query"])
        .errors(Class::NotFound, &["not_found"]);
    let ends = "Remove a passkey, and end the sessions that were begun with it";
    let remove_doc =
        removing(doc("passkey.remove", Method::DELETE, "/console/passkeys/{id}", ends), "The passkey");
    vec![
        challenge_doc.handled_by(make_challenge),
        add_doc.handled_by(add),
        list_doc.handled_by(list),
        remove_doc.handled_by(remove),
    ]
}

/// The site of passkeys, from the configured URL, because a request's host header can be forged.
fn site(state: &ConsoleState) -> Result<Site, Refusal> {
    Site::of(state.origin.stated_url()).ok_or_else(|| {
        Refusal::conflict(
            "passkeys_unavailable",
            "Passkeys need a public URL with a host name: https://… or http://localhost; set `public_url`.",
        )
    })
}

async fn make_challenge(
    State(state): State<ConsoleState>,
) -> Result<(StatusCode, Json<ChallengeMade>), ConsoleRefusal> {
    let Site { rp_id, .. } = site(&state)?;
    let challenge = state.console.challenge().await?;
    let reply = ChallengeMade { challenge, rp_id, expires_in: CHALLENGE_MS_MAX / 1_000 };
    Ok((StatusCode::CREATED, Json(reply)))
}

async fn add(
    State(state): State<ConsoleState>,
    parts: Parts,
    body: Body,
) -> Result<(StatusCode, Json<PasskeyView>), ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, open) = caller_and_session(accounts, &parts).await?;
    let Some(open) = open else {
        let text = "A passkey is added in a session of the console; sign in first.";
        return Err(Refusal::new(Class::Forbidden, "session_required", text).into());
    };
    if super::is_viewer(Some(&open)) {
        return Err(Refusal::new(Class::Forbidden, "read_only", "This session may only read.").into());
    }
    let body = JsonBody::read(&parts, body).await?;
    let PasskeyMade { name, client_data, authenticator_data } = body.parse()?;
    let fits = (1..=PASSKEY_NAME_CHARS_MAX).contains(&name.chars().count());
    let checked = if fits {
        text::check_line(&name)
    } else {
        Err(format!("must have 1 to {PASSKEY_NAME_CHARS_MAX} characters"))
    };
    checked.map_err(|why| Refusal::malformed("invalid_name", format!("name {why}.")))?;
    let wrong = |why: &str| Refusal::malformed("invalid_passkey", format!("{why}."));
    let answer = Answer::read(&site(&state)?, true, &client_data, &authenticator_data).map_err(wrong)?;
    let created = answer.created_passkey().map_err(wrong)?;
    let until = state.console.challenge_until(&answer.challenge).await?;
    let challenge_until =
        until.ok_or_else(|| wrong("the challenge has expired or is none of this server"))?;
    let new = NewPasskey {
        credential: created.credential,
        key: created.key.to_string(),
        name,
        counter: created.counter,
        challenge: TokenDigest::of(&answer.challenge),
        challenge_until,
    };
    let known = accounts.add_passkey(&principal, &open, new).await?;
    Ok((StatusCode::CREATED, Json(known.into())))
}

async fn list(
    State(state): State<ConsoleState>,
    parts: Parts,
    query: Result<Query<OfOwner>, QueryRejection>,
) -> Result<Json<PasskeyList>, ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, _) = caller_and_session(accounts, &parts).await?;
    let keyring = keyring(accounts, &principal, owner(query)?).await?;
    let passkeys = accounts.passkeys(&keyring).await?.into_iter().map(PasskeyView::from).collect();
    Ok(Json(PasskeyList { passkeys, available: site(&state).is_ok() }))
}

async fn remove(
    State(state): State<ConsoleState>,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<OfOwner>, QueryRejection>,
    parts: Parts,
) -> Result<Response, ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, open) = caller_and_session(accounts, &parts).await?;
    if super::is_viewer(open.as_ref()) {
        return Err(Refusal::new(Class::Forbidden, "read_only", "This session may only read.").into());
    }
    let Path(id) = path.map_err(|_| Refusal::not_found())?;
    let keyring = keyring(accounts, &principal, owner(query)?).await?;
    accounts.remove_passkey(&principal, &keyring, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Signs in with a passkey. Every invalid response of a passkey gets the same refusal.
pub(super) async fn sign_in(
    state: &ConsoleState,
    response: PasskeyAnswer,
    budget: Option<IpAddr>,
    client: SessionClient,
) -> Result<(OpenSession, ConsoleCookie), ConsoleRefusal> {
    let site = site(state)?;
    let (failures, now) = (state.console.failures(), state.console.now());
    if !failures.may_try(now, budget) {
        let text = "Too many attempts to sign in failed from there; try again in the next minute.";
        let refusal = Refusal::new(Class::TooMany, "too_many_attempts", text);
        return Err(ConsoleRefusal::new(refusal).retry_after(next_minute_s(now)));
    }
    let signed_in = by_passkey(state, &site, response, client).await;
    if let Err(Failure::Rejected(_)) = &signed_in {
        failures.failed(now, budget);
    }
    Ok(signed_in?)
}

async fn by_passkey(
    state: &ConsoleState,
    site: &Site,
    response: PasskeyAnswer,
    client: SessionClient,
) -> Result<(OpenSession, ConsoleCookie), Failure> {
    const NO: Failure = Failure::Rejected(Rejection::PasskeyInvalid);
    let answer =
        Answer::read(site, false, &response.client_data, &response.authenticator_data).map_err(|_| NO)?;
    let challenge_until = state.console.challenge_until(&answer.challenge).await.map_err(Failure::Fault)?;
    let challenge_until = challenge_until.ok_or(NO)?;
    let signature = bytes(&response.signature).ok_or(NO)?;
    let accounts = state.console.accounts();
    let credential = response.credential_id.trim_end_matches('=');
    let known = accounts.passkeys_of(credential).await.map_err(Failure::Fault)?;
    let signs = |key: &str| key.parse::<Key>().is_ok_and(|key| answer.is_signed_by(&key, &signature));
    let known = known.into_iter().find(|known| known.is_usable && signs(&known.passkey.key)).ok_or(NO)?;
    let used = PasskeyUse {
        counter: answer.counter(),
        challenge: TokenDigest::of(&answer.challenge),
        challenge_until,
        client,
    };
    accounts.sign_in_by_passkey(&known, used).await
}
