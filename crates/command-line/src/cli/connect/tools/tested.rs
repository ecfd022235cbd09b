//! Coding agents that run hooks from their settings and that the tests run. Pure.
//! Must not know: how settings are changed.

use super::super::{
    coding_agents::CodingAgent,
    tool::{
        FixedValue, HookShape, Hooks, More, Off, Reach, ServerShape, Servers, Settings, SettingsLocation,
        Start, Switch, Tool,
    },
};
use super::{
    ALWAYS, CLAUDE_EVENTS, DOLLAR, MILLISECONDS, NO, NO_HOOKS, NO_SERVER, REMOVE, SECONDS, file, files,
    hooks, moved, reach, servers, switch, tested, tool,
};
use crate::cli::hook::{ELICITATION, PERMISSION};

const CODEX_HOME: &str = "CODEX_HOME";
const QWEN_SETTINGS: SettingsLocation = file(".qwen/settings.json");
const KIMI_HOME: &str = "KIMI_CODE_HOME";
const KIMI_SETTINGS: SettingsLocation =
    moved(files(".kimi-code/mcp.json", ".kimi-code/mcp.json"), KIMI_HOME, "mcp.json");
const COPILOT_HOME: &str = "COPILOT_HOME";

pub(super) const CLAUDE: Tool = Tool {
    servers: Some(Servers {
        types: (Some("stdio"), Some("http")),
        ..servers(files(".mcp.json", ".claude.json"))
    }),
    // Not `settings.json`, which is shared with the other users of the project.
    hooks: Hooks::Settings(hooks(
        files(".claude/settings.local.json", ".claude/settings.json"),
        SECONDS,
        CLAUDE_EVENTS,
    )),
    allowed: Some((&["permissions", "allow"], "mcp__plenary__")),
    start: Start::ClaudeFlags,
    asks_person: &[PERMISSION, ELICITATION],
    reach: Reach {
        wakes: true,
        ..tested("2.1.330", reach(ALWAYS, "with --wake, from the start on", "claude -p: as in a terminal"))
    },
    next: "start `claude` here; a session that is already running uses the hooks from its next start",
    ..tool(CodingAgent::Claude, "claude", "Claude Code", "claude")
};

pub(super) const CODEX: Tool = Tool {
    servers: Some(Servers {
        list: &["mcp_servers"],
        shape: ServerShape::Toml,
        // Its default time limit of a call is 60 s; our tools wait for at most 110 s.
        more: &[("tool_timeout_sec", More::Number(120))],
        ..servers(moved(file(".codex/config.toml"), CODEX_HOME, "config.toml"))
    }),
    hooks: Hooks::Settings(hooks(
        moved(file(".codex/hooks.json"), CODEX_HOME, "hooks.json"),
        SECONDS,
        &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"],
    )),
    start: Start::TomlFlags,
    asks_person: &[PERMISSION],
    reach: Reach {
        wakes: true,
        ..tested(
            "0.169.0",
            reach(
                ALWAYS,
                "with --wake, in a terminal",
                "codex exec: as in a terminal, when the hooks are trusted",
            ),
        )
    },
    next: "start `codex` here, and trust the directory when it asks",
    ..tool(CodingAgent::Codex, "codex", "Codex", "codex")
};

pub(super) const GEMINI: Tool = Tool {
    servers: Some(Servers {
        http: ("httpUrl", DOLLAR),
        more: &[("trust", More::TrueUnlessAsked)],
        ..servers(file(".gemini/settings.json"))
    }),
    hooks: Hooks::Settings(hooks(
        file(".gemini/settings.json"),
        MILLISECONDS,
        &["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"],
    )),
    start: Start::LinkedHome { variable: "GEMINI_CLI_HOME" },
    reach: tested(
        "0.61.0",
        reach(ALWAYS, NO, "gemini -p: as in a terminal; in an editor (--acp): at the end of the turn"),
    ),
    next: "start `gemini` here and trust the folder: until then the server is shown as disabled",
    ..tool(CodingAgent::Gemini, "gemini", "Gemini CLI", "gemini")
};

pub(super) const QWEN: Tool = Tool {
    servers: Some(Servers {
        http: ("httpUrl", DOLLAR),
        more: &[("trust", More::TrueUnlessAsked), ("timeout", More::Number(120_000))],
        itself: &["$version"],
        ..servers(QWEN_SETTINGS)
    }),
    hooks: Hooks::Settings(hooks(QWEN_SETTINGS, SECONDS, CLAUDE_EVENTS)),
    start: Start::Defaults {
        variable: "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
        system: "/etc/qwen-code/system-defaults.json",
    },
    reach: tested("0.24.4", reach(ALWAYS, NO, "qwen -p: as in a terminal")),
    next: "where folders have to be trusted, trust this one: until then it runs no hook",
    switches: &[
        Switch {
            machine: Some("/etc/qwen-code/settings.json"),
            ..switch(QWEN_SETTINGS, &["disableAllHooks"], Off::True, (NO_HOOKS, REMOVE))
        },
        switch(
            QWEN_SETTINGS,
            &["mcp", "excluded"],
            Off::Has("plenary"),
            (NO_SERVER, "correct `mcp.excluded`"),
        ),
        switch(
            QWEN_SETTINGS,
            &["mcp", "allowed"],
            Off::Lacks("plenary"),
            (NO_SERVER, "correct `mcp.allowed`"),
        ),
    ],
    ..tool(CodingAgent::Qwen, "qwen", "Qwen Code", "qwen")
};

pub(super) const KIMI: Tool = Tool {
    servers: Some(Servers { more: &[("toolTimeoutMs", More::Number(120_000))], ..servers(KIMI_SETTINGS) }),
    // It has hooks only for the user, in every directory.
    hooks: Hooks::Settings(hooks(
        SettingsLocation {
            project: None,
            user: ".kimi-code/config.toml",
            moved: Some((KIMI_HOME, "config.toml")),
        },
        HookShape::Toml,
        CLAUDE_EVENTS,
    )),
    reach: Reach {
        unasked: false,
        ..tested(
            "2.1.0",
            reach(
                "at the end of the turn, with --user",
                NO,
                "kimi -p: at the prompt and at the end of the turn, with --user",
            ),
        )
    },
    next: "start `kimi` here; its hooks are the user's alone, so messages arrive by themselves only where it was connected \
           with --user",
    switches: &[switch(
        KIMI_SETTINGS,
        &["mcpServers", "plenary", "enabled"],
        Off::False,
        (NO_SERVER, "remove `enabled: false`"),
    )],
    ..tool(CodingAgent::Kimi, "kimi", "Kimi Code", "kimi")
};

pub(super) const COPILOT: Tool = Tool {
    servers: Some(Servers {
        types: (Some("local"), Some("http")),
        more: &[("tools", More::Texts(&["*"]))],
        ..servers(moved(
            files(".github/mcp.json", ".copilot/mcp-config.json"),
            COPILOT_HOME,
            "mcp-config.json",
        ))
    }),
    hooks: Hooks::Settings(Settings {
        extra_members: &[("version", FixedValue::Number(1))],
        ..hooks(
            moved(
                files(".github/hooks/plenary.json", ".copilot/hooks/plenary.json"),
                COPILOT_HOME,
                "hooks/plenary.json",
            ),
            HookShape::Bash,
            &["sessionStart", "userPromptSubmitted", "postToolUse", "agentStop", "preCompact", "sessionEnd"],
        )
    }),
    start: Start::ServersFlag("--additional-mcp-config"),
    reach: Reach {
        unasked: false,
        ..tested("1.0.102", reach(ALWAYS, NO, "copilot -p: as in a terminal, with --trust-folder"))
    },
    next: "start `copilot` here and trust the folder: until then it runs no hook",
    ..tool(CodingAgent::Copilot, "copilot", "GitHub Copilot CLI", "copilot")
};
