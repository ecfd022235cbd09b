//! The sessions of the editor: the open ones, and their counterparts on the network.
//! Must not know: how a run or a conversation proceeds.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_client::{frames::Uuid, runs::Thread, sessions::SessionsQuery};
use plenary_hosts::acp::wire::ErrorCode;
use plenary_kernel::SessionId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    asker::AgentCaller,
    conversation::Conversation,
    editor::Editor,
    fault::{Answer, Fault},
    prompt,
    question::Question,
    thread::ThreadSession,
};

/// The maximum number of open sessions.
const SESSIONS_MAX: usize = 256;
/// The number of sessions on a page of the list.
const LISTED_MAX: u32 = 50;

/// An open session.
pub(super) struct Session {
    pub(super) id: String,
    cwd: String,
    counterpart: Counterpart,
    /// Cancels the pending prompt.
    turn: Mutex<Option<CancellationToken>>,
    /// Stops the work that no prompt started.
    pub(super) background: CancellationToken,
    /// Stops showing runs, because another load of the session shows them now. The runs continue.
    pub(super) replaced: CancellationToken,
    /// The question that the next prompt answers.
    pub(super) question: Mutex<Option<Question>>,
    /// The editor has seen the network's session up to here.
    pub(super) seen: Mutex<u64>,
}

/// The counterpart of an editor's session on the network.
enum Counterpart {
    /// A thread of an agent that the server runs.
    Thread,
    /// A session with an agent of any other kind.
    Conversation(SessionId),
}

/// A pending prompt.
pub(super) struct PromptGuard {
    session: Arc<Session>,
    cancel: CancellationToken,
}

impl Drop for PromptGuard {
    fn drop(&mut self) {
        *self.session.turn.lock() = None;
    }
}

impl Session {
    fn new(id: String, cwd: String, counterpart: Counterpart) -> Arc<Self> {
        Arc::new(Self {
            id,
            cwd,
            counterpart,
            turn: Mutex::default(),
            background: CancellationToken::new(),
            replaced: CancellationToken::new(),
            question: Mutex::default(),
            seen: Mutex::default(),
        })
    }

    /// The editor's working directory; agents on the same machine may need it.
    pub(super) fn cwd(&self) -> &str {
        &self.cwd
    }
}

/// The open sessions.
pub(super) struct Sessions {
    editor: Arc<Editor>,
    asker: Result<Arc<AgentCaller>, String>,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    pub(super) fn new(editor: Arc<Editor>, asker: Result<AgentCaller, String>) -> Self {
        Self { editor, asker: asker.map(Arc::new), open: Mutex::default() }
    }

    pub(super) fn editor(&self) -> &Editor {
        &self.editor
    }

    fn asker(&self) -> Result<&Arc<AgentCaller>, Fault> {
        self.asker.as_ref().map_err(|why| Fault::new(ErrorCode::AuthRequired, why.as_str()))
    }

    fn thread(&self, session: &Arc<Session>) -> Result<ThreadSession, Fault> {
        let (asker, editor) = (self.asker()?.clone(), self.editor.clone());
        Ok(ThreadSession { asker, editor, session: session.clone() })
    }

    fn conversation(&self, session: &Arc<Session>, id: &SessionId) -> Result<Conversation, Fault> {
        let (asker, editor) = (self.asker()?.clone(), self.editor.clone());
        Ok(Conversation { asker, editor, session: session.clone(), id: id.clone() })
    }

    fn keep(&self, session: &Arc<Session>) -> Result<(), Fault> {
        let mut open = self.open.lock();
        if open.len() >= SESSIONS_MAX && !open.contains_key(&session.id) {
            session.replaced.cancel();
            return Err(Fault::internal(format!("{SESSIONS_MAX} sessions are open; close one")));
        }
        if let Some(replaced) = open.insert(session.id.clone(), session.clone()) {
            replaced.replaced.cancel();
        }
        Ok(())
    }

    fn find(&self, params: &Value) -> Result<Arc<Session>, Fault> {
        let id = text(params, "sessionId")?;
        self.open.lock().get(id).cloned().ok_or_else(|| Fault::no_session(id))
    }

    /// `session/new`
    pub(super) async fn open(&self, params: &Value) -> Answer {
        let (asker, cwd) = (self.asker()?, directory(params)?);
        let session = if asker.is_hosted().await? {
            Session::new(Uuid::random().as_str().to_owned(), cwd, Counterpart::Thread)
        } else {
            let id = Conversation::begin(asker).await?;
            Session::new(id.to_string(), cwd, Counterpart::Conversation(id))
        };
        self.keep(&session)?;
        Ok(json!({"sessionId": session.id}))
    }

    /// `session/load`, or `session/resume` if `is_shown` is false. An open session must not have a pending prompt.
    pub(super) async fn load(&self, params: &Value, is_shown: bool) -> Answer {
        let (asker, cwd, id) = (self.asker()?, directory(params)?, text(params, "sessionId")?);
        let is_open = self.open.lock().contains_key(id);
        let excluded = is_open.then(|| self.begin_turn(params, CancellationToken::new())).transpose()?;
        if let Some(turn) = &excluded {
            turn.session.replaced.cancel();
        }
        let session = if asker.is_hosted().await? {
            let session = Session::new(id.to_owned(), cwd, Counterpart::Thread);
            self.thread(&session)?.load(is_shown).await?;
            session
        } else {
            let named: SessionId = id.parse().map_err(|_| Fault::no_session(id))?;
            let session = Session::new(id.to_owned(), cwd, Counterpart::Conversation(named.clone()));
            self.conversation(&session, &named)?.load(is_shown).await?;
            session
        };
        self.keep(&session)?;
        Ok(json!({}))
    }

    /// `session/list`. A session of the network has no directory: each is listed under the directory in the request.
    pub(super) async fn list(&self, params: &Value) -> Answer {
        let asker = self.asker()?;
        let working_directory = || std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        let cwd = params["cwd"].as_str().map_or_else(working_directory, str::to_owned);
        let cursor = params["cursor"].as_str();
        let (sessions, next) = match asker.is_hosted().await? {
            true => threads(asker, cursor, &cwd).await?,
            false => conversations(asker, cursor, &cwd).await?,
        };
        let mut answer = json!({"sessions": sessions});
        if let Some(next) = next {
            answer["nextCursor"] = next.into();
        }
        Ok(answer)
    }

    /// `session/close`: stops showing the session. It stays on the network.
    pub(super) fn close(&self, params: &Value) -> Answer {
        let session = self.find(params)?;
        self.cancel(params);
        self.open.lock().remove(&session.id);
        Ok(json!({}))
    }

    /// `session/cancel`
    pub(super) fn cancel(&self, params: &Value) {
        let Ok(session) = self.find(params) else { return };
        let turn = session.turn.lock().clone();
        turn.as_ref().unwrap_or(&session.background).cancel();
    }

    /// Starts the turn of a prompt, which `cancel` can cancel from now on.
    pub(super) fn begin_turn(&self, params: &Value, cancel: CancellationToken) -> Result<PromptGuard, Fault> {
        let session = self.find(params)?;
        let mut turn = session.turn.lock();
        if turn.is_some() {
            let text = "the last prompt of this session is not answered yet; cancel it or wait";
            return Err(Fault::new(ErrorCode::InvalidRequest, text));
        }
        *turn = Some(cancel.clone());
        drop(turn);
        Ok(PromptGuard { session, cancel })
    }

    /// `session/prompt`
    pub(super) async fn prompt(&self, turn: PromptGuard, params: &Value) -> Answer {
        let text = prompt::text(&params["prompt"])?;
        let reason = match &turn.session.counterpart {
            Counterpart::Thread => self.thread(&turn.session)?.prompt(&text, &turn.cancel).await?,
            Counterpart::Conversation(id) => {
                self.conversation(&turn.session, id)?.prompt(&text, &turn.cancel).await?
            }
        };
        Ok(json!({"stopReason": reason}))
    }
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Fault> {
    params[name].as_str().ok_or_else(|| Fault::params(format!("`{name}` is missing")))
}

fn directory(params: &Value) -> Result<String, Fault> {
    text(params, "cwd").map(str::to_owned)
}

fn listed(id: &str, cwd: &str, title: Option<&str>, updated_at: &str) -> Value {
    let mut entry = json!({"sessionId": id, "cwd": cwd, "updatedAt": updated_at});
    if let Some(title) = title {
        entry["title"] = title.into();
    }
    entry
}

/// One page of the agent's threads, and the cursor of the next page.
async fn threads(
    asker: &AgentCaller,
    cursor: Option<&str>,
    cwd: &str,
) -> Result<(Vec<Value>, Option<String>), Fault> {
    let page = asker.call(|| asker.client.threads(asker.name(), Some(LISTED_MAX), cursor)).await?;
    let threads: &[Thread] = &page.reply;
    let next = threads.last().filter(|_| page.more).map(|last| last.thread_id.clone());
    let entry = |thread: &Thread| listed(&thread.thread_id, cwd, thread.title.as_deref(), &thread.updated_at);
    Ok((threads.iter().map(entry).collect(), next))
}

/// One page of the sessions with the agent, and the next cursor. A page may be empty: it is filtered from all sessions.
async fn conversations(
    asker: &AgentCaller,
    cursor: Option<&str>,
    cwd: &str,
) -> Result<(Vec<Value>, Option<String>), Fault> {
    let query = SessionsQuery { before: cursor.map(str::to_owned), limit: Some(LISTED_MAX) };
    let page = asker.call(|| asker.client.sessions(&query)).await?.value;
    let is_with = |session: &&plenary_client::sessions::Session| {
        session.participants.iter().any(|participant| participant.handle == asker.agent)
    };
    let entries = page.sessions.iter().filter(is_with).map(|session| {
        listed(session.id.as_str(), cwd, session.topic.as_deref(), &session.created_at.rfc3339())
    });
    Ok((entries.collect(), page.next_cursor))
}
