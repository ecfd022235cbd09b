//! What both protocols share: one line after the other on standard output, and the steps that say nothing.
//! Must not know: either protocol.

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};

/// How often a gate is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Standard output, and how the process is to end.
#[derive(Debug)]
pub(crate) struct Stage {
    out: Mutex<()>,
    deaf: AtomicBool,
    exit: mpsc::Sender<u8>,
}

impl Stage {
    /// The stage, and the code with which a step ends the process.
    pub(crate) fn new() -> (Self, mpsc::Receiver<u8>) {
        let (exit, code) = mpsc::channel(1);
        (Self { out: Mutex::new(()), deaf: AtomicBool::new(false), exit }, code)
    }

    /// Whether cancelling, SIGTERM and the end of standard input are to be ignored.
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::SeqCst)
    }

    /// One JSON value as a line.
    pub(crate) async fn write_json(&self, value: &Value) {
        self.bytes(format!("{value}\n").as_bytes()).await;
    }

    /// Bytes as they are. Whoever listened may be gone, which ends nothing.
    pub(crate) async fn bytes(&self, bytes: &[u8]) {
        let _turn = self.out.lock().await;
        let mut out = std::io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        drop(written);
    }

    /// A step that means the same in both protocols; `false` when this is none.
    pub(crate) async fn step(&self, verb: &str, rest: &str) -> bool {
        match verb {
            "" => {}
            "line" => self.bytes(format!("{rest}\n").as_bytes()).await,
            "hex" => self.bytes(&unhex(rest)).await,
            "err" => complain(format!("{rest}\n").as_bytes()),
            "errflood" => {
                let line = [b"e".repeat(1023), b"\n".to_vec()].concat();
                (0..number(rest)).for_each(|_| complain(&line));
            }
            "gate" => {
                while !std::path::Path::new(rest).exists() {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
            "mark" => {
                let mut file = std::fs::File::options().create(true).append(true).open(rest);
                let written = file.as_mut().map(|file| file.write_all(b"here\n"));
                drop(written);
            }
            "deaf" => {
                self.deaf.store(true, Ordering::SeqCst);
                if let Ok(mut terms) = signal(SignalKind::terminate()) {
                    tokio::spawn(async move { while terms.recv().await.is_some() {} });
                }
            }
            "hang" => std::future::pending().await,
            "exit" => {
                let code = u8::try_from(number(rest)).unwrap_or(u8::MAX);
                if self.exit.send(code).await.is_ok() {
                    std::future::pending().await
                }
            }
            _ => return false,
        }
        true
    }
}

/// What a step wants to know of its process; nothing for steps that ask nothing.
pub(crate) fn process_property(verb: &str, rest: &str) -> Option<String> {
    Some(match verb {
        "env" => std::env::var(rest).unwrap_or_else(|_| "-".to_owned()),
        "envs" => std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned() + " ").collect(),
        "args" => std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        "cwd" => std::env::current_dir().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default(),
        "take" => match std::fs::File::create_new(rest) {
            Ok(_) => "taken".to_owned(),
            Err(error) => error.to_string(),
        },
        "give" => std::fs::remove_file(rest).map_or_else(|error| error.to_string(), |()| "given".to_owned()),
        "fds" => std::fs::read_dir("/proc/self/fd")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned() + "\n")
            .collect(),
        "pid" => std::process::id().to_string(),
        "read" => {
            let mut text = String::new();
            let read = std::fs::File::open(rest).and_then(|mut file| file.read_to_string(&mut text));
            read.map(|_| text).unwrap_or_else(|error| error.to_string())
        }
        _ => return None,
    })
}

/// The step on a line: its first word and the rest.
pub(crate) fn split(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

/// A number of a script; 1 where there is none.
pub(crate) fn number(text: &str) -> usize {
    text.trim().parse().unwrap_or(1)
}

fn complain(bytes: &[u8]) {
    let written = std::io::stderr().write_all(bytes);
    drop(written);
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter_map(|byte| char::from(byte).to_digit(16)?.try_into().ok()).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}
