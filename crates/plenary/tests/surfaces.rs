//! No surface lags behind another: every operation the server describes has its command, and every command named
//! here exists.

#[path = "surfaces/parameters.rs"]
mod parameters;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stage::{Home, TestServer};

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
    ("agent.inbox", "agent inbox"),
    ("agent.list", "agent list"),
    ("agent.reachable", "agents"),
    ("agent.session_events", "agent events"),
    ("agent.sessions", "agent sessions"),
    ("agent.create_token", "token create"),
    ("agent.revoke_token", "token revoke"),
    ("agent.rotate_token", "agent rotate-token"),
    ("agent.tokens", "token issued"),
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
    ("console.link", "console"),
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
    ("file.get", "session file"),
    ("frame.retention", "frame retention"),
    ("frame.roster", "frame roster"),
    ("frame.stream", "frame listen"),
    ("frame.submit", "frame send"),
    ("inbox.ack", "inbox ack"),
    ("inbox.read", "inbox"),
    ("inbox.attention", "attention"),
    ("inbox.sessions", "inbox sessions"),
    ("mcp.post", "mcp"),
    ("me.allow", "me allow"),
    ("me.allowlist", "me allowlist"),
    ("me.block", "me block"),
    ("me.blocks", "me blocks"),
    ("me.create_token", "token create"),
    ("me.disallow", "me disallow"),
    ("me.get", "me"),
    ("me.revoke_token", "token revoke"),
    ("me.tokens", "token issued"),
    ("oauth.token", "token exchange"),
    ("me.unblock", "me unblock"),
    ("me.update", "me policy"),
    ("message.status", "message status"),
    ("notify.change", "requests notify change"),
    ("notify.create", "requests notify add"),
    ("notify.dead", "requests notify dead"),
    ("notify.list", "requests notify list"),
    ("notify.read", "requests notify show"),
    ("notify.remove", "requests notify rm"),
    ("notify.retry", "requests notify retry"),
    ("notify.test", "requests notify test"),
    ("org.get", "org show"),
    ("org.put", "org add"),
    ("org.remove_member", "org rm-member"),
    ("org.set_member", "org add-member"),
    ("owner.create", "owner add"),
    ("owner.list", "owner list"),
    ("owner.rotate_token", "owner rotate-token"),
    ("owner.sessions", "agent sessions"),
    ("passkey.list", "console passkeys"),
    ("passkey.remove", "console passkeys"),
    ("peer.accept", "peer accept"),
    ("peer.check", "peer check"),
    ("peer.invite", "peer invite"),
    ("peer.list", "peer list"),
    ("peer.revoke", "peer revoke"),
    ("request.answer", "requests answer"),
    ("request.delegate", "requests delegate"),
    ("request.get", "requests show"),
    ("request.link", "requests link"),
    ("request.list", "requests list"),
    ("request.make", "ask"),
    ("request.remove_rule", "requests rm-rule"),
    ("request.rules", "requests rules"),
    ("request.snooze", "requests snooze"),
    ("request.undo", "requests undo"),
    ("request.withdraw", "requests withdraw"),
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
    ("search.all", "search"),
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
    ("watch", "watch"),
    ("who", "who"),
];

/// Operations without a command, each with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("account.agent_names", "for RobotNet's command line; `agent list` lists them"),
    ("account.agents", "for RobotNet's command line; `agent list` lists them"),
    ("account.create_agent", "for RobotNet's command line; `agent add` does it"),
    ("account.delete_agent", "for RobotNet's command line; `agent rm` does it"),
    ("account.get", "for RobotNet's command line; `status` shows the owner"),
    ("account.sessions", "for RobotNet's command line; `agent sessions` lists them"),
    ("account.update_agent", "for RobotNet's command line; `agent edit` does it"),
    ("a2a.card", "for clients of Agent2Agent; `runs describe` shows the agent"),
    ("a2a.delete", "for clients of Agent2Agent"),
    ("a2a.grpc", "for clients of Agent2Agent; `run` asks"),
    ("a2a.keys", "for clients of Agent2Agent that verify cards"),
    ("a2a.read", "for clients of Agent2Agent; `runs` shows the same"),
    ("a2a.rpc", "for clients of Agent2Agent; `run` asks"),
    ("a2a.server_card", "for clients of Agent2Agent; `runs describe` shows the agent"),
    ("a2a.write", "for clients of Agent2Agent; `run` asks"),
    ("agent.card", "`agent show`, which stands beside agent.get, has the card"),
    ("agent.profile", "`agent show` for whoever may change it; others read it by tools and over HTTP"),
    ("agent.session", "`agent sessions`, which lists what it shows"),
    ("audit.list", "for people: the console shows it"),
    ("auth.ticket", "for browsers; the command line sets headers"),
    ("console.file", "for browsers"),
    ("console.issuers", "for the console's page"),
    ("console.session", "for the console's page, which has the cookie"),
    ("console.sessions", "for people: the console shows them"),
    ("console.sign_in", "for browsers, which use the link"),
    ("console.sign_in_at", "for browsers, which go to an issuer"),
    ("console.signed_in_at", "for browsers, which come back from an issuer"),
    ("console.sign_out", "for people: the console ends them"),
    ("passkey.add", "for browsers, which have the passkey"),
    ("passkey.challenge", "for browsers, which sign it"),
    ("context.export_all", "`context export --all`, which stands beside context.export"),
    ("context.get", "`context pull ID`, which stands beside context.pull"),
    ("frame.capability", "for alter-runtime, which asks for it"),
    ("frame.events", "for alter-runtime; `frame listen` shows the same frames"),
    ("file.upload", "`session send --attach`, which names it in a message"),
    ("inbox.address", "`send @OWNER.NAME/SESSION`, which says it before it sends"),
    ("inbox.session", "`hook`, which coding agents run"),
    ("inbox.shown", "the same"),
    ("inbox.wait", "`inbox --wait`, which stands beside inbox.read"),
    ("link.accept", "for other networks; `peer accept` asks it of one"),
    ("link.frame", "for other networks; `frame send --to accord:…` sends one there"),
    ("link.network", "for other networks, which look up who this one is"),
    ("link.read", "for other networks; `peer check` asks it of one"),
    ("link.revoke", "for other networks; `peer revoke` tells one"),
    ("mcp.close", "`mcp`, which closes its session when its input ends"),
    ("mcp.listen", "`mcp`, which hears what the server says by itself"),
    ("mcp.metadata", "for clients that look up how /mcp is protected"),
    ("mcp.metadata_of_path", "the same"),
    ("notify.push_key", "for browsers"),
    ("openai.chat", "for programs that know OpenAI's API; `run` asks"),
    ("openai.model", "for programs that know OpenAI's API; `runs describe` shows the agent"),
    ("openai.models", "for programs that know OpenAI's API; `runs agents` lists them"),
    ("openai.response", "for programs that know OpenAI's API; `run --thread` asks"),
    ("oauth.authorize", "for browsers: the page on which a person lets a client in"),
    ("oauth.decide", "the same"),
    ("oauth.metadata", "for clients on the web"),
    ("oauth.register", "the same"),
    ("oauth.revoke", "the same; `token revoke` ends a grant"),
    ("oauth.sign_in", "for browsers"),
    ("overview", "for people: the console shows it"),
    ("person.create", "for people: the console makes them"),
    ("request.answer_many", "for pages; a shell answers one after the other"),
    ("request.interrupt_response", "the form of others; `requests answer` says the same"),
    ("request.interrupts", "the form of others; `requests list` shows the same"),
    ("request.tap", "for browsers: the page of a link"),
    ("request.tapped", "the same"),
    ("run.agents", "`runs agents`, which tells more of each by run.descriptors"),
    ("run.discovery", "run.agents has the same paths"),
    ("run.stream", "`run`, which asks by run.run and follows by run.events: a stream that breaks is resumed"),
    ("search.agents", "`agents --query`, which lists whom an agent can reach"),
    ("search.messages", "for tools, and for programs that page through what they may read"),
    ("server.health_alias", "the same as server.health"),
    ("server.metrics", "for scrapers"),
    ("server.openapi", "for generators"),
    ("server.ready", "for load balancers"),
    ("usage.get", "`status`, which shows it with the rest"),
];

/// Commands for two operations: of oneself, and of an agent or an owner that is named.
const SHARED: &[&str] =
    &["agent sessions", "console passkeys", "token create", "token issued", "token revoke"];

#[test]
fn every_operation_has_its_command() {
    let home = Home::new("surfaces");
    let served = TestServer::start(&home, "127.0.0.1:0");
    let described: BTreeSet<String> = operations(&description(&served.url));
    let known: BTreeSet<String> = COMMANDS.iter().chain(WITHOUT).map(|(id, _)| (*id).to_owned()).collect();
    let differing: Vec<_> = described.symmetric_difference(&known).collect();
    assert!(differing.is_empty(), "described or listed here, but not both: {differing:?}");

    let mut helps = BTreeMap::new();
    for (_, command) in COMMANDS {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let known = helps.insert(*command, home.done(&served.url, &args));
        assert!(known.is_none() || SHARED.contains(command), "{command} stands twice");
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
