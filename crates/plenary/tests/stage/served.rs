//! The real server in a home of a test's own, and commands that run on while the test does something else.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Home, Ran};

/// Nothing here takes longer on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `plenary serve`; killed with the test.
pub struct TestServer {
    pub url: String,
    child: Child,
}

impl TestServer {
    pub fn start(home: &Home, address: &str) -> Self {
        Self::start_with(home, address, &[])
    }

    /// With further arguments.
    pub fn start_with(home: &Home, address: &str, further: &[&str]) -> Self {
        let mut command = home.plenary("");
        command
            .args(["serve", "--listen", address, "--grace", "60s"])
            .args(further)
            .env("PLENARY_LOG", "off");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let url =
            lines.filter_map(|line| Some(line.strip_prefix("listening on ")?.to_owned())).next().unwrap();
        Self { url, child }
    }

    /// SIGTERM, and a clean end.
    pub fn stop(mut self) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// `kill -9`, and the same address and data again.
    pub fn crash_and_return(self, home: &Home) -> Self {
        let address = self.url.trim_start_matches("http://").to_owned();
        drop(self);
        Self::start(home, &address)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _code = self.child.wait();
    }
}

/// A command that runs on, its lines as they come.
pub struct RunningCommand {
    child: Option<Child>,
    lines: Receiver<String>,
}

impl RunningCommand {
    pub fn start(home: &Home, url: &str, args: &[&str]) -> Self {
        let mut command = home.plenary(url);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        Self { child: Some(child), lines }
    }

    /// The next line of standard output.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The next line that holds these words.
    pub fn line_with(&self, text: &str) -> String {
        std::iter::repeat_with(|| self.line()).find(|line| line.contains(text)).unwrap()
    }

    /// Waits for the end, after a signal where one is given.
    pub fn end(mut self, signal: Option<Signal>) -> Ran {
        let child = self.child.take().unwrap();
        if let Some(signal) = signal {
            kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
        }
        let mut ran = Ran::new(child.wait_with_output().unwrap());
        ran.out = self.lines.iter().collect::<Vec<_>>().join("\n");
        ran
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _killed = child.kill();
            let _code = child.wait();
        }
    }
}

fn lines(out: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
