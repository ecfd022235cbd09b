//! A frame from a sibling to the agent, and the coding agent's own hook run as it would be: it must show the frame. A frame
//! stands in no session and is forgotten after minutes, so nothing is left behind.
//! Must not know: how a hook answers.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use plenary_client::{
    Client,
    frames::{Advisory, ComputeLocation, ContextCheck, Frame, Payload, Scope, Seat, Uuid, VERSION, now},
};
use plenary_kernel::{AgentHandle, SovereignHandle};
use plenary_wire::inbox::{self, AckRequest, AckState, InboxPage, InboxQuery};
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
/// The session as which an agent's inbox reads frames: who listens is not disturbed.
const INBOX_SESSION: &str = "inbox";
/// A frame is in the inbox long before.
const INBOX_WITHIN: Duration = Duration::from_secs(5);
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
    let agent = client_of(context, &connected.agent)?;
    let probe = probe(&connected.agent)?;
    // Whatever is unread there already is not the probe.
    let before = frames(&agent, None).await?.cursor;
    let scope = Scope::session(&probe.recipient_handle, connected.agent.name(), INBOX_SESSION);
    sibling.submit_frame(&probe, Some(&scope), &Seat::default()).await?;
    if !arrives(&agent, before, &probe.frame_id).await? {
        return Err(unreached(connected));
    }
    let outcome = look(coding, written, directory, probe.frame_id.as_str()).await;
    clean_up(&agent, &connected.agent).await?;
    outcome
}

/// A frame whose text is its own id.
fn probe(agent: &AgentHandle) -> Result<Frame, Failure> {
    let owner = agent.owner_name();
    let of = |name: &str| {
        let parsed: Result<SovereignHandle, _> = format!("~{name}").parse();
        parsed.map_err(|error| Failure::local(format!("the sibling's name: {error}")))
    };
    let (handle, frame_id) = (of(owner.as_str())?, Uuid::random());
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
        drafted_with: of(SIBLING)?.to_string(),
        provenance_compute_location: ComputeLocation::ServerActive,
        provenance_method: vec!["command-line".to_owned()],
        provenance_return_ref: None,
        provenance_context_check: ContextCheck::Skipped,
        provenance_basis: "agent-channel/own-request".to_owned(),
    })
}

/// Frames in an inbox, behind a cursor or the unread ones.
async fn frames(agent: &Client, after: Option<String>) -> Result<InboxPage, Failure> {
    Ok(agent.call(&inbox::READ, &[], &frames_after(after), &()).await?.value)
}

fn frames_after(after: Option<String>) -> InboxQuery {
    InboxQuery { after, limit: Some(100), kinds: Some("frame".to_owned()), timeout_s: None }
}

/// Whether a frame comes into an inbox behind a cursor.
async fn arrives(agent: &Client, mut after: String, frame: &Uuid) -> Result<bool, Failure> {
    let by = Instant::now() + INBOX_WITHIN;
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let page = agent.wait_inbox(&frames_after(Some(after)), left).await?.value;
        if page.items.iter().any(|item| item["ref"]["frame_id"] == frame.as_str()) {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
        after = page.cursor;
    }
}

/// What is said where the agent lets no sibling reach it.
fn unreached(connected: &Connected) -> Failure {
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

/// Marks the frame as seen where no frame of anybody else would be marked with it; else it is soon forgotten.
async fn clean_up(agent: &Client, handle: &AgentHandle) -> Result<(), Failure> {
    let page = frames(agent, None).await?;
    let sibling = format!("@{}.{SIBLING}", handle.owner_name());
    if !page.items.is_empty() && page.items.iter().all(|item| item["from"] == sibling.as_str()) {
        let request = AckRequest { cursor: page.cursor.clone(), state: AckState::Seen };
        agent.call(&inbox::ACK, &[], &(), &request).await?;
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
