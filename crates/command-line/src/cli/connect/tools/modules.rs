//! Coding agents that load a module of Plenary, which runs the hooks. Pure.
//! Must not know: how settings are changed.

use super::super::{
    coding_agents::CodingAgent,
    tool::{Hooks, Module, More, Off, Reach, ServerShape, Servers, SettingsLocation, Start, Tool},
};
use super::{
    ALWAYS, CURLY, NO, NO_SERVER, PLUGIN_EVENTS, XDG, file, files, moved, reach, servers, switch, tested,
    tool,
};

const OPENCODE_SETTINGS: SettingsLocation =
    moved(files("opencode.json", ".config/opencode/opencode.json"), XDG, "opencode/opencode.json");
const KILO_SETTINGS: SettingsLocation =
    moved(files("kilo.json", ".config/kilo/kilo.json"), XDG, "kilo/kilo.json");
const AMP_SETTINGS: SettingsLocation = files(".amp/settings.json", ".config/amp/settings.json");

/// The servers of OpenCode, and of Kilo, which is a fork of it.
const fn opencode(location: SettingsLocation) -> Servers {
    Servers {
        location,
        list: &["mcp"],
        shape: ServerShape::Line,
        types: (Some("local"), Some("remote")),
        http: ("url", CURLY),
        more: &[("enabled", More::True), ("timeout", More::Number(120_000))],
        itself: &["$schema"],
    }
}

/// The module of both. In a project, a plugin directory of theirs would make them install packages into it, so `project` is
/// another path.
const fn opencode_module(project: &'static str, named: &'static str, user: SettingsLocation) -> Module {
    Module {
        location: SettingsLocation { project: Some(project), ..user },
        source: include_str!("../plugins/opencode.js"),
        events: PLUGIN_EVENTS,
        named: Some((&["plugin"], named, "./plenary.js")),
    }
}

pub(super) const OPENCODE: Tool = Tool {
    servers: Some(opencode(OPENCODE_SETTINGS)),
    hooks: Hooks::Plugin(opencode_module(
        ".plenary/opencode.js",
        "./.plenary/opencode.js",
        moved(file(".config/opencode/plenary.js"), XDG, "opencode/plenary.js"),
    )),
    start: Start::Content { variable: "OPENCODE_CONFIG_CONTENT" },
    reach: Reach {
        wakes: true,
        ..tested(
            "1.18.33",
            reach(ALWAYS, "with --wake, from the first turn on", "opencode run: after each tool"),
        )
    },
    next: "start `opencode` here; one that runs already loads the plugin when it is started again",
    switches: &[switch(
        OPENCODE_SETTINGS,
        &["mcp", "plenary", "enabled"],
        Off::False,
        (NO_SERVER, "remove `enabled: false`"),
    )],
    ..tool(CodingAgent::Opencode, "opencode", "OpenCode", "opencode")
};

pub(super) const KILO: Tool = Tool {
    servers: Some(opencode(KILO_SETTINGS)),
    hooks: Hooks::Plugin(opencode_module(
        ".plenary/kilo.js",
        "./.plenary/kilo.js",
        moved(file(".config/kilo/plenary.js"), XDG, "kilo/plenary.js"),
    )),
    reach: Reach {
        wakes: true,
        ..tested("7.7.9", reach(ALWAYS, "with --wake, from the first turn on", "kilo run: after each tool"))
    },
    next: "start `kilo` here; one that runs already loads the plugin when it is started again",
    switches: &[switch(
        KILO_SETTINGS,
        &["mcp", "plenary", "enabled"],
        Off::False,
        (NO_SERVER, "remove `enabled: false`"),
    )],
    ..tool(CodingAgent::Kilo, "kilo", "Kilo Code", "kilo")
};

pub(super) const PI: Tool = Tool {
    servers: Some(servers(files(".pi/mcp.json", ".pi/agent/mcp.json"))),
    hooks: Hooks::Plugin(Module {
        location: files(".pi/extensions/plenary.js", ".pi/agent/extensions/plenary.js"),
        source: include_str!("../plugins/pi.js"),
        events: PLUGIN_EVENTS,
        named: None,
    }),
    reach: Reach {
        wakes: true,
        ..reach(ALWAYS, "with --wake, from the first turn on", "pi -p: after each tool")
    },
    next: "start `pi` here and trust the project: until then it loads neither the extension nor the server",
    ..tool(CodingAgent::Pi, "pi", "Pi", "pi")
};

pub(super) const AMP: Tool = Tool {
    servers: Some(Servers { list: &["amp.mcpServers"], ..servers(AMP_SETTINGS) }),
    hooks: Hooks::Plugin(Module {
        location: files(".amp/plugins/plenary.ts", ".config/amp/plugins/plenary.ts"),
        source: include_str!("../plugins/amp.ts"),
        events: &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"],
        named: None,
    }),
    start: Start::ServersFlag("--mcp-config"),
    reach: reach(ALWAYS, NO, "amp -x: after each tool"),
    next: "start `amp` here and approve the server when it asks; older releases load plugins only with PLUGINS=all",
    ..tool(CodingAgent::Amp, "amp", "Amp", "amp")
};
