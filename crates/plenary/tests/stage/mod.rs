//! A home of its own for the binary, and a server that answers from a list and keeps what it was asked.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    missing_docs,
    reason = "each test file uses a part of it"
)]
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod served;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
};

pub use served::{RunningCommand, TestServer};

/// A directory with nothing of the user's in it, gone with the test.
pub struct Home(pub PathBuf);

impl Home {
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("work")).unwrap();
        Self(path)
    }

    pub fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    pub fn tokens(&self) -> PathBuf {
        self.0.join(".config/plenary/tokens.toml")
    }

    /// Saves an agent's token for a server that cannot prove that it knows it.
    pub fn save_token(&self, url: &str, handle: &str, token: &str) {
        let ran = self.run_with_input(&Server::absent(), &["token", "add", handle], token);
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = std::fs::read_to_string(self.tokens()).unwrap();
        let absent = text.split('"').nth(1).unwrap();
        std::fs::write(self.tokens(), text.replace(absent, url)).unwrap();
    }

    /// The binary in this home, with no other environment.
    pub fn plenary(&self, url: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plenary"));
        command.env_clear().env("HOME", &self.0).env("PLENARY_URL", url).current_dir(self.work());
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, url: &str, args: &[&str]) -> Ran {
        Ran::new(self.plenary(url).args(args).output().unwrap())
    }

    /// Runs what must succeed; its standard output without the last line break.
    pub fn output_of(&self, url: &str, args: &[&str]) -> String {
        let ran = self.run(url, args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.out.trim_end().to_owned()
    }

    pub fn run_with_input(&self, url: &str, args: &[&str], input: &str) -> Ran {
        let mut command = self.plenary(url);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::new(child.wait_with_output().unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run of the binary left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// One request as it came: `METHOD /path`, the head, the body.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub line: String,
    pub head: String,
    pub body: String,
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Server {
    /// Answers the `n`th request with the `n`th answer, the last one for all after it; an empty status hangs up.
    pub fn answering(answers: &[(&str, &str)]) -> Self {
        let answers: Vec<(String, String)> =
            answers.iter().map(|(status, body)| ((*status).to_owned(), (*body).to_owned())).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for tcp in listener.incoming() {
                serve(tcp.unwrap(), &answers, &log);
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// A URL at which nothing listens.
    pub fn absent() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }
}

fn serve(mut tcp: TcpStream, answers: &[(String, String)], log: &Mutex<Vec<RecordedRequest>>) {
    while let Some(request) = read(&mut tcp) {
        let n = {
            let mut log = log.lock().unwrap();
            log.push(request);
            log.len() - 1
        };
        let (status, body) = &answers[n.min(answers.len() - 1)];
        let reply = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if status.is_empty() || tcp.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(tcp: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse().ok());
            let whole = end + 4 + length.unwrap_or(0);
            if bytes.len() >= whole {
                let line = String::from_utf8_lossy(&bytes[..end]).lines().next().unwrap().to_owned();
                let line = line.trim_end_matches(" HTTP/1.1").to_owned();
                return Some(RecordedRequest {
                    line,
                    head,
                    body: String::from_utf8_lossy(&bytes[end + 4..whole]).into(),
                });
            }
        }
        match tcp.read(&mut chunk).ok()? {
            0 => return None,
            n => bytes.extend_from_slice(&chunk[..n]),
        }
    }
}
