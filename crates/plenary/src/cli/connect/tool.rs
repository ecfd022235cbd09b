//! The description of a coding agent, as data: the places and shapes of its settings, and its capabilities. Pure.
//! Must not know: any one coding agent; how settings are changed.

use super::coding::CodingAgent;

/// A coding agent.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) agent: CodingAgent,
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it is called.
    pub(crate) title: &'static str,
    /// The program that starts it; none where it is no command.
    pub(crate) program: &'static str,
    /// Its MCP servers; none where they cannot be written into a file.
    pub(crate) servers: Option<Servers>,
    /// Its hooks.
    pub(crate) hooks: Hooks,
    /// The lists of its settings in which tools stand that it calls without asking, and how one is named there.
    pub(crate) allowed: Option<(&'static [&'static str], &'static str)>,
    /// How it is started connected, without a change of the directory.
    pub(crate) start: Start,
    /// At which events it calls a hook before it asks its person: for a permission, for what a server wants to know.
    pub(crate) asks_person: &'static [&'static str],
    /// What reaches a session.
    pub(crate) reach: Reach,
    /// What is left to the person.
    pub(crate) next: &'static str,
    /// Other settings that stop it.
    pub(crate) switches: &'static [Switch],
}

/// A file of settings: of a directory, and of the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Below the directory; none where it has no settings of a directory.
    pub(crate) project: Option<&'static str>,
    /// Below the home directory.
    pub(crate) user: &'static str,
    /// A variable that names another directory, and the file below that one.
    pub(crate) moved: Option<(&'static str, &'static str)>,
}

/// Where MCP servers are named.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) place: Place,
    /// The object that has a member for each.
    pub(crate) list: &'static [&'static str],
    pub(crate) shape: ServerShape,
    /// The `type` of a program, and of an address; none where there is no such member.
    pub(crate) types: (Option<&'static str>, Option<&'static str>),
    /// The member with the address, and how the value of a variable stands in a header.
    pub(crate) http: (&'static str, &'static str),
    /// Members besides.
    pub(crate) more: &'static [(&'static str, More)],
    /// Members of the file that the coding agent writes by itself when it starts.
    pub(crate) itself: &'static [&'static str],
}

/// The shape of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerShape {
    /// `command`, `args` and `env`.
    Program,
    /// `command` with the arguments, and `environment`.
    Line,
    /// A table of TOML.
    Toml,
}

/// A member besides those that every server has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum More {
    Number(u64),
    True,
    /// Only where its person need not be asked.
    TrueUnlessAsked,
    Texts(&'static [&'static str]),
}

/// What it runs at moments of a session.
#[derive(Debug)]
pub(crate) enum Hooks {
    None,
    /// Commands in its settings.
    Settings(Settings),
    /// A module that it loads, which runs the commands.
    Plugin(Module),
}

/// A module of ours.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) place: Place,
    pub(crate) source: &'static str,
    pub(crate) events: &'static [&'static str],
    /// The list of the settings with the servers that names it, and how for a directory and for the user; none where it is
    /// found by its place.
    pub(crate) named: Option<(&'static [&'static str], &'static str, &'static str)>,
}

/// Hooks in settings.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) place: Place,
    /// The object that has a list for each event.
    pub(crate) list: &'static [&'static str],
    pub(crate) shape: HookShape,
    pub(crate) events: &'static [&'static str],
    /// Events that are ours by another name.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// Members of the file that have to be there.
    pub(crate) besides: &'static [(&'static str, FixedValue)],
    /// Files that lie beside it.
    pub(crate) beside: &'static [(&'static str, &'static [(&'static str, FixedValue)])],
}

/// A value that is the same for everybody.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FixedValue {
    Number(u64),
    Text(&'static str),
}

/// The shape of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookShape {
    /// A group with a list of hooks, and the unit of its timeout in milliseconds.
    Groups { unit_ms: u64 },
    /// The hook itself with its command.
    Flat,
    /// The hook itself with its command for bash.
    Bash,
    /// Groups for tools, the hook itself for all else.
    Mixed,
    /// Tables of TOML.
    Toml,
}

/// How it is told without a change of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// It cannot be: `connect` goes first.
    Connected,
    /// Flags of Claude Code.
    ClaudeFlags,
    /// A flag for each key of its TOML.
    TomlFlags,
    /// A file of its own that the variable names, and the file that is read without it.
    Defaults { variable: &'static str, system: &'static str },
    /// A home directory that the variable names, with links to the user's files and an extension of ours.
    LinkedHome { variable: &'static str },
    /// Settings in the variable, its module among them.
    Content { variable: &'static str },
    /// Servers in a flag.
    ServersFlag(&'static str),
    /// The command line of the server in a flag behind a command, which is this one where none is given.
    CommandFlag { flag: &'static str, command: &'static str },
}

/// What reaches a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// While the model works.
    pub(crate) mid_turn: &'static str,
    /// While it waits for its person.
    pub(crate) idle: &'static str,
    /// Where nobody sits before it.
    pub(crate) headless: &'static str,
    /// The release that the tests run; none where all is written from its documents.
    pub(crate) tested: Option<&'static str>,
    /// Whether it can be told to call tools without asking.
    pub(crate) unasked: bool,
    /// Whether `--wake` does anything.
    pub(crate) wakes: bool,
}

/// A setting that stops our hooks or our server.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Files of the directory and of the user, and those of the machine.
    pub(crate) place: Place,
    pub(crate) machine: Option<&'static str>,
    /// Where it stands.
    pub(crate) at: &'static [&'static str],
    pub(crate) off: Off,
    /// What it does.
    pub(crate) does: &'static str,
    /// What to do about it.
    pub(crate) next: &'static str,
}

/// How a switch says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    True,
    False,
    /// The list has this.
    Has(&'static str),
    /// The list is there, and does not have this.
    Lacks(&'static str),
}

impl Tool {
    /// The events that it calls a hook for and that are answered.
    pub(crate) const fn events(&self) -> &'static [&'static str] {
        match &self.hooks {
            Hooks::None => &[],
            Hooks::Settings(settings) => settings.events,
            Hooks::Plugin(module) => module.events,
        }
    }

    /// What an event of it is called by this program.
    pub(crate) fn own_event<'a>(&self, event: &'a str) -> &'a str {
        match &self.hooks {
            Hooks::Settings(settings) => {
                settings.renamed.iter().find(|(theirs, _)| *theirs == event).map_or(event, |(_, ours)| ours)
            }
            Hooks::None | Hooks::Plugin(_) => event,
        }
    }

    /// Where its hooks are.
    pub(crate) const fn hooks_place(&self) -> Option<&Place> {
        match &self.hooks {
            Hooks::None => None,
            Hooks::Settings(settings) => Some(&settings.place),
            Hooks::Plugin(module) => Some(&module.place),
        }
    }
}
