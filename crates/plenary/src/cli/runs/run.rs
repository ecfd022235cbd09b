//! `plenary run`: asks an agent for something and tells what it does, or goes on with a run.
//! Must not know: how a run is told.

use std::path::PathBuf;

use clap::Args;
use plenary_client::{IdempotencyKey, runs::Chat};
use plenary_wire::runs::{RunStatus, SHOW};
use serde_json::{Map, Value};

use super::follow::Follower;
use crate::cli::{context::Context, failure::Failure, input};

/// Shown under `--help`.
const HELP: &str = "\
What the agent says goes to standard output, what it does to standard error; with --json each event is one line on \
standard output, as the server sent it, text in the making (TextDelta) too.

A run that asks for input is asked at the terminal; where there is none, it is left waiting, and the exit code is 5:
  plenary run NAME --resume RUN_ID key=value …
A value of - is standard input; without any, the run is followed from where it stands. Ctrl-C cancels the run and waits \
for its end; a second one leaves at once.

Exit codes: 0 success, 1 the run failed, 5 it waits for input, 130 it was canceled.";

/// What is asked of whom.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Run {
    /// The agent; `plenary runs agents` lists them
    #[arg(value_name = "NAME")]
    agent: String,
    /// What to ask; with --resume, the answers as key=value
    #[arg(value_name = "TEXT")]
    words: Vec<String>,
    /// Go on with this thread [default: a new one]
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    thread: Option<String>,
    /// Add the text of this file to what is asked; - for standard input
    #[arg(long, value_name = "PATH", conflicts_with = "resume")]
    file: Option<PathBuf>,
    /// What the agent gets beside it (`request_metadata`): a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "resume")]
    metadata: Option<String>,
    /// Go on with a run that waits for input, or was left
    #[arg(long, value_name = "RUN_ID")]
    resume: Option<String>,
}

pub(super) async fn run(context: &Context, args: Run) -> Result<(), Failure> {
    let client = super::client(context)?;
    let mut follower = Follower::new(context, &client, &args.agent)?;
    let Some(run) = &args.resume else {
        let chat = chat(&args)?;
        let key = IdempotencyKey::random();
        let accepted = follower.heed(client.start_run(&args.agent, &chat, &key)).await??;
        return follower.follow(accepted.run_id, None).await;
    };
    let answers = answers(&args.words)?;
    let stands = follower.heed(client.call(&SHOW, &[&args.agent, run], &(), &())).await??.value;
    if answers.is_empty() {
        // The question is the last event of one that waits, the end of one that is over.
        let told = match stands.status {
            RunStatus::Queued | RunStatus::Running => stands.last_event_id,
            RunStatus::Waiting | RunStatus::Completed | RunStatus::Error | RunStatus::Canceled => {
                stands.last_event_id.saturating_sub(1)
            }
        };
        return follower.follow(stands.run_id.to_string(), Some(told)).await;
    }
    follower.heed(client.resume_run(&args.agent, run, &answers)).await??;
    follower.follow(stands.run_id.to_string(), Some(stands.last_event_id)).await
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
            "it is not said what to ask",
            "write it behind the agent's name, or name a file with --file",
        ));
    }
    let request_metadata = args.metadata.as_deref().map(object).transpose()?;
    Ok(Chat { input: parts.join("\n\n"), thread_id: args.thread.clone(), request_metadata })
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(
            format!("--metadata is no JSON object: {error}"),
            "give e.g. --metadata '{\"user_id\":\"ann\"}'",
        )
    })
}

fn answers(words: &[String]) -> Result<Map<String, Value>, Failure> {
    let pair = |word: &String| {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{word}` is no answer"), "write key=value for each key that is asked for")
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
        let given = answers(&words(&["a=b=c", "d="])).unwrap();
        assert_eq!(Value::Object(given), serde_json::json!({"a": "b=c", "d": ""}));
        assert!(matches!(answers(&words(&["a"])), Err(Failure::Usage { .. })));
        assert!(matches!(object("[]"), Err(Failure::Usage { .. })));
    }
}
