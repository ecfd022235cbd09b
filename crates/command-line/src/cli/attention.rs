//! `plenary attention`: the attention level of the agent, or of one session of its coding agents, and its end.
//! Must not know: which messages pass; the server decides it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use plenary_client::accounts::Attention;
use plenary_kernel::TimestampMs;

use super::{context::Context, failure::Failure};
use crate::{
    duration::parse_duration,
    out::{clean, utc},
};

const HELP: &str = "\
Hooks do not show a message that may not disturb, and it wakes no session. It stays unread, its sender sees the reason \
(`plenary message status`), and a digest lists it when the level is `open` again.
  plenary attention dnd --until 2h
  plenary attention focus --session 4f1c
  plenary attention open";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AttentionArgs {
    /// Messages that may disturb: all; only those of your own agents and people, urgent ones and replies; or none
    /// [default: show the level]
    level: Option<Level>,
    /// Duration, e.g. 30m or 2h [default: until you change it]
    #[arg(long, value_name = "TIME", value_parser = lasting, requires = "level")]
    until: Option<Duration>,
    /// Only one live session of the coding agent, by the beginning of its name, as `inbox sessions` lists them
    #[arg(long, value_name = "NAME", requires = "level")]
    session: Option<String>,
}

/// Longest duration of a level, in days.
const LASTING_DAYS_MAX: u64 = 366;

fn lasting(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time.is_zero() || time > Duration::from_secs(LASTING_DAYS_MAX * 86_400) {
        return Err(format!("must be more than 0 and at most {LASTING_DAYS_MAX}d"));
    }
    Ok(time)
}

/// An attention level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Everything
    Open,
    /// Only messages of your own agents and people, urgent ones and replies
    Focus,
    /// Nothing
    Dnd,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Focus => "focus",
            Self::Dnd => "dnd",
        }
    }
}

pub(crate) async fn run(context: &Context, args: AttentionArgs) -> Result<(), Failure> {
    if let (Some(Level::Open), Some(_)) = (args.level, args.until) {
        return Err(Failure::usage("`open` has no end", "leave --until out"));
    }
    let client = context.speaker()?;
    let until = match args.until {
        Some(time) => {
            let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            Some(TimestampMs(client.server_now().await.0.saturating_add(ms)))
        }
        None => None,
    };
    let Some(level) = args.level.map(Level::as_str) else {
        let me = client.me().await?;
        return context
            .answer(&me, |me| Ok(context.out.line(&describe(me.attention.as_ref(), client.now()))?));
    };
    let Some(name) = args.session else {
        let me = client.set_attention(level, until).await?;
        return context
            .answer(&me, |me| Ok(context.out.line(&describe(me.attention.as_ref(), client.now()))?));
    };
    let listed = client.coding_sessions().await?.value;
    let live_sessions = || listed.sessions.iter().filter(|coding| coding.live);
    let exact = live_sessions().find(|coding| coding.session == name);
    let matching = live_sessions().filter(|coding| coding.session.starts_with(&name));
    let matching = exact.map_or_else(|| matching.collect::<Vec<_>>(), |exact| vec![exact]);
    let session = match matching.as_slice() {
        [only] => only.session.clone(),
        several => {
            let what = match several.len() {
                0 => format!("no live session begins with `{}`", clean(&name)),
                many => format!("{many} live sessions begin with `{}`", clean(&name)),
            };
            return Err(Failure::usage(what, "`plenary inbox sessions` lists them"));
        }
    };
    let set = client.set_session_attention(&session, level, until).await?;
    context.answer(&set, |_| {
        let end = until.map(|until| format!(" until {}", utc(until))).unwrap_or_default();
        Ok(context.out.line(&format!("/{} {level}{end}", clean(&session)))?)
    })
}

/// The current level in words.
fn describe(attention: Option<&Attention>, now: TimestampMs) -> String {
    let current = attention.filter(|attention| attention.until.is_none_or(|until| now < until));
    let Some(current) = current else { return "open".to_owned() };
    let end = current.until.map(|until| format!(" until {}", utc(until))).unwrap_or_default();
    format!("{}{end}", clean(&current.level))
}
