//! An event of a coding agent's session, in the form of any coding agent.
//! Must not know: the answer.

use std::path::PathBuf;

use plenary_client::inbox::CodingSession;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::program::Program;
use crate::cli::{connect::CodingAgent, whole_pairs::with_whole_pairs};

/// How often in a row new messages may continue a turn that is about to end.
pub(crate) const STOPS_MAX: u32 = 5;

/// Not an event of a coding agent: a process that waits beside its session.
pub(crate) const WAIT: &str = "Wait";

/// The event of a tool that needs a permission.
pub(crate) const PERMISSION: &str = "PermissionRequest";

/// The event of an MCP server that asks the user for input.
pub(crate) const ELICITATION: &str = "Elicitation";

/// Not an event either: a process that watches a session's program.
pub(super) const WATCH: &str = "Watch";

/// The moments at which a hook acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A session starts or resumes.
    Start,
    /// The user sent a prompt.
    Prompt,
    /// A tool was used.
    Tool,
    /// A tool is about to ask for a permission.
    Permission,
    /// An MCP server is about to ask the user.
    Elicitation,
    /// The turn is about to end.
    Stop,
    /// The conversation is about to be compacted.
    Compact,
    /// The session has ended.
    End,
    /// The session is idle, and this process waits for news.
    Wait,
    /// This process watches the session's program.
    Watch,
}

impl Moment {
    /// The name of the moment for the server.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::Tool | Self::Permission | Self::Elicitation => "tool",
            Self::Stop => "stop",
            Self::Compact => "compact",
            Self::End => "end",
            Self::Wait => "wake",
            Self::Watch => "alive",
        }
    }
}

/// An event of a coding agent's session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The coding agent's name for it.
    pub(super) name: String,
    pub(super) moment: Moment,
    pub(super) coding: CodingAgent,
    /// Its session; may be empty.
    pub(super) session: String,
    /// The session's directory.
    pub(super) directory: Option<PathBuf>,
    /// Whether a hook has already continued this turn.
    pub(super) is_continued: bool,
    /// Whether the prompt is not the user's, but the text that woke the session.
    pub(super) is_wake_prompt: bool,
    /// Whether the coding agent takes text at the end of a turn as context rather than as an objection.
    pub(super) takes_context: bool,
    /// Whether the event is routine: nothing was compacted, or the session continues.
    pub(super) is_routine: bool,
    /// Whether the user or an error interrupted the turn.
    pub(super) is_interrupted: bool,
    /// Whether it belongs to a subagent: the session never sees text that the subagent gets.
    pub(super) is_subagent: bool,
    /// The session's program, if a hook passes it to another process.
    pub(super) program: Option<Program>,
    /// The tool and its arguments.
    pub(super) tool: Option<(String, Map<String, Value>)>,
    pub(super) elicitation: Option<Elicitation>,
    /// The coding agent's JSON.
    pub(super) input: Vec<u8>,
}

/// The input that an MCP server asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Elicitation {
    /// The coding agent's name for the server.
    pub(super) server: String,
    /// The server's message.
    pub(super) message: String,
    /// The form; `None` if the server asks on a web page.
    pub(super) schema: Option<Map<String, Value>>,
}

/// The name of a session without one.
const NAMELESS: &str = "unnamed";
/// Maximum length of a session's name on the server, in characters.
const SESSION_CHARS_MAX: usize = 128;

/// The beginning of the name that a session gets from its program.
const OF_PROGRAM: &str = "program-";

impl Event {
    /// Names a session without a name after its program: another program has another session.
    pub(super) fn name_after(&mut self, program: impl FnOnce() -> Option<Program>) {
        if self.session.is_empty()
            && let Some(Program { pid, since }) = program()
        {
            self.session = format!("{OF_PROGRAM}{pid}-{}", since.unwrap_or_default());
        }
    }

    /// Whether the coding agent itself names the session.
    pub(super) fn is_named(&self) -> bool {
        !self.session.is_empty() && !self.session.starts_with(OF_PROGRAM)
    }

    /// The session in the server's terms.
    pub(super) fn coding_session(&self) -> CodingSession<'_> {
        let end =
            self.session.char_indices().nth(SESSION_CHARS_MAX).map_or(self.session.len(), |(end, _)| end);
        let session = Some(&self.session[..end]).filter(|session| !session.is_empty()).unwrap_or(NAMELESS);
        CodingSession { session, client: self.coding.as_str() }
    }
}

/// The members that are read, of any type; every coding agent sends more.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    hook_event_name: Value,
    session_id: Value,
    /// The name in GitHub Copilot CLI.
    #[serde(rename = "sessionId")]
    session: Value,
    conversation_id: Value,
    /// The name in Antigravity.
    #[serde(rename = "conversationId")]
    conversation: Value,
    cwd: Value,
    /// The name in Goose.
    working_dir: Value,
    workspace_roots: Value,
    #[serde(rename = "workspacePaths")]
    workspaces: Value,
    stop_hook_active: Value,
    prompt: Value,
    trigger: Value,
    reason: Value,
    loop_count: Value,
    status: Value,
    agent_id: Value,
    program: Value,
    since: Value,
    tool_name: Value,
    /// Large, and read only for a permission request.
    tool_input: Option<Box<RawValue>>,
    mcp_server_name: Value,
    message: Value,
    requested_schema: Value,
}

/// The value if it is a text; a value of another type counts as absent and never fails the hook.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn parse(bytes: &[u8]) -> Result<Input, String> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Input::default());
    }
    let mended = |_| serde_json::from_str(&with_whole_pairs(&String::from_utf8_lossy(bytes)));
    // The JSON may be private, and the parser's error could quote it.
    let wrong = |_| "standard input is not the JSON of a hook".to_owned();
    serde_json::from_slice(bytes).or_else(mended).map_err(wrong)
}

/// The tool that needs a permission, and its arguments. A person decides by them, so unreadable ones are not passed over.
fn tool(input: &Input) -> Result<(String, Map<String, Value>), String> {
    let name = text(&input.tool_name).ok_or("the tool has no name")?.to_owned();
    let arguments = input.tool_input.as_deref().map_or("{}", RawValue::get);
    let arguments = serde_json::from_str(&with_whole_pairs(arguments));
    let arguments: Option<Map<String, Value>> =
        arguments.map_err(|_| "the tool's arguments cannot be read".to_owned())?;
    Ok((name, arguments.unwrap_or_default()))
}

/// Reads an event; an argument overrides the JSON.
pub(super) fn read(bytes: &[u8], argument: Option<&str>, coding: Option<&str>) -> Result<Event, String> {
    let input = parse(bytes)?;
    let reported_name = text(&input.hook_event_name);
    let name = argument.or(reported_name).ok_or("no event is named")?;
    let moment = moment(name).ok_or_else(|| format!("there is no answer to the event `{}`", quoted(name)))?;
    let coding = match coding {
        Some(client_name) => {
            let client_name = client_name.to_ascii_lowercase();
            CodingAgent::named(&client_name)
                .ok_or_else(|| format!("there is no client `{}`", quoted(&client_name)))?
        }
        None => looks_like(&input, name),
    };
    let reported_name = reported_name.filter(|reported_name| self::moment(reported_name) == Some(moment));
    let roots = [&input.workspace_roots, &input.workspaces].into_iter();
    let root = || roots.filter_map(Value::as_array).flatten().find_map(text);
    let directory = text(&input.cwd).or(text(&input.working_dir)).or_else(root).map(PathBuf::from);
    let sessions = [&input.session_id, &input.session, &input.conversation_id, &input.conversation];
    let session = sessions.into_iter().find_map(text);
    let loops = input.loop_count.as_f64().is_some_and(|count| count > 0.0);
    let tool = (moment == Moment::Permission).then(|| tool(&input)).transpose()?;
    let elicitation = (moment == Moment::Elicitation).then(|| Elicitation {
        server: text(&input.mcp_server_name).unwrap_or("a server").to_owned(),
        message: text(&input.message).unwrap_or("It asks for input.").to_owned(),
        schema: input.requested_schema.as_object().cloned(),
    });
    Ok(Event {
        tool,
        elicitation,
        name: reported_name.unwrap_or_else(|| own_name(coding, moment)).to_owned(),
        moment,
        coding,
        session: session.unwrap_or_default().to_owned(),
        directory: directory.filter(|path| path.is_absolute()),
        is_continued: input.stop_hook_active == true || loops,
        is_wake_prompt: text(&input.prompt).is_some_and(|prompt| is_wake_prompt(coding, prompt)),
        takes_context: false,
        input: Vec::new(),
        is_routine: match moment {
            // Gemini CLI reports this event before each request to its model.
            Moment::Compact => coding == CodingAgent::Gemini && input.trigger != "manual",
            // Copilot reports this event after each turn; its session ends when its program ends.
            Moment::End => coding == CodingAgent::Copilot && input.reason == "complete",
            Moment::Start
            | Moment::Prompt
            | Moment::Tool
            | Moment::Permission
            | Moment::Elicitation
            | Moment::Stop
            | Moment::Wait
            | Moment::Watch => false,
        },
        is_interrupted: input.status == "aborted" || input.status == "error",
        is_subagent: text(&input.agent_id).is_some(),
        program: input
            .program
            .as_u64()
            .and_then(|pid| Some(Program { pid: u32::try_from(pid).ok()?, since: input.since.as_u64() })),
    })
}

/// The line that wakes Codex; the hook then prints the news.
pub(super) const QUEUED: &str = "Messages from the Plenary network have arrived; they come with this prompt.";

/// Claude Code puts the text that wakes it into a notification of its own, and so do our modules.
fn is_wake_prompt(coding: CodingAgent, prompt: &str) -> bool {
    if coding == CodingAgent::Codex {
        return prompt.trim() == QUEUED;
    }
    prompt.trim_start().starts_with("<task-notification>")
}

/// The first Claude Code version known to take context at the end of a turn.
const CONTEXT_AT_STOP: [u32; 3] = [2, 1, 330];

/// Whether a program that identifies itself as `claude-code_2-1-330_harness` takes it.
pub(super) fn takes_context(program: Option<&str>) -> bool {
    let version = program.and_then(|name| name.strip_prefix("claude-code_")?.split('_').next());
    let numbers: Option<Vec<u32>> =
        version.map(|version| version.split('-').map_while(|number| number.parse().ok()).collect());
    numbers.is_some_and(|numbers| numbers.len() == 3 && numbers[..] >= CONTEXT_AT_STOP[..])
}

/// The moment of an event name in any spelling: `SessionStart`, `sessionStart`, `session-start`.
fn moment(name: &str) -> Option<Moment> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    Some(match plain.as_str() {
        "sessionstart" => Moment::Start,
        "userpromptsubmit" | "userpromptsubmitted" | "beforeagent" => Moment::Prompt,
        "permissionrequest" => Moment::Permission,
        "elicitation" => Moment::Elicitation,
        "posttooluse" | "posttoolusefailure" | "posttoolbatch" | "aftertool" => Moment::Tool,
        "stop" | "agentstop" | "afteragent" => Moment::Stop,
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

/// A coding agent's name for a moment: from its table, else Claude Code's.
fn own_name(coding: CodingAgent, moment: Moment) -> &'static str {
    let tool = coding.tool();
    let own = tool.events().iter().find(|event| self::moment(tool.own_event(event)) == Some(moment));
    own.copied().unwrap_or(match moment {
        Moment::Permission => PERMISSION,
        Moment::Elicitation => ELICITATION,
        Moment::Wait => WAIT,
        Moment::Watch => WATCH,
        Moment::Start => "SessionStart",
        Moment::Prompt => "UserPromptSubmit",
        Moment::Tool => "PostToolUse",
        Moment::Stop => "Stop",
        Moment::Compact => "PreCompact",
        Moment::End => "SessionEnd",
    })
}

/// A foreign name, made safe for one line.
fn quoted(name: &str) -> String {
    crate::out::clean(name).chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_of(json: &str) -> Event {
        read(json.as_bytes(), None, None).unwrap()
    }

    #[test]
    fn a_session_without_a_name_is_that_of_its_program() {
        let named = |input: &str, program| {
            let mut event = read(input.as_bytes(), Some("Stop"), Some("claude")).unwrap();
            event.name_after(|| program);
            (event.coding_session().session.to_owned(), event.is_named())
        };
        let program = |pid| Some(Program { pid, since: Some(9) });
        assert_eq!(named("{}", program(5)), ("program-5-9".to_owned(), false));
        assert_eq!(named("{}", program(6)), ("program-6-9".to_owned(), false));
        assert_eq!(named(r#"{"session_id":"s"}"#, program(5)), ("s".to_owned(), true));
        assert_eq!(named("{}", None), (NAMELESS.to_owned(), false));
    }

    #[test]
    fn each_coding_agent_is_recognised_by_its_input() {
        let claude =
            event_of(r#"{"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#);
        assert_eq!(
            (claude.coding, claude.moment, claude.session.as_str()),
            (CodingAgent::Claude, Moment::Prompt, "s")
        );
        assert_eq!(claude.directory, Some(PathBuf::from("/w")));
        let gemini = event_of(
            r#"{"session_id":"s","cwd":"/w","hook_event_name":"AfterAgent","stop_hook_active":true}"#,
        );
        assert_eq!(
            (gemini.coding, gemini.moment, gemini.is_continued),
            (CodingAgent::Gemini, Moment::Stop, true)
        );
        let cursor = event_of(
            r#"{"conversation_id":"c","workspace_roots":["/w"],"hook_event_name":"stop","loop_count":2,"status":"completed"}"#,
        );
        assert_eq!(
            (cursor.coding, cursor.moment, cursor.is_continued),
            (CodingAgent::Cursor, Moment::Stop, true)
        );
        assert!(
            !cursor.is_interrupted
                && event_of(r#"{"hook_event_name":"stop","status":"aborted"}"#).is_interrupted
        );
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
    fn a_wake_prompt_is_not_a_prompt_of_the_user() {
        let is_wake = |coding: &str, prompt: &str| {
            let json =
                serde_json::json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string();
            read(json.as_bytes(), None, Some(coding)).unwrap().is_wake_prompt
        };
        let notified = "<task-notification>\n<summary>Messages</summary>\n</task-notification>";
        assert!(is_wake("claude", notified) && !is_wake("claude", "go on") && !is_wake("codex", notified));
        assert!(is_wake("codex", QUEUED) && !is_wake("codex", "messages have arrived?"));
    }

    #[test]
    fn gemini_cli_reports_summaries_that_it_does_not_write() {
        let compress = |trigger: &str| {
            event_of(&format!(r#"{{"hook_event_name":"PreCompress","trigger":"{trigger}"}}"#))
        };
        assert!(compress("auto").is_routine && !compress("manual").is_routine);
        assert!(!event_of(r#"{"hook_event_name":"PreCompact","trigger":"auto"}"#).is_routine);
    }

    #[test]
    fn copilot_reports_an_end_after_each_turn() {
        let ends = |coding, reason: &str| {
            let json = format!(r#"{{"sessionId":"s","reason":"{reason}"}}"#);
            read(json.as_bytes(), Some("sessionEnd"), Some(coding)).unwrap().is_routine
        };
        assert!(ends("copilot", "complete"), "a turn of its session has ended");
        assert!(!ends("copilot", "user_exit") && !ends("cursor", "complete"));
    }

    #[test]
    fn context_at_the_end_of_a_turn_is_for_versions_that_accept_it() {
        for (program, takes) in [
            (Some("claude-code_2-1-330_harness"), true),
            (Some("claude-code_2-2-0"), true),
            (Some("claude-code_2-1-99_harness"), false),
            (Some("claude-code_x"), false),
            (Some("other_9-9-9"), false),
            (None, false),
        ] {
            assert_eq!(takes_context(program), takes, "{program:?}");
        }
    }

    #[test]
    fn a_member_of_a_wrong_type_ends_no_hook() {
        let event = event_of(
            r#"{"hook_event_name":"Stop","session_id":7,"cwd":null,"workspace_roots":"/w","stop_hook_active":null,"loop_count":1.0,"status":{},"agent_id":null,"tool_response":"\ud83d"}"#,
        );
        assert_eq!((event.moment, event.session.as_str(), event.directory), (Moment::Stop, "", None));
        assert!(event.is_continued && !event.is_interrupted && !event.is_subagent);
        assert!(event_of(r#"{"hook_event_name":"PostToolUse","agent_id":"sub-1"}"#).is_subagent);
    }

    #[test]
    fn half_a_character_and_arguments_that_nobody_reads_end_no_hook() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        for arguments in [r#""\ud83d""#, r#"{"n":1e999}"#, &deep, "7", "null"] {
            let event = event_of(&format!(r#"{{"hook_event_name":"PostToolUse","tool_input":{arguments}}}"#));
            assert_eq!((event.moment, event.tool), (Moment::Tool, None), "{arguments}");
        }
        let event = event_of(r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"a\ud83d"}"#);
        assert_eq!(event.session, "s");
        let request = |arguments: &str| {
            let text = format!(
                r#"{{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{arguments}}}"#
            );
            read(text.as_bytes(), None, None)
        };
        let arguments = |text| request(text).unwrap().tool.unwrap().1;
        assert_eq!(arguments(r#"{"command":"echo \ud83d"}"#)["command"], "echo \u{fffd}");
        assert!(arguments("null").is_empty() && arguments("{}").is_empty());
        // A person would allow what nobody can show.
        let deep = format!("{{\"n\":{deep}}}");
        for unreadable in [r#"{"n":1e999}"#, &deep, "7", r#""rm -rf /""#, r#"["rm"]"#] {
            assert!(request(unreadable).is_err(), "{unreadable}");
        }
        for nameless in ["{}", r#"{"tool_name":7}"#, r#"{"tool_name":"","tool_input":{"command":"ls"}}"#] {
            assert!(read(nameless.as_bytes(), Some("PermissionRequest"), None).is_err(), "{nameless}");
        }
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
