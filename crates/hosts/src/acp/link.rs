//! A process with one session: JSON-RPC 2.0, one message per line.
//! Must not know: runs and their events.

use std::{sync::Arc, time::Duration};

use plenary_runs::RunRequest;
use serde_json::{Map, Value, json};
use tokio::{
    process::{Child, ChildStdout},
    sync::mpsc,
    time::timeout,
};

use super::wire::{self, ErrorCode, Message, VERSION};
use crate::{
    program::{
        Program, exit_report,
        lines::{Line, Lines},
        process::{self, ChildProcess, Group},
        stderr::{self, StderrTail},
    },
    protocol::InvalidLines,
};

/// Most messages that wait for a program that does not read; beyond it the run ends with an error.
const MESSAGES_WAITING_MAX: usize = 64;
/// A session in its own process. Dropping it kills the process and its child processes.
#[derive(Debug)]
pub(super) struct Link {
    child: Child,
    exited: bool,
    group: Arc<Group>,
    lines: Lines<ChildStdout>,
    stderr: StderrTail,
    to_program: mpsc::Sender<String>,
    invalid_lines: InvalidLines,
    last_request: u64,
    /// The id of the session.
    session: String,
}

impl Link {
    /// Starts the program and a session.
    pub(super) async fn open(
        program: &Program,
        request: &RunRequest,
        opening_max: Duration,
    ) -> Result<Self, String> {
        let ChildProcess { child, stdin, stdout, stderr, group } = process::start(program)?;
        let (to_program, lines) = mpsc::channel(MESSAGES_WAITING_MAX);
        tokio::spawn(process::write(lines, stdin));
        // The process also serves later runs of the thread.
        let (agent, context) = (request.agent.clone(), format!("thread {}", request.thread_id));
        let mut link = Self {
            child,
            exited: false,
            group: Arc::new(group),
            lines: Lines::new(stdout),
            stderr: stderr::drain(stderr, agent.clone(), context.clone()),
            to_program,
            invalid_lines: InvalidLines::new(agent, context),
            last_request: 0,
            session: String::new(),
        };
        match timeout(opening_max, link.begin(program)).await {
            Ok(Ok(())) => Ok(link),
            Ok(Err(None)) => Err(link.end_text().await),
            Ok(Err(Some(error))) => Err(format!("the agent started no session: {error}")),
            Err(_) => Err(format!("the agent started no session within {} s", opening_max.as_secs_f64())),
        }
    }

    /// The handshake; `None` if the program ended.
    async fn begin(&mut self, program: &Program) -> Result<(), Option<String>> {
        let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
            "elicitation": {"form": {}}});
        let info = json!({"name": "plenary", "title": "Plenary", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": info});
        let greeting = self.call("initialize", &params).await?;
        if greeting["protocolVersion"].as_u64() != Some(VERSION) {
            let error =
                format!("it speaks version {} of the protocol, not {VERSION}", greeting["protocolVersion"]);
            return Err(Some(error));
        }
        let directory = program.directory.clone().unwrap_or_default();
        let directory = std::path::absolute(&directory).or_else(|_| std::env::current_dir());
        let directory = directory.map_err(|error| Some(format!("there is no directory: {error}")))?;
        let params = json!({"cwd": directory.to_string_lossy(), "mcpServers": []});
        let session = self.call("session/new", &params).await?;
        let id = session["sessionId"].as_str().ok_or_else(|| Some("its session has no id".to_owned()))?;
        id.clone_into(&mut self.session);
        Ok(())
    }

    async fn call(&mut self, method: &str, params: &Value) -> Result<Value, Option<String>> {
        let request_id = self.ask(method, params).map_err(Some)?;
        loop {
            match self.next().await {
                None => return Err(None),
                Some(Message::Answer { id, result }) if id == request_id => return result.map_err(Some),
                Some(Message::Request { id, .. }) => self.refuse(&id).map_err(Some)?,
                Some(Message::Answer { .. } | Message::Notice { .. }) => {}
            }
        }
    }

    /// Sends a request; returns its number.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<u64, String> {
        self.last_request += 1;
        self.send(&wire::request(self.last_request, method, params))?;
        Ok(self.last_request)
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) -> Result<(), String> {
        self.send(&wire::notice(method, params))
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: &Value, result: &Value) -> Result<(), String> {
        self.send(&wire::answer(id, result))
    }

    /// Refuses a request with an unsupported method.
    pub(super) fn refuse(&self, id: &Value) -> Result<(), String> {
        self.send(&wire::refusal(id, ErrorCode::MethodNotFound, "this client does not offer that"))
    }

    /// Refuses a request with invalid parameters.
    pub(super) fn refuse_params(&self, id: &Value, error: &str) -> Result<(), String> {
        self.send(&wire::refusal(id, ErrorCode::InvalidParams, error))
    }

    /// Answers a request that the program has canceled.
    pub(super) fn refuse_canceled(&self, id: &Value) -> Result<(), String> {
        self.send(&wire::refusal(id, ErrorCode::Canceled, "the request was canceled"))
    }

    fn send(&self, message: &Value) -> Result<(), String> {
        let sent = self.to_program.try_send(message.to_string());
        sent.map_err(|_| "the agent does not read its input".to_owned())
    }

    /// These members, with the session's id.
    pub(super) fn of_session(&self, mut members: Map<String, Value>) -> Value {
        members.insert("sessionId".into(), self.session.as_str().into());
        members.into()
    }

    /// Whether a message belongs to this session: a program may have others.
    pub(super) fn is_of_session(&self, params: &Value) -> bool {
        params["sessionId"].as_str().is_none_or(|session| session == self.session)
    }

    /// The next message; `None` once the program has closed its output. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            let line = tokio::select! {
                biased;
                line = self.lines.next() => line,
                _ = self.child.wait(), if !self.exited => {
                    // Surviving child processes must not hold its output open.
                    self.exited = true;
                    self.group.note_exit();
                    continue;
                }
            };
            match line? {
                Line::TooLong => self.invalid_lines.note("it is longer than a message may be", b""),
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => match wire::read(&line) {
                    Ok(message) => return Some(message),
                    Err(error) => self.invalid_lines.note(error, &line),
                },
            }
        }
    }

    /// The process group, so that it can be stopped while its output is read.
    pub(super) fn group(&self) -> Arc<Group> {
        self.group.clone()
    }

    /// How a program that closed its output ended, for people.
    pub(super) async fn end_text(mut self) -> String {
        exit_report::describe(&mut self.child, &self.group, self.stderr, "an answer").await
    }
}
