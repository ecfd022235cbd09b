//! A private Arize Phoenix: from PyPI in a virtual environment of its own, kept in Cargo's target directory; started
//! in a temporary directory, on free ports of the loopback.
//! Must not know: what the tests do with it.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, PipeReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{SyncSender, sync_channel},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{Running, apt, guard::Guard, ports};
use crate::{console, process, workspace};

/// Where tests find it. When it is set already, that server is used and none is started.
pub(super) const VARIABLE: &str = "PLENARY_TEST_PHOENIX";

/// What is installed; everything it brings is pinned by the constraints.
const REQUIREMENT: &str = "arize-phoenix==20.26.0";
/// The releases that the tests were written against.
const CONSTRAINTS: &str = include_str!("../../phoenix-constraints.txt");
/// Said before, so that nobody wonders.
const SIZE: &str = "about 850 MB on disk, a minute or two";
/// Written last; holds what was installed.
const STAMP: &str = "installed.txt";

/// Another process may take a free port first; so many times is bad luck ruled out.
const PORT_ATTEMPTS: usize = 5;
/// It migrates its database at each start in a fresh directory; on a busy machine that takes a while.
const START_MAX: Duration = Duration::from_secs(180);
/// What it says when it answers.
const UP: &str = "Uvicorn running on";
/// Ends the process group `$1`, which Ctrl-C does not reach, and removes the directory `$2`.
const CLEAN_UP: &str = "kill -9 \"-$1\"; rm -rf \"$2\" || { sleep 1; rm -rf \"$2\"; }";
/// Its last lines, for the case that it does not come up.
const TAIL_LINES: usize = 40;

/// Installs it when it is absent, or another release than the one wanted.
pub(super) fn ensure() -> Result<()> {
    if given().is_some() {
        return Ok(());
    }
    let place = place()?;
    let wanted = format!("{REQUIREMENT}\n{CONSTRAINTS}");
    let python = place.join("bin/python");
    if std::fs::read_to_string(place.join(STAMP)).is_ok_and(|found| found == wanted)
        && process::succeeds(Command::new(&python).args(["-c", "import importlib.metadata"]))
    {
        return Ok(());
    }
    console::say(&format!("    Arize Phoenix is absent: installing it from PyPI ({SIZE}), once"));
    let base = python_with_venv()?;
    if place.exists() {
        std::fs::remove_dir_all(&place).with_context(|| format!("could not remove {}", place.display()))?;
    }
    process::run(Command::new(base).args(["-m", "venv"]).arg(&place))?;
    let constraints = place.join("constraints.txt");
    std::fs::write(&constraints, CONSTRAINTS)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--prefer-binary"]);
    pip.arg("--constraint").arg(&constraints).arg(REQUIREMENT);
    let mut packages = 0;
    process::follow(&mut pip, |line| {
        if line.trim_start().starts_with("Collecting ") {
            packages += 1;
            if packages % 20 == 0 {
                console::say(&format!("    {packages} packages so far"));
            }
        } else if line.starts_with("Installing collected packages") {
            console::say(&format!("    all {packages} are here; unpacking them"));
        }
    })
    .with_context(|| {
        format!("Phoenix is needed: PyPI must be reachable, or a running Phoenix be named in {VARIABLE}")
    })?;
    std::fs::write(place.join(STAMP), wanted)?;
    Ok(())
}

/// Starts it on an empty database.
pub(super) fn start() -> Result<Running> {
    if let Some(url) = given() {
        console::say(&format!("    {VARIABLE} is set: using that server"));
        return Ok(Running { variable: VARIABLE, url, _guard: None });
    }
    // Not the script beside it, which knows the place it was installed to.
    let python = place()?.join("bin/python");
    let directory = std::env::temp_dir().join(format!("plenary-phoenix-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    for _ in 0..PORT_ATTEMPTS {
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("could not make {}", directory.display()))?;
        let port = ports::free()?;
        let (child, said) = launch(&python, &directory, port)?;
        let group = child.id().to_string();
        let place = directory.to_str().context("the temporary directory is not UTF-8")?;
        let guard = Guard::set(CLEAN_UP, &[&group, place], |_| {})?;
        let (sender, receiver) = sync_channel(2);
        std::thread::spawn(move || listen(child, said, &sender));
        match receiver.recv_timeout(START_MAX) {
            Ok(Ok(())) => {
                let url = format!("http://127.0.0.1:{port}");
                return Ok(Running { variable: VARIABLE, url, _guard: Some(guard) });
            }
            // Its port was taken in between.
            Ok(Err(last)) if last.contains("address already in use") => drop(guard),
            Ok(Err(last)) => bail!("Phoenix did not start; the last that it said:\n{last}"),
            Err(_) => bail!("Phoenix did not come up within {}", console::human(START_MAX)),
        }
    }
    bail!("Phoenix found no port, {PORT_ATTEMPTS} times")
}

/// A server that the caller started.
fn given() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|url| !url.is_empty())
}

/// The virtual environment.
fn place() -> Result<PathBuf> {
    Ok(workspace::metadata(workspace::root())?.target_directory.join("phoenix"))
}

/// A Python that can make virtual environments with pip in them; Debian has that apart.
fn python_with_venv() -> Result<&'static str> {
    const PYTHON: &str = "python3";
    let able = || process::succeeds(Command::new(PYTHON).args(["-c", "import venv, ensurepip"]));
    if !able() {
        console::say("    python3 or its venv is absent: installing it");
        apt::install(&["python3", "python3-venv"])
            .context("Phoenix needs Python 3.11 to 3.14, with venv and pip")?;
        if !able() {
            bail!("python3-venv was installed, but `python3` on the PATH is another one, without venv");
        }
    }
    Ok(PYTHON)
}

/// Starts a process, and gives what it prints on both streams.
fn launch(python: &Path, directory: &Path, port: u16) -> Result<(Child, PipeReader)> {
    let (said, output) = std::io::pipe()?;
    let mut command = Command::new(python);
    for (name, _) in std::env::vars_os() {
        if ["PHOENIX_", "OTEL_", "PYTHON"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    let child = command
        .args(["-m", "phoenix.server.main", "serve"])
        .current_dir(directory)
        .env("PHOENIX_WORKING_DIR", directory)
        .env("PHOENIX_HOST", "127.0.0.1")
        .env("PHOENIX_PORT", port.to_string())
        .env("PHOENIX_GRPC_PORT", ports::free()?.to_string())
        .env("PHOENIX_TELEMETRY_ENABLED", "false")
        .env("PYTHONUNBUFFERED", "1")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not start {}", python.display()))?;
    Ok((child, said))
}

/// Reads what it prints as long as it runs, and tells when it is up, or what it said last when it is over.
fn listen(mut child: Child, said: PipeReader, tell: &SyncSender<std::result::Result<(), String>>) {
    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    for line in BufReader::new(said).lines() {
        let Ok(line) = line else { continue };
        if line.contains(UP) {
            // Nobody listens any more when the start was given up.
            let _late = tell.try_send(Ok(()));
        }
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    let _reaped = child.wait();
    let _late = tell.try_send(Err(Vec::from(tail).join("\n")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_guard_ends_the_whole_group_and_removes_the_directory() {
        let directory = std::env::temp_dir().join(format!("plenary-phoenix-test-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let mut group = Command::new("/bin/sh");
        group.args(["-c", "sleep 600 & wait"]).process_group(0);
        let mut child = group.spawn().unwrap();
        let arguments = [child.id().to_string(), directory.to_str().unwrap().to_owned()];
        let guard = Guard::set(CLEAN_UP, &[&arguments[0], &arguments[1]], |_| {}).unwrap();
        assert!(directory.exists() && child.try_wait().unwrap().is_none());
        drop(guard);
        assert!(!child.wait().unwrap().success());
        assert!(!directory.exists());
    }

    #[test]
    fn the_requirement_is_among_the_constraints() {
        assert!(CONSTRAINTS.lines().any(|line| line == REQUIREMENT), "{REQUIREMENT}");
        assert!(CONSTRAINTS.lines().all(|line| line.contains("==")), "every release is pinned");
    }
}
