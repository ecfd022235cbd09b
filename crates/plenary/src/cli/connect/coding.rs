//! The coding agents that can be connected: where each keeps its settings, and which events of it are answered.
//! Must not know: how settings are changed.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::surroundings::Surroundings;

/// A program in which a model works on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CodingAgent {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
}

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of one directory.
    Project,
    /// The user's own, for every directory.
    User,
}

impl Scope {
    /// As it is written down.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// Where a coding agent looks for its settings.
pub(crate) struct Places<'a> {
    /// The directory it works in.
    pub(crate) directory: &'a Path,
    /// What it finds around it.
    pub(crate) around: &'a Surroundings,
}

impl CodingAgent {
    /// Every one.
    pub(crate) const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Gemini, Self::Cursor, Self::Vscode];

    /// What it is called on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    /// What it is called.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
        }
    }

    /// The events that it calls a hook for and that are answered.
    pub(crate) const fn events(self) -> &'static [&'static str] {
        match self {
            Self::Claude => {
                &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
            }
            Self::Codex => &["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"],
            Self::Gemini => {
                &["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"]
            }
            // Before a prompt it takes no text.
            Self::Cursor => &["sessionStart", "postToolUse", "stop", "preCompact", "sessionEnd"],
            // It runs the hooks of Claude Code's settings.
            Self::Vscode => &[],
        }
    }

    /// The file that names MCP servers; none where there is no home.
    pub(crate) fn servers_file(self, scope: Scope, places: &Places<'_>) -> Option<PathBuf> {
        Some(match (self, scope) {
            (Self::Claude, Scope::Project) => places.directory.join(".mcp.json"),
            (Self::Claude, Scope::User) => places.home()?.join(".claude.json"),
            (Self::Codex, scope) => places.codex(scope)?.join("config.toml"),
            (Self::Gemini, scope) => places.root(scope)?.join(".gemini/settings.json"),
            (Self::Cursor, scope) => places.root(scope)?.join(".cursor/mcp.json"),
            (Self::Vscode, Scope::Project) => places.directory.join(".vscode/mcp.json"),
            (Self::Vscode, Scope::User) => places.vscode_user()?.join("mcp.json"),
        })
    }

    /// The file that names hooks.
    pub(crate) fn hooks_file(self, scope: Scope, places: &Places<'_>) -> Option<PathBuf> {
        Some(match (self, scope) {
            // Not `settings.json`, which others of the project share.
            (Self::Claude, Scope::Project) => places.directory.join(".claude/settings.local.json"),
            (Self::Claude, Scope::User) => places.home()?.join(".claude/settings.json"),
            (Self::Codex, scope) => places.codex(scope)?.join("hooks.json"),
            (Self::Gemini, scope) => places.root(scope)?.join(".gemini/settings.json"),
            (Self::Cursor, scope) => places.root(scope)?.join(".cursor/hooks.json"),
            (Self::Vscode, _) => return None,
        })
    }

    /// What is left to the person.
    pub(crate) const fn next(self) -> &'static str {
        match self {
            Self::Claude => {
                "start `claude` here; a session that runs already takes hooks from its next start on"
            }
            Self::Codex => {
                "start `codex` here, trust the directory when it asks, and the hooks once with `/hooks`: until then it \
                 runs none of them"
            }
            Self::Gemini => {
                "start `gemini` here and trust the folder: until then the server is shown as disabled"
            }
            Self::Cursor => {
                "open this directory in Cursor, and enable the server `plenary` in its settings if it asks"
            }
            Self::Vscode => {
                "open this directory in VS Code and start the server `plenary` when it asks; for messages that arrive \
                 by themselves connect `claude` here too, whose hooks VS Code runs"
            }
        }
    }
}

impl Places<'_> {
    fn home(&self) -> Option<PathBuf> {
        self.around.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    fn root(&self, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::Project => Some(self.directory.to_owned()),
            Scope::User => self.home(),
        }
    }

    fn codex(&self, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::Project => Some(self.directory.join(".codex")),
            Scope::User => {
                let told = self.around.var("CODEX_HOME").map(PathBuf::from);
                told.or_else(|| Some(self.home()?.join(".codex")))
            }
        }
    }

    fn vscode_user(&self) -> Option<PathBuf> {
        let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
        Some(self.home()?.join(below).join("Code/User"))
    }
}
