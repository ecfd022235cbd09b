//! A message from a sibling to the agent, and the coding agent's own hook run as it would be: it must show the message.
//! Nothing is marked as seen, for nobody sees it.
//! Must not know: how a hook answers.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use plenary_client::{
    Client, Error, IdempotencyKey,
    inbox::{AckState, InboxQuery},
    sessions::{Content, CreateSession, InitialMessage},
};
use plenary_kernel::AgentHandle;
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use crate::cli::{
    connect::{CodingAgent, Written, hold},
    context::Context,
    failure::Failure,
    identity::Connected,
};

/// The sibling's name.
const SIBLING: &str = "plenary-doctor";
/// A hook ends long before.
const HOOK_WITHIN: Duration = Duration::from_secs(15);

/// There and back.
pub(super) async fn round(
    context: &Context,
    coding: CodingAgent,
    connected: &Connected,
    written: &Written,
    directory: &Path,
) -> Result<String, Failure> {
    let missing: Vec<&str> =
        coding.events().iter().copied().filter(|event| !written.hooks.contains_key(*event)).collect();
    if !missing.is_empty() {
        return Err(Failure::local_with(
            format!("the settings have no hook at {}", missing.join(", ")),
            format!("write them anew: `plenary connect {}`", coding.as_str()),
        ));
    }
    let sibling = sibling(context, connected.agent.owner_name().as_str()).await?;
    let word = format!("probe-{}", IdempotencyKey::random());
    let message = InitialMessage { content: Content::from(word.as_str()), metadata: None };
    let session = CreateSession {
        invite: vec![connected.agent.clone()],
        topic: Some(word.clone()),
        initial_message: Some(message),
        ..CreateSession::default()
    };
    let session = sibling.create_session(&session).await.map_err(|error| unreached(connected, error))?;
    let outcome = look(coding, written, directory, &word).await;
    sibling.end_session(&session.session_id).await?;
    let agent = client_of(context, &connected.agent)?;
    clean_up(&agent, &connected.agent).await?;
    outcome
}

/// A refusal that says no more than that the agent is out of reach.
fn unreached(connected: &Connected, error: Error) -> Failure {
    if !matches!(&error, Error::Refused(refused) if refused.status == 404) {
        return error.into();
    }
    let owner = connected.agent.owner_name();
    Failure::local_with(
        format!("{} is not reached by agents of its own owner", connected.agent),
        format!("`plenary agent allow {} @{owner}.*`", connected.agent),
    )
}

/// Runs the hook that puts text before the model most often, and looks for the message.
async fn look(
    coding: CodingAgent,
    written: &Written,
    directory: &Path,
    word: &str,
) -> Result<String, Failure> {
    let heard = ["UserPromptSubmit", "BeforeAgent", "postToolUse"];
    let Some((event, line)) = written.hooks.iter().find(|(event, _)| heard.contains(&event.as_str())) else {
        return Err(Failure::local("no hook of the settings puts text before the model"));
    };
    let begun = Instant::now();
    let output = run(&format!("{line} --peek"), &told(event, directory), directory).await?;
    let took = begun.elapsed().as_millis();
    let unread = "read what is unread first (`plenary inbox`), and try again";
    if output.contains(word) {
        return Ok(format!(
            "a message reaches what {} puts before the model at {event}, in {took} ms",
            coding.title()
        ));
    }
    if output.contains("unread for") {
        return Err(Failure::local_with("so much is unread that the newest message is not shown", unread));
    }
    Err(Failure::local_with(
        format!("the hook of {event} did not show a message that was there ({took} ms)"),
        format!("run it by hand: `{line} --peek </dev/null`"),
    ))
}

/// What a coding agent says at an event.
fn told(event: &str, directory: &Path) -> String {
    json!({"hook_event_name": event, "session_id": "plenary-doctor", "cwd": directory}).to_string()
}

async fn run(line: &str, input: &str, directory: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::local(format!("the hook cannot be run: {error}"));
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.map_err(failed)?;
    }
    let late = |_| Failure::local(format!("the hook does not end within {} s", HOOK_WITHIN.as_secs()));
    let output = timeout(HOOK_WITHIN, child.wait_with_output()).await.map_err(late)?.map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Marks the message as seen where nothing else would be marked with it.
async fn clean_up(agent: &Client, handle: &AgentHandle) -> Result<(), Failure> {
    let page = agent.inbox(&InboxQuery::default()).await?;
    let sibling = format!("@{}.{SIBLING}", handle.owner_name());
    if !page.items.is_empty() && page.items.iter().all(|item| item["from"] == sibling.as_str()) {
        agent.ack_inbox(&page.cursor, AckState::Seen).await?;
    }
    Ok(())
}

/// A client that speaks as an agent whose token is saved.
fn client_of(context: &Context, handle: &AgentHandle) -> Result<Client, Failure> {
    let missing = || Failure::local(format!("no token of {handle} is saved here"));
    context.saved_client(handle)?.ok_or_else(missing)
}

async fn sibling(context: &Context, owner: &str) -> Result<Client, Failure> {
    let handle: AgentHandle = format!("@{owner}.{SIBLING}")
        .parse()
        .map_err(|error| Failure::local(format!("the sibling's name: {error}")))?;
    if hold(context, &handle).await?.is_none() {
        return Err(Failure::local_with(
            format!("{handle}, who sends the message, was removed for good"),
            "nothing else depends on it; what comes before this holds",
        ));
    }
    client_of(context, &handle)
}
