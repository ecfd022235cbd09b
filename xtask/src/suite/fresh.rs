//! Runs a script in a fresh home, and in a private network if possible; leaves nothing behind.
//! Must not know: the script.

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::sync_channel,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{console, needs::guard::Guard, process};

/// The time limit of one script.
const TIME_MAX: Duration = Duration::from_mins(4);
/// Kills every process with the home `$1`, even outside the process group, and removes the directory.
const CLEAN_UP: &str = "for p in /proc/[0-9]*; do grep -qs \"HOME=$1\" $p/environ && kill -9 ${p#/proc/}; done; \
                        rm -rf \"$1\" || { sleep 1; rm -rf \"$1\"; }";
/// A private network and private mounts: every port is free, and downloads are impossible.
const NAMESPACES: &[&str] = &["--map-root-user", "--net", "--mount"];

/// Whether a script can have a private network.
pub(super) fn network() -> bool {
    let lo_is_up = ["ip", "link", "set", "lo", "up"];
    process::succeeds(Command::new("unshare").args(NAMESPACES).args(lo_is_up))
}

/// Runs a bash script with `binary`, if given, as `plenary` on its path; returns its output, which is
/// shown on failure.
pub(super) fn run(
    name: &str,
    script: &str,
    binary: Option<&Path>,
    network: bool,
    more: &[(&str, &Path)],
) -> Result<String> {
    let name = name.replace(['/', '.'], "-");
    let home = std::env::temp_dir().join(format!("plenary-fresh-{}-{name}", std::process::id()));
    let programs = home.join("bin");
    fs::create_dir_all(&programs)?;
    let home_text = home.to_str().context("the temporary directory is not UTF-8")?;
    let _guard = Guard::set(CLEAN_UP, &[home_text], |_| {})?;
    if let Some(binary) = binary {
        symlink(binary, programs.join("plenary"))?;
    }
    // An error status of the server fails the script.
    fs::write(home.join(".curlrc"), "fail-with-body\n")?;
    let up = if network { "ip link set lo up\n" } else { "" };
    fs::write(home.join("script"), format!("set -e -o pipefail\n{up}{script}"))?;
    let output = fs::File::create(home.join("output"))?;
    let mut command = Command::new(if network { "unshare" } else { "bash" });
    if network {
        command.args(NAMESPACES).arg("bash");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    command.arg(home.join("script")).current_dir(&home).env_clear().envs([
        ("HOME", home_text),
        ("LANG", "C.UTF-8"),
        ("PATH", &format!("{}:{path}", programs.display())),
    ]);
    command.envs(more.iter().copied());
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let mut child = command.spawn().context("could not start bash")?;
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || sender.try_send(child.wait()));
    let ended = receiver.recv_timeout(TIME_MAX);
    let output = fs::read_to_string(home.join("output")).unwrap_or_default();
    match ended {
        Ok(Ok(status)) if status.success() => Ok(output),
        ended => {
            console::print_line(&output);
            match ended {
                Ok(status) => bail!("it ended with {}", status?),
                Err(_) => bail!("it did not end within {}", console::human(TIME_MAX)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_fails_in_the_middle_fails() {
        let error = run("fails", "false | true\necho no\n", None, false, &[]).unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
    }

    #[test]
    fn a_script_gets_only_the_variables_that_it_needs() {
        let output =
            run("told", "echo $GIVEN $CARGO_MANIFEST_DIR\n", None, false, &[("GIVEN", Path::new("a"))]);
        assert_eq!(output.unwrap(), "a\n");
    }
}
