//! The coding agents by name, and the places of their files. The table has the data of each.
//! Must not know: how settings are changed.

use std::path::{Path, PathBuf};

use clap::{ValueEnum, builder::PossibleValue};

use super::{
    tool::{Reach, SettingsLocation, Tool},
    tools::TOOLS,
};
use crate::cli::environment::Environment;

/// A program in which a model works on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodingAgent {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Qwen,
    Kimi,
    Copilot,
    Kilo,
    Qoder,
    Droid,
    Antigravity,
    Pi,
    Amp,
    Crush,
    Goose,
    Auggie,
    Cursor,
    Vscode,
}

/// The scope of the changed settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The settings of one directory.
    Project,
    /// The user's settings, for every directory.
    User,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// The directories where a coding agent looks for its settings.
pub(crate) struct SettingsRoots<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a Environment,
}

impl CodingAgent {
    pub(crate) const COUNT: usize = 18;
    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Qwen,
        Self::Kimi,
        Self::Copilot,
        Self::Kilo,
        Self::Qoder,
        Self::Droid,
        Self::Antigravity,
        Self::Pi,
        Self::Amp,
        Self::Crush,
        Self::Goose,
        Self::Auggie,
        Self::Cursor,
        Self::Vscode,
    ];

    /// Its entry in the table.
    pub(crate) fn tool(self) -> &'static Tool {
        &TOOLS[self as usize]
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        TOOLS.iter().find(|tool| tool.name == name).map(|tool| tool.agent)
    }

    /// Its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        self.tool().name
    }

    pub(crate) fn title(self) -> &'static str {
        self.tool().title
    }

    /// The hook events that this program answers.
    pub(crate) fn events(self) -> &'static [&'static str] {
        self.tool().events()
    }

    /// How messages reach its sessions.
    pub(crate) fn reach(self) -> Reach {
        self.tool().reach
    }

    /// The file that lists MCP servers; `None` if it has none, or there is no home.
    pub(crate) fn servers_file(self, scope: Scope, roots: &SettingsRoots<'_>) -> Option<PathBuf> {
        roots.find(&self.tool().servers.as_ref()?.location, scope)
    }

    /// The file that lists hooks, or the module that runs them.
    pub(crate) fn hooks_file(self, scope: Scope, roots: &SettingsRoots<'_>) -> Option<PathBuf> {
        roots.find(self.tool().hooks_location()?, scope)
    }
}

impl ValueEnum for CodingAgent {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()).help(self.title()))
    }
}

impl SettingsRoots<'_> {
    /// The path of a file; `None` if the scope has no such file, or there is no home.
    pub(crate) fn find(&self, location: &SettingsLocation, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::Project => Some(self.directory.join(location.project?)),
            Scope::User => {
                let moved = location.moved.and_then(|(variable, file)| {
                    Some(
                        PathBuf::from(self.environment.var(variable).filter(|path| !path.is_empty())?)
                            .join(file),
                    )
                });
                moved.or_else(|| Some(self.home()?.join(location.user)))
            }
        }
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.environment.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }
}
