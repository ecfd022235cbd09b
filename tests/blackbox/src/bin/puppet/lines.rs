//! The line protocol: requests on standard input, events on standard output, several runs at once.
//! Must not know: the server; what it says of a run follows from the run's own script.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::{Mutex, mpsc};

use crate::stage::{Stage, number, process_property, split};

/// Requests that wait for one run.
const INBOX_MAX: usize = 64;

/// The runs that go on.
#[derive(Debug)]
struct Cast {
    stage: Stage,
    named: bool,
    runs: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    /// Where a cancellation is written down.
    on_cancel: Mutex<Option<String>>,
    /// What is canceled says that it succeeded.
    insists: AtomicBool,
}

/// Serves until standard input ends or a step ends the process; its exit code.
pub(crate) async fn serve(named: bool) -> u8 {
    let (stage, mut exit) = Stage::new();
    let cast = Arc::new(Cast {
        stage,
        named,
        runs: Mutex::default(),
        on_cancel: Mutex::default(),
        insists: AtomicBool::new(false),
    });
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            code = exit.recv() => return code.unwrap_or_default(),
            line = input.next_line() => match line {
                Ok(Some(line)) => cast.clone().take(&line).await,
                _ if cast.stage.is_deaf() => return exit.recv().await.unwrap_or_default(),
                _ => return 0,
            },
        }
    }
}

impl Cast {
    async fn take(self: Arc<Self>, line: &str) {
        let Ok(request) = serde_json::from_str::<Value>(line) else { return };
        let run = request["run_id"].as_str().unwrap_or_default().to_owned();
        if request["type"] == "ChatRequest" {
            let (inbox, requests) = mpsc::channel(INBOX_MAX);
            self.runs.lock().await.insert(run, inbox);
            let part = Part { cast: self, request, line: line.to_owned(), text_sent: String::new() };
            tokio::spawn(part.play(requests));
            return;
        }
        let inbox = self.runs.lock().await.get(&run).cloned();
        if let Some(inbox) = inbox {
            let sent = inbox.send(request).await;
            drop(sent);
        }
    }
}

/// One run.
struct Part {
    cast: Arc<Cast>,
    request: Value,
    line: String,
    text_sent: String,
}

impl Part {
    async fn play(mut self, mut requests: mpsc::Receiver<Value>) {
        let script = self.request["input"].as_str().unwrap_or_default().to_owned();
        let (answers, mut inbox) = mpsc::channel(INBOX_MAX);
        let (cast, run) = (self.cast.clone(), self.request["run_id"].clone());
        let canceled = async {
            while let Some(request) = requests.recv().await {
                if request["type"] != "CancelRequest" {
                    let sent = answers.send(request).await;
                    drop(sent);
                    continue;
                }
                if let Some(path) = cast.on_cancel.lock().await.as_ref() {
                    let written = std::fs::write(path, request.to_string());
                    drop(written);
                }
                if !cast.stage.is_deaf() {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            () = self.steps(&script, &mut inbox) => {}
            () = canceled => {
                let reason = if cast.insists.load(Ordering::SeqCst) { "success" } else { "canceled" };
                let event = json!({"type": "RunCompleted", "finish_reason": reason});
                write_event(&cast, &run, event).await;
            }
        }
    }

    async fn steps(&mut self, script: &str, answers: &mut mpsc::Receiver<Value>) {
        let mut open = true;
        let mut answer = Value::Null;
        for line in script.lines() {
            let line = line.replace("{run}", self.request["run_id"].as_str().unwrap_or_default());
            let (verb, rest) = split(&line);
            match verb {
                "text" => self.text(rest).await,
                "many" => {
                    let (count, rest) = split(rest);
                    for at in 0..number(count) {
                        self.text(&format!("{rest}{at}")).await;
                    }
                }
                "flood" => loop {
                    self.emit(json!({"type": "TextOutput", "content": "f".repeat(1000)})).await;
                },
                "huge" => self.text(&"x".repeat(number(rest))).await,
                "event" => self.emit(serde_json::from_str(rest).unwrap_or_default()).await,
                "ask" => {
                    let (key, what) = rest.split_once('=').unwrap_or((rest, ""));
                    self.emit(json!({"type": "WaitForInput", "request_keys": {key: what}})).await;
                    answer = answers.recv().await.unwrap_or_default();
                }
                "answer" => self.text(&answer["request_keys"].to_string()).await,
                "whole-answer" => self.text(&answer.to_string()).await,
                "request" => self.text(&self.line.clone()).await,
                "oncancel" => *self.cast.on_cancel.lock().await = Some(rest.to_owned()),
                "insist" => self.cast.insists.store(true, Ordering::SeqCst),
                "done" => {
                    open = false;
                    self.emit(json!({"type": "RunCompleted", "finish_reason": "success", "result": rest}))
                        .await;
                }
                "finish" => {
                    open = false;
                    self.emit(json!({"type": "RunCompleted", "finish_reason": rest})).await;
                }
                "mute" => open = false,
                _ => match process_property(verb, rest) {
                    Some(answer) => self.text(&answer).await,
                    None => {
                        if !self.cast.stage.step(verb, rest).await {
                            self.text(&line).await;
                        }
                    }
                },
            }
        }
        if open {
            let result = std::mem::take(&mut self.text_sent);
            self.emit(json!({"type": "RunCompleted", "finish_reason": "success", "result": result})).await;
        }
    }

    async fn text(&mut self, text: &str) {
        self.text_sent.push_str(text);
        self.emit(json!({"type": "TextOutput", "content": text})).await;
    }

    async fn emit(&self, event: Value) {
        write_event(&self.cast, &self.request["run_id"], event).await;
    }
}

async fn write_event(cast: &Cast, run: &Value, mut event: Value) {
    if cast.named && event.is_object() && event["run_id"].is_null() {
        event["run_id"] = run.clone();
    }
    cast.stage.write_json(&event).await;
}
