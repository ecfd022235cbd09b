//! `plenary run`: starts a run of an agent and shows its progress, or continues a run.
//! Must not know: how a run is printed.

use std::path::PathBuf;

use clap::Args;
use plenary_client::{
    IdempotencyKey,
    runs::{Chat, RunStatus},
};
use serde_json::{Map, Value};

use super::follow::Follower;
use crate::cli::{context::Context, failure::Failure, input};

const HELP: &str = "\
The agent's text goes to standard output, its activity to standard error; with --json each event is one line on \
standard output as the server sent it, including partial text (TextDelta).

If a run needs input, the terminal asks for it; without a terminal the run is left waiting, and the exit code is 5:
  plenary run NAME --resume RUN_ID key=value …
The value - reads standard input. Without values, --resume follows the run from its current event. Ctrl-C cancels the run and waits \
for its end; a second Ctrl-C exits at once.

Exit codes: 0 success, 1 the run failed, 5 it waits for input, 130 it was canceled.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Run {
    /// The agent, as `plenary runs agents` lists it
    #[arg(value_name = "NAME")]
    agent: String,
    /// The task; with --resume, the answers as key=value
    #[arg(value_name = "TEXT")]
    words: Vec<String>,
    /// Continue this thread [default: a new thread]
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    thread: Option<String>,
    /// Append the text of this file to the task; - reads standard input
    #[arg(long, value_name = "PATH", conflicts_with = "resume")]
    file: Option<PathBuf>,
    /// Metadata for the agent (`request_metadata`), a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "resume")]
    metadata: Option<String>,
    /// Continue a run that waits for input, or follow a run that was left
    #[arg(long, value_name = "RUN_ID")]
    resume: Option<String>,
}

pub(super) async fn run(context: &Context, args: Run) -> Result<(), Failure> {
    let client = super::client(context)?;
    let mut follower = Follower::new(context, &client, &args.agent)?;
    let Some(run) = &args.resume else {
        let chat = chat(&args)?;
        let key = IdempotencyKey::random();
        let accepted = follower.or_interrupt(client.start_run(&args.agent, &chat, &key)).await??;
        return follower.follow(accepted.run_id, None).await;
    };
    let answers = answers(&args.words)?;
    let report = follower.or_interrupt(client.run_report(&args.agent, run)).await??.value;
    if answers.is_empty() {
        // The last event of a waiting run is its question; that of a finished run is its end.
        let after = match report.status {
            RunStatus::Queued | RunStatus::Running => report.last_event_id,
            RunStatus::Waiting | RunStatus::Completed | RunStatus::Error | RunStatus::Canceled => {
                report.last_event_id.saturating_sub(1)
            }
        };
        return follower.follow(report.run_id, Some(after)).await;
    }
    follower.or_interrupt(client.resume_run(&args.agent, run, report.event_id, &answers)).await??;
    follower.follow(report.run_id, Some(report.last_event_id)).await
}

fn chat(args: &Run) -> Result<Chat, Failure> {
    let mut parts = Vec::new();
    if !args.words.is_empty() {
        parts.push(args.words.join(" "));
    }
    match &args.file {
        Some(path) if path.as_os_str() == "-" => parts.push(input::standard()?),
        Some(path) => parts.push(input::file(path)?),
        None => {}
    }
    if parts.is_empty() {
        return Err(Failure::usage(
            "the task is missing",
            "write it after the agent's name, or name a file with --file",
        ));
    }
    let request_metadata = args.metadata.as_deref().map(object).transpose()?;
    Ok(Chat {
        input: parts.join("\n\n"),
        thread_id: args.thread.clone(),
        request_metadata,
        ..Chat::default()
    })
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    input::object(text).map_err(|error| {
        Failure::usage(
            format!("--metadata cannot be read: {error}"),
            "give e.g. --metadata '{\"user_id\":\"ann\"}'",
        )
    })
}

fn answers(words: &[String]) -> Result<Map<String, Value>, Failure> {
    let pair = |word: &String| {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{word}` is not key=value"), "write key=value for each requested key")
        })?;
        let value = if value == "-" { input::standard()? } else { value.to_owned() };
        Ok((key.to_owned(), value.into()))
    };
    words.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_44_answers_are_pairs() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let pairs = answers(&words(&["a=b=c", "d="])).unwrap();
        assert_eq!(Value::Object(pairs), serde_json::json!({"a": "b=c", "d": ""}));
        assert!(matches!(answers(&words(&["a"])), Err(Failure::Usage { .. })));
        assert!(matches!(object("[]"), Err(Failure::Usage { .. })));
    }
}
