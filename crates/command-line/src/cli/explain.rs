//! Error messages and remedies for people; under `--json` the same for programs.
//! Must not know: how a call is made.

use std::collections::BTreeSet;

use plenary_client::{Error, FaultKind, NetworkFault, ServerRefusal, TokenKind};
use plenary_kernel::OwnerName;
use serde_json::json;

use super::{
    context::Context,
    failure::{Exit, Failure},
    identity::{Holder, TokenSource},
    server_address::UrlSource,
};

/// Reports a failure on standard error and returns the exit code.
pub(crate) fn report(context: &Context, failure: &Failure) -> Exit {
    let exit = failure.exit();
    let is_enough = matches!(failure, Failure::Output(_)) && exit == Exit::Done;
    if is_enough || matches!(failure, Failure::Reported(_)) {
        return exit;
    }
    if let Failure::Call(Error::Refused(refused)) | Failure::Refused { error: Error::Refused(refused), .. } =
        failure
        && context.out.is_json()
    {
        let mut error = json!({
            "status": refused.status, "code": refused.code, "message": refused.message,
            "next": describe(context, failure).1.map(|next| context.out.suggestion(&next)),
        });
        if let Some(field) = &refused.field {
            error["field"] = field.as_str().into();
        }
        context.out.json_error(&error);
        return exit;
    }
    let (what, next) = describe(context, failure);
    context.out.error(&what, next.as_deref());
    exit
}

/// The text of a failure, and what to do next.
pub(crate) fn describe(context: &Context, failure: &Failure) -> (String, Option<String>) {
    match failure {
        Failure::Reported(_) => (String::new(), None),
        Failure::Output(error) => (format!("standard output cannot be written: {error}"), None),
        Failure::Usage { what, next }
        | Failure::Auth { what, next, .. }
        | Failure::Unreachable { what, next } => (what.clone(), Some(next.clone())),
        Failure::Local { what, next } => (what.clone(), next.clone()),
        Failure::Refused { error: Error::Refused(refused), next } => {
            (refused_what(refused), Some(next.clone()))
        }
        Failure::Refused { error, next } => (error.to_string(), Some(next.clone())),
        Failure::Call(Error::Network(fault)) => (fault.to_string(), network_next(context, fault)),
        Failure::Call(Error::Refused(refused)) => {
            let what = match unknown_person(context).filter(|_| refused.status == 401) {
                Some((owner, source)) => {
                    format!("the server has no owner `{owner}`, or does not accept the token from {source}")
                }
                None => refused_what(refused),
            };
            (what, refused_next(context, refused))
        }
        Failure::Call(error @ Error::Unreadable(_)) => {
            (error.to_string(), Some("check with `plenary status` that --url names a Plenary server".into()))
        }
        Failure::Call(error @ Error::Invalid(_)) => (error.to_string(), None),
    }
}

pub(super) fn network_next(context: &Context, fault: &NetworkFault) -> Option<String> {
    let source = context.server_address().ok().map(|address| address.source);
    let next = match fault.kind {
        // A server that stops in order removes the file.
        FaultKind::Refused if let Some(UrlSource::DataDir(file)) = source => {
            let directory = file.parent().unwrap_or(&file).display();
            return Some(format!(
                "{} names that server, but it is no longer running; start it again with `plenary serve --data \
                 {directory}`, or name another server with --url",
                file.display()
            ));
        }
        FaultKind::Refused | FaultKind::Resolve | FaultKind::Unreachable
            if let Some(UrlSource::Connected(file)) = source =>
        {
            return Some(format!(
                "{} names that server, at which the coding agent was connected; ask its operator, or name another server with \
                 --url",
                file.display()
            ));
        }
        FaultKind::Refused => "start the server with `plenary serve`, or name another server with --url",
        FaultKind::Unreachable if let Some(UrlSource::DataDir(_)) = source => {
            "the server runs, but does not answer: see what its log says last"
        }
        _ if fault.outcome_unknown() => {
            "the server may have carried out the call; check before you repeat it, e.g. with `plenary session events`"
        }
        FaultKind::TimedOut | FaultKind::Lost => "see what the server's log says last, and try again",
        FaultKind::Resolve | FaultKind::Unreachable if source == Some(UrlSource::Argument) => {
            "check the address in the URL of the channel"
        }
        FaultKind::Resolve | FaultKind::Unreachable => "check the address given by --url or PLENARY_URL",
        FaultKind::Unproved => return Some(unproved_next(context)),
        FaultKind::Busy => {
            "try again in a moment; `connections_max` in the configuration limits the connections"
        }
        FaultKind::WrongName => "use the host name that the certificate is for in --url",
        FaultKind::NotTls => "if it is the server, begin --url with http://",
        FaultKind::NotHttp => "if the server speaks TLS at this port, begin --url with https://",
        FaultKind::Tls => "name the server's certificate authority with --cacert FILE",
    };
    Some(next.into())
}

fn refused_what(refused: &ServerRefusal) -> String {
    let ServerRefusal { status, code, field, message, .. } = refused;
    let field = field.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
    if message.is_empty() {
        match code.strip_prefix("http_") {
            Some(_) => format!("the server answers {status} and gives no reason"),
            None => format!("{code} ({status}{field})"),
        }
    } else {
        format!("{message} ({status} {code}{field})")
    }
}

/// The advice if another program answers at the address.
fn other_server_next(context: &Context) -> String {
    match context.server_address() {
        Ok(address) => format!("correct the URL of the server, which is from {}", address.source),
        Err(_) => "correct the URL of the server".to_owned(),
    }
}

fn refused_next(context: &Context, refused: &ServerRefusal) -> Option<String> {
    let next = match (refused.status, refused.code.as_str()) {
        (401, _) => return Some(unauthenticated_next(context)),
        (403, "project_archived") => "restore the project with `plenary context project restore PROJECT`",
        (403, "unauthorized") => {
            "ask the project's owner for a role (`plenary context project share @owner.name ROLE`); only the owner shares and archives"
        }
        (404, code) if let Some(next) = context.peer().and_then(|peer| missing_there(peer, code)) => {
            return Some(next);
        }
        (404, code) if let Some(next) = missing_next(code) => next,
        // The code of a reply that does not come from Plenary.
        (404, "http_404") => return Some(other_server_next(context)),
        (501, "search_not_supported") => {
            "this server has no search; `plenary context orchestrate --focus TEXT` finds words"
        }
        (501, "not_implemented") => "`plenary context conformance` shows what this server implements",
        (403, "sender-identity-mismatch") => {
            "a frame is sent in the name of the token's own owner: leave --acted-by out, or speak as another agent \
             with --as"
        }
        (403, "scope-unauthorised") => scope_next(context),
        (400, "kind-unknown") => "`plenary frame send --help` lists the fifteen kinds",
        (400, "payload-kind-mismatch" | "field-missing" | "field-unknown") => {
            "give exactly the members that the kind of the frame has"
        }
        (400, "filter-axis-unknown") => {
            "the axes are kind, sender, content_type, tool and org, e.g. `kind:agent_query`"
        }
        (400, "filter-value-invalid") => "a kind must be one of the fifteen kinds, a sender must be `~owner`",
        (404, "no_such_channel") => {
            "check the id and the server; for a channel of another owner, ask for its URL with `?key=` and give it in \
             quotes. `plenary channel list` shows the channels that your owner participates in"
        }
        (403, "not_its_owner") => "ask the owner of the channel to change its key",
        (404, "no_event_yet") => {
            "post the first one, `plenary channel spec CHANNEL --set '{\"mission\":\"…\"}'` or `plenary channel handoff \
             CHANNEL HOLDER --expect ACTION`"
        }
        (403, code) => return forbidden_next(code).map(str::to_owned),
        // ASP-18: the answer is the same for every reason, so the text must not claim one.
        (404, _) if context.used().is_some_and(|(identity, _)| identity.is_none()) => {
            "it does not exist, or this token may not see it; the server does not say which"
        }
        (404, _) => {
            "it does not exist, or this caller may not see it; the server does not say which. Check the \
             spelling, the identity (`plenary status`), and whether both sides allow each other"
        }
        (400, "unknown_person") => "name a person of the owner whose request it is; see `plenary who`",
        (503, "peer_unreachable") => "try again later, or ask the operator of the other network",
        (400, "invalid_target") if refused.message.contains("public address") => {
            "with `private_addresses = true` in [notify] of plenary.toml, the server also sends to other addresses"
        }
        (507, _) => "the server's disk is full: its operator makes room; then try again",
        (409, code) => return conflict_next(code).map(str::to_owned),
        (413, _) => "send less at once, or upload it elsewhere and send its URL with --attach",
        (429 | 503, _) => match refused.retry_after {
            Some(wait) => return Some(format!("try again in {} s", wait.as_secs())),
            None => "try again in a moment",
        },
        _ => return None,
    };
    Some(next.into())
}

/// What to do if a linked network has no such agent or project: it lists neither to guests.
fn missing_there(peer: &OwnerName, code: &str) -> Option<String> {
    Some(match code {
        "agent_not_found" => {
            format!("ask the operator of {peer} for the agent's name: its agents are not listed here")
        }
        "project_not_found" => {
            format!("name it in full, `--project OWNER:ID`, and ask its owner at {peer} to share it with you")
        }
        _ => return None,
    })
}

/// What to do if something that a project or a run has is missing, by its code.
fn missing_next(code: &str) -> Option<&'static str> {
    Some(match code {
        "project_not_found" => {
            "create it with `plenary context init PROJECT`, or ask its owner to share it; `plenary context project list` \
             shows the projects that you may read"
        }
        "package_not_found" => "check the id; `plenary context pull --short` lists the latest packages",
        "blob_not_found" => "upload it with `plenary context blob put FILE`, or deposit with --upload",
        "session_not_found" => "`plenary context session list` shows the sessions of the project",
        "agent_not_found" => "`plenary runs agents` lists the agents that this server runs",
        "run_not_found" | "thread_not_found" => {
            "it does not exist, or you may not read it; `plenary runs threads NAME` lists your threads"
        }
        "artifact_not_found" => {
            "it does not exist, or you may not read it; the events of a run name its artifacts"
        }
        _ => return None,
    })
}

/// What to do about a refusal for lack of rights, by its code.
fn forbidden_next(code: &str) -> Option<&'static str> {
    Some(match code {
        "insufficient_scope" => "use a token with that scope: `plenary token create --scope …`",
        "token_required" => "a person cannot do this; name an agent with `--as @owner.name`",
        "forbidden" => {
            "only the owner may configure this agent: use the owner's token, or ask the owner to run `plenary agent self-service \
             @owner.name on`"
        }
        _ => return None,
    })
}

/// What to do about a state that the request contradicts.
fn conflict_next(code: &str) -> Option<&'static str> {
    Some(match code {
        "agent_stopped" => {
            "its owner can start it with `plenary agent start @OWNER.NAME`; `plenary runs agents` shows which agents are stopped"
        }
        "run_not_active" => "see its state with `plenary runs show NAME RUN_ID`",
        "ambiguous_package_id" => "name the project with --project",
        "duplicate_package_id" => "deposit a new package, with `--parent ID` if it corrects that one",
        "project_exists" => "choose another id, or ask the owner to share the project",
        "channel_closed" => "create another channel with `plenary channel create`",
        "not_joined" => "join first: `plenary session join ID`; after leaving, you need a new invitation",
        "invitation_held" => {
            "a person of the agent's owner accepts it: `plenary inbox --human`, or the console"
        }
        "already_linked" => {
            "`plenary peer list` shows it. Grants do not change while an accord lasts: revoke it and make another one. To \
             revoke an accord ends every session across both networks; to revoke an open invitation ends nothing"
        }
        "session_ended" => "reopen it with `plenary session reopen ID`, or create a new one",
        "session_active" => "it is already open; send with `plenary session send ID TEXT`",
        "not_reopenable" => "only an agent that was joined at the end may reopen it; create a new session",
        "already_answered" => "`plenary requests show ID` shows the answer",
        "agent_exists" => {
            "choose another name; if the agent is yours, save its token with `plenary token add`"
        }
        "owner_exists" => {
            "`plenary owner rotate-token OWNER --show-token` prints a new token, and ends the old one"
        }
        "owners_person" => "choose another name for the agent; people are named `@OWNER`",
        "idempotency_key_reused" => "another request used this key; choose a new key",
        _ => return None,
    })
}

/// What to do about a refused scope or stream of frames. Only agents listen, so a refused person may have tried to.
fn scope_next(context: &Context) -> &'static str {
    if unknown_person(context).is_some() {
        return "a person can send frames, but not listen to them: name an agent with `--as @owner.name`. Otherwise the \
                recipient does not exist, or does not accept frames from this person; the server does not say which";
    }
    "the recipient does not exist, or does not accept frames from this agent; the server does not say which. Your own \
     sessions are `~owner/*`; an organisation needs membership (`plenary org show NAME`), a peer a grant and that its \
     agents list you"
}

/// Explains a token that was not sent to an unproved server: which one, and the likely reason.
fn unproved_next(context: &Context) -> String {
    let Some((_, credential)) = context.used() else { return "check which program listens there".into() };
    let renew = match &credential.source {
        TokenSource::Saved(holder, _) => {
            format!("if it was rotated, save the new one with `plenary token add {}`; ", holder.name())
        }
        TokenSource::DataDir(_) => {
            "if the server has another data directory, name it with PLENARY_DATA; ".into()
        }
        TokenSource::Flag | TokenSource::Environment(_) => String::new(),
    };
    format!(
        "the token is from {}; {renew}if you reach the server through a tunnel or another port, give the token with \
         --token",
        credential.source
    )
}

/// The acting owner and the source of its token; `None` for the token of an agent.
fn unknown_person(context: &Context) -> Option<(OwnerName, TokenSource)> {
    let (identity, credential) = context.used()?;
    let person = identity.filter(|identity| identity.is_person())?;
    (credential.token.kind() != TokenKind::Agent).then(|| (person.handle.owner_name(), credential.source))
}

/// The other owners with tokens of agents here, each as an option of the command.
fn owners_here(context: &Context, but: &OwnerName) -> Vec<String> {
    let tokens = context.tokens_file().and_then(|file| file.load().ok());
    let (Some(tokens), Ok(server)) = (tokens, context.server()) else { return Vec::new() };
    let owners: BTreeSet<OwnerName> = tokens
        .of(&server)
        .holders()
        .filter_map(|holder| match holder {
            Holder::Agent(agent) => Some(agent.owner_name()),
            Holder::Operator | Holder::Owner(_) => None,
        })
        .filter(|owner| owner != but)
        .collect();
    owners.iter().map(|owner| format!("`--as @{owner}`")).collect()
}

/// Explains a token that the server does not accept: which one, and how to get another.
fn unauthenticated_next(context: &Context) -> String {
    match context.used() {
        None => "give a token with --token".into(),
        Some((None, credential)) => {
            let remedy = match &credential.source {
                TokenSource::Saved(holder, _) => {
                    format!("delete it with `plenary token remove {}`", holder.name())
                }
                TokenSource::DataDir(_) => "name the server's own directory with PLENARY_DATA".into(),
                TokenSource::Flag | TokenSource::Environment(_) => {
                    "give another token, or none to use a saved one".into()
                }
            };
            format!(
                "the server does not accept the token from {}: it was rotated, or belongs to another server; {remedy}",
                credential.source
            )
        }
        Some(_) if let Some((owner, _)) = unknown_person(context) => {
            let others = owners_here(context, &owner);
            match others.as_slice() {
                [] => format!(
                    "say who you are with `--as @OWNER`, or make your first agent with `plenary connect claude` or \
                     `plenary agent add @{owner}.assistant`"
                ),
                others => {
                    format!("say who you are: tokens of agents are saved here for {}", others.join(", "))
                }
            }
        }
        Some((Some(identity), credential)) => {
            let (handle, names, source) = (&identity.handle, &identity.source, &credential.source);
            let next = match source {
                TokenSource::Flag | TokenSource::Environment(_) => format!(
                    "leave out {source} to use the saved token of {handle}, or name the token's agent with --as"
                ),
                TokenSource::Saved(..) | TokenSource::DataDir(_) => {
                    format!("save the current token with `plenary token add {handle}`")
                }
            };
            format!(
                "{names} names {handle}, but the token from {source} is not {handle}'s, or is no longer valid; {next}"
            )
        }
    }
}
