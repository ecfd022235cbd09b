//! Commands that a text suggests, with the global options that the user gave, so that each works unchanged.
//! Must not know: how options are parsed.

/// An option that the user gave: its name, and the words that give it again. For options of one command the name is the
/// command, and they stand after it.
pub type GivenOption = (&'static str, String);

/// The text before the name of a command; after a space alone, it is a word of a sentence.
const BEFORE: [&str; 3] = ["`plenary ", ": plenary ", ", plenary "];
const PROGRAM: &str = "plenary ";

/// The text, with the given options in each `plenary COMMAND` that takes them and has no options of its own before the command.
pub(super) fn repeat(text: &str, given: &[GivenOption]) -> String {
    let mut repeated = String::with_capacity(text.len());
    let mut rest = text;
    let mut next = if text.starts_with(PROGRAM) { Some(PROGRAM.len()) } else { program(text) };
    while let Some(end) = next {
        let (before, command) = rest.split_at(end);
        repeated.push_str(before);
        if command.starts_with(|c: char| c.is_ascii_lowercase()) {
            for (_, options) in given.iter().filter(|(name, _)| takes(command, name)) {
                repeated.push_str(options);
                repeated.push(' ');
            }
        }
        rest = command;
        let mut commands = given.iter().filter(|(name, _)| !name.starts_with("--"));
        let own = commands.find_map(|(name, options)| Some((command.strip_prefix(name)?, name, options)));
        if let Some((after, name, options)) =
            own.filter(|(after, ..)| after.starts_with(' ') && !after.starts_with(" init"))
        {
            repeated.push_str(&format!("{name} {options}"));
            rest = after;
        }
        next = program(rest);
    }
    repeated + rest
}

/// The end of the first name of the program before a command.
fn program(text: &str) -> Option<usize> {
    BEFORE.iter().filter_map(|before| Some(text.find(before)? + before.len())).min()
}

/// Whether the option means the same for this command.
fn takes(command: &str, option: &str) -> bool {
    let mut names = command.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    match (option, first, second) {
        (command, _, _) if !command.starts_with("--") => false,
        // They call no server.
        (_, "serve" | "stop" | "fsck" | "cluster" | "log" | "help" | "teach" | "completions", _) => false,
        // The token would be saved as that of another holder.
        ("--token-file", "token", "add") => false,
        // They configure: the agent is their argument, or the new one.
        ("--as", "agent" | "connect" | "disconnect" | "owner" | "peer" | "trust" | "use", _) => false,
        ("--as", "token", "add" | "remove") => false,
        ("--peer", _, _) => matches!(first, "channel" | "context" | "run" | "runs"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suggested_command_gets_the_options_that_it_accepts() {
        let given = [("--as", "--as @nick.a"), ("--peer", "--peer acme"), ("context", "--project p")];
        let given = given.map(|(name, options)| (name, options.to_owned()));
        for (text, expected) in [
            (
                "see `plenary inbox`, or `plenary who`",
                "see `plenary --as @nick.a inbox`, or `plenary --as @nick.a who`",
            ),
            ("plenary requests list", "plenary --as @nick.a requests list"),
            ("try: plenary inbox ack 7", "try: plenary --as @nick.a inbox ack 7"),
            ("`plenary runs show a 1`", "`plenary --as @nick.a --peer acme runs show a 1`"),
            ("`plenary context pull`", "`plenary --as @nick.a --peer acme context --project p pull`"),
            ("`plenary context init q`", "`plenary --as @nick.a --peer acme context init q`"),
            ("`plenary serve` or `plenary connect claude`", "`plenary serve` or `plenary connect claude`"),
            (
                "`plenary agents`, not `plenary agent add @b.c`",
                "`plenary --as @nick.a agents`, not `plenary agent add @b.c`",
            ),
            ("`plenary --url http://x token add nick`", "`plenary --url http://x token add nick`"),
            ("`plenary --as @nick send @b.c/day TEXT`", "`plenary --as @nick send @b.c/day TEXT`"),
            ("the plenary server, /etc/plenary it", "the plenary server, /etc/plenary it"),
        ] {
            assert_eq!(repeat(text, &given), expected);
            assert_eq!(repeat(text, &[]), text);
        }
    }
}
