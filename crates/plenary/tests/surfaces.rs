//! No surface lags behind another: every operation the server describes has its command, and every command named
//! here exists.

#[path = "surfaces/parameters.rs"]
mod parameters;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use plenary_wire::ErrorCode;
use serde_json::Value;
use stage::{Home, Served};

/// Operations by the id in the description, and the command that carries each out.
const COMMANDS: &[(&str, &str)] = &[
    ("agent.allow", "agent allow"),
    ("agent.allowlist", "agent allowlist"),
    ("agent.block", "agent block"),
    ("agent.blocks", "agent blocks"),
    ("agent.create", "agent add"),
    ("agent.delete", "agent rm"),
    ("agent.disallow", "agent disallow"),
    ("agent.get", "agent show"),
    ("agent.list", "agent list"),
    ("agent.reachable", "agents"),
    ("agent.rotate_token", "agent rotate-token"),
    ("agent.unblock", "agent unblock"),
    ("agent.update", "agent edit"),
    ("channel.append", "channel post"),
    ("channel.close", "channel close"),
    ("channel.key", "channel key"),
    ("channel.create", "channel create"),
    ("channel.events", "channel events"),
    ("channel.list", "channel list"),
    ("channel.presence", "channel presence"),
    ("channel.show", "channel read"),
    ("channel.spec", "channel spec"),
    ("channel.state", "channel state"),
    ("channel.watch", "channel watch"),
    ("connect", "listen"),
    ("contact.accept", "contact accept"),
    ("contact.decline", "contact decline"),
    ("contact.list", "contact list"),
    ("contact.request", "contact request"),
    ("context.archive", "context project archive"),
    ("context.assert_fact", "context fact assert"),
    ("context.awaiting_review", "context review list"),
    ("context.conformance", "context conformance"),
    ("context.create_project", "context project create"),
    ("context.deposit", "context deposit"),
    ("context.edit_project", "context project edit"),
    ("context.end_session", "context session end"),
    ("context.events", "context watch"),
    ("context.export", "context export"),
    ("context.facts", "context fact get"),
    ("context.flag", "context review request"),
    ("context.get_blob", "context blob get"),
    ("context.import", "context import"),
    ("context.invalidate_fact", "context fact invalidate"),
    ("context.members", "context project members"),
    ("context.orchestrate", "context orchestrate"),
    ("context.orient", "context orient"),
    ("context.project", "context project show"),
    ("context.projects", "context project list"),
    ("context.pull", "context pull"),
    ("context.put_blob", "context blob put"),
    ("context.review", "context review approve"),
    ("context.reviews", "context review log"),
    ("context.session", "context session show"),
    ("context.sessions", "context session list"),
    ("context.share", "context project share"),
    ("context.start_session", "context session start"),
    ("context.unarchive", "context project restore"),
    ("context.unshare", "context project unshare"),
    ("frame.retention", "frame retention"),
    ("frame.roster", "frame roster"),
    ("frame.stream", "frame listen"),
    ("frame.submit", "frame send"),
    ("inbox.ack", "inbox ack"),
    ("inbox.read", "inbox"),
    ("mcp.post", "mcp"),
    ("me.allow", "me allow"),
    ("me.allowlist", "me allowlist"),
    ("me.block", "me block"),
    ("me.blocks", "me blocks"),
    ("me.disallow", "me disallow"),
    ("me.get", "me"),
    ("me.unblock", "me unblock"),
    ("me.update", "me policy"),
    ("message.status", "message status"),
    ("org.get", "org show"),
    ("org.put", "org add"),
    ("org.remove_member", "org rm-member"),
    ("org.set_member", "org add-member"),
    ("owner.create", "owner add"),
    ("owner.list", "owner list"),
    ("owner.rotate_token", "owner rotate-token"),
    ("run.artifact", "runs artifact"),
    ("run.attach", "agent host"),
    ("run.configure", "runs configure"),
    ("run.describe", "runs describe"),
    ("run.descriptors", "runs agents"),
    ("run.dismiss_agent", "agent dismiss"),
    ("run.events", "runs events"),
    ("run.events_of", "runs replay"),
    ("run.run", "run"),
    ("run.show", "runs show"),
    ("run.start_agent", "agent start"),
    ("run.stop_agent", "agent stop"),
    ("run.threads", "runs threads"),
    ("server.guide", "teach"),
    ("server.health", "status"),
    ("session.create", "session create"),
    ("session.end", "session end"),
    ("session.events", "session events"),
    ("session.invite", "session invite"),
    ("session.join", "session join"),
    ("session.leave", "session leave"),
    ("session.list", "session list"),
    ("session.reopen", "session reopen"),
    ("session.send", "session send"),
    ("session.show", "session show"),
];

/// Operations without a command, each with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("agent.card", "`agent show`, which stands beside agent.get, has the card"),
    ("agent.profile", "`agent show` for whoever may change it; others read it by tools and over HTTP"),
    ("auth.ticket", "for browsers; the command line sets headers"),
    ("context.export_all", "`context export --all`, which stands beside context.export"),
    ("context.get", "`context pull ID`, which stands beside context.pull"),
    ("inbox.wait", "`inbox --wait`, which stands beside inbox.read"),
    ("mcp.close", "`mcp`, which closes its session when its input ends"),
    ("mcp.listen", "`mcp`, which hears what the server says by itself"),
    ("mcp.metadata", "for clients that look up how /mcp is protected"),
    ("mcp.metadata_of_path", "the same"),
    ("run.agents", "`runs agents`, which tells more of each by run.descriptors"),
    ("run.discovery", "run.agents has these paths too"),
    ("run.stream", "`run`, which asks by run.run and follows by run.events: a stream that breaks is resumed"),
    ("search.agents", "`agents --query`, which lists whom an agent can reach"),
    ("search.all", "search.agents finds the same agents"),
    ("search.messages", "for tools, and for programs that page through what they may read"),
    ("server.health_alias", "the same as server.health"),
    ("server.metrics", "for scrapers"),
    ("server.openapi", "for generators"),
    ("server.ready", "for load balancers"),
    ("usage.get", "`status`, which shows it with the rest"),
];

/// Codes that no operation lists: the HTTP layer and the store answer with them wherever they must.
const OF_NO_OPERATION: &[ErrorCode] = &[
    ErrorCode::Corrupt,
    ErrorCode::DuplicateFactId,
    ErrorCode::IncompleteBody,
    ErrorCode::Internal,
    ErrorCode::MethodNotAllowed,
    ErrorCode::OutcomeUnknown,
    ErrorCode::QuotaExceeded,
    ErrorCode::SessionExists,
    ErrorCode::StorageFull,
    ErrorCode::Unavailable,
    ErrorCode::UnsupportedContentEncoding,
];

#[test]
fn every_documented_code_is_known_and_every_known_code_is_documented() {
    let home = Home::new("codes");
    let served = Served::start(&home, "127.0.0.1:0");
    let documented = codes(&description(&served.url));
    let known: BTreeSet<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
    let unlisted: BTreeSet<String> = OF_NO_OPERATION.iter().map(ToString::to_string).collect();
    assert_eq!(documented.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(known.difference(&documented).cloned().collect::<BTreeSet<_>>(), unlisted);
}

/// Every code that the description lists anywhere.
fn codes(description: &Value) -> BTreeSet<String> {
    match description {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match value.as_array().filter(|_| name == "x-plenary-codes") {
                Some(listed) => listed.iter().filter_map(|code| code.as_str().map(str::to_owned)).collect(),
                None => codes(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(codes).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => BTreeSet::new(),
    }
}

#[test]
fn every_operation_has_its_command() {
    let home = Home::new("surfaces");
    let served = Served::start(&home, "127.0.0.1:0");
    let described: BTreeSet<String> = operations(&description(&served.url));
    let known: BTreeSet<String> = COMMANDS.iter().chain(WITHOUT).map(|(id, _)| (*id).to_owned()).collect();
    let differing: Vec<_> = described.symmetric_difference(&known).collect();
    assert!(differing.is_empty(), "described or listed here, but not both: {differing:?}");

    let mut helps = BTreeMap::new();
    for (_, command) in COMMANDS {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        assert!(helps.insert(*command, home.done(&served.url, &args)).is_none(), "{command} stands twice");
        let usage = format!("Usage: plenary {command}");
        assert!(helps[command].contains(&usage), "{}", helps[command]);
    }
}

fn description(url: &str) -> Value {
    let client = plenary_client::Client::new(url.parse().expect("a URL")).expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let ask = client.raw(http::Method::GET, "/openapi.json", None);
    let reply = runtime.block_on(ask).expect("an answer");
    serde_json::from_slice(&reply.body).expect("JSON")
}

fn operations(description: &Value) -> BTreeSet<String> {
    let paths = description["paths"].as_object().expect("paths");
    let methods = paths.values().flat_map(|path| path.as_object().expect("methods").values());
    methods.filter_map(|operation| Some(operation["operationId"].as_str()?.to_owned())).collect()
}
