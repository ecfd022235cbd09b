//! `plenary --help`: the commands in groups, each with an example.
//! Must not know: a command, except its own description.

use clap::Command;

use super::AT_PEER;
use crate::out::terminal_width;

/// The commands that can use a linked network.
const FOR_PEERS: &[&str] = &["channel", "run", "runs", "context"];

/// A group of related commands.
pub struct Group {
    title: &'static str,
    /// Their names.
    pub commands: &'static [&'static str],
    /// An example of one of them.
    pub example: &'static str,
}

/// Every command, in groups; the most used come first.
pub const GROUPS: &[Group] = &[
    Group {
        title: "Talk",
        commands: &["send", "reply", "ask", "who", "inbox", "attention", "search", "watch", "message"],
        example: "plenary send @nick.claude-parser \"The schema changed: see db/schema.sql\"",
    },
    Group {
        title: "Begin",
        commands: &["serve", "connect", "disconnect", "doctor", "status", "stop", "console", "demo"],
        example: "plenary connect claude --owner nick --serve",
    },
    Group {
        title: "Start a coding agent (explained by `plenary help claude`; `--help` goes to the agent)",
        commands: &[
            "claude",
            "codex",
            "gemini",
            "opencode",
            "qwen",
            "kimi",
            "copilot",
            "kilo",
            "qoder",
            "droid",
            "antigravity",
            "pi",
            "amp",
            "crush",
            "goose",
            "auggie",
            "cursor",
        ],
        example: "plenary claude",
    },
    Group { title: "People", commands: &["requests", "contact"], example: "plenary requests list" },
    Group {
        title: "Work together",
        commands: &["session", "context", "channel", "frame", "run", "runs", "listen"],
        example: "plenary session create --invite @acme.support --topic \"Export\" --message \"Is it known?\"",
    },
    Group {
        title: "Accounts",
        commands: &["agents", "agent", "owner", "org", "peer", "me", "token", "use", "trust"],
        example: "plenary agent add @nick.assistant",
    },
    Group {
        title: "For programs",
        commands: &["mcp", "acp", "hook", "teach", "completions", "fsck", "cluster", "log"],
        example: "plenary completions bash",
    },
];

/// The widest line of the help, as of every other help page.
const WIDTH_MAX: usize = 100;
/// The layout of the help page: the groups replace the single list of commands.
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// The command line with its commands in groups.
pub fn grouped(command: Command) -> Command {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let (mut text, width) = (String::new(), terminal_width().min(WIDTH_MAX));
    for group in GROUPS {
        text.push_str(&format!("{}:\n", group.title));
        for name in group.commands {
            text.push_str(&entry(name, &about(name), width));
        }
        text.push_str(&format!("  e.g. {}\n\n", group.example));
    }
    text.push_str("`plenary help COMMAND` shows more about each.\n");
    without_peer(command).before_help(text).help_template(TEMPLATE)
}

/// The line of a command. Further lines of its description are indented below the first.
fn entry(name: &str, about: &str, width: usize) -> String {
    let mut text = format!("  {name:<12}");
    let indent = text.len() + 1;
    let mut column = indent;
    for (nth, word) in about.split(' ').enumerate() {
        if nth > 0 && column + word.len() >= width {
            text.push_str(&format!("\n{:indent$}{word}", ""));
            column = indent;
        } else {
            text.push(' ');
            text.push_str(word);
        }
        column += word.len() + 1;
    }
    text.push('\n');
    text
}

/// The command line with `--peer` shown only in the help of commands that take it.
fn without_peer(command: Command) -> Command {
    let Some(peer) = command.get_arguments().find(|argument| argument.get_id() == AT_PEER).cloned() else {
        return command;
    };
    command.mut_subcommands(|command| match FOR_PEERS.contains(&command.get_name()) {
        true => command,
        false => command.arg(peer.clone().hide(true)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_several_lines_stays_in_its_column() {
        assert_eq!(entry("search", "Search all messages", 80), "  search       Search all messages\n");
        assert_eq!(
            entry("search", "Search all messages", 28),
            "  search       Search all\n               messages\n"
        );
    }
}
