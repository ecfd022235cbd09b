//! Sends a frame from a sibling to the agent and runs the coding agent's own hook: it must print the frame. A frame
//! belongs to no session and is dropped after minutes, so nothing remains.
//! Must not know: how a hook answers.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use plenary_client::{
    Client,
    frames::{Advisory, ComputeLocation, ContextCheck, Frame, Payload, Scope, Seat, Uuid, VERSION, now},
    inbox::{AckState, InboxPage, InboxQuery},
};
use plenary_kernel::{AgentHandle, DOCTOR_NAME as SIBLING, SovereignHandle, TimestampMs};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use super::server;
use crate::cli::{
    connect::{CodingAgent, ProgramEntries, ensure_token},
    context::Context,
    failure::Failure,
    hook,
    identity::ClientEntry,
};
use crate::out::clean;

/// The session under which an agent's inbox reads frames, so that live listeners are not affected.
const INBOX_SESSION: &str = "inbox";
/// How long a frame may take to reach the inbox.
const INBOX_WITHIN: Duration = Duration::from_secs(5);
/// How long a hook may take.
const HOOK_WITHIN: Duration = Duration::from_secs(15);

/// Checks the round trip by the hooks.
pub(super) async fn round(
    context: &Context,
    coding: CodingAgent,
    connected: &ClientEntry,
    written: &ProgramEntries,
    directory: &Path,
) -> Result<String, Failure> {
    let missing: Vec<&str> =
        written.expected.iter().copied().filter(|event| !written.hooks.contains_key(*event)).collect();
    if !missing.is_empty() {
        return Err(Failure::local_with(
            format!("the settings have no hook at {}", missing.join(", ")),
            format!("write them again: `plenary connect {}`", coding.as_str()),
        ));
    }
    let (agent, marker) = send_probe(context, connected).await?;
    let deadline_ms = hook::deadline(&context.environment).as_millis();
    let outcome = run_hooks((coding, deadline_ms), written, directory, &marker).await;
    clean_up(&agent, &connected.agent).await?;
    outcome
}

/// Checks the round trip by the inbox tool.
pub(super) async fn round_by_tool(
    context: &Context,
    connected: &ClientEntry,
    written: &ProgramEntries,
) -> Result<String, Failure> {
    let (agent, marker) = send_probe(context, connected).await?;
    let outcome = server::offers_tools(context, &connected.agent, written, Some("inbox")).await;
    clean_up(&agent, &connected.agent).await?;
    let (_, output) = outcome?;
    if output.contains(&marker) {
        return Ok("a message reaches the model by the tool `inbox`".to_owned());
    }
    Err(Failure::local_with(
        "the tool `inbox` did not show a waiting message",
        "read the unread items first (`plenary inbox`), and try again",
    ))
}

/// Sends a probe from the sibling and waits until it is in the agent's inbox; returns the agent's client and the text.
async fn send_probe(context: &Context, connected: &ClientEntry) -> Result<(Client, String), Failure> {
    let sibling = sibling(context, connected.agent.owner_name().as_str()).await?;
    let agent = client_of(context, &connected.agent)?;
    let probe = probe(&connected.agent)?;
    // Unread frames from before are not the probe.
    let before = frames(&agent, None).await?.cursor;
    let scope = Scope::session(&probe.recipient_handle, connected.agent.name(), INBOX_SESSION);
    sibling.submit_frame(&probe, Some(&scope), &Seat::default()).await?;
    if !arrives(&agent, before, &probe.frame_id).await? {
        return Err(unreached(connected));
    }
    Ok((agent, probe.frame_id.as_str().to_owned()))
}

/// A frame whose text is its own id.
fn probe(agent: &AgentHandle) -> Result<Frame, Failure> {
    let owner = agent.owner_name();
    let handle_of = |name: &str| {
        let parsed: Result<SovereignHandle, _> = format!("~{name}").parse();
        parsed.map_err(|error| Failure::local(format!("the sibling's name: {error}")))
    };
    let (handle, frame_id) = (handle_of(owner.as_str())?, Uuid::random());
    let advisory = Advisory { advisory_text: frame_id.as_str().to_owned(), ..Advisory::default() };
    let payload = Payload::Advisory(advisory);
    Ok(Frame {
        envelope_version: VERSION.to_owned(),
        frame_id,
        kind: payload.kind(),
        sender_handle: handle.clone(),
        recipient_handle: handle.clone(),
        created_at: Frame::time(now()),
        ttl_ms: None,
        payload: payload.to_object(),
        acted_by: handle,
        drafted_with: handle_of(SIBLING)?.to_string(),
        provenance_compute_location: ComputeLocation::ServerActive,
        provenance_method: vec!["command-line".to_owned()],
        provenance_return_ref: None,
        provenance_context_check: ContextCheck::Skipped,
        provenance_basis: "agent-channel/own-request".to_owned(),
    })
}

/// The frames of an inbox after a cursor, or the unread ones.
async fn frames(agent: &Client, after: Option<String>) -> Result<InboxPage, Failure> {
    Ok(agent.inbox(&frames_after(after)).await?.value)
}

fn frames_after(after: Option<String>) -> InboxQuery {
    InboxQuery { after, limit: Some(100), kinds: Some("frame".to_owned()), ..InboxQuery::default() }
}

/// Whether a frame arrives in an inbox after a cursor.
async fn arrives(agent: &Client, mut after: String, frame: &Uuid) -> Result<bool, Failure> {
    let deadline = Instant::now() + INBOX_WITHIN;
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let page = agent.wait_inbox(&frames_after(Some(after)), remaining).await?.value;
        if page.items.iter().any(|item| item["ref"]["frame_id"] == frame.as_str()) {
            return Ok(true);
        }
        if remaining.is_zero() {
            return Ok(false);
        }
        after = page.cursor;
    }
}

/// The failure if the agent's policy excludes the sibling.
fn unreached(connected: &ClientEntry) -> Failure {
    let owner = connected.agent.owner_name();
    Failure::local_with(
        format!("agents of its own owner cannot contact {}", connected.agent),
        format!("`plenary agent allow {} @{owner}.*`", connected.agent),
    )
}

/// Runs every hook, and looks for the probe in the text that a hook gives to the model.
async fn run_hooks(
    (coding, deadline_ms): (CodingAgent, u128),
    written: &ProgramEntries,
    directory: &Path,
    marker: &str,
) -> Result<String, Failure> {
    let unread = "read the unread items first (`plenary inbox`), and try again";
    let mut slowest = 0;
    for (event, line) in &written.hooks {
        let started_at = Instant::now();
        let (output, error) =
            run(&format!("{line} --peek"), &hook_input(event, directory), directory).await?;
        let elapsed_ms = started_at.elapsed().as_millis();
        slowest = slowest.max(elapsed_ms);
        if !hook::accepts_text_at(coding, event) || output.contains(marker) {
            continue;
        }
        if output.contains("unread for") {
            return Err(Failure::local_with(
                "the newest message is not shown, because too many others are unread",
                unread,
            ));
        }
        let why = if error.is_empty() { String::new() } else { format!(": {error}") };
        return Err(Failure::local_with(
            format!("the hook of {event} did not show a waiting message ({elapsed_ms} ms){why}"),
            if elapsed_ms > deadline_ms {
                format!("it has {deadline_ms} ms; PLENARY_HOOK_DEADLINE_MS sets another time")
            } else {
                format!("run it yourself: `{line} --peek </dev/null`")
            },
        ));
    }
    let text_hooks = written.hooks.keys().filter(|event| hook::accepts_text_at(coding, event)).count();
    if text_hooks == 0 {
        return Ok(format!("each of {} hooks runs, the slowest in {slowest} ms", written.hooks.len()));
    }
    let by = match (text_hooks, written.hooks.len()) {
        (1, 1) => "its hook".to_owned(),
        (all, hooks) if all == hooks => format!("each of {all} hooks"),
        (text, hooks) => format!("{text} of {hooks} hooks, the others print nothing"),
    };
    Ok(format!("a message reaches {} by {by}; the slowest took {slowest} ms", coding.title()))
}

/// The input that a coding agent gives to a hook at an event.
fn hook_input(event: &str, directory: &Path) -> String {
    json!({"hook_event_name": event, "session_id": "plenary-doctor", "cwd": directory.to_string_lossy()})
        .to_string()
}

/// What a hook prints, and its error.
async fn run(line: &str, input: &str, directory: &Path) -> Result<(String, String), Failure> {
    let failed = |error: std::io::Error| Failure::local(format!("the hook cannot be run: {error}"));
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.map_err(failed)?;
    }
    let late = |_| Failure::local(format!("the hook does not finish within {} s", HOOK_WITHIN.as_secs()));
    let output = timeout(HOOK_WITHIN, child.wait_with_output()).await.map_err(late)?.map_err(failed)?;
    if !output.status.success() {
        return Err(Failure::local_with(
            format!("`{line}` ends with {}", output.status),
            "run it yourself to see more; `plenary connect` writes it again",
        ));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Ok((text(&output.stdout), clean(&text(&output.stderr)).into_owned()))
}

/// Marks the probe as seen, unless that would mark another sender's frame too; otherwise it expires soon.
async fn clean_up(agent: &Client, handle: &AgentHandle) -> Result<(), Failure> {
    let page = frames(agent, None).await?;
    let sibling = format!("@{}.{SIBLING}", handle.owner_name());
    if !page.items.is_empty() && page.items.iter().all(|item| item["from"] == sibling.as_str()) {
        agent.ack_inbox(&page.cursor, AckState::Seen).await?;
    }
    Ok(())
}

/// What holds messages back from the hooks, if anything does.
pub(super) async fn held_back_by(context: &Context, handle: &AgentHandle) -> Result<Option<String>, Failure> {
    let me = client_of(context, handle)?.me().await?.value;
    let is_over = |until: TimestampMs| until <= now();
    let Some(period) = me.attention.filter(|period| !period.until.is_some_and(is_over)) else {
        return Ok(None);
    };
    let until = period.until.map(|until| format!(" until {}", until.rfc3339())).unwrap_or_default();
    Ok(Some(format!(
        "the attention of {handle} is `{}`{until}: hooks hold messages back; `plenary attention open --as {handle}` ends it",
        period.level
    )))
}

/// A client with the saved token of an agent.
fn client_of(context: &Context, handle: &AgentHandle) -> Result<Client, Failure> {
    let missing = || Failure::local(format!("no token of {handle} is saved here"));
    context.saved_client(handle)?.ok_or_else(missing)
}

async fn sibling(context: &Context, owner: &str) -> Result<Client, Failure> {
    let handle: AgentHandle = format!("@{owner}.{SIBLING}")
        .parse()
        .map_err(|error| Failure::local(format!("the sibling's name: {error}")))?;
    if ensure_token(context, &handle).await?.is_none() {
        return Err(Failure::local_with(
            format!("{handle}, which sends the test message, was deleted"),
            "nothing else depends on it; the results above are valid",
        ));
    }
    client_of(context, &handle)
}
