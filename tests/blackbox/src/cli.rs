//! The client commands of the binary, run in a home of their own: commands that end, and commands that run on.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use crate::process::binary;
use crate::{Agent, PATIENCE, Server, TempDir};

/// A home with nothing of the user's in it, and the environment of every command run there.
#[derive(Debug)]
pub struct Cli {
    home: TempDir,
    env: Vec<(String, String)>,
}

/// What a command left.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Cli {
    /// An empty home, with these variables and no others.
    pub fn new(env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { home: TempDir::new(), env }
    }

    /// The command line of an agent in one of its sessions; it finds the system's own commands.
    pub fn of(server: &Server, agent: &Agent, session: &str) -> Self {
        Self::new(&[
            ("PLENARY_URL", &server.url()),
            ("PLENARY_AS", &agent.handle),
            ("PLENARY_TOKEN", agent.token()),
            ("PLENARY_SESSION", session),
            ("PATH", "/usr/bin:/bin"),
        ])
    }

    /// The directory commands run in.
    pub fn dir(&self) -> PathBuf {
        self.home.path().canonicalize().expect("the directory is there")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.home.path()).envs(self.env.iter().cloned());
        command.current_dir(self.home.path()).args(args).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, args: &[&str]) -> CommandOutput {
        let output = timeout(PATIENCE, self.command(args).output()).await;
        let output = output.unwrap_or_else(|_| panic!("{args:?} did not end within {PATIENCE:?}"));
        let output = output.expect("the binary starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints UTF-8");
        CommandOutput {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs a command in a directory, which is made where it is missing.
    pub async fn run_in(&self, directory: &Path, args: &[&str]) -> CommandOutput {
        std::fs::create_dir_all(directory).expect("a directory can be made");
        let mut command = self.command(args);
        run_to_end(command.current_dir(directory), "", args).await
    }

    /// Runs a line of a shell with this standard input, as coding agents run hooks.
    pub async fn shell(&self, directory: &Path, line: &str, input: &str) -> CommandOutput {
        let mut command = Command::new("/bin/sh");
        command.env_clear().env("HOME", self.home.path()).envs(self.env.iter().cloned());
        command.current_dir(directory).args(["-c", line]).kill_on_drop(true);
        run_to_end(&mut command, input, &[line]).await
    }

    /// Runs a command that must succeed; its standard output without the last line break.
    pub async fn run_ok(&self, args: &[&str]) -> String {
        let output = self.run(args).await;
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        output.out.trim_end().to_owned()
    }

    /// Starts a command with these standard streams.
    pub fn spawn(&self, args: &[&str], stdout: Stdio, stderr: Stdio) -> Child {
        self.command(args).stdout(stdout).stderr(stderr).spawn().expect("the binary starts")
    }

    /// Starts a command that runs on.
    pub fn start(&self, args: &[&str]) -> RunningCommand {
        // A group of its own: where a person runs the tests, the terminal's Ctrl-C group is another.
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).process_group(0).spawn().expect("the binary starts");
        let out = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let err = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        RunningCommand { child, out, err, seen_lines: Vec::new() }
    }
}

/// Runs a command to its end with all of its standard input.
async fn run_to_end(command: &mut Command, input: &str, args: &[&str]) -> CommandOutput {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // Who does not read it has no use for it.
    let _unread = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.unwrap_or_else(|_| panic!("{args:?} did not end within {PATIENCE:?}"));
    let output = output.expect("it can be waited for");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints UTF-8");
    CommandOutput {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A command that runs on; killed when dropped.
#[derive(Debug)]
pub struct RunningCommand {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
    seen_lines: Vec<String>,
}

impl RunningCommand {
    /// The next line of standard output.
    pub async fn line(&mut self) -> String {
        self.line_with("").await
    }

    /// The next line of standard output that holds these words.
    pub async fn line_with(&mut self, words: &str) -> String {
        find(&mut self.out, words, &mut self.seen_lines).await
    }

    /// The next line of standard error that holds these words.
    pub async fn note_with(&mut self, words: &str) -> String {
        find(&mut self.err, words, &mut self.seen_lines).await
    }

    /// The command line and the environment of the process, as they stand in `/proc`.
    pub fn proc_texts(&self) -> (String, String) {
        crate::process::proc_texts(self.child.id().expect("the command runs"))
    }

    /// Tells the command something.
    pub fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("the command runs");
        let pid = Pid::from_raw(i32::try_from(id).expect("process ids fit")).expect("not zero");
        kill_process(pid, signal).expect("the command can be signalled");
    }

    /// Writes a line to its standard input.
    pub async fn write_line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input is open");
        let writing = async {
            input.write_all(format!("{line}\n").as_bytes()).await?;
            input.flush().await
        };
        writing.await.expect("it takes a line");
    }

    /// Closes its standard input.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for its end; what it printed since it was last looked at.
    pub async fn end(mut self) -> CommandOutput {
        drop(self.child.stdin.take());
        let rest = async { (rest(&mut self.out).await, rest(&mut self.err).await, self.child.wait().await) };
        let (out, err, status) =
            timeout(PATIENCE, rest).await.unwrap_or_else(|_| panic!("it goes on: {:?}", self.seen_lines));
        let status = status.expect("it can be waited for");
        CommandOutput { code: status.code().unwrap_or(-1), out, err }
    }
}

async fn find<R: AsyncRead + Unpin>(
    lines: &mut Lines<BufReader<R>>,
    words: &str,
    seen_lines: &mut Vec<String>,
) -> String {
    let search = async {
        while let Some(line) = lines.next_line().await.expect("it prints UTF-8") {
            seen_lines.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
        panic!("it ended without `{words}`: {seen_lines:#?}");
    };
    match timeout(PATIENCE, search).await {
        Ok(line) => line,
        Err(_) => panic!("`{words}` never came"),
    }
}

async fn rest<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>) -> String {
    let mut text = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        text.push_str(&line);
        text.push('\n');
    }
    text
}
