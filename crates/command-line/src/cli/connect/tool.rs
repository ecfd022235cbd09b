//! The description of a coding agent, as data: the places and shapes of its settings, and its capabilities. Pure.
//! Must not know: any one coding agent; how settings are changed.

use super::coding_agents::CodingAgent;

/// The description of a coding agent.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) agent: CodingAgent,
    /// Its name on the command line.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The program that starts it; empty if it is not a command.
    pub(crate) program: &'static str,
    /// Its MCP servers; `None` if no file can configure them.
    pub(crate) servers: Option<Servers>,
    pub(crate) hooks: Hooks,
    /// The list in its settings of tools that need no approval, and the form of a name there.
    pub(crate) allowed: Option<(&'static [&'static str], &'static str)>,
    /// How it is started connected, without changing the directory.
    pub(crate) start: Start,
    /// The events at which it calls a hook before it asks the user: for a permission, or for an MCP server's question.
    pub(crate) asks_person: &'static [&'static str],
    /// How messages reach a session.
    pub(crate) reach: Reach,
    /// The remaining steps for the user.
    pub(crate) next: &'static str,
    /// Other settings that disable our hooks or server.
    pub(crate) switches: &'static [Switch],
}

/// A settings file, for a directory and for the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettingsLocation {
    /// Relative to the directory; `None` if it has no settings per directory.
    pub(crate) project: Option<&'static str>,
    /// Relative to the home directory.
    pub(crate) user: &'static str,
    /// A variable that names another directory, and the path of the file there.
    pub(crate) moved: Option<(&'static str, &'static str)>,
}

/// The settings of MCP servers.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) location: SettingsLocation,
    /// The path of the object with one member for each server.
    pub(crate) list: &'static [&'static str],
    pub(crate) shape: ServerShape,
    /// The `type` of a program and of a URL; `None` if there is no such member.
    pub(crate) types: (Option<&'static str>, Option<&'static str>),
    /// The member for the URL, and the syntax of a variable in a header.
    pub(crate) http: (&'static str, &'static str),
    /// Additional members.
    pub(crate) more: &'static [(&'static str, More)],
    /// Members of the file that the coding agent writes by itself when it starts.
    pub(crate) itself: &'static [&'static str],
}

/// The shape of a server's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerShape {
    /// `command`, `args` and `env`.
    Program,
    /// `command` including the arguments, and `environment`.
    Line,
    /// A TOML table.
    Toml,
}

/// A member in addition to those of every server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum More {
    Number(u64),
    True,
    /// True, unless the user wants to approve tools.
    TrueUnlessAsked,
    Texts(&'static [&'static str]),
}

/// How it runs hooks.
#[derive(Debug)]
pub(crate) enum Hooks {
    None,
    /// By commands in its settings.
    Settings(Settings),
    /// By a module that it loads, which runs the commands.
    Plugin(Module),
}

/// A module of ours.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) location: SettingsLocation,
    pub(crate) source: &'static str,
    pub(crate) events: &'static [&'static str],
    /// The list in the server settings that names the module, and the name for a directory and for the user; `None` if it
    /// is found by its path.
    pub(crate) named: Option<(&'static [&'static str], &'static str, &'static str)>,
}

/// Hooks in settings.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) location: SettingsLocation,
    /// The path of the object with one list for each event.
    pub(crate) list: &'static [&'static str],
    pub(crate) shape: HookShape,
    pub(crate) events: &'static [&'static str],
    /// Events with another name in this program.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// Required members of the file.
    pub(crate) extra_members: &'static [(&'static str, FixedValue)],
    /// Additional files in its directory.
    pub(crate) extra_files: &'static [(&'static str, &'static [(&'static str, FixedValue)])],
}

/// A value that does not depend on the user.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FixedValue {
    Number(u64),
    Text(&'static str),
}

/// The shape of a hook's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookShape {
    /// A group with a list of hooks, and the unit of its time limit in milliseconds.
    Groups { unit_ms: u64 },
    /// The hook itself with its command.
    Flat,
    /// The hook itself with its bash command.
    Bash,
    /// Groups for tool events, the hook itself for the others.
    Mixed,
    /// TOML tables.
    Toml,
}

/// How it gets its settings without changing the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Not possible: the user must run `connect` first.
    Connected,
    /// By flags of Claude Code.
    ClaudeFlags,
    /// By one flag for each TOML key.
    TomlFlags,
    /// By a file of its own that the variable names; `system` is the file that it reads without the variable.
    Defaults { variable: &'static str, system: &'static str },
    /// By a home directory that the variable names, with links to the user's files and our extension.
    LinkedHome { variable: &'static str },
    /// By settings in the variable, including its module.
    Content { variable: &'static str },
    /// By a flag with the servers.
    ServersFlag(&'static str),
    /// By a flag with the server's command line after a subcommand; `command` is the default subcommand.
    CommandFlag { flag: &'static str, command: &'static str },
}

/// How messages reach a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// While the model works.
    pub(crate) mid_turn: &'static str,
    /// While it is idle.
    pub(crate) idle: &'static str,
    /// Without a user.
    pub(crate) headless: &'static str,
    /// The release that the tests run; `None` if the entry follows its documentation only.
    pub(crate) tested: Option<&'static str>,
    /// Whether it can be configured to call tools without approval.
    pub(crate) unasked: bool,
    /// Whether `--wake` has an effect.
    pub(crate) wakes: bool,
}

/// A setting that disables our hooks or our server.
#[derive(Debug)]
pub(crate) struct Switch {
    /// The files of the directory, of the user, and of the machine.
    pub(crate) location: SettingsLocation,
    pub(crate) machine: Option<&'static str>,
    /// The path of the setting.
    pub(crate) path: &'static [&'static str],
    pub(crate) off: Off,
    /// Its effect.
    pub(crate) does: &'static str,
    /// The remedy.
    pub(crate) next: &'static str,
}

/// The value that disables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    True,
    False,
    /// The list contains this.
    Has(&'static str),
    /// The list exists and does not contain this.
    Lacks(&'static str),
}

impl Tool {
    /// The hook events that this program answers.
    pub(crate) const fn events(&self) -> &'static [&'static str] {
        match &self.hooks {
            Hooks::None => &[],
            Hooks::Settings(settings) => settings.events,
            Hooks::Plugin(module) => module.events,
        }
    }

    /// This program's name for an event.
    pub(crate) fn own_event<'a>(&self, event: &'a str) -> &'a str {
        match &self.hooks {
            Hooks::Settings(settings) => {
                settings.renamed.iter().find(|(theirs, _)| *theirs == event).map_or(event, |(_, ours)| ours)
            }
            Hooks::None | Hooks::Plugin(_) => event,
        }
    }

    /// The settings file of its hooks.
    pub(crate) const fn hooks_location(&self) -> Option<&SettingsLocation> {
        match &self.hooks {
            Hooks::None => None,
            Hooks::Settings(settings) => Some(&settings.location),
            Hooks::Plugin(module) => Some(&module.location),
        }
    }
}
