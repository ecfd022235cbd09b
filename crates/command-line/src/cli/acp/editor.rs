//! The editor: notifications and requests to it, and its capabilities.
//! Must not know: sessions, agents, or the server.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use parking_lot::Mutex;
use plenary_hosts::acp::wire;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

type Waiting = HashMap<u64, oneshot::Sender<Result<Value, String>>>;

pub(super) struct Editor {
    out: mpsc::Sender<String>,
    last_request_id: AtomicU64,
    waiting: Mutex<Waiting>,
    has_forms: AtomicBool,
}

/// A pending request to the editor.
pub(super) struct EditorRequest {
    pub(super) id: u64,
    answer: oneshot::Receiver<Result<Value, String>>,
}

impl EditorRequest {
    /// The editor's answer, or why there is none. May be dropped while it waits: nothing is lost.
    pub(super) async fn answer(&mut self) -> Result<Value, String> {
        (&mut self.answer).await.unwrap_or_else(|_| Err("the editor is gone".to_owned()))
    }
}

impl Editor {
    pub(super) fn new(out: mpsc::Sender<String>) -> Self {
        let has_forms = AtomicBool::new(false);
        Self { out, last_request_id: AtomicU64::new(0), waiting: Mutex::default(), has_forms }
    }

    /// Records the editor's capabilities.
    pub(super) fn meet(&self, capabilities: &Value) {
        self.has_forms.store(!capabilities["elicitation"]["form"].is_null(), Ordering::Relaxed);
    }

    /// Whether the editor shows forms.
    pub(super) fn has_forms(&self) -> bool {
        self.has_forms.load(Ordering::Relaxed)
    }

    /// Writes a message. Does nothing if the editor closed its end.
    pub(super) async fn send(&self, message: &Value) {
        let _closed = self.out.send(message.to_string()).await;
    }

    /// Sends an update of a session.
    pub(super) async fn update(&self, session: &str, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(&wire::notice("session/update", &params)).await;
    }

    /// Sends a request.
    pub(super) async fn request(&self, method: &str, params: &Value) -> EditorRequest {
        let id = self.last_request_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        self.send(&wire::request(id, method, params)).await;
        EditorRequest { id, answer }
    }

    /// Withdraws a request that somebody else has answered.
    pub(super) async fn withdraw(&self, request: EditorRequest) {
        self.waiting.lock().remove(&request.id);
        self.send(&wire::notice(wire::CANCEL_REQUEST, &json!({"requestId": request.id}))).await;
    }

    /// Records the editor's answer to the request with this number.
    pub(super) fn answered(&self, id: u64, result: Result<Value, String>) {
        if let Some(waiting) = self.waiting.lock().remove(&id) {
            let _nobody = waiting.send(result);
        }
    }
}
