//! Secrets that came in environment variables. What a process was started with stands in `/proc` for as long as it runs,
//! for every program of the same user, so a command that starts programs starts itself once more without them: they
//! come along on its standard input, which it has no other use for.
//! Must not know: what a variable is for.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    sync::OnceLock,
};

use anyhow::{Context as _, bail};
use clap::CommandFactory as _;

/// Says that the secrets are on standard input.
const HANDED_OVER: &str = "PLENARY_HANDED_OVER";
/// Most bytes of all secrets together: what fits into a pipe that nobody reads yet.
const SECRETS_OCTETS_MAX: usize = 32 << 10;

/// What came on standard input.
static HANDED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// A variable, wherever it came.
pub(crate) fn variable(name: &str) -> Option<String> {
    let handed = HANDED.get().and_then(|handed| handed.get(name).cloned());
    handed.or_else(|| std::env::var(name).ok())
}

/// Takes the secrets out of this process's environment: starts this command again without them. Comes back in the
/// process that was started so, or where there are none. To be called before there is any other thread.
pub(crate) fn withdraw() -> anyhow::Result<()> {
    if std::env::var_os(HANDED_OVER).is_some() {
        return take();
    }
    let secrets: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_secret(name))
        .collect();
    if secrets.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_vec(&secrets)?;
    if text.len() > SECRETS_OCTETS_MAX {
        bail!("the variables with secrets have more than {SECRETS_OCTETS_MAX} bytes together");
    }
    let (reader, mut writer) = std::io::pipe().context("handing secrets over")?;
    writer.write_all(&text).context("handing secrets over")?;
    drop(writer);
    let mut words = std::env::args_os();
    let mut again = Command::new(std::env::current_exe().context("this program is not there any more")?);
    again.arg0(words.next().unwrap_or_default()).args(words);
    for name in secrets.keys() {
        again.env_remove(name);
    }
    let error = again.env(HANDED_OVER, "stdin").stdin(Stdio::from(reader)).exec();
    Err(error).context("starting again without the secrets in the environment")
}

fn take() -> anyhow::Result<()> {
    let mut text = Vec::new();
    let most = u64::try_from(SECRETS_OCTETS_MAX).unwrap_or(u64::MAX);
    std::io::stdin().lock().take(most).read_to_end(&mut text).context("taking secrets over")?;
    let handed = serde_json::from_slice(&text).context("taking secrets over")?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?).context("closing standard input")?;
    let _ = HANDED.set(handed);
    Ok(())
}

/// Whether a variable may hold a secret: each of this program's own but those that its command line shows, and those
/// of others that are known for it.
fn is_secret(name: &str) -> bool {
    let is_shown = || {
        let command = crate::Plenary::command();
        command.get_subcommands().flat_map(clap::Command::get_arguments).chain(command.get_arguments()).any(
            |argument| {
                argument.get_env().is_some_and(|env| env == name) && !argument.is_hide_env_values_set()
            },
        )
    };
    match name {
        "AWS_SECRET_ACCESS_KEY" | "AWS_SESSION_TOKEN" => true,
        _ if name.starts_with("PLENARY_") => !is_shown(),
        _ => name.starts_with("OTEL_EXPORTER_OTLP_") && name.ends_with("HEADERS"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_withdrawn_and_settings_are_not() {
        for name in [
            "PLENARY_OPERATOR_TOKEN",
            "PLENARY_TOKEN",
            "PLENARY_DATABASE",
            "PLENARY_EMBEDDINGS",
            "PLENARY_EMBEDDINGS_API_KEY",
            "PLENARY_FAR_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["PLENARY_LISTEN", "PLENARY_DATA", "PLENARY_CONFIG", "AWS_REGION", "PATH", "OTEL_SDK_DISABLED"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }
}
