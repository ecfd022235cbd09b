//! Coding agents described from their documentation; no test runs them. Pure.
//! Must not know: how settings are changed.

use super::super::{
    coding_agents::CodingAgent,
    tool::{
        FixedValue, HookShape, Hooks, More, Off, Reach, Servers, Settings, SettingsLocation, Start, Tool,
    },
};
use super::{
    ALWAYS, BRACES, CLAUDE_EVENTS, DOLLAR, ENV, MILLISECONDS, NO, NO_HOOKS, NO_SERVER, REMOVE, SECONDS, XDG,
    file, files, hooks, moved, reach, servers, switch, tool,
};

const VSCODE_USER: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};
const CRUSH_SETTINGS: SettingsLocation =
    moved(files("crush.json", ".config/crush/crush.json"), XDG, "crush/crush.json");
const QODER_SETTINGS: SettingsLocation = files(".qoder/settings.local.json", ".qoder/settings.json");
const DROID_SERVERS: SettingsLocation = file(".factory/mcp.json");
const DROID_HOOKS: SettingsLocation = file(".factory/hooks.json");
const AUGGIE_SETTINGS: SettingsLocation = files(".augment/settings.local.json", ".augment/settings.json");
const GOOSE_SETTINGS: SettingsLocation =
    files(".agents/plugins/plenary/hooks/hooks.json", ".agents/plugins/plenary/hooks/hooks.json");

pub(super) const QODER: Tool = Tool {
    servers: Some(Servers { types: (Some("stdio"), Some("http")), ..servers(QODER_SETTINGS) }),
    hooks: Hooks::Settings(hooks(QODER_SETTINGS, SECONDS, CLAUDE_EVENTS)),
    allowed: Some((&["permissions", "allow"], "mcp__plenary__")),
    reach: Reach { unasked: true, ..reach(ALWAYS, NO, "qodercli -p: as in a terminal") },
    next: "start `qodercli` here; a session that runs already uses the hooks from its next start",
    switches: &[switch(QODER_SETTINGS, &["disableAllHooks"], Off::True, (NO_HOOKS, REMOVE))],
    ..tool(CodingAgent::Qoder, "qoder", "Qoder CLI", "qodercli")
};

pub(super) const DROID: Tool = Tool {
    servers: Some(Servers { types: (Some("stdio"), Some("http")), ..servers(DROID_SERVERS) }),
    hooks: Hooks::Settings(Settings {
        list: &[],
        ..hooks(
            DROID_HOOKS,
            SECONDS,
            &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"],
        )
    }),
    reach: reach(ALWAYS, NO, "droid exec: as in a terminal"),
    next: "start `droid` here; where `.factory/settings.json` has hooks of its own, they move to `.factory/hooks.json`",
    switches: &[
        switch(file(".factory/settings.json"), &["hooksDisabled"], Off::True, (NO_HOOKS, REMOVE)),
        switch(
            DROID_SERVERS,
            &["mcpServers", "plenary", "disabled"],
            Off::True,
            (NO_SERVER, "remove `disabled`"),
        ),
    ],
    ..tool(CodingAgent::Droid, "droid", "Factory Droid", "droid")
};

pub(super) const ANTIGRAVITY: Tool = Tool {
    servers: Some(Servers {
        http: ("serverUrl", BRACES),
        ..servers(files(".agents/mcp_config.json", ".gemini/antigravity-cli/mcp_config.json"))
    }),
    hooks: Hooks::Settings(Settings {
        list: &["plenary"],
        // This event comes before each request to the model.
        renamed: &[("PreInvocation", "PostToolUse")],
        ..hooks(
            files(".agents/hooks.json", ".gemini/antigravity-cli/hooks.json"),
            HookShape::Mixed,
            &["PreInvocation", "Stop"],
        )
    }),
    reach: reach("before each request to its model, at the end of the turn", NO, "not known"),
    next: "start `agy` here and trust the folder",
    switches: &[switch(file(".agents/hooks.json"), &["plenary", "enabled"], Off::False, (NO_HOOKS, REMOVE))],
    ..tool(CodingAgent::Antigravity, "antigravity", "Antigravity CLI", "agy")
};

pub(super) const CRUSH: Tool = Tool {
    servers: Some(Servers {
        list: &["mcp"],
        types: (Some("stdio"), Some("http")),
        http: ("url", DOLLAR),
        more: &[("timeout", More::Number(120))],
        ..servers(CRUSH_SETTINGS)
    }),
    hooks: Hooks::Settings(Settings {
        renamed: &[("PreToolUse", "PostToolUse")],
        ..hooks(CRUSH_SETTINGS, HookShape::Flat, &["PreToolUse"])
    }),
    allowed: Some((&["permissions", "allowed_tools"], "mcp_plenary_")),
    reach: Reach { unasked: true, ..reach("with each tool", NO, "crush run: with each tool") },
    next: "start `crush` here",
    switches: &[switch(
        CRUSH_SETTINGS,
        &["mcp", "plenary", "disabled"],
        Off::True,
        (NO_SERVER, "remove `disabled`"),
    )],
    ..tool(CodingAgent::Crush, "crush", "Crush", "crush")
};

pub(super) const GOOSE: Tool = Tool {
    hooks: Hooks::Settings(Settings {
        extra_files: &[(
            "../plugin.json",
            &[
                ("name", FixedValue::Text("plenary")),
                ("version", FixedValue::Text("1.0.0")),
                ("description", FixedValue::Text("Messages of the Plenary network")),
            ],
        )],
        ..hooks(
            GOOSE_SETTINGS,
            SECONDS,
            &["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"],
        )
    }),
    start: Start::CommandFlag { flag: "--with-extension", command: "session" },
    reach: reach("at the end of the turn", NO, "goose run: at the end of the turn"),
    next: "start it with `plenary goose`, which adds the server by a flag: its list of servers is YAML, which is not edited",
    ..tool(CodingAgent::Goose, "goose", "Goose", "goose")
};

pub(super) const AUGGIE: Tool = Tool {
    servers: Some(servers(AUGGIE_SETTINGS)),
    hooks: Hooks::Settings(hooks(
        AUGGIE_SETTINGS,
        MILLISECONDS,
        &["SessionStart", "PostToolUse", "Stop", "SessionEnd"],
    )),
    start: Start::ServersFlag("--mcp-config"),
    reach: reach(ALWAYS, NO, "auggie --print: as in a terminal"),
    next: "start `auggie` here",
    ..tool(CodingAgent::Auggie, "auggie", "Auggie", "auggie")
};

pub(super) const CURSOR: Tool = Tool {
    servers: Some(Servers { http: ("url", ENV), ..servers(file(".cursor/mcp.json")) }),
    hooks: Hooks::Settings(Settings {
        extra_members: &[("version", FixedValue::Number(1))],
        // Its hook before a prompt takes no text.
        ..hooks(
            file(".cursor/hooks.json"),
            HookShape::Flat,
            &["sessionStart", "postToolUse", "stop", "preCompact", "sessionEnd"],
        )
    }),
    reach: reach(ALWAYS, NO, "not known"),
    next: "open this directory in Cursor or start `cursor-agent` here, and enable the server `plenary` in its settings if it \
           asks",
    ..tool(CodingAgent::Cursor, "cursor", "Cursor", "cursor-agent")
};

pub(super) const VSCODE: Tool = Tool {
    servers: Some(Servers {
        list: &["servers"],
        types: (Some("stdio"), Some("http")),
        http: ("url", ENV),
        ..servers(files(".vscode/mcp.json", VSCODE_USER))
    }),
    // No hooks: it runs those of Claude Code's settings.
    reach: reach("by the hooks of Claude Code", NO, NO),
    next: "open this directory in VS Code and start the server `plenary` when it asks; for messages that arrive \
           by themselves connect `claude` here too, whose hooks VS Code runs",
    ..tool(CodingAgent::Vscode, "vscode", "VS Code", "code")
};
