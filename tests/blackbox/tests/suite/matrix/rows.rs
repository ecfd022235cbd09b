//! One row for each operation: what it is about, with which body, and who must not be able to tell what there is.
//! Rows are written from the documents; an operation without a row fails the test.

use serde_json::{Value, json};

use super::world::Thing::{self, *};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// An agent of another owner, whom nobody lists.
    ForeignAgent,
    /// The other owner.
    ForeignOwner,
    /// An agent that is listed, and blocked.
    Blocked,
    /// Another agent of the same owner, which takes no part in anything.
    Sibling,
    /// The agent that everything here belongs to.
    Own,
    Owner,
}

/// What the documents say of an operation's callers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Needs no token, and shows nothing of anybody.
    Public,
    /// About whoever asks: an agent. Owners are answered 401.
    OfAgents,
    /// About whoever asks, whoever that is; nothing of others is shown.
    OfBearers,
    /// Refused with this status by everybody but those who may, whatever it names.
    Only(u16, &'static [Who]),
    /// About a thing: these callers cannot tell it from one that does not exist.
    Hidden(&'static [Who]),
    /// The same with this status, which is one that says "not yours" of everything.
    HiddenAs(u16, &'static [Who]),
}

/// Whoever has nothing to do with the owner.
const OUTSIDE: &[Who] = &[Who::ForeignAgent, Who::ForeignOwner, Who::Blocked];
/// The same, and the owner's agents that take no part.
const APART: &[Who] = &[Who::ForeignAgent, Who::ForeignOwner, Who::Blocked, Who::Sibling];
/// Whoever is no owner of it.
const NOT_ITS_OWNER: &[Who] = &[Who::ForeignAgent, Who::ForeignOwner, Who::Blocked, Who::Sibling, Who::Own];
/// Everybody but the operator.
const NO_OPERATOR: &[Who] =
    &[Who::ForeignAgent, Who::ForeignOwner, Who::Blocked, Who::Sibling, Who::Own, Who::Owner];
/// Agents, and owners of something else.
const AGENTS: &[Who] = &[Who::ForeignAgent, Who::Blocked, Who::Sibling, Who::Own];

/// A body as it should be; none where the operation takes none.
pub(super) type Body = Option<fn(bool) -> Value>;

/// One operation.
pub(super) struct Row {
    pub(super) id: &'static str,
    /// What the names in the path, or in the query, stand for.
    pub(super) names: &'static [(&'static str, Thing)],
    /// Behind the path; a name in braces is filled in.
    pub(super) query: &'static str,
    pub(super) body: Body,
    pub(super) rule: Rule,
}

const fn row(id: &'static str, names: &'static [(&'static str, Thing)], rule: Rule) -> Row {
    Row { id, names, query: "", body: None, rule }
}

impl Row {
    const fn body(mut self, body: fn(bool) -> Value) -> Self {
        self.body = Some(body);
        self
    }

    const fn query(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }
}

const ID: &[(&str, Thing)] = &[("id", Session)];
const CHANNEL: &[(&str, Thing)] = &[("id", Channel)];
const HANDLE: &[(&str, Thing)] = &[("handle", Handle)];
const PROFILE: &[(&str, Thing)] = &[("owner", Owner), ("name", Name)];
const PROJECT: &[(&str, Thing)] = &[("project_id", Project)];
const PACKAGE: &[(&str, Thing)] = &[("package_id", Package)];
const ACCORD: &[(&str, Thing)] = &[("accord_id", Session)];
/// A request of a guest.
const GUEST: &[(&str, Thing)] = &[("accord_id", Session), ("agent", Handle), ("path", Name)];
/// A request for a peer.
const PEER: &[(&str, Thing)] = &[("peer", Name), ("path", Name)];
const AGENT: &[(&str, Thing)] = &[("name", Hosted)];

/// Every operation of the description.
pub(super) fn rows() -> Vec<Row> {
    let first = [server(), links(), account(), accounts(), own(), sessions(), frames(), channels()];
    let last = [context(), packages(), runs(), requests(), notifications(), foreign()];
    first.into_iter().chain(last).flatten().collect()
}

fn links() -> Vec<Row> {
    vec![
        row("peer.read", PEER, Rule::OfAgents),
        row("peer.write", PEER, Rule::OfAgents).body(|_| json!({})),
        row("peer.edit", PEER, Rule::OfAgents).body(|_| json!({})),
        row("peer.delete", PEER, Rule::OfAgents),
        row("link.network", &[], Rule::Public),
        row("link.accept", &[], Rule::Public).body(|_| json!({})),
        row("link.frame", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.offer", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.command", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.events", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.file", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.news", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.states", ACCORD, Rule::Public).body(|_| json!({})),
        row("link.guest_read", GUEST, Rule::Public),
        row("link.guest_write", GUEST, Rule::Public).body(|_| json!({})),
        row("link.guest_edit", GUEST, Rule::Public).body(|_| json!({})),
        row("link.guest_delete", GUEST, Rule::Public),
        row("link.read", ACCORD, Rule::Public),
        row("link.revoke", ACCORD, Rule::Public),
    ]
}

fn server() -> Vec<Row> {
    vec![
        row("server.health", &[], Rule::Public),
        row("server.health_alias", &[], Rule::Public),
        row("server.ready", &[], Rule::Public),
        row("server.metrics", &[], Rule::Public),
        row("server.openapi", &[], Rule::Public),
        row("server.guide", &[], Rule::Public),
        row("mcp.metadata", &[], Rule::Public),
        row("mcp.metadata_of_path", &[], Rule::Public),
        row("oauth.metadata", &[], Rule::Public),
        row("oauth.register", &[], Rule::Public).body(|_| json!({"redirect_uris": ["https://c.example/cb"]})),
        row("oauth.authorize", &[], Rule::Public),
        row("oauth.decide", &[], Rule::Public).body(|_| json!({})),
        row("oauth.sign_in", &[], Rule::Public).body(|_| json!({})),
        row("oauth.token", &[], Rule::Public).body(|_| json!({})),
        row("oauth.revoke", &[], Rule::Public).body(|_| json!({})),
        row("mcp.post", &[], Rule::OfBearers).body(|_| json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        // Its session is named by a header, which another test sends.
        row("mcp.listen", &[], Rule::OfBearers),
        row("mcp.close", &[], Rule::OfBearers),
    ]
}

/// The paths of RobotNet's command line.
fn account() -> Vec<Row> {
    vec![
        row("account.get", &[], Rule::Only(404, AGENTS)),
        row("account.agents", &[], Rule::Only(404, AGENTS)),
        row("account.agent_names", &[], Rule::Only(404, AGENTS)),
        row("account.sessions", &[], Rule::Only(404, AGENTS)),
        row("account.create_agent", &[], Rule::Only(404, AGENTS))
            .body(|real| json!({"local_name": if real { "one" } else { "six" }, "display_name": "One"})),
        row("account.update_agent", PROFILE, Rule::Hidden(NOT_ITS_OWNER))
            .body(|_| json!({"description": "says no"})),
        row("account.delete_agent", PROFILE, Rule::Hidden(NOT_ITS_OWNER)),
    ]
}

fn accounts() -> Vec<Row> {
    vec![
        row("owner.create", &[], Rule::Only(404, NO_OPERATOR)).body(|_| json!({"owner": "somebody"})),
        row("owner.list", &[], Rule::Only(404, NO_OPERATOR)),
        row("peer.invite", &[], Rule::Only(404, NO_OPERATOR))
            .body(|_| json!({"network": "https://other.example", "peer": "other"})),
        row("peer.accept", &[], Rule::Only(404, NO_OPERATOR))
            .body(|_| json!({"network": "https://other.example", "peer": "other", "code": "plp_"})),
        row("peer.list", &[], Rule::Only(404, NO_OPERATOR)),
        row("peer.check", &[("peer", Name)], Rule::Only(404, NO_OPERATOR)),
        row("peer.revoke", &[("peer", Name)], Rule::Only(404, NO_OPERATOR)),
        row("owner.rotate_token", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)),
        row("console.sign_in", &[], Rule::Public).body(|_| json!({"link": "plk_00.~nick"})),
        row("console.issuers", &[], Rule::Public),
        row("console.sign_in_at", &[("issuer", Page)], Rule::Public),
        row("console.signed_in_at", &[("issuer", Page)], Rule::Public),
        row("console.file", &[("path", Page)], Rule::Public),
        row("console.session", &[], Rule::Only(401, NO_OPERATOR)),
        row("console.link", &[], Rule::Hidden(NOT_ITS_OWNER))
            .body(|real| json!({"owner": if real { "nick" } else { "nobody-there" }})),
        row("console.sessions", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)).query("?owner={owner}"),
        row("console.sign_out", &[("id", Session), ("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER))
            .query("?owner={owner}"),
        row("passkey.challenge", &[], Rule::Public),
        row("passkey.add", &[], Rule::Only(403, NO_OPERATOR))
            .body(|_| json!({"name": "Phone", "client_data": "e30", "authenticator_data": "AA"})),
        row("passkey.list", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)).query("?owner={owner}"),
        row("passkey.remove", &[("id", Session), ("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER))
            .query("?owner={owner}"),
        row("person.create", &[], Rule::Hidden(NOT_ITS_OWNER))
            .body(|real| json!({"handle": if real { "@nick.one" } else { "@nick.six" }})),
        row("audit.list", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)).query("?owner={owner}"),
        row("overview", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)).query("?owner={owner}"),
        row("who", &[], Rule::OfAgents),
        row("watch", &[], Rule::OfBearers).query("?after=0"),
        row("agent.create", &[], Rule::Hidden(NOT_ITS_OWNER))
            .body(|real| json!({"handle": if real { "@nick.one" } else { "@nick.six" }})),
        row("agent.list", &[], Rule::Only(404, AGENTS)),
        row("agent.get", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.sessions", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("owner.sessions", &[("owner", Owner)], Rule::Hidden(NOT_ITS_OWNER)).query("?owner={owner}"),
        row("agent.session", &[("handle", Handle), ("id", Session)], Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.session_events", &[("handle", Handle), ("id", Session)], Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.inbox", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.update", HANDLE, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"policy": "open"})),
        row("agent.rotate_token", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.tokens", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.create_token", HANDLE, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"scope": "read"})),
        row("agent.revoke_token", &[("handle", Handle), ("id", TokenId)], Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.allowlist", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.allow", HANDLE, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"entries": ["@acme.*"]})),
        row("agent.disallow", &[("handle", Handle), ("entry", Entry)], Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.blocks", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.block", HANDLE, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"handle": "@acme.bot"})),
        row("agent.unblock", &[("handle", Handle), ("blocked", BlockedHandle)], Rule::Hidden(NOT_ITS_OWNER)),
        row("agent.delete", HANDLE, Rule::Hidden(NOT_ITS_OWNER)),
        row("org.get", &[("org", Owner)], Rule::Hidden(NOT_ITS_OWNER)),
        row("org.put", &[("org", Owner)], Rule::Hidden(NOT_ITS_OWNER)),
        row("org.set_member", &[("org", Owner), ("handle", Sovereign)], Rule::Hidden(NOT_ITS_OWNER))
            .body(|_| json!({"roles": ["reviewer"]})),
        row("org.remove_member", &[("org", Owner), ("handle", Sovereign)], Rule::Hidden(NOT_ITS_OWNER)),
        row("contact.request", &[], Rule::Hidden(OUTSIDE))
            .body(|real| json!({"to": if real { "@nick.one" } else { "@nick.six" }})),
        row("contact.list", &[], Rule::OfBearers),
        row("contact.accept", &[("id", Contact)], Rule::Hidden(OUTSIDE)),
        row("contact.decline", &[("id", Contact)], Rule::Hidden(OUTSIDE)),
        row("auth.ticket", &[], Rule::OfAgents),
        row("usage.get", &[], Rule::OfBearers),
    ]
}

fn own() -> Vec<Row> {
    vec![
        row("agent.reachable", &[], Rule::OfBearers),
        row("agent.profile", PROFILE, Rule::Hidden(OUTSIDE)),
        row("agent.card", PROFILE, Rule::Hidden(OUTSIDE)),
        row("search.agents", &[], Rule::OfBearers).query("?q=nick"),
        row("search.all", &[], Rule::OfBearers).query("?q=nick"),
        row("me.get", &[], Rule::OfAgents),
        row("me.update", &[], Rule::OfAgents).body(|_| json!({"policy": "allowlist"})),
        row("me.allowlist", &[], Rule::OfAgents),
        row("me.allow", &[], Rule::OfAgents).body(|_| json!({"entries": ["@somebody.*"]})),
        row("me.disallow", &[("entry", Entry)], Rule::OfAgents),
        row("me.blocks", &[], Rule::OfAgents),
        row("me.tokens", &[], Rule::OfAgents),
        row("me.create_token", &[], Rule::OfAgents).body(|_| json!({"scope": "read"})),
        row("me.revoke_token", &[("id", TokenId)], Rule::OfAgents),
        row("me.block", &[], Rule::OfAgents).body(|_| json!({"handle": "@somebody.else"})),
        row("me.unblock", &[("blocked", BlockedHandle)], Rule::OfAgents),
        row("inbox.read", &[], Rule::OfAgents),
        row("inbox.wait", &[], Rule::OfAgents).query("?timeout_s=0"),
        row("inbox.session", &[], Rule::OfAgents)
            .body(|_| json!({"session": "s", "client": "c", "event": "alive"})),
        row("inbox.shown", &[], Rule::OfAgents).body(
            |_| json!({"session": "s", "client": "c", "event": "tool", "cursor": "0", "items": ["1.0"]}),
        ),
        row("inbox.sessions", &[], Rule::OfAgents),
        row("inbox.attention", &[], Rule::OfAgents).body(|_| json!({"session": "s", "attention": "open"})),
        row("inbox.address", &[], Rule::OfAgents)
            .body(|_| json!({"agent": "@nick.one", "coding_session": "s", "session_id": "sess_0"})),
        row("inbox.ack", &[], Rule::OfAgents).body(|_| json!({"cursor": "0"})),
    ]
}

fn sessions() -> Vec<Row> {
    vec![
        row("connect", &[], Rule::OfAgents),
        row("session.list", &[], Rule::OfAgents),
        // An agent that cannot be reached, and one that does not exist.
        row("session.create", &[], Rule::Hidden(OUTSIDE))
            .body(|real| json!({"invite": [if real { "@nick.one" } else { "@nick.six" }]})),
        row("session.show", ID, Rule::Hidden(APART)),
        row("session.join", ID, Rule::Hidden(APART)),
        row("session.leave", ID, Rule::Hidden(APART)),
        row("session.end", ID, Rule::Hidden(APART)),
        row("session.invite", ID, Rule::Hidden(APART)).body(|_| json!({"invite": ["@acme.bot"]})),
        row("session.send", ID, Rule::Hidden(APART)).body(|_| json!({"content": "x"})),
        row("session.reopen", ID, Rule::Hidden(APART)).body(|_| json!({})),
        row("search.messages", &[], Rule::OfAgents).query("?q=whisper"),
        row("file.upload", &[], Rule::OfAgents).body(|_| json!({"file": "x"})),
        row("file.get", &[("id", File)], Rule::Hidden(APART)),
        row("session.events", ID, Rule::Hidden(APART)).query("?limit=5"),
        row("message.status", &[("id", Session), ("sequence", Sequence)], Rule::Hidden(APART)),
        row("message.receipts", &[("id", Session), ("sequence", Sequence)], Rule::Hidden(APART)),
    ]
}

fn frames() -> Vec<Row> {
    vec![
        // Unreachable and unknown handles are one: 403 `scope-unauthorised`.
        row("frame.submit", &[], Rule::HiddenAs(403, &[Who::ForeignAgent, Who::Blocked]))
            .body(|real| frame(if real { "~nick" } else { "~mike" })),
        row("frame.stream", &[("handle", Sovereign)], Rule::Hidden(OUTSIDE)),
        row("frame.capability", &[], Rule::OfBearers),
        row("frame.events", &[("handle", Sovereign)], Rule::Hidden(OUTSIDE)),
        row("frame.roster", &[("handle", Sovereign)], Rule::Hidden(OUTSIDE)),
        // Whoever has a token may know: it is a setting of the server.
        row("frame.retention", &[("handle", Sovereign)], Rule::Hidden(OUTSIDE)),
    ]
}

fn channels() -> Vec<Row> {
    vec![
        row("channel.list", &[], Rule::OfBearers),
        row("channel.create", &[], Rule::OfBearers).body(|_| json!({"title": "mine"})),
        row("channel.show", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.spec", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.state", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.events", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.watch", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.presence", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.append", CHANNEL, Rule::Hidden(OUTSIDE))
            .body(|_| json!({"kind": "log", "payload": {"a": 1}})),
        row("channel.close", CHANNEL, Rule::Hidden(OUTSIDE)),
        row("channel.key", CHANNEL, Rule::Hidden(OUTSIDE)),
    ]
}

fn context() -> Vec<Row> {
    let work: &[(&str, Thing)] = &[("project_id", Project), ("session_id", Work)];
    let member: &[(&str, Thing)] = &[("project_id", Project), ("member", Entry)];
    let blob: &[(&str, Thing)] = &[("project_id", Project), ("sha256", Content)];
    vec![
        row("context.conformance", &[], Rule::Public),
        row("context.projects", &[], Rule::OfBearers),
        row("context.create_project", &[], Rule::OfBearers).body(|_| json!({"project_id": "mine"})),
        row("context.project", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.edit_project", PROJECT, Rule::Hidden(OUTSIDE)).body(|_| json!({"description": "x"})),
        row("context.archive", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.unarchive", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.members", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.share", member, Rule::Hidden(OUTSIDE)).body(|_| json!({"role": "reader"})),
        row("context.unshare", member, Rule::Hidden(OUTSIDE)),
        row("context.orient", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.orchestrate", &[("project", Project)], Rule::Hidden(OUTSIDE))
            .query("?project={project}"),
        row("context.facts", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.assert_fact", PROJECT, Rule::Hidden(OUTSIDE))
            .body(|_| json!({"subject": "s", "predicate": "p", "value": "v"})),
        row("context.invalidate_fact", PROJECT, Rule::Hidden(OUTSIDE)).query("?subject=s&predicate=p"),
        row("context.sessions", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.start_session", PROJECT, Rule::Hidden(OUTSIDE)).body(|_| json!({})),
        row("context.session", work, Rule::Hidden(OUTSIDE)),
        row("context.end_session", work, Rule::Hidden(OUTSIDE)).body(|_| json!({})),
        row("context.events", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.export", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.export_all", &[], Rule::OfBearers),
        row("context.import", &[], Rule::OfBearers),
        row("context.put_blob", blob, Rule::Hidden(OUTSIDE)),
        row("context.get_blob", blob, Rule::Hidden(OUTSIDE)),
    ]
}

fn packages() -> Vec<Row> {
    vec![
        row("context.deposit", PROJECT, Rule::Hidden(OUTSIDE)).body(|real| {
            super::world::package(if real { "nick:whisper" } else { "nick:nothing" }, "pkg_new")
        }),
        row("context.pull", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.awaiting_review", PROJECT, Rule::Hidden(OUTSIDE)),
        row("context.get", PACKAGE, Rule::Hidden(OUTSIDE)),
        row("context.flag", PACKAGE, Rule::Hidden(OUTSIDE)).body(|_| json!({"review_type": "human"})),
        row("context.review", PACKAGE, Rule::Hidden(OUTSIDE)).body(|_| json!({"status": "complete"})),
        row("context.reviews", PACKAGE, Rule::Hidden(OUTSIDE)),
    ]
}

fn runs() -> Vec<Row> {
    // Of an agent that everybody may run: the run is somebody's all the same.
    let run: &[(&str, Thing)] = &[("name", Echo), ("run_id", Run)];
    let events: &[(&str, Thing)] = &[("name", Echo), ("id", Run)];
    let logs: &[(&str, Thing)] = &[("name", Echo), ("thread_id", Thread)];
    vec![
        row("run.agents", &[], Rule::OfBearers),
        row("run.discovery", &[], Rule::OfBearers),
        row("run.descriptors", &[], Rule::OfBearers),
        row("run.describe", AGENT, Rule::Hidden(OUTSIDE)),
        row("run.configure", AGENT, Rule::Hidden(OUTSIDE)).body(|_| json!({"args": {"a": 1}})),
        row("run.run", AGENT, Rule::Hidden(OUTSIDE)).body(|_| json!({"input": "x"})),
        row("run.stream", AGENT, Rule::Hidden(OUTSIDE)).body(|_| json!({"input": "x"})),
        row("run.threads", AGENT, Rule::Hidden(OUTSIDE)),
        row("run.attach", &[("name", Seat)], Rule::Hidden(NOT_ITS_OWNER)),
        row("run.start_agent", AGENT, Rule::Hidden(OUTSIDE)),
        row("run.stop_agent", AGENT, Rule::Hidden(OUTSIDE)),
        row("run.dismiss_agent", AGENT, Rule::Hidden(OUTSIDE)),
        row("run.show", run, Rule::Hidden(APART)),
        row("run.events", run, Rule::Hidden(APART)).query("?run_id={run_id}"),
        row("run.events_of", events, Rule::Hidden(APART)),
        row("run.artifact", &[("artifact_id", Artifact)], Rule::Hidden(APART)),
        row("run.thread", &[("thread_id", Thread)], Rule::Hidden(APART)),
        row("agentic.login", &[], Rule::OfBearers),
        row("agentic.process", AGENT, Rule::Hidden(OUTSIDE)).body(|_| json!({"prompt": "x"})),
        row("agentic.resume", AGENT, Rule::Hidden(OUTSIDE)).body(
            |_| json!({"continue_result": {"a": "b"}, "thread_id": "00000000-0000-4000-8000-000000000000"}),
        ),
        row("agentic.reset", AGENT, Rule::Hidden(OUTSIDE)),
        row("agentic.events", run, Rule::Hidden(APART)).query("?request_id={run_id}"),
        row("agentic.logs", logs, Rule::Hidden(APART)),
    ]
}

/// What clients of other protocols ask.
fn foreign() -> Vec<Row> {
    const CARD: &[(&str, Thing)] = &[("agent", Handle)];
    const TASKS: &[(&str, Thing)] = &[("agent", Handle), ("path", Tasks)];
    const RESPONSE: &[(&str, Thing)] = &[("response_id", Response)];
    vec![
        row("a2a.card", CARD, Rule::Hidden(OUTSIDE)),
        row("a2a.server_card", &[], Rule::OfBearers),
        row("a2a.keys", &[], Rule::Public),
        row("a2a.rpc", CARD, Rule::Hidden(OUTSIDE))
            .body(|_| json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}})),
        row("a2a.read", TASKS, Rule::Hidden(OUTSIDE)).query("?A2A-Version=1.0"),
        row("a2a.delete", TASKS, Rule::Hidden(OUTSIDE)).query("?A2A-Version=1.0"),
        row("a2a.write", TASKS, Rule::Hidden(OUTSIDE)).body(|_| json!({"message": {}})),
        // Which agent is asked is in the message; what is no gRPC says nothing of any.
        row("a2a.grpc", &[("method", Tasks)], Rule::OfBearers),
        row("openai.models", &[], Rule::OfBearers),
        row("openai.model", &[("model", Hosted)], Rule::Hidden(OUTSIDE)),
        row("openai.chat", &[], Rule::Hidden(OUTSIDE)).body(|real| {
            let model = if real { "gnomes" } else { "nobody-there" };
            json!({"model": model, "messages": [{"role": "user", "content": "x"}]})
        }),
        row("openai.response", &[], Rule::Hidden(OUTSIDE))
            .body(|real| json!({"model": if real { "gnomes" } else { "nobody-there" }, "input": "x"})),
        row("openai.stored", RESPONSE, Rule::Hidden(APART)),
        row("openai.input_items", RESPONSE, Rule::Hidden(APART)),
        row("openai.cancel", RESPONSE, Rule::Hidden(APART)),
        row("langgraph.read", &[("path", State)], Rule::Hidden(APART)),
        row("langgraph.write", &[("path", History)], Rule::Hidden(APART)).body(|_| json!({})),
    ]
}

fn requests() -> Vec<Row> {
    const ASK: &[(&str, Thing)] = &[("id", Ask)];
    let answer = |_| json!({"type": "accept", "version": 1});
    vec![
        row("request.make", &[], Rule::OfAgents).body(|_| json!({"kind": "question", "title": "Which one?"})),
        row("request.list", &[], Rule::OfBearers),
        row("request.get", ASK, Rule::Hidden(APART)),
        row("request.withdraw", ASK, Rule::Hidden(APART)),
        row("request.answer", ASK, Rule::Hidden(NOT_ITS_OWNER)).body(answer),
        row("request.answer_many", &[], Rule::Only(404, AGENTS))
            .body(|_| json!({"answers": [{"request_id": "ask_1", "type": "accept", "version": 1}]})),
        row("request.undo", ASK, Rule::Hidden(NOT_ITS_OWNER)),
        row("request.snooze", ASK, Rule::Hidden(NOT_ITS_OWNER))
            .body(|_| json!({"until": 4_102_444_800_000_u64})),
        row("request.delegate", ASK, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"to": "@nick.nick"})),
        row("request.link", ASK, Rule::Hidden(NOT_ITS_OWNER)),
        row("request.rules", &[], Rule::Only(404, AGENTS)),
        row("request.remove_rule", &[("id", AskRule)], Rule::Hidden(NOT_ITS_OWNER)),
        row("request.interrupts", &[], Rule::Only(404, AGENTS)),
        row("request.interrupt_response", ASK, Rule::Hidden(NOT_ITS_OWNER))
            .body(|_| json!({"type": "accept"})),
        // Who has a link needs nothing else: none is among these.
        row("request.tap", &[("secret", Link)], Rule::Public),
        row("request.tapped", &[("secret", Link)], Rule::Public),
    ]
}

fn notifications() -> Vec<Row> {
    const SUBSCRIBED: &[(&str, Thing)] = &[("id", Subscription)];
    let hook =
        |_| json!({"target": {"kind": "webhook", "url": "https://example.org/hook"}, "enabled": false});
    vec![
        row("notify.list", &[], Rule::Only(404, AGENTS)),
        row("notify.create", &[], Rule::Only(404, AGENTS)).body(hook),
        row("notify.push_key", &[], Rule::Only(404, AGENTS)),
        row("notify.dead", &[], Rule::Only(404, AGENTS)),
        row("notify.retry", &[("id", Dead)], Rule::Hidden(NOT_ITS_OWNER)),
        row("notify.read", SUBSCRIBED, Rule::Hidden(NOT_ITS_OWNER)),
        row("notify.change", SUBSCRIBED, Rule::Hidden(NOT_ITS_OWNER)).body(|_| json!({"name": "phone"})),
        row("notify.remove", SUBSCRIBED, Rule::Hidden(NOT_ITS_OWNER)),
        row("notify.test", SUBSCRIBED, Rule::Hidden(NOT_ITS_OWNER)),
    ]
}

fn frame(to: &str) -> Value {
    json!({"scope": to, "frame": {
        "envelope_version": "1.0",
        "frame_id": "6f1f9dd0-8f5b-4d0e-9c55-0e4a3c9a2b11",
        "created_at": "2026-01-02T03:04:05Z",
        "acted_by": "~sender",
        "drafted_with": "~sender",
        "sender_handle": "~sender",
        "recipient_handle": to,
        "provenance_compute_location": "local-only",
        "provenance_method": ["written by hand"],
        "provenance_context_check": "passed",
        "provenance_basis": "a test",
        "kind": "agent_broadcast",
        "payload": {"broadcast_text": "done", "event_class": "merged"},
    }})
}
