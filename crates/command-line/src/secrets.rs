//! Secrets from environment variables or the command line. `/proc` shows a process's initial environment to every
//! program of the same user, and its command line to everybody, while it runs. Therefore a command restarts itself
//! without them: a command that starts programs without any, and any other without those of its command line. They
//! are passed in a pipe, which is standard input if the command does not use it otherwise.
//! Must not know: the use of a variable.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{Read as _, Write as _},
    os::{fd::AsRawFd as _, unix::process::CommandExt as _},
    process::{Command, Stdio},
    sync::OnceLock,
};

use anyhow::{Context as _, bail};
use rustix::io::{FdFlags, fcntl_setfd};

/// The variable that names the receiving process and the source of the secrets: `PID stdin` or `PID DESCRIPTOR`. Programs
/// started by that process inherit the variable and ignore it, because the PID is not theirs.
const HANDED_OVER: &str = "PLENARY_HANDED_OVER";
/// Maximum size of all secrets together: what fits into a pipe before anybody reads it.
const SECRETS_BYTES_MAX: usize = 32 << 10;

/// The source of secrets that arrive on standard input.
const STDIN: &str = "stdin";

/// A flag of the command line that holds a secret or refers to one.
pub struct Flag<'a> {
    /// `--token`
    pub name: &'static str,
    /// Its value, if given.
    pub value: Option<&'a str>,
    /// Whether the value itself is the secret, rather than its location.
    pub shows: bool,
    /// The variable that hands over the secret, and the secret.
    pub secret: (&'static str, Option<&'a str>),
}

impl<'a> Flag<'a> {
    /// A flag whose value is a secret, which is handed over as a variable.
    pub const fn secret(name: &'static str, variable: &'static str, value: Option<&'a str>) -> Self {
        Self { name, value, shows: true, secret: (variable, value) }
    }
}

/// The secrets that were handed over.
static HANDED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// A variable, handed over or from the environment; empty counts as unset.
pub fn variable(name: &str) -> Option<String> {
    let handed = HANDED.get().and_then(|handed| handed.get(name).cloned());
    handed.or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
}

/// Removes the secrets from this process's command line, and from its environment if it starts programs, by starting
/// this command again without them. `starts_programs` then describes the whole command line. Returns in the new process, or if there are no secrets. Must run before any other
/// thread starts.
pub fn withdraw(flags: &[Flag<'_>], starts_programs: Option<fn() -> clap::Command>) -> anyhow::Result<()> {
    if let Some(source) = std::env::var(HANDED_OVER).ok().as_deref().and_then(handed_here) {
        return take(source);
    }
    let (arguments, shows) = without(flags, std::env::args_os());
    let mut secrets: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| starts_programs.is_some_and(|command| is_secret(name, command)))
        .collect();
    if secrets.is_empty() && !shows {
        return Ok(());
    }
    let given = flags.iter().filter_map(|flag| Some((flag.secret.0, flag.secret.1?)));
    secrets.extend(given.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let text = serde_json::to_vec(&secrets)?;
    if text.len() > SECRETS_BYTES_MAX {
        bail!("the secrets in variables and flags together exceed {SECRETS_BYTES_MAX} bytes");
    }
    let (reader, mut writer) = std::io::pipe().context("handing secrets over")?;
    writer.write_all(&text).context("handing secrets over")?;
    drop(writer);
    let mut arguments = arguments.into_iter();
    let mut command = Command::new(std::env::current_exe().context("this program no longer exists")?);
    command.arg0(arguments.next().unwrap_or_default()).args(arguments);
    for name in secrets.keys() {
        command.env_remove(name);
    }
    let process = std::process::id();
    let error = if starts_programs.is_some() {
        command.env(HANDED_OVER, format!("{process} {STDIN}")).stdin(Stdio::from(reader)).exec()
    } else {
        fcntl_setfd(&reader, FdFlags::empty()).context("handing secrets over")?;
        command.env(HANDED_OVER, format!("{process} {}", reader.as_raw_fd())).exec()
    };
    Err(error).context("starting again without the secrets")
}

/// The arguments without these flags and their values, and whether one of them was a secret. Arguments after `--` belong to
/// another command.
fn without(flags: &[Flag<'_>], arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, bool) {
    let (mut remaining, mut shows, mut arguments) = (Vec::new(), false, arguments);
    while let Some(word) = arguments.next() {
        if word == "--" {
            remaining.push(word);
            remaining.extend(arguments);
            break;
        }
        let is_joined =
            |flag: &&Flag<'_>| flag.value.is_some_and(|value| word == *format!("{}={value}", flag.name));
        if let Some(flag) = flags.iter().find(is_joined) {
            shows |= flag.shows;
            continue;
        }
        if let Some(flag) = flags.iter().find(|flag| flag.value.is_some() && word == flag.name) {
            let value = arguments.next();
            if value.as_deref().and_then(|value| value.to_str()) == flag.value {
                shows |= flag.shows;
                continue;
            }
            remaining.push(word);
            remaining.extend(value);
            continue;
        }
        remaining.push(word);
    }
    (remaining, shows)
}

/// The source of the secrets, if they were handed over to this very process.
fn handed_here(value: &str) -> Option<&str> {
    let (process, source) = value.split_once(' ')?;
    (process.parse() == Ok(std::process::id())).then_some(source)
}

fn take(source: &str) -> anyhow::Result<()> {
    let mut text = Vec::new();
    let most = u64::try_from(SECRETS_BYTES_MAX).unwrap_or(u64::MAX);
    if source == STDIN {
        std::io::stdin().lock().take(most).read_to_end(&mut text).context("taking secrets over")?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).context("closing standard input")?;
    } else {
        let pipe = File::open(format!("/dev/fd/{source}")).context("taking secrets over")?;
        pipe.take(most).read_to_end(&mut text).context("taking secrets over")?;
    }
    let secrets = serde_json::from_slice(&text).context("taking secrets over")?;
    let _ = HANDED.set(secrets);
    Ok(())
}

/// Whether a variable may hold a secret: each of this program's own except those that its command line shows, and
/// known ones of other programs.
pub fn is_secret(name: &str, command: fn() -> clap::Command) -> bool {
    let is_shown = || {
        let command = command();
        command.get_subcommands().flat_map(clap::Command::get_arguments).chain(command.get_arguments()).any(
            |argument| {
                argument.get_env().is_some_and(|env| env == name) && !argument.is_hide_env_values_set()
            },
        )
    };
    match name {
        HANDED_OVER => false,
        "AWS_SECRET_ACCESS_KEY" | "AWS_SESSION_TOKEN" => true,
        _ if name.starts_with("PLENARY_") => !is_shown(),
        _ => name.starts_with("OTEL_EXPORTER_OTLP_") && name.ends_with("HEADERS"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_with_secrets_are_left_out_and_everything_else_stays() {
        let without = |words: &[&str]| {
            let flags = [
                Flag::secret("--token", "--token", Some("agt_x")),
                Flag { name: "--token-file", value: Some("-"), shows: false, secret: ("--token", None) },
                Flag::secret("--database", "PLENARY_DATABASE", None),
            ];
            let (remaining, shows) = without(&flags, words.iter().map(Into::into));
            (
                remaining.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "),
                shows,
            )
        };
        assert_eq!(without(&["p", "--token", "agt_x", "me"]), ("p me".into(), true));
        assert_eq!(without(&["p", "me", "--token=agt_x", "--json"]), ("p me --json".into(), true));
        assert_eq!(without(&["p", "--token-file", "-", "me"]), ("p me".into(), false));
        let others = ["p", "x", "--token", "y", "--database", "z", "--", "sh", "--token", "agt_x"];
        assert_eq!(without(&others), (others.join(" "), false));
    }
}
