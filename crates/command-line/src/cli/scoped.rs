//! `plenary token create`, `exchange`, `issued` and `revoke`: additional tokens of an agent, with a scope.
//! Must not know: the tokens saved on this machine.

use std::path::{Path, PathBuf};

use clap::Args;
use plenary_client::{Client, accounts::CreateToken};
use plenary_kernel::{AgentHandle, TimestampMs};

use super::{context::Context, failure::Failure, identity::Realm, input};
use crate::{
    duration::parse_seconds,
    out::{Table, clean, counted, utc},
};

/// The agent whose tokens are meant.
#[derive(Debug, Args)]
pub(crate) struct AgentOption {
    /// The agent, configured with its owner's token; default: the agent that speaks here
    #[arg(long = "of", value_name = "AGENT")]
    agent: Option<AgentHandle>,
}

/// Longest lifetime of a token, in seconds.
const LIFETIME_MAX: u64 = 366 * 86_400;

fn lifetime(text: &str) -> Result<u64, String> {
    let seconds = parse_seconds(text)?;
    if seconds > LIFETIME_MAX { Err("at most 366d".to_owned()) } else { Ok(seconds) }
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    agent_option: AgentOption,
    /// Scope of the token: `read`, `write`, `ROOM:read`, `ROOM:write`, `session:ID`, `channel:ID`, `project:ID`; more than one in quotes
    #[arg(long)]
    scope: String,
    /// Lifetime of the token: `1h`, `30d`; default: that of the token that creates it
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires_in: Option<u64>,
    /// Name of the token
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Exchange {
    /// The file with the JWT; `-` is standard input, the default
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The variable with the JWT, in place of a file
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    env: Option<String>,
    /// Scope of the token, if it is narrower than the server's rule
    #[arg(long)]
    scope: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    agent_option: AgentOption,
    /// The token's id, as `plenary token issued` shows it
    id: String,
}

fn client(context: &Context, agent_option: &AgentOption) -> Result<Client, Failure> {
    match &agent_option.agent {
        Some(handle) => context.configuring_client(Realm::Owner(&handle.owner_name())),
        None => context.agent_client(),
    }
}

pub(crate) async fn create(context: &Context, args: Create) -> Result<(), Failure> {
    let Create { agent_option, scope, expires_in, name } = args;
    let new = CreateToken { scope, expires_in, name };
    let reply = client(context, &agent_option)?.create_token(agent_option.agent.as_ref(), &new).await?;
    context.answer(&reply, |created| {
        context
            .out
            .note(&format!("token {}: {}; it is shown only once", created.about.id, created.about.scope));
        Ok(context.out.line(&created.token)?)
    })
}

pub(crate) async fn exchange(context: &Context, args: Exchange) -> Result<(), Failure> {
    let Exchange { file, env, scope } = args;
    let token = match env {
        Some(name) => context.environment.var(&name).ok_or_else(|| {
            Failure::usage(format!("the variable {name} is not set"), "name the variable that has the JWT")
        })?,
        None => input::token(file.as_deref().unwrap_or(Path::new("-")))?,
    };
    let reply = context.client()?.exchange_token(token.trim(), scope.as_deref()).await?;
    context.answer(&reply, |created| {
        context.out.note(&format!(
            "{}, for {}; it is shown this once",
            created.scope,
            counted(created.expires_in, "second")
        ));
        Ok(context.out.line(&created.access_token)?)
    })
}

pub(crate) async fn issued(context: &Context, agent_option: AgentOption) -> Result<(), Failure> {
    let reply = client(context, &agent_option)?.tokens(agent_option.agent.as_ref()).await?;
    context.answer(&reply, |list| {
        let mut table =
            Table::new(&["ID", "NAME", "SCOPE", "MADE WITH", "ENDS", "LAST USED", "CLIENT OR ISSUER"]);
        for token in &list.tokens {
            let client = token.client.as_ref().map(|client| clean(&client.name));
            let client = client.or_else(|| token.issuer.as_deref().map(clean)).unwrap_or_default();
            let (name, parent) = (token.name.as_deref(), token.parent.as_deref());
            let time = |ms: Option<u64>| ms.map(|ms| utc(TimestampMs(ms))).unwrap_or_default();
            let (ends, used) = (time(token.expires_at), time(token.last_used_at));
            let parent = parent.unwrap_or("owner");
            table.row([&token.id, name.unwrap_or(""), &token.scope, parent, &ends, &used, &client]);
        }
        Ok(context.out.table(&table, "there are no tokens beside the agent's own")?)
    })
}

pub(crate) async fn revoke(context: &Context, args: Revoke) -> Result<(), Failure> {
    let Revoke { agent_option, id } = args;
    context.done(
        &client(context, &agent_option)?.revoke_token(agent_option.agent.as_ref(), &id).await?,
        &format!("revoked {id}"),
    )
}
