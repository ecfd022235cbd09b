//! Every coding agent that can be connected. A new one is a new entry here, and its form of an answer in `hook/answer.rs`.
//! Pure.
//! Must not know: how settings are changed.

use super::{
    coding::CodingAgent,
    tool::{
        Fixed, HookShape, Hooks, Module, More, Off, Place, Reach, ServerShape, Servers, Settings, Start,
        Switch, Tool,
    },
};

/// In which a token is told where a coding agent speaks HTTP itself, as each writes it in a header.
const DOLLAR: &str = "$PLENARY_TOKEN";
const BRACES: &str = "${PLENARY_TOKEN}";
const ENV: &str = "${env:PLENARY_TOKEN}";
const CURLY: &str = "{env:PLENARY_TOKEN}";

/// The events of Claude Code, which many have taken over.
const CLAUDE_EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "PreCompact",
    "SessionEnd",
];
/// Those that a module of ours runs.
const PLUGIN_EVENTS: &[&str] = &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"];

/// Tests and documents say of each what follows here in one column.
const ALWAYS: &str = "after each tool, at the end of the turn";
const NO: &str = "no";

const SECONDS: HookShape = HookShape::Groups { unit_ms: 1_000 };
const MILLISECONDS: HookShape = HookShape::Groups { unit_ms: 1 };

/// A file below the directory and at the same way below the home directory.
const fn at(way: &'static str) -> Place {
    Place { project: Some(way), user: way, moved: None }
}

const fn files(project: &'static str, user: &'static str) -> Place {
    Place { project: Some(project), user, moved: None }
}

const fn moved(place: Place, variable: &'static str, file: &'static str) -> Place {
    Place { moved: Some((variable, file)), ..place }
}

/// The servers of most: `mcpServers`, with `command`, `args` and `env`.
const fn servers(place: Place) -> Servers {
    Servers {
        place,
        list: &["mcpServers"],
        shape: ServerShape::Program,
        types: (None, None),
        http: ("url", BRACES),
        more: &[],
    }
}

/// The hooks of most: `hooks`, with a list for each event.
const fn hooks(place: Place, shape: HookShape, events: &'static [&'static str]) -> Settings {
    Settings { place, list: &["hooks"], shape, events, renamed: &[], besides: &[], beside: &[] }
}

const fn reach(mid_turn: &'static str, idle: &'static str, headless: &'static str) -> Reach {
    Reach { mid_turn, idle, headless, tested: None, unasked: false, wakes: false }
}

const fn tested(release: &'static str, reach: Reach) -> Reach {
    Reach { tested: Some(release), unasked: true, ..reach }
}

/// Said where a switch of the settings stops every hook.
const NO_HOOKS: &str = "disables all hooks";
const NO_SERVER: &str = "disables the server `plenary`";
const REMOVE: &str = "remove it; otherwise messages arrive only through the tool `inbox`";

const fn switch(
    place: Place,
    at: &'static [&'static str],
    off: Off,
    (does, next): (&'static str, &'static str),
) -> Switch {
    Switch { place, machine: None, at, off, does, next }
}

const CODEX_HOME: &str = "CODEX_HOME";
const VSCODE_USER: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};
const XDG: &str = "XDG_CONFIG_HOME";
const OPENCODE: Place =
    moved(files("opencode.json", ".config/opencode/opencode.json"), XDG, "opencode/opencode.json");
const KILO: Place = moved(files("kilo.json", ".config/kilo/kilo.json"), XDG, "kilo/kilo.json");
const CRUSH: Place = moved(files("crush.json", ".config/crush/crush.json"), XDG, "crush/crush.json");
const QWEN: Place = at(".qwen/settings.json");
const KIMI_HOME: &str = "KIMI_CODE_HOME";
const KIMI: Place = moved(files(".kimi-code/mcp.json", ".kimi-code/mcp.json"), KIMI_HOME, "mcp.json");
const COPILOT_HOME: &str = "COPILOT_HOME";
const QODER: Place = files(".qoder/settings.local.json", ".qoder/settings.json");
const DROID_SERVERS: Place = at(".factory/mcp.json");
const DROID_HOOKS: Place = at(".factory/hooks.json");
const AUGGIE: Place = files(".augment/settings.local.json", ".augment/settings.json");
const AMP: Place = files(".amp/settings.json", ".config/amp/settings.json");
const GOOSE: Place =
    files(".agents/plugins/plenary/hooks/hooks.json", ".agents/plugins/plenary/hooks/hooks.json");

/// Servers of OpenCode, and of Kilo, which began as it.
const fn opencode(place: Place) -> Servers {
    Servers {
        place,
        list: &["mcp"],
        shape: ServerShape::Line,
        types: (Some("local"), Some("remote")),
        http: ("url", CURLY),
        more: &[("enabled", More::True), ("timeout", More::Number(120_000))],
    }
}

/// The module of both, where a directory of theirs would have them install packages into it.
const fn opencode_module(project: &'static str, named: &'static str, user: Place) -> Module {
    Module {
        place: Place { project: Some(project), ..user },
        source: include_str!("plugins/opencode.js"),
        events: PLUGIN_EVENTS,
        named: Some((&["plugin"], named, "./plenary.js")),
    }
}

/// All of them, in the order of [`CodingAgent`].
pub(crate) static TOOLS: [Tool; CodingAgent::COUNT] = [
    Tool {
        agent: CodingAgent::Claude,
        name: "claude",
        title: "Claude Code",
        program: "claude",
        servers: Some(Servers {
            types: (Some("stdio"), Some("http")),
            ..servers(files(".mcp.json", ".claude.json"))
        }),
        // Not `settings.json`, which others of the project share.
        hooks: Hooks::Settings(hooks(
            files(".claude/settings.local.json", ".claude/settings.json"),
            SECONDS,
            CLAUDE_EVENTS,
        )),
        allowed: Some((&["permissions", "allow"], "mcp__plenary__")),
        start: Start::ClaudeFlags,
        asks_for_permission: true,
        reach: Reach {
            wakes: true,
            ..tested(
                "2.1.330",
                reach(ALWAYS, "with --wake, from the start on", "claude -p: as in a terminal"),
            )
        },
        next: "start `claude` here; a session that is already running uses the hooks from its next start",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Codex,
        name: "codex",
        title: "Codex",
        program: "codex",
        servers: Some(Servers {
            list: &["mcp_servers"],
            shape: ServerShape::Toml,
            // It gives a call up after 60 s unless it is told otherwise; a tool waits for 110 s at most.
            more: &[("tool_timeout_sec", More::Number(120))],
            ..servers(moved(at(".codex/config.toml"), CODEX_HOME, "config.toml"))
        }),
        hooks: Hooks::Settings(hooks(
            moved(at(".codex/hooks.json"), CODEX_HOME, "hooks.json"),
            SECONDS,
            &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"],
        )),
        allowed: None,
        start: Start::TomlFlags,
        asks_for_permission: true,
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
        next: "start `codex` here, trust the directory when it asks, and trust the hooks once with `/hooks`; until then it \
               runs none of them",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Gemini,
        name: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        servers: Some(Servers {
            http: ("httpUrl", DOLLAR),
            more: &[("trust", More::TrueUnlessAsked)],
            ..servers(at(".gemini/settings.json"))
        }),
        hooks: Hooks::Settings(hooks(
            at(".gemini/settings.json"),
            MILLISECONDS,
            &["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"],
        )),
        allowed: None,
        start: Start::Defaults {
            variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
            system: "/etc/gemini-cli/system-defaults.json",
        },
        asks_for_permission: false,
        reach: tested(
            "0.61.0",
            reach(ALWAYS, NO, "gemini -p: as in a terminal; in an editor (--acp): at the end of the turn"),
        ),
        next: "start `gemini` here and trust the folder: until then the server is shown as disabled",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Opencode,
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        servers: Some(opencode(OPENCODE)),
        hooks: Hooks::Plugin(opencode_module(
            ".plenary/opencode.js",
            "./.plenary/opencode.js",
            moved(at(".config/opencode/plenary.js"), XDG, "opencode/plenary.js"),
        )),
        allowed: None,
        start: Start::Content { variable: "OPENCODE_CONFIG_CONTENT" },
        asks_for_permission: false,
        reach: Reach {
            wakes: true,
            ..tested(
                "1.18.33",
                reach(ALWAYS, "with --wake, from the first turn on", "opencode run: after each tool"),
            )
        },
        next: "start `opencode` here; one that runs already loads the plugin when it is started again",
        switches: &[switch(
            OPENCODE,
            &["mcp", "plenary", "enabled"],
            Off::False,
            (NO_SERVER, "remove `enabled: false`"),
        )],
    },
    Tool {
        agent: CodingAgent::Qwen,
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        servers: Some(Servers {
            http: ("httpUrl", DOLLAR),
            more: &[("trust", More::TrueUnlessAsked), ("timeout", More::Number(120_000))],
            ..servers(QWEN)
        }),
        hooks: Hooks::Settings(hooks(QWEN, SECONDS, CLAUDE_EVENTS)),
        allowed: None,
        start: Start::Defaults {
            variable: "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
            system: "/etc/qwen-code/system-defaults.json",
        },
        asks_for_permission: false,
        reach: tested("0.24.4", reach(ALWAYS, NO, "qwen -p: as in a terminal")),
        next: "approve the server once: `qwen mcp approve plenary`; where folders have to be trusted, trust this one: until then it \
               runs no hook",
        switches: &[
            Switch {
                machine: Some("/etc/qwen-code/settings.json"),
                ..switch(QWEN, &["disableAllHooks"], Off::True, (NO_HOOKS, REMOVE))
            },
            switch(QWEN, &["mcp", "excluded"], Off::Has("plenary"), (NO_SERVER, "mend `mcp.excluded`")),
            switch(QWEN, &["mcp", "allowed"], Off::Lacks("plenary"), (NO_SERVER, "mend `mcp.allowed`")),
        ],
    },
    Tool {
        agent: CodingAgent::Kimi,
        name: "kimi",
        title: "Kimi Code",
        program: "kimi",
        servers: Some(Servers { more: &[("toolTimeoutMs", More::Number(120_000))], ..servers(KIMI) }),
        // Its hooks are the user's, in every directory.
        hooks: Hooks::Settings(hooks(
            Place { project: None, user: ".kimi-code/config.toml", moved: Some((KIMI_HOME, "config.toml")) },
            HookShape::Toml,
            CLAUDE_EVENTS,
        )),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
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
            KIMI,
            &["mcpServers", "plenary", "enabled"],
            Off::False,
            (NO_SERVER, "remove `enabled: false`"),
        )],
    },
    Tool {
        agent: CodingAgent::Copilot,
        name: "copilot",
        title: "GitHub Copilot CLI",
        program: "copilot",
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
            besides: &[("version", Fixed::Number(1))],
            ..hooks(
                moved(
                    files(".github/hooks/plenary.json", ".copilot/hooks/plenary.json"),
                    COPILOT_HOME,
                    "hooks/plenary.json",
                ),
                HookShape::Bash,
                &[
                    "sessionStart",
                    "userPromptSubmitted",
                    "postToolUse",
                    "agentStop",
                    "preCompact",
                    "sessionEnd",
                ],
            )
        }),
        allowed: None,
        start: Start::ServersFlag("--additional-mcp-config"),
        asks_for_permission: false,
        reach: Reach {
            unasked: false,
            ..tested("1.0.102", reach(ALWAYS, NO, "copilot -p: as in a terminal, with --trust-folder"))
        },
        next: "start `copilot` here and trust the folder: until then it runs no hook",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Kilo,
        name: "kilo",
        title: "Kilo Code",
        program: "kilo",
        servers: Some(opencode(KILO)),
        hooks: Hooks::Plugin(opencode_module(
            ".plenary/kilo.js",
            "./.plenary/kilo.js",
            moved(at(".config/kilo/plenary.js"), XDG, "kilo/plenary.js"),
        )),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: Reach {
            wakes: true,
            ..reach(ALWAYS, "with --wake, from the first turn on", "kilo run: after each tool")
        },
        next: "start `kilo` here; one that runs already loads the plugin when it is started again",
        switches: &[switch(
            KILO,
            &["mcp", "plenary", "enabled"],
            Off::False,
            (NO_SERVER, "remove `enabled: false`"),
        )],
    },
    Tool {
        agent: CodingAgent::Qoder,
        name: "qoder",
        title: "Qoder CLI",
        program: "qodercli",
        servers: Some(Servers { types: (Some("stdio"), Some("http")), ..servers(QODER) }),
        hooks: Hooks::Settings(hooks(QODER, SECONDS, CLAUDE_EVENTS)),
        allowed: Some((&["permissions", "allow"], "mcp__plenary__")),
        start: Start::Connected,
        asks_for_permission: false,
        reach: Reach { unasked: true, ..reach(ALWAYS, NO, "qodercli -p: as in a terminal") },
        next: "start `qodercli` here; a session that runs already uses the hooks from its next start",
        switches: &[switch(QODER, &["disableAllHooks"], Off::True, (NO_HOOKS, REMOVE))],
    },
    Tool {
        agent: CodingAgent::Droid,
        name: "droid",
        title: "Factory Droid",
        program: "droid",
        servers: Some(Servers { types: (Some("stdio"), Some("http")), ..servers(DROID_SERVERS) }),
        hooks: Hooks::Settings(Settings {
            list: &[],
            ..hooks(
                DROID_HOOKS,
                SECONDS,
                &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"],
            )
        }),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: reach(ALWAYS, NO, "droid exec: as in a terminal"),
        next: "start `droid` here; where `.factory/settings.json` has hooks of its own, they move to `.factory/hooks.json`",
        switches: &[
            switch(at(".factory/settings.json"), &["hooksDisabled"], Off::True, (NO_HOOKS, REMOVE)),
            switch(
                DROID_SERVERS,
                &["mcpServers", "plenary", "disabled"],
                Off::True,
                (NO_SERVER, "remove `disabled`"),
            ),
        ],
    },
    Tool {
        agent: CodingAgent::Antigravity,
        name: "antigravity",
        title: "Antigravity CLI",
        program: "agy",
        servers: Some(Servers {
            http: ("serverUrl", BRACES),
            ..servers(files(".agents/mcp_config.json", ".gemini/antigravity-cli/mcp_config.json"))
        }),
        hooks: Hooks::Settings(Settings {
            list: &["plenary"],
            // It asks before each request to its model.
            renamed: &[("PreInvocation", "PostToolUse")],
            ..hooks(
                files(".agents/hooks.json", ".gemini/antigravity-cli/hooks.json"),
                HookShape::Mixed,
                &["PreInvocation", "Stop"],
            )
        }),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: reach("before each request to its model, at the end of the turn", NO, "not known"),
        next: "start `agy` here and trust the folder",
        switches: &[switch(
            at(".agents/hooks.json"),
            &["plenary", "enabled"],
            Off::False,
            (NO_HOOKS, REMOVE),
        )],
    },
    Tool {
        agent: CodingAgent::Pi,
        name: "pi",
        title: "Pi",
        program: "pi",
        servers: Some(servers(files(".pi/mcp.json", ".pi/agent/mcp.json"))),
        hooks: Hooks::Plugin(Module {
            place: files(".pi/extensions/plenary.js", ".pi/agent/extensions/plenary.js"),
            source: include_str!("plugins/pi.js"),
            events: PLUGIN_EVENTS,
            named: None,
        }),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: Reach {
            wakes: true,
            ..reach(ALWAYS, "with --wake, from the first turn on", "pi -p: after each tool")
        },
        next: "start `pi` here and trust the project: until then it loads neither the extension nor the server",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Amp,
        name: "amp",
        title: "Amp",
        program: "amp",
        servers: Some(Servers { list: &["amp.mcpServers"], ..servers(AMP) }),
        hooks: Hooks::Plugin(Module {
            place: files(".amp/plugins/plenary.ts", ".config/amp/plugins/plenary.ts"),
            source: include_str!("plugins/amp.ts"),
            events: &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"],
            named: None,
        }),
        allowed: None,
        start: Start::ServersFlag("--mcp-config"),
        asks_for_permission: false,
        reach: reach(ALWAYS, NO, "amp -x: after each tool"),
        next: "start `amp` here and approve the server when it asks; older releases load plugins only with PLUGINS=all",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Crush,
        name: "crush",
        title: "Crush",
        program: "crush",
        servers: Some(Servers {
            list: &["mcp"],
            types: (Some("stdio"), Some("http")),
            http: ("url", DOLLAR),
            more: &[("timeout", More::Number(120))],
            ..servers(CRUSH)
        }),
        hooks: Hooks::Settings(Settings {
            renamed: &[("PreToolUse", "PostToolUse")],
            ..hooks(CRUSH, HookShape::Flat, &["PreToolUse"])
        }),
        allowed: Some((&["permissions", "allowed_tools"], "mcp_plenary_")),
        start: Start::Connected,
        asks_for_permission: false,
        reach: Reach { unasked: true, ..reach("with each tool", NO, "crush run: with each tool") },
        next: "start `crush` here",
        switches: &[switch(
            CRUSH,
            &["mcp", "plenary", "disabled"],
            Off::True,
            (NO_SERVER, "remove `disabled`"),
        )],
    },
    Tool {
        agent: CodingAgent::Goose,
        name: "goose",
        title: "Goose",
        program: "goose",
        servers: None,
        hooks: Hooks::Settings(Settings {
            beside: &[(
                "../plugin.json",
                &[
                    ("name", Fixed::Text("plenary")),
                    ("version", Fixed::Text("1.0.0")),
                    ("description", Fixed::Text("Messages of the Plenary network")),
                ],
            )],
            ..hooks(
                GOOSE,
                SECONDS,
                &[
                    "SessionStart",
                    "UserPromptSubmit",
                    "PostToolUse",
                    "PostToolUseFailure",
                    "Stop",
                    "SessionEnd",
                ],
            )
        }),
        allowed: None,
        start: Start::CommandFlag { flag: "--with-extension", command: "session" },
        asks_for_permission: false,
        reach: reach("at the end of the turn", NO, "goose run: at the end of the turn"),
        next: "start it with `plenary goose`, which adds the server by a flag: its list of servers is YAML, which is not edited",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Auggie,
        name: "auggie",
        title: "Auggie",
        program: "auggie",
        servers: Some(servers(AUGGIE)),
        hooks: Hooks::Settings(hooks(
            AUGGIE,
            MILLISECONDS,
            &["SessionStart", "PostToolUse", "Stop", "SessionEnd"],
        )),
        allowed: None,
        start: Start::ServersFlag("--mcp-config"),
        asks_for_permission: false,
        reach: reach(ALWAYS, NO, "auggie --print: as in a terminal"),
        next: "start `auggie` here",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Cursor,
        name: "cursor",
        title: "Cursor",
        program: "cursor-agent",
        servers: Some(Servers { http: ("url", ENV), ..servers(at(".cursor/mcp.json")) }),
        hooks: Hooks::Settings(Settings {
            besides: &[("version", Fixed::Number(1))],
            // Before a prompt it takes no text.
            ..hooks(
                at(".cursor/hooks.json"),
                HookShape::Flat,
                &["sessionStart", "postToolUse", "stop", "preCompact", "sessionEnd"],
            )
        }),
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: reach(ALWAYS, NO, "not known"),
        next: "open this directory in Cursor or start `cursor-agent` here, and enable the server `plenary` in its settings if it \
               asks",
        switches: &[],
    },
    Tool {
        agent: CodingAgent::Vscode,
        name: "vscode",
        title: "VS Code",
        program: "code",
        servers: Some(Servers {
            list: &["servers"],
            types: (Some("stdio"), Some("http")),
            http: ("url", ENV),
            ..servers(files(".vscode/mcp.json", VSCODE_USER))
        }),
        // It runs the hooks of Claude Code's settings.
        hooks: Hooks::None,
        allowed: None,
        start: Start::Connected,
        asks_for_permission: false,
        reach: reach("by the hooks of Claude Code", NO, NO),
        next: "open this directory in VS Code and start the server `plenary` when it asks; for messages that arrive \
               by themselves connect `claude` here too, whose hooks VS Code runs",
        switches: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_keys() {
        for (at, tool) in TOOLS.iter().enumerate() {
            assert_eq!(tool.agent as usize, at, "{}", tool.name);
            assert_eq!(tool.agent.tool().name, tool.name);
        }
    }

    #[test]
    fn the_page_has_a_row_for_each() {
        let page = include_str!("../../../../../docs/connect-tools.md");
        for tool in &TOOLS {
            let Reach { mid_turn, idle, headless, tested, .. } = tool.reach;
            let tested = tested.unwrap_or("from its documents");
            let row = format!("| `{}` | {mid_turn} | {idle} | {headless} | {tested} |", tool.name);
            assert!(page.contains(&row), "docs/connect-tools.md lacks this row: {row}");
        }
    }
}
