//! What a coding agent says of a moment in its session, whichever of them says it.
//! Must not know: what is answered.

use std::path::PathBuf;

use clap::ValueEnum as _;
use plenary_client::inbox::CodingSession;
use serde::Deserialize;
use serde_json::Value;

use super::program::Program;
use crate::cli::connect::CodingAgent;

/// So often in a row new messages continue a turn that was about to end.
pub(crate) const STOPS_MAX: u32 = 5;

/// No event of a coding agent, but a process beside its session.
pub(crate) const WAIT: &str = "Wait";

/// No event either, but a process that looks after a session.
pub(super) const WATCH: &str = "Watch";

/// The moments that something is done at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A session begins or goes on.
    Start,
    /// A person said something.
    Prompt,
    /// A tool was used.
    Tool,
    /// The turn is about to end.
    Stop,
    /// What was said is about to be summarised.
    Compact,
    /// The session has ended.
    End,
    /// The session waits for its person, and this process for what is new.
    Wait,
    /// This process looks after the session's program.
    Watch,
}

impl Moment {
    /// As the server is told of it.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::Tool => "tool",
            Self::Stop => "stop",
            Self::Compact => "compact",
            Self::End => "end",
            Self::Wait => "wake",
            Self::Watch => "alive",
        }
    }
}

/// One moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// What the coding agent calls it.
    pub(super) name: String,
    /// Which moment it is.
    pub(super) moment: Moment,
    /// Who tells of it.
    pub(super) coding: CodingAgent,
    /// Its session; may be empty.
    pub(super) session: String,
    /// Where it is.
    pub(super) directory: Option<PathBuf>,
    /// Whether a hook has continued this turn already.
    pub(super) continued: bool,
    /// Whether the turn was broken off by a person or an error.
    pub(super) broken_off: bool,
    /// Whether it is of an agent within the session: what is put before that one, the session never sees.
    pub(super) within: bool,
    /// The program of the session, where a hook says it of another.
    pub(super) program: Option<Program>,
}

/// What a session is called that has no name.
const NAMELESS: &str = "unnamed";
/// The longest name of a session that the server takes.
const SESSION_CHARS_MAX: usize = 128;

impl Event {
    /// The session as the server knows it.
    pub(super) fn coding_session(&self) -> CodingSession<'_> {
        let end =
            self.session.char_indices().nth(SESSION_CHARS_MAX).map_or(self.session.len(), |(end, _)| end);
        let session = Some(&self.session[..end]).filter(|session| !session.is_empty()).unwrap_or(NAMELESS);
        CodingSession { session, client: self.coding.as_str() }
    }
}

/// The members that are looked at, each whatever it is; every coding agent tells more.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    hook_event_name: Value,
    session_id: Value,
    conversation_id: Value,
    cwd: Value,
    workspace_roots: Value,
    stop_hook_active: Value,
    loop_count: Value,
    status: Value,
    agent_id: Value,
    program: Value,
    since: Value,
}

/// A text that is one; an odd member is none, and never the end of a hook.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Reads an event; an argument wins over what the JSON says.
pub(super) fn read(octets: &[u8], told: Option<&str>, coding: Option<&str>) -> Result<Event, String> {
    let input: Input = if octets.trim_ascii().is_empty() {
        Input::default()
    } else {
        // The text itself may be private, and an error of the parser could quote it.
        serde_json::from_slice(octets).map_err(|_| "standard input is not the JSON of a hook".to_owned())?
    };
    let said = text(&input.hook_event_name);
    let name = told.or(said).ok_or("no event is named")?;
    let moment = moment(name).ok_or_else(|| format!("there is no answer to the event `{}`", shown(name)))?;
    let coding = match coding {
        Some(word) => {
            CodingAgent::from_str(word, true).map_err(|_| format!("there is no client `{}`", shown(word)))?
        }
        None => looks_like(&input, name),
    };
    let said = said.filter(|said| self::moment(said) == Some(moment));
    let root = || input.workspace_roots.as_array()?.iter().find_map(text);
    let directory = text(&input.cwd).or_else(root).map(PathBuf::from);
    let session = text(&input.session_id).or(text(&input.conversation_id));
    let loops = input.loop_count.as_f64().is_some_and(|count| count > 0.0);
    Ok(Event {
        name: said.unwrap_or_else(|| own_name(coding, moment)).to_owned(),
        moment,
        coding,
        session: session.unwrap_or_default().to_owned(),
        directory: directory.filter(|path| path.is_absolute()),
        continued: input.stop_hook_active == true || loops,
        broken_off: input.status == "aborted" || input.status == "error",
        within: text(&input.agent_id).is_some(),
        program: input
            .program
            .as_u64()
            .and_then(|pid| Some(Program { pid: u32::try_from(pid).ok()?, since: input.since.as_u64() })),
    })
}

/// By the name alone, however it is written: `SessionStart`, `sessionStart`, `session-start`.
fn moment(name: &str) -> Option<Moment> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    Some(match plain.as_str() {
        "sessionstart" => Moment::Start,
        "userpromptsubmit" | "beforeagent" => Moment::Prompt,
        "posttooluse" | "posttoolusefailure" | "posttoolbatch" | "aftertool" => Moment::Tool,
        "stop" | "afteragent" => Moment::Stop,
        "precompact" | "precompress" => Moment::Compact,
        "sessionend" => Moment::End,
        "wait" => Moment::Wait,
        "watch" => Moment::Watch,
        _ => return None,
    })
}

fn looks_like(input: &Input, name: &str) -> CodingAgent {
    let is_lower = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(['-', '_']);
    if text(&input.conversation_id).is_some() || (is_lower && name != "stop") {
        CodingAgent::Cursor
    } else if ["BeforeAgent", "AfterAgent", "AfterTool", "PreCompress"].contains(&name) {
        CodingAgent::Gemini
    } else {
        CodingAgent::Claude
    }
}

/// What a coding agent calls a moment.
const fn own_name(coding: CodingAgent, moment: Moment) -> &'static str {
    match (coding, moment) {
        (CodingAgent::Cursor, Moment::Start) => "sessionStart",
        (CodingAgent::Cursor, Moment::Prompt) => "beforeSubmitPrompt",
        (CodingAgent::Cursor, Moment::Tool) => "postToolUse",
        (CodingAgent::Cursor, Moment::Stop) => "stop",
        (CodingAgent::Cursor, Moment::Compact) => "preCompact",
        (CodingAgent::Cursor, Moment::End) => "sessionEnd",
        (_, Moment::Wait) => WAIT,
        (_, Moment::Watch) => WATCH,
        (_, Moment::Start) => "SessionStart",
        (_, Moment::End) => "SessionEnd",
        (CodingAgent::Gemini, Moment::Prompt) => "BeforeAgent",
        (CodingAgent::Gemini, Moment::Tool) => "AfterTool",
        (CodingAgent::Gemini, Moment::Stop) => "AfterAgent",
        (CodingAgent::Gemini, Moment::Compact) => "PreCompress",
        (_, Moment::Prompt) => "UserPromptSubmit",
        (_, Moment::Tool) => "PostToolUse",
        (_, Moment::Stop) => "Stop",
        (_, Moment::Compact) => "PreCompact",
    }
}

/// A foreign word as it may stand in a line.
fn shown(word: &str) -> String {
    crate::out::clean(word).chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Event {
        read(json.as_bytes(), None, None).unwrap()
    }

    #[test]
    fn each_coding_agent_is_known_by_what_it_says() {
        let claude =
            of(r#"{"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#);
        assert_eq!(
            (claude.coding, claude.moment, claude.session.as_str()),
            (CodingAgent::Claude, Moment::Prompt, "s")
        );
        assert_eq!(claude.directory, Some(PathBuf::from("/w")));
        let gemini =
            of(r#"{"session_id":"s","cwd":"/w","hook_event_name":"AfterAgent","stop_hook_active":true}"#);
        assert_eq!(
            (gemini.coding, gemini.moment, gemini.continued),
            (CodingAgent::Gemini, Moment::Stop, true)
        );
        let cursor = of(
            r#"{"conversation_id":"c","workspace_roots":["/w"],"hook_event_name":"stop","loop_count":2,"status":"completed"}"#,
        );
        assert_eq!(
            (cursor.coding, cursor.moment, cursor.continued),
            (CodingAgent::Cursor, Moment::Stop, true)
        );
        assert!(!cursor.broken_off && of(r#"{"hook_event_name":"stop","status":"aborted"}"#).broken_off);
    }

    #[test]
    fn an_argument_wins_and_the_answer_bears_the_coding_agents_own_name() {
        let event = read(b"", Some("session-start"), Some("gemini")).unwrap();
        assert_eq!((event.name.as_str(), event.moment), ("SessionStart", Moment::Start));
        let event =
            read(br#"{"hook_event_name":"PostToolBatch"}"#, Some("PostToolUse"), Some("claude")).unwrap();
        assert_eq!(event.name, "PostToolBatch");
        let event = read(br#"{"hook_event_name":"Stop"}"#, Some("posttooluse"), Some("cursor")).unwrap();
        assert_eq!(event.name, "postToolUse");
    }

    #[test]
    fn an_odd_member_ends_no_hook() {
        let event = of(
            r#"{"hook_event_name":"Stop","session_id":7,"cwd":null,"workspace_roots":"/w","stop_hook_active":null,"loop_count":1.0,"status":{},"agent_id":null,"tool_response":"\ud83d"}"#,
        );
        assert_eq!((event.moment, event.session.as_str(), event.directory), (Moment::Stop, "", None));
        assert!(event.continued && !event.broken_off && !event.within);
        assert!(of(r#"{"hook_event_name":"PostToolUse","agent_id":"sub-1"}"#).within);
    }

    #[test]
    fn what_is_not_known_is_named_and_nothing_private_is() {
        for (json, event, coding) in [
            ("", None, None),
            ("{\"prompt\": \"secret", Some("Stop"), None),
            ("[]", None, None),
            ("{\"hook_event_name\":\"PreToolUse\"}", None, None),
            ("{}", Some("Stop"), Some("emacs")),
        ] {
            let why = read(json.as_bytes(), event, coding).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
