//! Every supported coding agent. A new one is a new entry here, and its form of an answer in `hook/answer.rs`. Pure.
//! Must not know: how settings are changed.

mod documented;
mod modules;
mod tested;

use super::{
    coding_agents::CodingAgent,
    tool::{
        HookShape, Hooks, Off, Reach, ServerShape, Servers, Settings, SettingsLocation, Start, Switch, Tool,
    },
};

/// The token's variable in a header, in the syntax of most coding agents.
const DOLLAR: &str = "$PLENARY_TOKEN";
const BRACES: &str = "${PLENARY_TOKEN}";
const ENV: &str = "${env:PLENARY_TOKEN}";
const CURLY: &str = "{env:PLENARY_TOKEN}";

/// The events of Claude Code, which many others have adopted.
const CLAUDE_EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "PreCompact",
    "SessionEnd",
];
/// The events of our modules.
const PLUGIN_EVENTS: &[&str] = &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"];

/// The text for hooks of every event; tests and documents show it in one column.
const ALWAYS: &str = "after each tool, at the end of the turn";
pub(crate) const NO: &str = "no";

const SECONDS: HookShape = HookShape::Groups { unit_ms: 1_000 };
const MILLISECONDS: HookShape = HookShape::Groups { unit_ms: 1 };

/// A coding agent with the values that most have; its settings and its reach are its own.
const fn tool(agent: CodingAgent, name: &'static str, title: &'static str, program: &'static str) -> Tool {
    Tool {
        agent,
        name,
        title,
        program,
        servers: None,
        hooks: Hooks::None,
        allowed: None,
        start: Start::Connected,
        asks_person: &[],
        reach: reach(NO, NO, NO),
        next: "",
        switches: &[],
    }
}

/// A file at the same path below the directory and below the home directory.
const fn file(path: &'static str) -> SettingsLocation {
    SettingsLocation { project: Some(path), user: path, moved: None }
}

const fn files(project: &'static str, user: &'static str) -> SettingsLocation {
    SettingsLocation { project: Some(project), user, moved: None }
}

const fn moved(location: SettingsLocation, variable: &'static str, file: &'static str) -> SettingsLocation {
    SettingsLocation { moved: Some((variable, file)), ..location }
}

/// The most common form of servers: `mcpServers`, with `command`, `args` and `env`.
const fn servers(location: SettingsLocation) -> Servers {
    Servers {
        location,
        list: &["mcpServers"],
        shape: ServerShape::Program,
        types: (None, None),
        http: ("url", BRACES),
        more: &[],
        itself: &[],
    }
}

/// The most common form of hooks: `hooks`, with a list for each event.
const fn hooks(location: SettingsLocation, shape: HookShape, events: &'static [&'static str]) -> Settings {
    Settings { location, list: &["hooks"], shape, events, renamed: &[], extra_members: &[], extra_files: &[] }
}

const fn reach(mid_turn: &'static str, idle: &'static str, headless: &'static str) -> Reach {
    Reach { mid_turn, idle, headless, tested: None, unasked: false, wakes: false }
}

const fn tested(release: &'static str, reach: Reach) -> Reach {
    Reach { tested: Some(release), unasked: true, ..reach }
}

/// The effect of a switch that disables every hook.
const NO_HOOKS: &str = "disables all hooks";
const NO_SERVER: &str = "disables the server `plenary`";
const REMOVE: &str = "remove it; otherwise messages arrive only through the tool `inbox`";

const fn switch(
    location: SettingsLocation,
    path: &'static [&'static str],
    off: Off,
    (does, next): (&'static str, &'static str),
) -> Switch {
    Switch { location, machine: None, path, off, does, next }
}

const XDG: &str = "XDG_CONFIG_HOME";

/// All coding agents, in the order of [`CodingAgent`].
pub(crate) static TOOLS: [Tool; CodingAgent::COUNT] = [
    tested::CLAUDE,
    tested::CODEX,
    tested::GEMINI,
    modules::OPENCODE,
    tested::QWEN,
    tested::KIMI,
    tested::COPILOT,
    modules::KILO,
    documented::QODER,
    documented::DROID,
    documented::ANTIGRAVITY,
    modules::PI,
    modules::AMP,
    documented::CRUSH,
    documented::GOOSE,
    documented::AUGGIE,
    documented::CURSOR,
    documented::VSCODE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_keys() {
        for (index, tool) in TOOLS.iter().enumerate() {
            assert_eq!(tool.agent as usize, index, "{}", tool.name);
            assert_eq!(tool.agent.tool().name, tool.name);
            assert!(!tool.next.is_empty() && tool.reach.mid_turn != NO, "{}", tool.name);
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
