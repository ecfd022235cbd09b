//! The verbs: each builds a payload from the arguments and sends it in the caller's name.
//! Must not know: the rules of a payload; the operation checks them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    operations::{Caller, Operations},
    tool::{Action, CallFuture, CallOutcome},
    tools::{
        api::{Answer, Refusal, Route, ToolApi, get, post},
        core::me::Me,
        frame::{FrameSender, SESSION, scope_of, submit, uuid},
    },
};

pub(super) const ROSTER: Route = get("/handles/{handle}/roster");
pub(super) const TICKET: Route = post("/auth/ticket");
const STREAM: Route = get("/handles/{handle}/stream");
/// The arguments of every verb besides its payload: the recipients, and the sending session.
pub(super) const ADDRESSING: [&str; 3] = ["scope", "instrument", "session_id"];

/// The default lifetime of a claim, and the default time for collecting answers.
const LEASE_MS_DEFAULT: u64 = 300_000;
const QUERY_MS_DEFAULT: u64 = 30_000;

/// A verb that sends frames of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) description: &'static str,
    /// The members of the payload with a default value.
    pub(super) filled: &'static [&'static str],
}

/// The action of such a verb.
pub(super) struct Sends {
    operations: Operations,
    verb: Verb,
}

impl Sends {
    pub(super) fn new(operations: &Operations, verb: Verb) -> Self {
        Self { operations: operations.clone(), verb }
    }
}

impl Action for Sends {
    fn call<'a>(&'a self, caller: &'a Caller, arguments: Map<String, Value>) -> CallFuture<'a> {
        Box::pin(async move {
            let api = ToolApi {
                operations: self.operations.clone(),
                caller: caller.clone(),
                person: None,
                peer: None,
                offset: None,
            };
            match self.verb.send(&api, arguments).await {
                Ok(value) => CallOutcome::Done(value),
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// Takes a text argument that is not part of the payload.
fn take_text(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::arguments(format!("`{name}` must be a string."))),
    }
}

impl Verb {
    async fn send(&self, api: &ToolApi, mut payload: Map<String, Value>) -> Answer {
        let me = Me::of(api).await?;
        let scope = take_text(&mut payload, "scope")?.unwrap_or_else(|| me.principal());
        let from = FrameSender {
            instrument: take_text(&mut payload, "instrument")?,
            session_id: take_text(&mut payload, "session_id")?,
        };
        payload.retain(|_, value| !value.is_null());
        for name in self.filled {
            payload.entry(*name).or_insert_with(|| match *name {
                "previous_session_id" => from.session().into(),
                "response_scope" => {
                    from.named_scope(&me.handle).unwrap_or_else(|| scope_of(&me.handle)).into()
                }
                "ttl_ms" => LEASE_MS_DEFAULT.into(),
                "timeout_ms" => QUERY_MS_DEFAULT.into(),
                _ => uuid().into(),
            });
        }
        let mut sent = submit(api, &me.handle, &from, (self.kind, &payload), &scope, None).await?;
        for name in ["lease_id", "query_id"] {
            if let Some(id) = payload.get(name) {
                sent[name] = id.clone();
            }
        }
        Ok(sent)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendArguments {
    kind: String,
    payload: Map<String, Value>,
    /// ~h/*, ~h/<prefix>*, ~h/<instrument>@<session> or org:<org>/members/*; your sessions if absent
    scope: Option<String>,
    ttl_ms: Option<u64>,
    instrument: Option<String>,
    session_id: Option<String>,
}

pub(super) async fn send(api: ToolApi, arguments: SendArguments) -> Answer {
    let me = Me::of(&api).await?;
    let scope = arguments.scope.unwrap_or_else(|| me.principal());
    let from = FrameSender { instrument: arguments.instrument, session_id: arguments.session_id };
    submit(&api, &me.handle, &from, (&arguments.kind, &arguments.payload), &scope, arguments.ttl_ms).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookArguments {
    /// ~owner; your own if absent
    handle: Option<String>,
}

pub(super) async fn roster(api: ToolApi, arguments: LookArguments) -> Answer {
    let handle = match arguments.handle {
        Some(handle) => handle,
        None => Me::of(&api).await?.principal(),
    };
    api.read(&ROSTER, &[&handle], &[]).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubscribeArguments {
    /// axis:value,… with kind, sender, tool, org
    filter: Option<String>,
    instrument: Option<String>,
    session_id: Option<String>,
    tool: Option<String>,
}

/// A capability in a URL: its holder may follow the stream once (wire.md 1.5, row 13).
pub(super) async fn subscribe(api: ToolApi, arguments: SubscribeArguments) -> Answer {
    let me = Me::of(&api).await?;
    // The session from which the verbs send by default, so that answers to it arrive here.
    let session_id = arguments.session_id.as_deref().unwrap_or(SESSION);
    let parameters = [
        ("filter", arguments.filter.as_deref()),
        ("instrument", arguments.instrument.as_deref()),
        ("session_id", Some(session_id)),
        ("tool", arguments.tool.as_deref()),
    ];
    let mut query: Vec<_> = parameters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    // Opened and closed at once: the stream refuses here what its URL would refuse later.
    drop(api.open(&STREAM.at(&[&me.principal()], &query)).await?);
    let created = api.write(&TICKET, &[], &json!({})).await?;
    query.push(("ticket", created["ticket"].as_str().unwrap_or_default()));
    let path = STREAM.at(&[&me.principal()], &query);
    let url = format!("{}{path}", api.operations.base_url(&api.caller));
    Ok(json!({"url": url, "handle": me.principal(), "expires_in_s": created["expires_in"], "uses": 1}))
}
