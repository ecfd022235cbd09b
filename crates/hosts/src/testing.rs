//! Requests and runs for the tests of kinds, and a scripted server.

use std::{collections::VecDeque, sync::Arc};

use plenary_kernel::{Stamp, TimestampMs};
use plenary_runs::{
    Run, RunReceiver, RunRequest,
    id::{RunId, ThreadId},
    run_channel,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{Launcher, config, exec::Exec, hosting::NoRecall};

/// An agent that is a shell script.
pub(crate) fn shell(script: &str) -> Exec {
    let command = toml::Value::from(["sh", "-c", script].map(str::to_owned).to_vec());
    Exec::new(config::read(toml::Table::from_iter([("command".into(), command)])).unwrap(), &Launcher::none())
        .unwrap()
}

/// A ChatRequest with this body.
pub(crate) fn request(body: &Value) -> RunRequest {
    let stamp = Stamp::new(TimestampMs(1), [0; 10]);
    RunRequest {
        agent: "tool".into(),
        run_id: RunId::mint(&stamp, 0),
        thread_id: ThreadId::mint(&stamp, 1),
        depth: 0,
        requester: "operator".into(),
        request_type: "ChatRequest".into(),
        input: body["input"].as_str().map(Into::into),
        body: body.to_string().into(),
        args: Arc::default(),
    }
}

/// Both ends of a run for this request.
pub(crate) fn run(request: &RunRequest) -> (Run, RunReceiver) {
    run_channel(Arc::new(request.clone()), Arc::new(NoRecall))
}

/// Waits until a process has ended, or is only a zombie.
pub(crate) async fn over(pid: i32) {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z')) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// A request that the script answered.
pub(crate) struct ScriptedRequest {
    /// Its first line and its fields, in small letters.
    pub(crate) head: String,
    /// Null if there was none.
    pub(crate) body: Value,
}

/// The request on a new connection.
pub(crate) async fn read_request(socket: &mut BufReader<TcpStream>) -> ScriptedRequest {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        if line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    ScriptedRequest { head, body: serde_json::from_slice(&body).unwrap_or_default() }
}

/// A server that answers one connection after the other with the texts of the script. `{origin}` is replaced by its
/// own origin. Returns the origin, and the requests.
pub(crate) async fn scripted(script: Vec<String>) -> (String, JoinHandle<Vec<ScriptedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let mut script: VecDeque<_> = script.iter().map(|answer| answer.replace("{origin}", &origin)).collect();
    let serving = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(answer) = script.pop_front() {
            let (socket, _) = listener.accept().await.unwrap();
            let mut socket = BufReader::new(socket);
            all.push(read_request(&mut socket).await);
            socket.write_all(answer.as_bytes()).await.unwrap();
            socket.shutdown().await.unwrap();
        }
        all
    });
    (origin, serving)
}
