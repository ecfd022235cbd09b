//! The whole router, and the operations outside any protocol: health, readiness, metrics, the description.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock, OnceLock},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use axum::{
    Extension, Json, Router,
    body::Bytes,
    extract::{Query, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, StatusCode, Uri, header, request::Parts as Head};
use plenary_accounts::{Accounts, Credentials, TokenOwner, identify};
use plenary_edge::{
    ApiInfo, Auth, LocalAddress, METRICS_CONTENT_TYPE, Metrics, Operation, OperationDoc, Origin, Peer,
    consistent, openapi, refusal_response, shared_answer, with_fallbacks,
};
use plenary_kernel::{Class, Position, Refusal, json::digest, proof::Challenge};
use plenary_log::Log;
use plenary_mcp::{
    operations::Operations,
    server::{LocalAnswers, Mcp},
};
use plenary_room::{Example, Mount, RoomDescription};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    OwnTools,
    probe::Probe,
    rooms::{self, Rooms},
};

/// The content type of the text for agents.
const GUIDE_CONTENT_TYPE: &str = "text/markdown; charset=utf-8";
/// Headers that a proxy adds to a forwarded request.
const HANDED_ON: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];
/// How long the first health check waits for the server's id.
const ID_WITHIN: Duration = Duration::from_millis(250);
/// How long an answer to a challenge waits for the store.
const PROOF_WITHIN: Duration = Duration::from_secs(3);
/// Length of the id in bytes.
const ID_BYTES: usize = 16;

#[derive(Clone)]
struct Surface(Arc<Inner>);

struct Inner {
    started: Instant,
    log: Log,
    id: OnceLock<String>,
    metrics: Metrics,
    probe: Probe,
    stop: CancellationToken,
    accounts: Accounts,
    /// Whether metrics need no token.
    metrics_open: bool,
    /// `/openapi.json`, computed at its first read: that takes longer than the rest of the start.
    description: LazyLock<Bytes, Box<dyn FnOnce() -> Bytes + Send>>,
    ports: Vec<u16>,
}

/// `GET /healthz`.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// Always true: the server is healthy if it answers.
    ok: bool,
    /// Always `ok`.
    status: &'static str,
    /// The name of this network of agents.
    network: &'static str,
    /// The server's version.
    version: &'static str,
    /// The id of the server's log: the same for every process on the log, and after a restart or a restore. Absent
    /// while the log is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_id: Option<String>,
    /// The answer to a challenge, which proves that the server knows a token without the token being sent: HMAC-SHA-256,
    /// in hex. Absent without a challenge, for a token that is not valid here, and for an address that is not the server's.
    /// With 503 it is not known whether the token is valid here: the store did not answer; ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
    /// Milliseconds since the start.
    uptime_ms: u64,
}

/// The challenge of a client that does not send its token to an unproved server; see `docs/security.md`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ChallengeQuery {
    /// 64 random hex digits.
    challenge: Option<String>,
    /// The first 16 hex digits of the token's SHA-256.
    key: Option<String>,
    /// The address that the client is connected to, such as `127.0.0.1:7420`.
    address: Option<String>,
}

/// `GET /readyz`.
#[derive(Debug, Serialize, JsonSchema)]
struct Readiness {
    /// Whether requests can be served now.
    ok: bool,
    /// `ready`; otherwise the reason: `stopping`, `store_full`, `store_silent`, `store_overloaded` or
    /// `store_unavailable`.
    status: &'static str,
}

/// The tag and purpose of the server's own operations.
const ITSELF: (&str, &str) = ("server", "Health, readiness, metrics, and this description.");
/// The tag and purpose of the Model Context Protocol.
const MCP: (&str, &str) = ("mcp", "The Model Context Protocol.");
/// Example bodies for the operations of the Model Context Protocol that take one.
const MCP_EXAMPLES: &[Example] = &[("mcp.post", || {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "example", "version": "1"},
        },
    })
})];

/// The settings of the Model Context Protocol server.
pub(super) struct McpSettings {
    pub(super) fixture: bool,
    /// The issuer of access tokens, if it is not this server.
    pub(super) authorization_server: Option<String>,
    pub(super) sessions_per_owner_max: usize,
}

/// The dependencies of the surface, other than the rooms.
pub(super) struct SurfaceInputs<'a> {
    pub(super) origin: Origin,
    pub(super) metrics_open: bool,
    pub(super) metrics: &'a Metrics,
    pub(super) stop: &'a CancellationToken,
    pub(super) mcp: McpSettings,
    /// The server's ports: its own, and the one of its public URL.
    pub(super) ports: Vec<u16>,
    /// The tools of the models that this server runs.
    pub(super) toolbox: &'a OwnTools,
}

/// Every route of the server, and the work that runs beside them; the description covers each route.
pub(super) fn router(rooms: &Rooms, around: SurfaceInputs<'_>) -> anyhow::Result<(Router, Mcp)> {
    let SurfaceInputs { origin, metrics_open, metrics, stop, mcp, ports, toolbox } = around;
    let docs = descriptions();
    let url = origin.stated_url().to_owned();
    consistent(docs.iter()).context("the operations contradict each other")?;
    rooms.accounts.set_operations(docs.iter());
    let surface = Surface(Arc::new(Inner {
        started: Instant::now(),
        log: rooms.log.clone(),
        id: OnceLock::new(),
        metrics: metrics.clone(),
        probe: Probe::new(rooms.log.clone()),
        stop: stop.clone(),
        accounts: rooms.accounts.clone(),
        metrics_open,
        ports,
        description: LazyLock::new(Box::new(move || describe(&url))),
    }));
    let mut router = plenary_edge::routes(operations(), metrics)?.with_state(surface);
    for room in &rooms.served {
        router = router.merge(room.routes(Mount { metrics, origin: &origin })?);
    }
    let inner = with_fallbacks(router.clone(), metrics);
    let operations = Operations::new(inner, askable()).at(origin.clone());
    rooms.a2a.begin(operations.clone());
    rooms.links.begin_operations(operations.clone());
    let tools = plenary_mcp::tools::all(&operations);
    toolbox.begin(tools.clone(), rooms.accounts.clone(), rooms.runs.agents());
    let mcp = Mcp::new(plenary_mcp::server::Parts {
        tools,
        operations,
        accounts: rooms.accounts.clone(),
        origin,
        stop: stop.clone(),
        sessions_per_owner_max: mcp.sessions_per_owner_max,
        fixture: mcp.fixture,
        authorization_server: mcp.authorization_server,
    });
    let router = router.merge(plenary_mcp::server::routes(mcp.clone(), metrics)?);
    let router = rooms.console.around(with_fallbacks(router, metrics), &docs);
    Ok((router, mcp))
}

/// The descriptions of everything that has operations, in the order for a newcomer.
fn about() -> Vec<RoomDescription> {
    let itself = RoomDescription::new(ITSELF.0, ITSELF.1, &operations(), &[]);
    let mcp = RoomDescription::new(MCP.0, MCP.1, &plenary_mcp::server::operations(), MCP_EXAMPLES);
    [itself].into_iter().chain(rooms::about()).chain([mcp]).collect()
}

/// The OpenAPI document of all operations, for a server at `url`.
fn describe(url: &str) -> Bytes {
    let info = ApiInfo {
        title: "Plenary",
        version: env!("CARGO_PKG_VERSION"),
        description: "One identity and one durable log for networks of AI agents.",
        server_url: url,
        rooms: &listed(),
    };
    openapi(info, &descriptions()).to_string().into()
}

/// The name and purpose of every room with operations.
fn listed() -> Vec<(&'static str, &'static str)> {
    about()
        .iter()
        .filter(|about| !about.purpose.is_empty())
        .map(|about| (about.room, about.purpose))
        .collect()
}

/// The descriptions of all operations.
pub(crate) fn descriptions() -> Vec<OperationDoc> {
    about().into_iter().flat_map(|about| about.operations).collect()
}

/// The descriptions of the operations that can be called in process.
pub(super) fn askable() -> Vec<OperationDoc> {
    about().into_iter().filter(|about| about.room != MCP.0).flat_map(|about| about.operations).collect()
}

/// The answers to clients of the Model Context Protocol that are the same on every server of this version.
pub(crate) fn local_answers() -> LocalAnswers {
    LocalAnswers::new(Operations::new(Router::new(), askable()))
}

fn operations() -> Vec<Operation<Surface>> {
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .auth(Auth::None)
            .no_tool("for probes, scrapers and generators")
    };
    vec![
        doc("server.health", "/healthz", "Check that the server answers")
            .query::<ChallengeQuery>()
            .reply::<Health>()
            .or_status(StatusCode::SERVICE_UNAVAILABLE)
            .handled_by(health),
        doc("server.health_alias", "/health", "The same")
            .query::<ChallengeQuery>()
            .reply::<Health>()
            .or_status(StatusCode::SERVICE_UNAVAILABLE)
            .handled_by(health),
        doc("server.ready", "/readyz", "Check that the server can serve requests; otherwise 503")
            .reply::<Readiness>()
            .or_status(StatusCode::SERVICE_UNAVAILABLE)
            .handled_by(ready),
        doc("server.metrics", "/metrics", "Get metrics as Prometheus text")
            .description(
                "For the server's own machine, and from elsewhere with the operator's token; for every caller if \
                 the operator has set `open` in `[metrics]`.",
            )
            .reply_type(METRICS_CONTENT_TYPE)
            .errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
            .handled_by(metrics_text),
        doc("server.openapi", "/openapi.json", "This description").reply::<Value>().handled_by(description),
        doc("server.guide", "/llms.txt", "Get the guide for agents")
            .reply_type(GUIDE_CONTENT_TYPE)
            .handled_by(guide),
    ]
}

async fn health(
    State(Surface(inner)): State<Surface>,
    uri: Uri,
    local: Option<Extension<LocalAddress>>,
) -> Response {
    let uptime_ms = u64::try_from(inner.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let version = env!("CARGO_PKG_VERSION");
    let server_id = id(&inner).await;
    let (status, proof) = match challenge(&inner, &uri, local) {
        Some(challenge) => proof(&inner, &challenge).await,
        None => (StatusCode::OK, None),
    };
    let health = Health { ok: true, status: "ok", network: "local", version, server_id, proof, uptime_ms };
    (status, Json(health)).into_response()
}

/// The challenge of a request. Only for an address of this server: a relay that listens on another one and forwards
/// challenges gets no answer.
fn challenge(inner: &Inner, uri: &Uri, local: Option<Extension<LocalAddress>>) -> Option<Challenge> {
    let Query(query) = Query::<ChallengeQuery>::try_from_uri(uri).ok()?;
    let Extension(LocalAddress(local)) = local?;
    let address = query.address?.parse().ok().filter(|address| is_own(*address, local, &inner.ports))?;
    Some(Challenge { nonce: query.challenge?, key: query.key?, address })
}

/// The proof, if the token is valid here. Without an answer of the store, no proof is no answer either: the client would take
/// this server for another program.
async fn proof(inner: &Inner, challenge: &Challenge) -> (StatusCode, Option<String>) {
    match timeout(PROOF_WITHIN, inner.accounts.prove(challenge)).await {
        Ok(Ok(proof)) => (StatusCode::OK, proof),
        Ok(Err(_)) | Err(_) => (StatusCode::SERVICE_UNAVAILABLE, None),
    }
}

/// Whether a client that is connected to `address` reached this server, which got its connection at `local`. Only a
/// port that is forwarded into a container or another machine is reached at another address than its own.
fn is_own(address: SocketAddr, local: SocketAddr, ports: &[u16]) -> bool {
    let (reached, own) = (address.ip().to_canonical(), local.ip().to_canonical());
    if own.is_loopback() {
        return reached == own && address.port() == local.port();
    }
    reached == own && address.port() == local.port()
        || reached.is_loopback() && ports.contains(&address.port())
}

/// The server's id, a digest of the log's beginning, which is unique. Health does not wait for the store.
async fn id(inner: &Inner) -> Option<String> {
    if let Some(known) = inner.id.get() {
        return Some(known.clone());
    }
    let first = timeout(ID_WITHIN, inner.log.read_log(Position(0), 1)).await.ok()?.ok()?.pop()?;
    let (stream, recorded_at) = (first.stream.to_string(), first.at.0.to_be_bytes());
    let bytes = [stream.as_bytes(), &recorded_at[..], &first.envelope[..]].concat();
    let id = hex::encode(&digest(&bytes)[..ID_BYTES]);
    Some(inner.id.get_or_init(|| id).clone())
}

async fn guide() -> Response {
    shared_answer(GUIDE_CONTENT_TYPE, Bytes::from_static(crate::guide::GUIDE.as_bytes()))
}

async fn ready(State(Surface(inner)): State<Surface>) -> Response {
    let status = if inner.stop.is_cancelled() { "stopping" } else { inner.probe.look().await };
    let ok = status == "ready";
    let code = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Readiness { ok, status })).into_response()
}

async fn metrics_text(
    State(Surface(inner)): State<Surface>,
    Peer(peer): Peer,
    request: Request,
) -> Result<Response, Response> {
    let (parts, _) = request.into_parts();
    if !(inner.metrics_open || is_here(peer, &parts.headers)) {
        operator(&parts, &inner.accounts).await.map_err(|refusal| refusal_response(&refusal))?;
    }
    Ok(([(header::CONTENT_TYPE, METRICS_CONTENT_TYPE)], inner.metrics.render()).into_response())
}

/// Whether the request comes from a program on this machine, as far as the server can tell: requests with a proxy's
/// headers do not count.
fn is_here(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let is_handed_on = HANDED_ON.iter().any(|name| headers.contains_key(*name));
    peer.ip().to_canonical().is_loopback() && !is_handed_on
}

async fn operator(parts: &Head, accounts: &Accounts) -> Result<(), Refusal> {
    if !parts.headers.contains_key(header::AUTHORIZATION) {
        let text = "From another machine send the header Authorization: Bearer with the operator's token.";
        return Err(Refusal::new(Class::Unauthenticated, "missing_authorization", text));
    }
    match identify(parts, accounts, Credentials::Header).await?.who {
        TokenOwner::Operator => Ok(()),
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => {
            let text = "From another machine this needs the operator's token.";
            Err(Refusal::new(Class::Unauthenticated, "invalid_authorization", text))
        }
    }
}

async fn description(State(Surface(inner)): State<Surface>) -> Response {
    shared_answer("application/json", inner.description.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plenary_mcp::tool::Toolset;

    use super::*;

    #[test]
    fn a_challenge_is_answered_for_the_address_that_was_reached() {
        let address_of = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (address, local, own) in [
            ("127.0.0.1:7420", "127.0.0.1:7420", true),
            ("127.0.0.1:7420", "[::ffff:127.0.0.1]:7420", true),
            ("127.0.0.1:80", "127.0.0.1:7420", false),
            ("[::1]:7420", "127.0.0.1:7420", false),
            ("127.0.0.1:7420", "[::1]:7420", false),
            ("127.0.0.2:7420", "127.0.0.1:7420", false),
            // A port that is forwarded into a container.
            ("127.0.0.1:7420", "10.0.2.100:7420", true),
            ("127.0.0.1:80", "10.0.2.100:7420", true),
            ("127.0.0.1:81", "10.0.2.100:7420", false),
            ("10.0.2.1:80", "10.0.2.100:7420", false),
        ] {
            assert_eq!(is_own(address_of(address), address_of(local), &[7420, 80]), own, "{address} {local}");
        }
    }

    #[test]
    fn every_body_has_an_example_and_every_operation_a_room() {
        let listed = listed();
        let described = openapi(
            ApiInfo { title: "", version: "", description: "", server_url: "/", rooms: &listed },
            &descriptions(),
        );
        for methods in described["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let id = &operation["operationId"];
                assert!(listed.iter().any(|(room, _)| operation["tags"][0] == *room), "{id} has no room");
                if let Some(content) = operation["requestBody"]["content"].as_object() {
                    assert!(
                        content.values().all(|body| body["example"] != Value::Null),
                        "{id} has no example"
                    );
                }
            }
        }
    }

    /// A boolean as a schema, a type that is null alone, and a default of null, which an object of a client sends and which then
    /// erases what an absent member leaves.
    fn obstacles(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| obstacles(item, path, found)),
            Value::Object(members) => {
                for (name, member) in members {
                    let path = format!("{path}/{name}");
                    let is_schema = matches!(name.as_str(), "schema" | "items")
                        || path.rsplit('/').nth(1) == Some("properties");
                    let is_null = member["type"] == "null" && is_schema;
                    if name == "default" && member.is_null() || is_schema && member.is_boolean() || is_null {
                        found.push(path.clone());
                    }
                    if name != "example" {
                        obstacles(member, &path, found);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn generators_of_clients_can_use_the_description() {
        let info = ApiInfo { title: "", version: "", description: "", server_url: "/", rooms: &listed() };
        let mut found = Vec::new();
        obstacles(&openapi(info, &descriptions()), "", &mut found);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn every_operation_for_guests_is_there() {
        for room in about() {
            for id in room.guests {
                assert!(room.operations.iter().any(|doc| doc.id() == *id && doc.is_for_guests()), "{id}");
            }
        }
    }

    #[test]
    fn every_operation_is_a_tool_or_says_why_not() {
        assert_eq!(plenary_mcp::tools::faults(&descriptions()), [""; 0]);
    }

    /// The tools of the daily work are asked of the description of the server, which names them all.
    #[test]
    fn every_tool_of_the_guide_is_there_and_every_one_there_is_in_the_guide() {
        let section = crate::guide::GUIDE.split("## Tools").nth(1).unwrap().split("\n## ").next().unwrap();
        let heads = section.lines().filter_map(|line| line.strip_prefix("- ")?.split(": ").next());
        let named: BTreeSet<String> =
            heads.flat_map(|head| head.split(", ")).map(|name| name.trim_matches('`').to_owned()).collect();
        let operations = Operations::new(Router::new(), descriptions());
        let tools = plenary_mcp::tools::all(&operations);
        let there = tools.in_sets(&[Toolset::Core]).map(|tool| tool.name.clone()).collect();
        assert_eq!(named, there);
    }
}
