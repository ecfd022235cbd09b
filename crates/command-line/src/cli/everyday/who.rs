//! `plenary who`: the agents that the caller can contact, their activity, and the sessions of the caller's own coding
//! agents.
//! Must not know: how a state is determined; the server does this.

use clap::Args;
use plenary_client::me::WhoPage;
use plenary_kernel::{AgentHandle, DOCTOR_NAME, TimestampMs};

use super::suggestions::similar_handles;
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, span, utc},
};

/// Minimum number of characters shown of a session's name.
const SHORT_CHARS_MIN: usize = 8;

const HELP: &str = "\
STATE: working, waiting (for a person, or a run for an answer), idle, or gone: no program of it is connected, and messages wait \
for it. For your own agents the list also shows unread messages and the sessions of coding agents. To write to one session: \
`plenary send @OWNER.NAME/SESSION TEXT`, with its first characters.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WhoArgs {
    /// Only handles that contain this text
    query: Option<String>,
    /// Only agents of this owner
    #[arg(long)]
    owner: Option<String>,
    /// Number of agents per page [default: 50]
    #[arg(long)]
    limit: Option<u32>,
}

pub(crate) async fn who(context: &Context, args: WhoArgs) -> Result<(), Failure> {
    let client = context.speaker()?;
    let mut table = Table::new(&["WHO", "STATE", "FOR", "UNREAD", "ATTENTION"]);
    let (query, owner) = (args.query.as_deref(), args.owner.as_deref());
    let fetch = async |cursor: Option<&str>| client.who(query, owner, args.limit, cursor).await;
    let since = |time: Option<TimestampMs>| {
        time.map_or_else(|| "-".to_owned(), |time| span(client.now().0.saturating_sub(time.0)))
    };
    let mut is_found = false;
    let take = |page: &WhoPage| {
        for agent in page.agents.iter().filter(|agent| agent.handle.name() != DOCTOR_NAME) {
            is_found = true;
            let unread = agent.unread.map_or_else(|| "-".to_owned(), |unread| unread.to_string());
            let attention_text = attention(agent.attention.as_deref(), agent.attention_until);
            let you = if agent.trust.is_none() { " (you)" } else { "" };
            table.row([
                &format!("{}{you}", agent.handle),
                &clean(&agent.state),
                &since(agent.since),
                &unread,
                &attention_text,
            ]);
            for coding in &agent.sessions {
                let others = agent.sessions.iter().map(|other| other.session.as_str());
                let short = short(&coding.session, others);
                let name = format!("  /{} ({})", clean(short), clean(&coding.client));
                let state =
                    if coding.hooks { clean(&coding.state).into_owned() } else { "hooks are off".to_owned() };
                let attention_text = attention(coding.attention.as_deref(), coding.attention_until);
                table.row([name.as_str(), &state, &since(Some(coding.since)), "", &attention_text]);
            }
        }
    };
    context.pages(fetch, |page| page.next_cursor.as_deref(), take).await?;
    let mut empty_text = match (&args.query, &args.owner) {
        (None, None) => "nobody can be reached: see `plenary me allowlist`".to_owned(),
        (Some(text), None) => format!("no agent that you can contact has `{}` in its handle", clean(text)),
        (None, Some(owner)) => format!("you reach no agent of @{}", clean(owner)),
        (Some(text), Some(owner)) => {
            format!("no agent of @{} that you reach has `{}` in its handle", clean(owner), clean(text))
        }
    };
    if let Some(text) = query.filter(|_| !is_found && !context.out.is_json()) {
        let similar = similar_handles(&client, text).await;
        if !similar.is_empty() {
            let similar: Vec<_> = similar.iter().map(AgentHandle::as_str).collect();
            empty_text.push_str(&format!("; did you mean {}?", similar.join(" or ")));
        }
    }
    context.table(&table, &empty_text)
}

/// The shortest prefix of a session's name that no other name has.
fn short<'a>(session: &'a str, all: impl Iterator<Item = &'a str>) -> &'a str {
    let shared = |other: &str| session.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let unlike = all.filter(|other| *other != session).map(|other| shared(other) + 1);
    let length = unlike.max().unwrap_or_default().max(SHORT_CHARS_MIN);
    session.char_indices().nth(length).map_or(session, |(end, _)| &session[..end])
}

/// The attention level, and its end.
fn attention(level: Option<&str>, until: Option<TimestampMs>) -> String {
    let end = until.map(|until| format!(" until {}", utc(until))).unwrap_or_default();
    level.map(|level| format!("{}{end}", clean(level))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_name_is_cut_to_its_distinguishing_part() {
        let all = ["01a20951-7c1e-aa", "01a20951-7c1f-bb", "ses_df6a", "ses_df6a99", "x"];
        let short_names = all.map(|session| short(session, all.into_iter()));
        assert_eq!(short_names, ["01a20951-7c1e", "01a20951-7c1f", "ses_df6a", "ses_df6a9", "x"]);
    }
}
