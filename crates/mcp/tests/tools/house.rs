//! Every room in process over the log in memory, and the tools on their router.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, body::Body, middleware::map_request};
use http::{Request, header};
use http_body_util::BodyExt as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_blobs::Blobs;
use plenary_channels::Channels;
use plenary_context::Context;
use plenary_edge::{Metrics, OperationDoc, Origin, with_fallbacks};
use plenary_engine::SystemClock;
use plenary_frames::Frames;
use plenary_hub::{Cursors, Observer, Presence, dispatch};
use plenary_inbox::{Inbox, Rooms};
use plenary_kernel::Clock;
use plenary_log::{Feed, open_memory};
use plenary_mcp::{
    operations::{Caller, Operations},
    tool::{CallOutcome, Tools},
    tools,
};
use plenary_room::ServedRoom as _;
use plenary_runs::{Agent, Echo, Quotas, Registry, RunLimits, Runs};
use plenary_search::Search;
use plenary_sessions::Sessions;
use plenary_telemetry::Telemetry;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const OPERATOR: &str = "plo_test";

/// A server without a listener.
pub(crate) struct House {
    pub(crate) operations: Operations,
    pub(crate) tools: Tools,
    /// How many requests the tools have made.
    pub(crate) requests: Arc<AtomicUsize>,
    pub(crate) accounts: Accounts,
    router: Router,
}

/// The rooms that there are.
struct Parts {
    accounts: Accounts,
    sessions: Sessions,
    frames: Frames,
    channels: Channels,
    context: Context,
    runs: Runs,
    inbox: Inbox,
    search: Search,
}

/// An agent with tools.
pub(crate) struct Hand<'a> {
    house: &'a House,
    pub(crate) caller: Caller,
}

impl House {
    pub(crate) async fn new() -> Self {
        let opened = open_memory();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let log = opened.log;
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        accounts.begin().await.unwrap();
        let presence = Arc::new(Presence::default());
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let sessions = Sessions::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            presence.clone(),
            cursors.clone(),
            plenary_sessions::Config::default(),
        );
        accounts.set_consequences(Arc::new(sessions.clone()));
        let frames = Frames::new(
            log.clone(),
            log.signals().clone(),
            clock.clone(),
            accounts.clone(),
            plenary_frames::Config::default(),
        );
        let spans = Telemetry::off().spans();
        let config = plenary_channels::Config::default();
        let channels = Channels::new(log.clone(), clock.clone(), accounts.clone(), spans, config);
        let index = plenary_retrieval_sqlite::open_memory().unwrap();
        let blobs = Some(Blobs::in_memory());
        let context = Context::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            index,
            blobs.clone(),
            plenary_context::Config::default(),
        );
        let echo =
            Agent::new("@nick.echo".parse().unwrap(), Arc::new(Echo::default()), RunLimits::default()).open();
        let registry = Registry::new(vec![echo]).unwrap();
        let runs = Runs::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            cursors.clone(),
            blobs,
            (registry, Quotas::default()),
            plenary_telemetry::Spans::off(),
        );
        let rooms = Rooms {
            accounts: accounts.clone(),
            sessions: sessions.clone(),
            frames: frames.clone(),
            sources: vec![
                Arc::new(accounts.clone()),
                Arc::new(sessions.clone()),
                Arc::new(channels.clone()),
                Arc::new(context.clone()),
                Arc::new(runs.clone()),
            ],
        };
        let found_in = [sessions.findable(), channels.findable(), context.findable(), runs.findable()];
        let index = plenary_retrieval_sqlite::open_memory().unwrap();
        let found_in = found_in.into_iter().flatten().collect();
        let search = Search::new(log.clone(), accounts.clone(), Some(index), None, found_in);
        let inbox = Inbox::new(log, clock, cursors, rooms);
        inbox.begin().await.unwrap();
        let parts = Parts { accounts, sessions, frames, channels, context, runs, inbox, search };
        Self::with_parts(parts, opened.feed, presence)
    }

    /// The rooms begin to hear of what is committed, and are asked through one router.
    fn with_parts(parts: Parts, feed: Feed, presence: Arc<Presence>) -> Self {
        let Parts { accounts, sessions, frames, channels, context, runs, inbox, search } = parts;
        let observers: Vec<Arc<dyn Observer>> = vec![
            Arc::new(accounts.clone()),
            Arc::new(sessions.clone()),
            Arc::new(channels.clone()),
            Arc::new(frames.clone()),
            Arc::new(context.clone()),
            Arc::new(runs.clone()),
            Arc::new(search.clone()),
            Arc::new(inbox.clone()),
        ];
        tokio::spawn(dispatch(feed, presence, observers));
        tokio::spawn(frames.running());
        tokio::spawn(runs.running());
        let indexed = context.clone();
        tokio::spawn(async move { indexed.index().await });
        let everything = search.clone();
        tokio::spawn(async move { everything.index().await });
        let metrics = Metrics::new();
        let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
            .unwrap()
            .with_state(accounts.clone())
            .merge(plenary_sessions::routes(sessions, &metrics).unwrap())
            .merge(plenary_channels::routes(channels, origin(), &metrics).unwrap())
            .merge(plenary_frames::routes(frames, &metrics).unwrap())
            .merge(plenary_context::routes(context, &metrics).unwrap())
            .merge(plenary_runs::routes(runs, &metrics).unwrap())
            .merge(plenary_inbox::routes(inbox, &metrics).unwrap())
            .merge(plenary_edge::routes(plenary_search::operations(), &metrics).unwrap().with_state(search));
        let router = with_fallbacks(router, &metrics);
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = requests.clone();
        let counted = router.clone().layer(map_request(move |request: Request<Body>| {
            counter.fetch_add(1, Ordering::SeqCst);
            std::future::ready(request)
        }));
        let operations = Operations::new(counted, docs()).at(origin());
        let tools = tools::all(&operations);
        Self { operations, tools, requests, accounts, router }
    }

    /// An open agent with tools.
    pub(crate) async fn agent(&self, handle: &str) -> Hand<'_> {
        let body = json!({"handle": handle, "policy": "open"});
        let created = self.post(OPERATOR, "/_admin/agents", &body).await;
        Hand { house: self, caller: caller(created["token"].as_str().unwrap()) }
    }

    async fn post(&self, token: &str, path: &str, body: &Value) -> Value {
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{status} {body:?}");
        serde_json::from_slice(&body).unwrap()
    }
}

/// Whoever bears a token.
fn caller(token: &str) -> Caller {
    let request =
        Request::get("/mcp").header(header::AUTHORIZATION, format!("Bearer {token}")).body(()).unwrap();
    Caller::of(&request.into_parts().0)
}

/// The descriptions of every operation that a room has.
pub(crate) fn docs() -> Vec<OperationDoc> {
    let mut docs = Vec::new();
    docs.extend(plenary_accounts::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_sessions::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_search::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_frames::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_channels::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_context::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_inbox::operations().iter().map(|operation| operation.doc().clone()));
    docs.extend(plenary_runs::operations().iter().map(|operation| operation.doc().clone()));
    docs
}

impl Hand<'_> {
    pub(crate) async fn called(&self, tool: &str, arguments: &Value) -> CallOutcome {
        let tool = self.house.tools.get(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
        let called = tool.action.call(&self.caller, arguments.as_object().unwrap().clone()).await;
        if let (CallOutcome::Done(value), Some(schema)) = (&called, &tool.output) {
            conforms(&tool.name, value, &Value::from((**schema).clone()));
        }
        called
    }

    /// What a call that succeeds brings.
    #[track_caller]
    pub(crate) fn call<'a>(&'a self, tool: &'a str, arguments: Value) -> impl Future<Output = Value> + 'a {
        let location = std::panic::Location::caller();
        async move {
            match self.called(tool, &arguments).await {
                CallOutcome::Done(value) => value,
                CallOutcome::Refused { code, message } => {
                    panic!("{location}: {tool} was refused: {code}: {message}")
                }
            }
        }
    }

    /// The code with which a call is refused.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        match self.called(tool, &arguments).await {
            CallOutcome::Refused { code, message } => {
                assert!(!message.is_empty());
                code
            }
            CallOutcome::Done(value) => panic!("{tool} came to {value}"),
        }
    }
}

/// Clients hold every result to the schema that its tool names.
fn conforms(tool: &str, value: &Value, schema: &Value) {
    assert_eq!(schema["type"], "object", "{tool}");
    let members = value.as_object().unwrap_or_else(|| panic!("{tool} gives no object: {value}"));
    for (name, member) in members {
        let Some(kind) = schema["properties"][name]["type"].as_str() else { continue };
        let is_it = match kind {
            "string" => member.is_string(),
            "integer" => member.is_u64() || member.is_i64(),
            "boolean" => member.is_boolean(),
            "array" => member.is_array(),
            "object" => member.is_object(),
            other => panic!("{tool} names the type {other}"),
        };
        assert!(is_it, "{tool}: `{name}` is no {kind}: {value}");
    }
}

fn origin() -> Origin {
    Origin::new("http://127.0.0.1:7420", None, Vec::new())
}
