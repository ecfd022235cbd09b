//! What the figures were measured on. No names and no paths: only what makes figures differ.
//! Must not know: the figures.

use std::{fs, process::Command};

use anyhow::{Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that the idle figure needs in each of its two processes, with room for the rest.
const FILES_NEEDED: u64 = 11_000;

/// Sockets are files, and children inherit the limit.
pub(crate) fn raise_file_limit() -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some() && current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    match maximum {
        Some(maximum) if maximum < FILES_NEEDED => {
            bail!("only {maximum} files may be open here; {FILES_NEEDED} are needed (ulimit -n)")
        }
        _ => Ok(()),
    }
}

/// Facts by name.
pub(crate) fn facts() -> Vec<(&'static str, String)> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut facts = vec![("cores, shared by server and load", cores.to_string())];
    let found = [
        ("processor", processor(&read("/proc/cpuinfo"))),
        ("memory", memory()),
        ("kernel", Some(read("/proc/sys/kernel/osrelease").trim().to_owned())),
        ("compiler", output_of("rustc", &["--version"])),
    ];
    facts.extend(found.into_iter().filter_map(|(name, fact)| Some((name, fact?))));
    facts.push(("SQLite", rusqlite::version().to_owned()));
    facts
}

/// The name says little on a rented machine, so family and model follow it.
fn processor(text: &str) -> Option<String> {
    let name = after(text, "model name")?;
    let model = after(text, "cpu family").zip(after(text, "model"));
    Some(model.map_or(name.clone(), |(family, model)| format!("{name}, family {family}, model {model}")))
}

fn memory() -> Option<String> {
    let kib: u64 = after(&read("/proc/meminfo"), "MemTotal")?.trim_end_matches(" kB").parse().ok()?;
    Some(format!("{} GiB", (kib + (1 << 19)) >> 20))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value in the first line `name : value`.
fn after(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned()).filter(|value| !value.is_empty())
}

fn output_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
