//! `plenary status`: the server's health, the caller's identity, and its source.
//! Must not know: how identities are resolved.

use plenary_client::{Client, Error, Reply, ServerRefusal, TokenKind, health::Health, me::Usage};
use serde_json::{Value, json};

use super::{
    context::Context,
    explain,
    failure::Failure,
    identity::{Credential, Identity, Source},
    server_address::ServerAddress,
};
use crate::out::{Out, Style, clean, grouped, size, span};

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let ServerAddress { url: server, source: named_by } = context.server_address()?;
    let health = context.client()?.health().await;
    let speaker = context.speaker();
    let used = context.used();
    // Without an agent, the person at this machine, as far as there is a token of theirs.
    let identity = match context.identity()? {
        Some(identity) => Some(identity),
        None => used.as_ref().and_then(|(identity, _)| identity.clone()),
    };
    let accepted = match (&health, &speaker) {
        (Ok(_), Ok(client)) => Some(accepted_handle(client).await),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
    };
    let stored = match (&accepted, &speaker) {
        (Some(Ok(_)), Ok(client)) => usage(client).await,
        _ => Ok(None),
    };
    let bearer = bearer(context, accepted.as_ref(), used.as_ref()).await?;
    let source = used.map(|(_, credential)| credential.source.to_string());
    if context.out.is_json() {
        let up = health
            .as_ref()
            .ok()
            .map(|health| serde_json::from_str::<Value>(health.json()).unwrap_or_default());
        let answer = json!({
            "url": server.to_string(), "url_source": named_by.to_string(), "health": up,
            "agent": identity.as_ref().map(|identity| identity.handle.as_str()),
            "agent_source": identity.as_ref().map(|identity| identity.source.to_string()),
            "token_source": source,
            "accepted_as": accepted.as_ref().and_then(|result| result.as_ref().ok().cloned())
                .or(bearer.as_ref().map(Bearer::to_string)),
            "usage": stored.as_ref().ok().and_then(Option::as_ref)
                .map(|usage| serde_json::from_str::<Value>(usage.json()).unwrap_or_default()),
        });
        context.out.line(&answer.to_string())?;
    } else {
        let out = context.out;
        let state = match &health {
            Ok(health) => up(out, health, is_ready(context).await?),
            Err(_) => out.paint(Style::Red, "not reachable"),
        };
        out.line(&format!("server  {server} (from {named_by})  {state}"))?;
        out.line(&match &identity {
            Some(Identity { handle, source: Source::Person }) => {
                format!("person  {handle} ({})", Source::Person)
            }
            Some(identity) => format!("agent   {} (from {})", identity.handle, identity.source),
            None => "agent   none chosen".into(),
        })?;
        let verdict = match (&accepted, &bearer) {
            (Some(Ok(handle)), _) => format!(": accepted as {}", out.paint(Style::Bold, handle)),
            (Some(Err(_)), Some(Bearer::Operator)) => ": accepted as the operator's".to_owned(),
            (Some(Err(_)), Some(Bearer::Owner(owner))) => format!(": accepted as that of the owner {owner}"),
            (Some(Err(_)), None) => format!(": {}", out.paint(Style::Red, "not accepted")),
            (None, _) => String::new(),
        };
        out.line(&match source {
            Some(source) => format!("token   {source}{verdict}"),
            None => "token   none".into(),
        })?;
        match &stored {
            Ok(Some(usage)) => out.line(&format!("stored  {}", usage_line(&usage.value)))?,
            Ok(None) => {}
            Err(_) => out.line("stored  unknown")?,
        }
    }
    finish(context, health.err(), identity.as_ref(), speaker.err(), accepted, bearer)
}

/// The bearer of a token that is valid, but does not speak as the person at this machine.
enum Bearer {
    Operator,
    Owner(String),
}

impl std::fmt::Display for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Owner(owner) => write!(f, "~{owner}"),
        }
    }
}

/// Whether the server says that it accepts writes.
async fn is_ready(context: &Context) -> Result<bool, Failure> {
    let ready = context.client()?.ready().await;
    Ok(!matches!(ready, Err(Error::Refused(refused)) if refused.status == 503))
}

fn up(out: Out, health: &Health, is_ready: bool) -> String {
    let state = if is_ready { "up" } else { "up, but accepts no writes now (its log says why)" };
    format!(
        "{}, network {}, version {}, for {}",
        out.paint(if is_ready { Style::Green } else { Style::Red }, state),
        clean(&health.network),
        clean(&health.version),
        span(health.uptime_ms)
    )
}

/// The bearer of the token, if only the person at this machine is not accepted with it.
async fn bearer(
    context: &Context,
    accepted: Option<&Result<String, Error>>,
    used: Option<&(Option<Identity>, Credential)>,
) -> Result<Option<Bearer>, Failure> {
    let (Some(Err(error)), Some((Some(person), credential))) = (accepted, used) else { return Ok(None) };
    if person.source != Source::Person || !is_unauthenticated(error) {
        return Ok(None);
    }
    let client = context.client_speaking(context.server()?, credential)?;
    Ok(match credential.token.kind() {
        // The operator may speak as the person of every owner, so a refusal concerns the owner alone. An operator may have
        // chosen the token, which then does not tell its kind.
        TokenKind::Operator | TokenKind::Unknown => {
            client.owners(None).await.is_ok().then_some(Bearer::Operator)
        }
        TokenKind::Owner => client.usage().await.ok().and_then(|usage| usage.value.owner).map(Bearer::Owner),
        TokenKind::Agent => None,
    })
}

fn is_unauthenticated(error: &Error) -> bool {
    matches!(error, Error::Refused(ServerRefusal { status: 401, .. }))
}

async fn accepted_handle(client: &Client) -> Result<String, Error> {
    Ok(client.me().await?.handle.to_string())
}

/// The storage of the agent's owner; `None` if the server does not report it.
async fn usage(client: &Client) -> Result<Option<Reply<Usage>>, Error> {
    match client.usage().await {
        Ok(usage) => Ok(Some(usage)),
        Err(Error::Refused(refused)) if refused.status == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// `1.2 MiB of 10.0 GiB, 3,214 of 10,000,000 events`.
pub(super) fn usage_line(usage: &Usage) -> String {
    let bounded =
        |used: String, max: Option<String>| max.map_or(used.clone(), |max| format!("{used} of {max}"));
    let bytes = bounded(size(usage.stored_bytes), usage.stored_bytes_max.map(size));
    let events = bounded(grouped(usage.stored_events), usage.stored_events_max.map(grouped));
    format!("{bytes}, {events} events")
}

/// The worst finding: no server, then no token. A missing identity is not a failure.
fn finish(
    context: &Context,
    unreached: Option<Error>,
    identity: Option<&Identity>,
    speechless: Option<Failure>,
    accepted: Option<Result<String, Error>>,
    bearer: Option<Bearer>,
) -> Result<(), Failure> {
    match unreached {
        Some(Error::Refused(ServerRefusal { status: 404, .. }) | Error::Unreadable(_)) => {
            let ServerAddress { url, source } = context.server_address()?;
            return Err(Failure::unreachable(
                format!("there is no Plenary server at {url}"),
                format!("correct the URL, which is from {source}"),
            ));
        }
        Some(error) => return Err(error.into()),
        None => {}
    }
    match (speechless, accepted, bearer) {
        (Some(Failure::Auth { next, .. }), _, _) if identity.is_none() => {
            context.out.note(&next);
            Ok(())
        }
        // The server does not know the person's owner yet.
        (None, Some(Err(error)), Some(Bearer::Operator)) => {
            let owner = identity.map(|identity| identity.handle.owner()).unwrap_or_default();
            context.out.note(&format!("the server has no owner `{owner}`"));
            let (_, next) = explain::describe(context, &error.into());
            next.iter().for_each(|next| context.out.note(next));
            Ok(())
        }
        (None, Some(Err(_)), Some(Bearer::Owner(owner))) => {
            context.out.note(&format!("to speak as the person of this owner, add `--as @{owner}`"));
            Ok(())
        }
        (Some(failure), _, _) => Err(failure),
        (None, Some(Err(error)), None) => Err(error.into()),
        (None, Some(Ok(_)) | None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_is_printed_with_its_limits() {
        let usage = |bytes_max, events_max| Usage {
            owner: None,
            stored_bytes: 1_300_000,
            stored_bytes_max: bytes_max,
            stored_events: 3_214,
            stored_events_max: events_max,
        };
        let limited = usage_line(&usage(Some(10 << 30), Some(10_000_000)));
        assert_eq!(limited, "1.2 MiB of 10.0 GiB, 3,214 of 10,000,000 events");
        assert_eq!(usage_line(&usage(None, None)), "1.2 MiB, 3,214 events");
    }
}
