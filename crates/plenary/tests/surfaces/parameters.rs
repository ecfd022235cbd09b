//! No parameter of an operation is lacking on the command line: each stands in the help of its command under its own
//! name, or as it is told here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    COMMANDS, description,
    stage::{Home, TestServer},
};

/// Parameters that have another name on the command line: the operation, or `*` for all of them; the parameter; what
/// stands for it in the help.
const NAMED: &[(&str, &str, &str)] = &[
    ("*", "project_id", "PROJECT"),
    ("agent.create", "allowlist", "--allow"),
    ("agent.session_events", "after_sequence", "--after"),
    ("inbox.attention", "attention", "[LEVEL]"),
    ("peer.invite", "expires_in_s", "--expires-in"),
    ("inbox.attention", "attention_until", "--until"),
    ("agent.session_events", "id", "<SESSION>"),
    ("agent.create_token", "handle", "--of"),
    ("agent.revoke_token", "handle", "--of"),
    ("agent.tokens", "handle", "--of"),
    ("agent.unblock", "blocked", "<TARGET>"),
    ("channel.*", "id", "<CHANNEL>"),
    ("channel.*", "key", "its URL with its key"),
    ("channel.create", "created_by", "--agent"),
    ("channel.*", "after_id", "--after"),
    ("channel.*", "before_id", "--before"),
    ("channel.list", "include_closed", "--open"),
    ("contact.list", "direction", "--outgoing"),
    ("context.assert_fact", "asserted_by", "--human"),
    ("context.assert_fact", "source_package_id", "--source"),
    ("context.assert_fact", "tags", "--tag"),
    ("context.deposit", "created_by", "--human"),
    ("context.deposit", "package_type", "--type"),
    ("context.deposit", "review_type", "--review"),
    ("context.end_session", "session_id", "[SESSION]"),
    ("context.flag", "package_id", "<ID>"),
    ("context.flag", "review_type", "--by"),
    ("context.get_blob", "sha256", "<HASH>"),
    ("context.orchestrate", "window_days", "--days"),
    ("context.orient", "window_days", "--days"),
    ("context.pull", "mode", "[latest|ID]"),
    ("context.pull", "package_type", "--type"),
    ("context.put_blob", "sha256", "<FILE>"),
    ("context.review", "package_id", "<ID>"),
    ("context.reviews", "package_id", "<ID>"),
    ("context.session", "session_id", "[SESSION]"),
    ("context.start_session", "actor_id", "--human"),
    ("context.start_session", "actor_type", "--human"),
    ("file.get", "id", "<FILE_ID>"),
    ("frame.stream", "retained", "--recent"),
    ("frame.stream", "session_id", "--session"),
    ("frame.submit", "provenance_basis", "--basis"),
    ("frame.submit", "provenance_compute_location", "--compute-location"),
    ("frame.submit", "provenance_method", "--method"),
    ("frame.submit", "provenance_return_ref", "--return-ref"),
    ("frame.submit", "recipient_handle", "--scope"),
    ("frame.submit", "ttl_ms", "--ttl"),
    ("frame.submit", "frame", "--payload"),
    ("me.block", "handle", "<TARGET>"),
    ("me.unblock", "blocked", "<TARGET>"),
    ("message.*", "id", "<SESSION>"),
    ("message.status", "timeout_s", "--wait"),
    ("notify.create", "target", "<WHERE>"),
    ("org.*", "handle", "<MEMBER>"),
    ("org.set_member", "roles", "--role"),
    ("request.make", "deadline_at", "--deadline"),
    ("request.make", "title", "<TEXT>"),
    ("request.make", "to", "<@OWNER>"),
    ("run.artifact", "artifact_id", "<ARTIFACT>"),
    ("run.attach", "name", "<HANDLE>"),
    ("run.configure", "args", "<KEY=VALUE>"),
    ("run.dismiss_agent", "name", "<HANDLE>"),
    ("run.events", "stream", "--follow"),
    ("run.events_of", "id", "<THREAD_ID>"),
    ("run.run", "input", "[TEXT]"),
    ("run.start_agent", "name", "<HANDLE>"),
    ("run.stop_agent", "name", "<HANDLE>"),
    ("run.run", "request_keys", "--resume"),
    ("run.run", "request_metadata", "--metadata"),
    ("run.run", "thread_id", "--thread"),
    ("search.all", "q", "<QUERY>"),
    ("watch", "q", "--words"),
    ("who", "q", "[QUERY]"),
    ("session.create", "idempotency_key", "--key"),
    ("session.create", "initial_message", "--message"),
    ("session.events", "after_sequence", "--after"),
    ("session.invite", "invite", "<AGENT>"),
    ("session.reopen", "initial_message", "--message"),
    ("session.send", "content", "[TEXT]"),
    ("session.send", "idempotency_key", "--key"),
    ("session.*", "id", "<SESSION>"),
];

/// Parameters that the command line does without, and why.
const WITHOUT: &[(&str, &str, &str)] = &[
    ("*", "ticket", "for browsers; the command line sets headers"),
    ("*", "cursor", "the command reads every page"),
    ("agent.reachable", "q", "`--query`, by the name of another command line"),
    ("agent.update", "attention", "`attention`, as the agent"),
    ("agent.update", "attention_until", "`attention`, as the agent"),
    ("inbox.ack", "cut", "the hooks report what they cut"),
    ("me.update", "attention", "a command of its own, `attention`"),
    ("me.update", "attention_until", "a command of its own, `attention`"),
    ("*", "limit", "the command reads every page"),
    ("agent.create", "card_body", "`agent edit`, which stands beside it"),
    ("agent.create", "description", "the same"),
    ("agent.create", "display_name", "the same"),
    ("agent.create", "visibility", "the same"),
    ("agent.update", "policy", "`agent policy`, which stands beside it"),
    ("*", "Idempotency-Key", "the command makes one where it repeats a request"),
    ("agent.update", "hold_runs", "`agent hold-runs`, which stands beside it"),
    ("agent.update", "hold_invitations", "`agent hold-invitations`, which stands beside it"),
    ("agent.update", "self_service", "`agent add --self-service` decides it"),
    ("connect", "events", "the command reads the form that has both"),
    ("contact.list", "agent", "it is the agent that speaks"),
    ("context.awaiting_review", "package_type", "`context pull`, of which this is the list of what waits"),
    ("context.awaiting_review", "parent", "the same"),
    ("context.create_project", "owner_id", "it is the owner of whoever makes it"),
    ("context.create_project", "settings", "members that programs agree on"),
    ("context.deposit", "content_hash", "made by the command, and compared with the server's"),
    ("context.deposit", "created_at", "it is now"),
    ("context.deposit", "package_id", "made by the command, so that a retry is the same package"),
    ("context.deposit", "relay_version", "there is one"),
    ("context.edit_project", "settings", "members that programs agree on"),
    ("context.end_session", "ended_at", "it is now"),
    ("context.export", "after", "a broken export is gone on with by the command itself"),
    ("context.facts", "include_ended", "`context fact history`, which stands beside it"),
    ("context.pull", "ranking", "the server's best"),
    ("context.review", "status", "`approve` and `revise` are the two"),
    ("frame.stream", "handle", "the agent's own"),
    ("frame.submit", "created_at", "it is now"),
    ("frame.submit", "echo", "the command listens to nothing"),
    ("frame.submit", "envelope_version", "there is one"),
    ("frame.submit", "frame_id", "made by the command"),
    ("frame.submit", "provenance_context_check", "made by the command"),
    ("frame.submit", "sender_handle", "the agent's own"),
    ("inbox.ack", "after", "for a program that pages; the command reads what is unread"),
    ("inbox.ack", "session_id", "a person who reads a session marks nothing"),
    ("inbox.ack", "after_sequence", "the same"),
    ("inbox.ack", "sequence", "the same"),
    ("inbox.ack", "state", "whoever types it has read it"),
    ("me.update", "card_body", "`agent edit`, for its owner"),
    ("me.update", "description", "the same"),
    ("me.update", "display_name", "the same"),
    ("me.update", "visibility", "the same"),
    ("notify.change", "target", "another place is another subscription"),
    ("request.make", "action", "for programs that ask before they use a tool"),
    ("request.make", "allow", "the command takes every answer in words"),
    ("request.make", "directory", "for programs that ask before they use a tool"),
    ("request.make", "inbox", "it does where the command does not wait"),
    ("request.make", "on_behalf_of", "for programs that speak for others"),
    ("request.make", "form", "for programs that have more to ask"),
    ("request.make", "source", "for programs that have more to show"),
    ("run.*", "since", "the command goes on by itself where a stream broke"),
    ("run.events", "thread_id", "`runs replay`, which stands beside it"),
    ("run.events_of", "stream", "it follows what goes on by itself"),
    ("run.run", "args", "`runs configure`, which stands beside it"),
    ("run.run", "event_id", "the command answers what it has just shown, and sends it by itself"),
    ("run.run", "if_not_exists", "for programs that choose the ids of their threads, such as `acp`"),
    ("run.run", "logging_level", "for programs that debug an agent"),
    ("run.run", "run_context", "for agents that ask agents"),
    ("run.run", "type", "it follows from the other arguments"),
    ("run.run", "wait", "the command follows the run"),
    ("server.health", "challenge", "every command has a server of this machine prove itself"),
    ("server.health", "key", "the same"),
    ("server.health", "address", "the same"),
];

#[test]
fn every_parameter_stands_on_the_command_line() {
    let home = Home::new("parameters");
    let served = TestServer::start(&home, "127.0.0.1:0");
    let parameters = parameters(&description(&served.url));
    let mut troubles = Vec::new();
    let mut used = BTreeSet::new();
    for (id, command) in COMMANDS {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = home.output_of(&served.url, &args);
        for parameter in &parameters[*id] {
            if is_in_help(&help, parameter) {
                continue;
            }
            let named = NAMED.iter().find(|(pattern, name, shown)| {
                fits(pattern, id) && name == parameter && help.contains(shown)
            });
            let without = WITHOUT.iter().find(|(pattern, name, _)| fits(pattern, id) && name == parameter);
            match (named, without) {
                (Some(found), _) | (None, Some(found)) => drop(used.insert(*found)),
                (None, None) => troubles.push(format!("`{command}` lacks `{parameter}` of {id}")),
            }
        }
    }
    let stale = NAMED.iter().chain(WITHOUT).filter(|known| !used.contains(*known));
    troubles.extend(stale.map(|(pattern, name, _)| {
        format!("{pattern} {name} is listed in this test, but no command needs the entry")
    }));
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

fn fits(pattern: &str, id: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == id, |room| id.starts_with(room))
}

/// Whether a parameter stands in a help under its own name, as an option or as an argument.
fn is_in_help(help: &str, parameter: &str) -> bool {
    let argument = parameter.to_uppercase();
    let option = format!("--{}", parameter.replace('_', "-"));
    let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-');
    help.contains(&format!("<{argument}>"))
        || help.contains(&format!("[{argument}]"))
        || help.match_indices(&option).any(|(start, found)| is_whole(&help[start + found.len()..]))
}

/// The parameters of each operation: of the path, of the query, and the members of the body.
fn parameters(description: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let paths = description["paths"].as_object().expect("paths");
    let operations = paths.values().flat_map(|path| path.as_object().expect("methods").values());
    let parameters_of = |operation: &Value| {
        let listed = operation["parameters"].as_array().into_iter().flatten();
        // The client sets the other headers by itself.
        let is_its_own =
            |parameter: &&Value| parameter["in"] == "header" && parameter["name"] != "Idempotency-Key";
        let listed = listed.filter(|parameter| !is_its_own(parameter));
        let mut names: BTreeSet<String> =
            listed.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect();
        members(description, &operation["requestBody"]["content"]["application/json"]["schema"], &mut names);
        (operation["operationId"].as_str().expect("an id").to_owned(), names)
    };
    operations.map(parameters_of).collect()
}

/// The members of an object, in all its forms.
fn members(description: &Value, schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return members(description, &description["components"]["schemas"][name], names);
    }
    names.extend(schema["properties"].as_object().into_iter().flat_map(|members| members.keys().cloned()));
    for form in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[form].as_array().into_iter().flatten() {
            members(description, schema, names);
        }
    }
}
