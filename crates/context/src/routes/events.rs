//! The live events of a project (section 10.2 `realtime`; wire.md D.7).

use axum::{
    extract::{FromRequestParts, State},
    response::Response,
};
use http::{HeaderMap, Method, request::Parts};
use plenary_accounts::{Authority, Credentials, Follower, Principal, TokenDigest, TokenOwner, identify};
use plenary_edge::Operation;
use plenary_engine::Room;
use plenary_kernel::Class;
use plenary_room::{CannotWatch, live};
use schemars::JsonSchema;

use super::{Path, in_project};
use crate::{
    Context,
    activity::{event::Activity, live_readers::ActivityStream, room::ActivityRoom},
    malformed::ContextFault,
    parameters::Parameters,
    refusals::ContextRefusal,
    rejection::Rejection,
};

/// The query of a live stream.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct EventsQuery {
    /// Only events after this id; `Last-Event-ID` overrides it. 0 starts at the beginning; new events only when both
    /// are absent.
    after: Option<u64>,
    /// Only these types or families, separated by commas: `package,fact.asserted`.
    types: Option<String>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    ticket: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let path = "/v1/projects/{project_id}/events";
    let doc = in_project("context.events", Method::GET, path, "Follow a project live (server-sent events)")
        .tool("context")
        .description(
            "New events, or all events after `Last-Event-ID` or `?after=`. `event` is the type, `id` increases by one \
             with each event of the project, `data` is JSON. A browser, which cannot set headers, passes \
             `?ticket=`.",
        )
        .query::<EventsQuery>()
        .reply_type("text/event-stream")
        .continues()
        .errors(Class::Malformed, &["invalid_parameter"])
        .errors(Class::TooMany, &["too_many_streams"])
        .errors(Class::Unavailable, &["stopping"]);
    vec![doc.handled_by(follow)]
}

/// The caller of a live stream.
struct Reader(Principal);

impl FromRequestParts<Context> for Reader {
    type Rejection = ContextRefusal;
    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ContextRefusal> {
        Ok(Self(identify(parts, context.accounts(), Credentials::HeaderOrTicket).await?))
    }
}

/// The id after which the stream starts; `None` for new events only.
fn after(headers: &HeaderMap, parameters: &Parameters) -> Result<Option<u64>, ContextFault> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("-").trim());
    let (name, text) = match header.filter(|id| !id.is_empty()) {
        Some(id) => ("Last-Event-ID", Some(id)),
        None => ("after", parameters.one("after")?),
    };
    let Some(text) = text else { return Ok(None) };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse().ok().filter(|_| is_number) {
        Some(id) => Ok(Some(id)),
        None => Err(ContextFault::parameter(name, "an id that was received, or 0")),
    }
}

fn parse_types(types: Option<&str>) -> Result<Vec<Activity>, ContextFault> {
    let mut activities = Vec::new();
    for word in types.into_iter().flat_map(|types| types.split(',')) {
        let matching: Vec<_> = Activity::ALL.iter().filter(|activity| activity.is_named(word)).collect();
        if matching.is_empty() {
            return Err(ContextFault::parameter("types", "types of events, separated by commas"));
        }
        activities.extend(matching);
    }
    Ok(activities)
}

/// The key whose share the streams of a caller use: its token. Agents of other networks have none, and share by owner.
fn share_key(principal: &Principal) -> TokenDigest {
    match &principal.who {
        TokenOwner::Agent(guest) if principal.token.is_guest() => TokenDigest::of(guest.owner()),
        TokenOwner::Operator | TokenOwner::Owner(_) | TokenOwner::Agent(_) => principal.token,
    }
}

async fn follow(
    State(context): State<Context>,
    Reader(principal): Reader,
    Path(project_id): Path<String>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    let (after, selected_types) = (after(&headers, &parameters)?, parse_types(parameters.one("types")?)?);
    let by = Authority::from(principal.clone()).by;
    let (project, state) = context.readable(&project_id, &by).await?;
    let stream = ActivityRoom::stream(&project);
    // Register as a watcher first, then read the log, so that no event is missed.
    let watch = context.watchers().watch(&stream, Follower::new(Some(&principal)), share_key(&principal));
    let watch = watch.map_err(|reason| match reason {
        CannotWatch::TooMany => Rejection::TooManyStreams,
        CannotWatch::Stopping => Rejection::Stopping,
    })?;
    let at = context.follow_from(&project, after).await?;
    let project_id = state.project_id.clone();
    Ok(live(
        ActivityStream { context, principal, by, project, project_id, selected_types, stream, at },
        watch,
    ))
}
