//! `plenary status`: is the server up, who am I to it, and what said so.
//! Must not know: how identities are resolved.

use plenary_client::{Client, Error};
use serde_json::{Value, json};

use super::{context::Context, failure::Failure, whereabouts::Whereabouts};
use crate::out::{Style, clean, span};

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let Whereabouts { url: server, source: named_by } = context.whereabouts()?;
    let health = context.client()?.health().await;
    let identity = context.identity()?;
    let speaker = context.agent_client();
    let accepted = match (&health, &speaker) {
        (Ok(_), Ok(client)) => Some(who(client).await),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
    };
    let source = context.used().map(|(_, credential)| credential.source.to_string());
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
            "accepted_as": accepted.as_ref().and_then(|result| result.as_ref().ok()),
        });
        context.out.line(&answer.to_string())?;
    } else {
        let out = context.out;
        let state = match &health {
            Ok(health) => format!(
                "{}, network {}, version {}, for {}",
                out.paint(Style::Green, "up"),
                clean(&health.network),
                clean(&health.version),
                span(health.uptime_ms)
            ),
            Err(_) => out.paint(Style::Red, "not reached"),
        };
        out.line(&format!("server  {server} (from {named_by})  {state}"))?;
        out.line(&match &identity {
            Some(identity) => format!("agent   {} (from {})", identity.handle, identity.source),
            None => "agent   none chosen".into(),
        })?;
        let verdict = match &accepted {
            Some(Ok(handle)) => format!(": accepted as {}", out.paint(Style::Bold, handle)),
            Some(Err(_)) => format!(": {}", out.paint(Style::Red, "not accepted")),
            None => String::new(),
        };
        out.line(&match source {
            Some(source) => format!("token   {source}{verdict}"),
            None => "token   none".into(),
        })?;
    }
    finish(context, health.err(), identity.is_some(), speaker.err(), accepted)
}

async fn who(client: &Client) -> Result<String, Error> {
    Ok(client.me().await?.handle.to_string())
}

/// The worst of what was found: no server, then no token. Nobody chosen is no failure.
fn finish(
    context: &Context,
    unreached: Option<Error>,
    chosen: bool,
    speechless: Option<Failure>,
    accepted: Option<Result<String, Error>>,
) -> Result<(), Failure> {
    if let Some(error) = unreached {
        return Err(error.into());
    }
    match (speechless, accepted) {
        (Some(Failure::Auth { next, .. }), _) if !chosen => {
            context.out.note(&next);
            Ok(())
        }
        (Some(failure), _) => Err(failure),
        (None, Some(Err(error))) => Err(error.into()),
        (None, Some(Ok(_)) | None) => Ok(()),
    }
}
