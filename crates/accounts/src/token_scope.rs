//! Checks each request against the scope of its token: its room, whether it writes, and the session or project in its
//! path. The code that finds the bearer of a request calls this, so no room can omit it.
//! Must not know: what an operation does.

use std::{collections::HashMap, sync::Arc};

use axum::extract::{MatchedPath, Query};
use http::{Method, header, request::Parts};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use plenary_edge::{OperationDoc, ScopeChallenge};
use plenary_engine::{Sealed, seal};
use plenary_kernel::Refusal;
use plenary_log::Fault;
use plenary_room::fault_refusal;

use crate::{
    Access, Accounts, HostedIdentity, Principal, TokenOwner,
    answer::{insufficient_scope, invalid_authorization},
    console::state::ConsoleRole,
    extract::signed_in,
    scope::{Demand, SCOPED_ROOMS, Scope},
};

/// Operations that every token may call: those that tell who it is, call others with its authority, or hand its
/// scope on to others.
const FOR_EVERY_SCOPE: [&str; 6] =
    ["me.get", "auth.ticket", "frame.capability", "mcp.post", "mcp.listen", "mcp.close"];

/// The scope that an operation needs.
#[derive(Debug, Clone, Copy)]
struct OperationDemand {
    room: &'static str,
    access: Access,
    is_free: bool,
    project_by_query: bool,
}

/// The scope that each operation needs, by method and path.
#[derive(Debug)]
pub(crate) struct Demands(HashMap<(Method, &'static str), OperationDemand>);

/// An extension of requests with a grant or a token of an issuer: a refusal then names the sufficient
/// scope.
#[derive(Debug, Clone, Default)]
pub struct MissingScope(Arc<Mutex<Option<String>>>);

impl MissingScope {
    /// The missing scope.
    pub fn take(&self) -> Option<String> {
        self.0.lock().take()
    }
    fn set(&self, scope: &str) {
        *self.0.lock() = Some(scope.to_owned());
    }
}

impl Accounts {
    /// Sets the list of operations. Only the first call counts; until then a token with a scope is refused everywhere.
    pub fn set_operations<'a>(&self, docs: impl Iterator<Item = &'a OperationDoc>) {
        let demand = |doc: &OperationDoc| {
            let access = if doc.only_reads() { Access::Read } else { Access::Write };
            let is_free = FOR_EVERY_SCOPE.contains(&doc.id());
            let (room, project_by_query) = (doc.room_name(), doc.is_in_project_of_query());
            ((doc.method().clone(), doc.path()), OperationDemand { room, access, is_free, project_by_query })
        };
        let _first = self.0.demands.set(Demands(docs.map(demand).collect()));
    }

    /// Checks that a request is within the scope of its token, and records the use of the token.
    ///
    /// # Errors
    /// 403 `insufficient_scope`; 401 if the token is for another resource; the answer to a fault of the store.
    pub(crate) async fn is_within_scope(&self, parts: &Parts, principal: &Principal) -> Result<(), Refusal> {
        let TokenOwner::Agent(handle) = &principal.who else { return Ok(()) };
        let agent = self.known_agent(handle).await.map_err(|fault| fault_refusal(&fault))?;
        let Some((_, token)) = agent.state.issued().of(&principal.token) else { return Ok(()) };
        if let Some(resource) = agent.state.issued().resource_of(token)
            && !is_for(resource, parts)
        {
            return Err(invalid_authorization());
        }
        let missing_scope = match self.demand_of(parts) {
            None => Some(("no scope".to_owned(), false)),
            Some(demand) if demand.is_free => None,
            Some(OperationDemand { room, access, project_by_query, .. }) => {
                let path = Path::of(parts);
                let [session, channel, project] =
                    ["sessions", "agent-channel", "projects"].map(|part| path.parameter_after(part));
                let project = project.or_else(|| project_of_query(parts).filter(|_| project_by_query));
                let (session, channel, project) =
                    (session.as_deref(), channel.as_deref(), project.as_deref());
                let demand = Demand { room, access, session, channel, project };
                let scope = &token.scope;
                // Named in full, an own project is the one that its plain id means.
                let own_id = project.and_then(|name| name.split_once(':'));
                let own_id = own_id.filter(|(owner, _)| *owner == handle.owner()).map(|(_, id)| id);
                let is_admitted = scope.admits(&demand)
                    || own_id.is_some() && scope.admits(&Demand { project: own_id, ..demand });
                (!is_admitted).then(|| (missing(&demand, scope.is_limited()), scope.grants(&demand)))
            }
        };
        if let Some((demand, is_limited)) = missing_scope {
            let tokens = agent.state.issued();
            let is_clients = |id: &String| tokens.get(id).is_some_and(|parent| parent.client.is_some());
            if let Some(cell) = parts.extensions.get::<MissingScope>()
                && (token.issuer.is_some() || token.parent.as_ref().is_some_and(is_clients))
                && let Ok(wider_scope) = format!("{} {demand}", token.scope).parse::<Scope>()
            {
                cell.set(&wider_scope.to_string());
            }
            if let Some(challenge) = parts.extensions.get::<ScopeChallenge>()
                && demand.parse::<Scope>().is_ok()
            {
                challenge.misses(&demand);
            }
            return Err(insufficient_scope(&demand, is_limited));
        }
        self.note_token_use(&principal.token).await;
        Ok(())
    }

    /// The scope of a token; `None` if it has all rights of its bearer. An ended token has an empty scope.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn scope_of<'a>(&'a self, principal: &'a Principal) -> Sealed<'a, Result<Option<Scope>, Fault>> {
        seal(async move {
            let TokenOwner::Agent(handle) = &principal.who else { return Ok(None) };
            let agent = self.agent(handle).await?;
            if !agent.state.accepts_token(&principal.token) {
                return Ok(Some(Scope::default()));
            }
            Ok(agent.state.issued().of(&principal.token).map(|(_, token)| token.scope.clone()))
        })
    }

    /// Whether the sender of a request may write in a room: its token's scope admits it, and it is no viewer of the
    /// console.
    ///
    /// # Errors
    /// The answer to a fault of the store, or to an invalid cookie.
    pub fn may_write<'a>(
        &'a self,
        parts: &'a Parts,
        principal: &'a Principal,
        room: &'static str,
    ) -> Sealed<'a, Result<bool, Refusal>> {
        seal(async move {
            if !parts.headers.contains_key(header::AUTHORIZATION)
                && let Some(open_session) = signed_in(self, parts).await?
                && open_session.session.rights.role == ConsoleRole::Viewer
            {
                return Ok(false);
            }
            let Some(scope) = self.scope_of(principal).await.map_err(|fault| fault_refusal(&fault))? else {
                return Ok(true);
            };
            let channel = Path::of(parts).parameter_after("agent-channel");
            let channel = channel.as_deref();
            Ok(scope.admits(&Demand { room, access: Access::Write, session: None, channel, project: None }))
        })
    }

    fn demand_of(&self, parts: &Parts) -> Option<OperationDemand> {
        let path = parts.extensions.get::<MatchedPath>()?.as_str();
        let method = if parts.method == Method::HEAD { &Method::GET } else { &parts.method };
        let operations = &self.0.demands.get()?.0;
        operations
            .iter()
            .find(|((operation_method, pattern), _)| operation_method == method && *pattern == path)
            .map(|(_, demand)| *demand)
    }
}

/// Whether a request is for the resource of its token (RFC 8707): a token for `/mcp` is for nothing else. Requests of
/// tools, and requests with their tickets, were checked at `/mcp`.
fn is_for(resource: &str, parts: &Parts) -> bool {
    const MCP: &str = "/mcp";
    let is_inside = parts.extensions.get::<MissingScope>().is_some()
        || parts.extensions.get::<HostedIdentity>().is_some();
    let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let has_ticket = || query.is_ok_and(|Query(pairs)| pairs.iter().any(|(name, _)| name == "ticket"));
    let is_by_ticket = !parts.headers.contains_key(header::AUTHORIZATION) && has_ticket();
    !resource.ends_with(MCP) || parts.uri.path() == MCP || is_inside || is_by_ticket
}

/// The sufficient scope.
fn missing(demand: &Demand<'_>, is_limited: bool) -> String {
    let Demand { room, access, session, channel, project } = demand;
    let room = if SCOPED_ROOMS.iter().any(|known| known == room) {
        format!("{room}:{}", access.as_str())
    } else {
        access.as_str().to_owned()
    };
    let hold = match room.split(':').next() {
        Some("sessions") => session.map(|id| format!("session:{id}")),
        Some("channels") => channel.map(|id| format!("channel:{id}")),
        _ => project.map(|id| format!("project:{id}")),
    };
    hold.filter(|_| is_limited).map_or(room.clone(), |hold| format!("{room} {hold}"))
}

/// The project that the query names, if it names one.
fn project_of_query(parts: &Parts) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    let mut values = pairs.into_iter().filter(|(name, _)| name == "project");
    values.next().filter(|_| values.next().is_none()).map(|(_, project)| project)
}

/// The path of a request, and the pattern that it matched.
struct Path<'a> {
    pattern: &'a str,
    request_path: &'a str,
}

impl<'a> Path<'a> {
    fn of(parts: &'a Parts) -> Self {
        let pattern = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
        Self { pattern, request_path: parts.uri.path() }
    }

    /// The parameter after a part of the pattern: `a` in `/sessions/a/events` for `sessions`.
    fn parameter_after(&self, part: &str) -> Option<String> {
        let mut pairs = self.pattern.split('/').zip(self.request_path.split('/'));
        pairs.find(|(pattern, _)| *pattern == part)?;
        let (pattern, value) = pairs.next()?;
        let is_single_part = pattern.starts_with('{') && !pattern.starts_with("{*");
        is_single_part.then(|| percent_decode_str(value).decode_utf8_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_project_once() {
        let project_in = |query: &str| {
            let request = http::Request::builder().uri(format!("/x?{query}")).body(()).unwrap();
            project_of_query(&request.into_parts().0)
        };
        assert_eq!(project_in("a=b&project=nick%3Ap").as_deref(), Some("nick:p"));
        assert_eq!(project_in("project=p&project=q"), None);
        assert_eq!(project_in("a=b"), None);
    }

    #[test]
    fn a_path_names_what_stands_behind_its_part() {
        let path = Path {
            pattern: "/v1/projects/{project_id}/sessions/{session_id}",
            request_path: "/v1/projects/nick%3Ap/sessions/s",
        };
        assert_eq!(path.parameter_after("projects").as_deref(), Some("nick:p"));
        assert_eq!(path.parameter_after("sessions").as_deref(), Some("s"));
        let path = Path { pattern: "/sessions", request_path: "/sessions" };
        assert_eq!(path.parameter_after("sessions"), None);
        let path = Path { pattern: "/search/messages", request_path: "/search/messages" };
        assert_eq!(path.parameter_after("sessions"), None);
    }
}
