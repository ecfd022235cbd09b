//! A request that is repeated under its `Idempotency-Key` gets the first answer only while the caller may still read what it
//! is about; otherwise the answer for what does not exist.
//! Must not know: how answers are stored.

use axum::{
    extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode, request::Parts};
use plenary_accounts::Actor;
use plenary_room::IDEMPOTENCY_KEY;

use super::Bearer;
use crate::{Context, parameters::Parameters, refusals::ContextRefusal};

/// Who gives up its own membership may repeat that.
const LEAVING: &str = "/v1/projects/{project_id}/members/{member}";

/// Whether a request may be a repetition.
pub(super) fn has_key(request: &Request) -> bool {
    !request.method().is_safe() && request.headers().contains_key(&IDEMPOTENCY_KEY)
}

pub(super) async fn check_access(State(context): State<Context>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut asked = parts.clone();
    let answer = next.run(Request::from_parts(parts, body)).await;
    // A key that was used by another request also tells of the first one.
    let is_of_key =
        answer.headers().contains_key("idempotency-replayed") || answer.status() == StatusCode::CONFLICT;
    if !is_of_key {
        return answer;
    }
    match readable(&context, &mut asked).await {
        Ok(()) => answer,
        Err(refusal) => refusal.into_response(),
    }
}

/// Whether the caller may read the project or the package that the path names, if it names one.
async fn readable(context: &Context, asked: &mut Parts) -> Result<(), ContextRefusal> {
    let Bearer(authority) = Bearer::from_request_parts(asked, context).await?;
    let is_leaving = asked.method == Method::DELETE
        && asked.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str() == LEAVING);
    if is_leaving || authority.by == Actor::Operator {
        return Ok(());
    }
    let Ok(named) = RawPathParams::from_request_parts(asked, context).await else { return Ok(()) };
    let Ok(parameters) = Parameters::from_request_parts(asked, context).await;
    for (name, text) in &named {
        match name {
            "project_id" => drop(context.readable(text, &authority.by).await?),
            "package_id" => drop(context.locate(text, parameters.one("project")?, &authority.by).await?),
            _ => {}
        }
    }
    Ok(())
}
