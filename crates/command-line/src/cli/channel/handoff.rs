//! `plenary channel handoff`: the next state, with another holder and the expected action (CH-33). The handoff is a
//! lock by agreement: a state that another agent posted in between is not refused, but reported.
//! Must not know: how the next state is made.

use clap::Args;
use plenary_client::channels::{ChannelEvent, EventsQuery, NewEvent, handed_over};

use super::{read::ChannelArgument, target::ChannelTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::clean,
};

/// Posts the newest state again with `handoff` and `updated_by` changed; if there is none yet, a fresh one.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary channel handoff VHGC @ana.helper --expect review")]
pub(crate) struct Handoff {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// The new holder of the work, by its stable name
    holder: String,
    /// The action expected of the new holder
    #[arg(long, value_name = "ACTION")]
    expect: String,
    /// Post under this stable name [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME")]
    agent: Option<String>,
}

pub(super) async fn run(context: &Context, target: &ChannelTarget, args: Handoff) -> Result<(), Failure> {
    if args.holder.trim().is_empty() {
        return Err(Failure::usage("the new holder is missing", "name the next holder, e.g. @owner.name"));
    }
    let author = args.agent.clone();
    let author_name = target.name(context, args.agent).await?;
    let current = newest_state(target, None).await?;
    let payload = current.as_ref().map(|event| &*event.payload);
    let payload = handed_over(payload, &author_name, &args.holder, &args.expect).map_err(|e| {
        Failure::local_with(e.to_string(), "set a whole one with `plenary channel state CHANNEL --set`")
    })?;
    let event = NewEvent { kind: "state".to_owned(), author, payload };
    let reply = target.client.append_event(&target.id, &event).await?;
    context.answer(&reply, |event| {
        let line = format!("#{} held by {}: {}", event.id, clean(&args.holder), clean(&args.expect));
        Ok(context.out.line(&line)?)
    })?;
    match newest_state(target, Some(reply.id)).await {
        Ok(before) => note_between(context, target, current.as_ref(), before.as_ref()),
        Err(error) => {
            context.out.note(&format!("could not check whether another state was posted in between: {error}"))
        }
    }
    Ok(())
}

/// The newest state, or the newest before an event.
async fn newest_state(
    target: &ChannelTarget,
    before: Option<u64>,
) -> plenary_client::Result<Option<ChannelEvent>> {
    let query = EventsQuery { kind: Some("state".to_owned()), limit: Some(1), before, after: None };
    Ok(target.client.channel_events(&target.id, &query).await?.reply.value.into_iter().next())
}

/// Reports if the event directly before is not the state that the handoff is based on.
fn note_between(
    context: &Context,
    target: &ChannelTarget,
    basis: Option<&ChannelEvent>,
    before: Option<&ChannelEvent>,
) {
    let Some(before) = before.filter(|before| basis.map(|basis| basis.id) != Some(before.id)) else { return };
    context.out.note(&format!(
        "{} posted a state in between, #{}, which this handoff does not include; compare both with `plenary channel events \
         {} --kind state`, and set one that has all with `plenary channel state {} --set`",
        clean(&before.author),
        before.id,
        target.id,
        target.id
    ));
}
