//! What went wrong and what to do next, for people; under `--json` the same for programs.
//! Must not know: how a call is made.

use plenary_client::{Error, FaultKind, NetworkFault, Refused};
use plenary_wire::ErrorCode;
use serde_json::json;

use super::{
    context::Context,
    failure::{Exit, Failure},
    identity::TokenSource,
    whereabouts::UrlSource,
};

/// Reports a failure on standard error and says which exit code it is.
pub(crate) fn report(context: &Context, failure: &Failure) -> Exit {
    let exit = failure.exit();
    let is_enough = matches!(failure, Failure::Output(_)) && exit == Exit::Done;
    if is_enough || matches!(failure, Failure::Said(_)) {
        return exit;
    }
    if let Failure::Call(Error::Refused(refused)) = failure
        && context.out.is_json()
    {
        let mut error = json!({
            "status": refused.status, "code": refused.code, "message": refused.message,
            "next": refused_next(context, refused),
        });
        if let Some(field) = &refused.field {
            error["field"] = field.as_str().into();
        }
        context.out.json_error(&error);
        return exit;
    }
    let (what, next) = words(context, failure);
    context.out.error(&what, next.as_deref());
    exit
}

/// A failure in words, and what to do next.
pub(crate) fn words(context: &Context, failure: &Failure) -> (String, Option<String>) {
    match failure {
        Failure::Said(_) => (String::new(), None),
        Failure::Output(error) => (format!("standard output cannot be written: {error}"), None),
        Failure::Usage { what, next } | Failure::Auth { what, next } => (what.clone(), Some(next.clone())),
        Failure::Local { what, next } => (what.clone(), next.clone()),
        Failure::Call(Error::Network(fault)) => (fault.to_string(), network_next(context, fault)),
        Failure::Call(Error::Refused(refused)) => (refused_what(refused), refused_next(context, refused)),
        Failure::Call(error @ Error::Unreadable(_)) => (
            error.to_string(),
            Some("check that --url names a Plenary server; `plenary status` tells".into()),
        ),
        Failure::Call(error @ Error::Invalid(_)) => (error.to_string(), None),
    }
}

fn network_next(context: &Context, fault: &NetworkFault) -> Option<String> {
    let source = context.whereabouts().ok().map(|found| found.source);
    let next = match fault.kind {
        // Its server takes the file away when it stops in order.
        FaultKind::Refused | FaultKind::Unreachable if let Some(UrlSource::DataDir(file)) = source => {
            let directory = file.parent().unwrap_or(&file).display();
            return Some(format!(
                "{} names that server, but it is not there any more; start it again with `plenary serve --data \
                 {directory}`, or name another with --url",
                file.display()
            ));
        }
        FaultKind::Refused => "start the server with `plenary serve`, or name another with --url",
        FaultKind::Resolve | FaultKind::Unreachable => "check the address given by --url or PLENARY_URL",
        FaultKind::Unproved => return Some(unproved_next(context)),
        FaultKind::Tls => "name the server's certificate authority with --cacert FILE",
        FaultKind::TimedOut | FaultKind::Lost => {
            "the call may have been carried out; look before repeating it, e.g. `plenary session events`"
        }
    };
    Some(next.into())
}

fn refused_what(refused: &Refused) -> String {
    let Refused { status, code, field, message, .. } = refused;
    let field = field.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
    if message.is_empty() {
        format!("{code} ({status}{field})")
    } else {
        format!("{message} ({status} {code}{field})")
    }
}

fn refused_next(context: &Context, refused: &Refused) -> Option<String> {
    let next = match (refused.status, ErrorCode::known(&refused.code)) {
        (401, _) => return Some(unauthenticated_next(context)),
        (403, Some(ErrorCode::ProjectArchived)) => {
            "let it take writes again with `plenary context project restore PROJECT`"
        }
        (403, Some(ErrorCode::Unauthorized)) => {
            "its owner gives roles with `plenary context project share @owner.name ROLE`, and alone shares and archives"
        }
        (404, Some(ErrorCode::ProjectNotFound)) => {
            "make it with `plenary context init PROJECT`, or have it shared with you; `plenary context project list` \
             shows those that you may read"
        }
        (404, Some(ErrorCode::PackageNotFound)) => {
            "check the id; `plenary context pull --short` lists the latest"
        }
        (404, Some(ErrorCode::BlobNotFound)) => {
            "put it there with `plenary context blob put FILE`, or deposit with --upload"
        }
        (404, Some(ErrorCode::SessionNotFound)) => {
            "`plenary context session list` shows those of the project"
        }
        (404, Some(ErrorCode::AgentNotFound)) => "`plenary runs agents` lists those that this server runs",
        (404, Some(ErrorCode::RunNotFound | ErrorCode::ThreadNotFound)) => {
            "it is not there, or not for this caller; `plenary runs threads NAME` shows yours"
        }
        (404, Some(ErrorCode::ArtifactNotFound)) => {
            "it is not there, or not for this caller; a run's events name its artifacts"
        }
        (409, Some(ErrorCode::AgentStopped)) => {
            "`plenary runs agents` shows which are; its owner starts it with `plenary agent start @OWNER.NAME`"
        }
        (409, Some(ErrorCode::RunNotActive)) => "see where it stands with `plenary runs show NAME RUN_ID`",
        (409, Some(ErrorCode::AmbiguousPackageId)) => "say which project's with --project",
        (409, Some(ErrorCode::DuplicatePackageId)) => {
            "deposit a new package, with `--parent ID` where it corrects that one"
        }
        (409, Some(ErrorCode::ProjectExists)) => "choose another id, or have the project shared with you",
        (501, Some(ErrorCode::NotImplemented)) => "`plenary context conformance` shows what this server has",
        (403, Some(ErrorCode::SenderIdentityMismatch)) => {
            "a frame is sent in the name of the token's own owner: leave --acted-by out, or speak as another agent \
             with --as"
        }
        (403, Some(ErrorCode::ScopeUnauthorised)) => {
            "who was named does not exist, or does not let this agent through; the server does not say which. Own \
             sessions are `~owner/*`; organisations need membership (`plenary org show NAME`)"
        }
        (501, Some(ErrorCode::ScopeUnimplemented)) => "address `~owner/*` or `org:name/members/*` instead",
        (400, Some(ErrorCode::KindUnknown)) => "the fifteen kinds are in `plenary frame send --help`",
        (400, Some(ErrorCode::PayloadKindMismatch | ErrorCode::FieldMissing | ErrorCode::FieldUnknown)) => {
            "a frame is closed: give exactly the members its kind has"
        }
        (400, Some(ErrorCode::FilterAxisUnknown)) => {
            "the axes are kind, sender, content_type, tool and org, e.g. `kind:agent_query`"
        }
        (400, Some(ErrorCode::FilterValueInvalid)) => "a kind is one of the fifteen, a sender is `~owner`",
        (404, Some(ErrorCode::NoSuchChannel)) => {
            "check the id and the server; for a channel of another owner, ask for its URL with `?key=` and give it in \
             quotes. `plenary channel list` shows the channels that your owner takes part in"
        }
        (403, Some(ErrorCode::NotItsOwner)) => "ask the owner of the channel to change its key",
        (404, Some(ErrorCode::NoEventYet)) => {
            "post the first one, `plenary channel spec CHANNEL --set '{\"mission\":\"…\"}'` or `plenary channel handoff \
             CHANNEL HOLDER --expect ACTION`"
        }
        (409, Some(ErrorCode::ChannelClosed)) => {
            "the work there is over; begin another with `plenary channel create`"
        }
        (403, _) => {
            "the owner configures this agent: use the owner's token, or have it set `plenary agent self-service \
             @owner.name on`"
        }
        // ASP-18: whatever the reason, there is one answer; nothing here may claim to know it.
        (404, _) if context.used().is_some_and(|(identity, _)| identity.is_none()) => {
            "what was named does not exist, or is not this token's to see; the server does not say which"
        }
        (404, _) => {
            "what was named does not exist, or is not for this caller; the server does not say which. Check the \
             spelling, the identity (`plenary status`), and whether both sides allow each other"
        }
        (409, Some(ErrorCode::NotJoined)) => {
            "join first: `plenary session join ID`; who left needs a fresh invitation"
        }
        (409, Some(ErrorCode::SessionEnded)) => {
            "reopen it with `plenary session reopen ID`, or create a new one"
        }
        (409, Some(ErrorCode::SessionActive)) => "it is open already: `plenary session send ID TEXT`",
        (409, Some(ErrorCode::NotReopenable)) => {
            "only who was joined at the end may reopen it; create a new one"
        }
        (409, Some(ErrorCode::AgentExists)) => {
            "choose another name; where the agent is yours, save its token with `plenary token add`"
        }
        (409, Some(ErrorCode::IdempotencyKeyReused)) => {
            "that key already stands for another request; choose a new one"
        }
        (413, _) => "send less at once, or put it somewhere and send its address with --attach",
        (429 | 503, _) => match refused.retry_after {
            Some(wait) => return Some(format!("try again in {} s", wait.as_secs())),
            None => "try again in a moment",
        },
        _ => return None,
    };
    Some(next.into())
}

/// A token that was not sent: which one, and what may be the matter.
fn unproved_next(context: &Context) -> String {
    let Some((_, credential)) = context.used() else { return "look what listens there".into() };
    let renew = match &credential.source {
        TokenSource::Saved(holder, _) => {
            format!("where it was rotated, save the new one with `plenary token add {}`; ", holder.name())
        }
        TokenSource::DataDir(_) => {
            "where the server has another data directory, name that one with PLENARY_DATA; ".into()
        }
        TokenSource::Flag | TokenSource::Environment(_) => String::new(),
    };
    format!(
        "the token is from {}; {renew}where the server is reached through a tunnel or another port, give the token with \
         --token",
        credential.source
    )
}

/// A token the server does not take: which one it was, and how to get another.
fn unauthenticated_next(context: &Context) -> String {
    match context.used() {
        None => "give a token with --token".into(),
        Some((None, credential)) => {
            let remedy = match &credential.source {
                TokenSource::Saved(holder, _) => {
                    format!("forget it with `plenary token remove {}`", holder.name())
                }
                TokenSource::DataDir(_) => "name the server's own directory with PLENARY_DATA".into(),
                TokenSource::Flag | TokenSource::Environment(_) => {
                    "give another, or none to use a saved one".into()
                }
            };
            format!(
                "the server does not take the token from {}: it was rotated, or is of another server; {remedy}",
                credential.source
            )
        }
        Some((Some(identity), credential)) => {
            let (handle, names, source) = (&identity.handle, &identity.source, &credential.source);
            let next = match source {
                TokenSource::Flag | TokenSource::Environment(_) => format!(
                    "leave {source} out to use the saved token of {handle}, or name with --as the agent whose token it is"
                ),
                TokenSource::Saved(..) | TokenSource::DataDir(_) => {
                    format!("save the token that holds with `plenary token add {handle}`")
                }
            };
            format!(
                "{names} names {handle}, but the token from {source} is not {handle}'s, or holds no more; {next}"
            )
        }
    }
}
