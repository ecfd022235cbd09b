//! `plenary channel create`, `list`, `key` and `close`.
//! Must not know: how a channel is read.

use clap::Args;
use plenary_client::channels::Channel;
use serde_json::{Map, Value, json};

use super::{payload, read::ChannelArgument, target::ChannelTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, second},
};

/// Under `--json`: the channel, then the event that holds its charter where one was given.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary channel create 'Release 2.1' --mission 'Ship 2.1 on Friday' --rule 'No merges without a review'"
)]
pub(crate) struct Create {
    /// Title of the channel
    #[arg(default_value = "")]
    title: String,
    /// Mission of the channel; a mission, rule or link is posted as the channel's charter
    #[arg(long, value_name = "TEXT")]
    mission: Option<String>,
    /// A rule of the charter; may be repeated
    #[arg(long = "rule", value_name = "TEXT")]
    rules: Vec<String>,
    /// A link of the charter; may be repeated
    #[arg(long = "link", value_name = "NAME=URL", value_parser = link)]
    links: Vec<(String, String)>,
    /// Stable name of the creator [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME")]
    agent: Option<String>,
}

fn link(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() => Ok((name.to_owned(), url.to_owned())),
        _ => Err("write NAME=URL, e.g. repo=https://example.org/repo".to_owned()),
    }
}

impl Create {
    /// The charter, if any part of it was given.
    fn spec(&self) -> Option<Value> {
        if self.mission.is_none() && self.rules.is_empty() && self.links.is_empty() {
            return None;
        }
        let mission = self.mission.as_deref().unwrap_or(&self.title);
        let links: Map<String, Value> =
            self.links.iter().map(|(name, url)| (name.clone(), url.as_str().into())).collect();
        Some(json!({"mission": mission, "rules": self.rules, "links": links}))
    }
}

pub(super) async fn create(context: &Context, target: &ChannelTarget, args: Create) -> Result<(), Failure> {
    let spec = args.spec();
    let reply = target.client.create_channel(&args.title, args.agent.as_deref()).await?;
    context.answer(&reply, |channel| Ok(context.out.line(&clean(&channel.url))?))?;
    let Some(spec) = spec else { return Ok(()) };
    let event = payload::event("spec", args.agent, &spec)?;
    let reply = target.client.append_event(&reply.id, &event).await?;
    context.answer(&reply, |_| Ok(()))
}

/// How many channels are listed without `--limit`.
const LISTED_BY_DEFAULT: u32 = 50;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Number of channels at most, up to 500 [default: 50]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Leave out closed channels
    #[arg(long)]
    open: bool,
}

pub(super) async fn list(context: &Context, target: &ChannelTarget, args: &List) -> Result<(), Failure> {
    let reply = target.client.channels(args.limit, !args.open).await?;
    context.answer(&reply, |channels| {
        let mut table = Table::new(&["CHANNEL", "STATE", "CREATED", "BY", "TITLE"]);
        for Channel { id, title, created_by, created_at, closed_at, .. } in channels {
            let state = if closed_at.is_some() { "closed" } else { "open" };
            table.row([id, state, &second(created_at), created_by, title]);
        }
        context.out.table(&table, "no channels yet; create one with `plenary channel create TITLE`")?;
        let count = u32::try_from(channels.len()).unwrap_or(u32::MAX);
        if count >= args.limit.unwrap_or(LISTED_BY_DEFAULT) {
            context
                .out
                .note(&format!("{count} channels are shown, and there may be more: --limit N, up to 500"));
        }
        Ok(())
    })
}

/// The channel to close.
#[derive(Debug, Args)]
pub(crate) struct Close {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
}

pub(super) async fn close(context: &Context, target: &ChannelTarget) -> Result<(), Failure> {
    let reply = target.client.close_channel(&target.id).await?;
    context.answer(&reply, |channel| Ok(context.out.line(&format!("closed {}", clean(&channel.id)))?))
}

/// The channel whose key changes.
#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// End the access of owners that used an earlier key
    #[arg(long)]
    revoke: bool,
}

pub(super) async fn change_key(context: &Context, target: &ChannelTarget, key: &Key) -> Result<(), Failure> {
    let reply = target.client.change_channel_key(&target.id, key.revoke).await?;
    context.answer(&reply, |channel| Ok(context.out.line(&clean(&channel.url))?))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: Create,
    }

    #[test]
    fn a_charter_contains_the_given_arguments() {
        let spec = |args: &[&str]| Line::parse_from([&["create"], args].concat()).create.spec();
        assert_eq!(spec(&["A title"]), None);
        let whole = spec(&["--mission", "m", "--rule", "a", "--rule", "b", "--link", "repo=https://h/?a=b"]);
        let links = json!({"repo": "https://h/?a=b"});
        assert_eq!(whole, Some(json!({"mission": "m", "rules": ["a", "b"], "links": links})));
        let titled = spec(&["A title", "--rule", "a"]);
        assert_eq!(titled, Some(json!({"mission": "A title", "rules": ["a"], "links": {}})));
        assert!(Line::try_parse_from(["create", "--link", "repo"]).is_err());
    }
}
