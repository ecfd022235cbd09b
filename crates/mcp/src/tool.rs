//! A tool: its description for models, and its call.
//! Must not know: the list of tools, or the transport of a call.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, LazyLock, OnceLock},
};

use serde_json::{Map, Value};

use crate::operations::Caller;

plenary_kernel::words! {
    /// A set of tools that a client selects by name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Toolset {
        /// The few tools for daily work; the default set.
        Core = "core",
        /// The ten verbs of Agent-Channel Fan-Out.
        Frames = "frames",
        /// Agent Channel Protocol v2.
        Channels = "channels",
        /// The Agentic Protocol, also under the names of the reference's tools.
        Context = "context",
        /// The Agent Session Protocol.
        Sessions = "sessions",
        /// The Agent Protocol.
        Runs = "runs",
        /// Requests to people.
        Requests = "requests",
        /// `search` and `fetch`, which web assistants require.
        Assistant = "assistant",
    }
}

/// What a client may assume about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may delete something.
    pub destructive: bool,
    /// Calling it twice has the same effect as calling it once.
    pub idempotent: bool,
    /// It has effects outside this network.
    pub open_world: bool,
}

/// A tool: its description for models, and its action.
#[derive(Clone)]
pub struct Tool {
    /// `[a-z0-9_]`, at most 64.
    pub name: String,
    /// A few words for people.
    pub title: String,
    /// Its description, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub input: Arc<Map<String, Value>>,
    /// The JSON Schema of its structured result: an object.
    pub output: Option<Arc<Map<String, Value>>>,
    /// Hints for the client.
    pub hints: Hints,
    /// Whether a client that loads tools on demand loads this one at once.
    pub at_once: bool,
    /// The sets that list it.
    pub sets: Vec<Toolset>,
    /// The action of a call.
    pub action: Arc<dyn Action>,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The result, an object that fits the output schema.
    Done(Value),
    /// A refusal, for the model to read: what happened and what to do next, with its stable code.
    Refused {
        /// The stable code.
        code: String,
        /// The cause, and the next step.
        message: String,
    },
}

/// A pending call; dropping it cancels it.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = CallOutcome> + Send + 'a>>;

/// The action of one tool.
pub trait Action: Send + Sync + 'static {
    /// Calls it on behalf of the caller. Rejects arguments that do not fit the schema, with a code.
    fn call<'a>(&'a self, caller: &'a Caller, arguments: Map<String, Value>) -> CallFuture<'a>;

    /// The same for a client that can ask its person; most tools ask nobody.
    fn call_with_person<'a>(
        &'a self,
        caller: &'a Caller,
        arguments: Map<String, Value>,
        _person: Option<ClientPerson>,
    ) -> CallFuture<'a> {
        self.call(caller, arguments)
    }
}

/// The values given by a person at a client; dropping it withdraws the question.
pub type PersonFuture<'a> = Pin<Box<dyn Future<Output = Option<Map<String, Value>>> + Send + 'a>>;

/// The person at the client of a call, and when the client can ask.
#[derive(Clone)]
pub enum ClientPerson {
    /// While the call runs.
    InCall(Arc<dyn LivePerson>),
    /// Between this call and its repetition.
    BetweenCalls(Arc<Rounds>),
}

/// A person who can be asked while a call runs.
pub trait LivePerson: Send + Sync {
    /// Asks for the values of a form; `None` without an answer: the client may have declined by itself.
    fn ask<'a>(&'a self, message: &'a str, schema: Value) -> PersonFuture<'a>;
}

/// The rounds of a call that asks a person: the client shows the question of one call, and repeats the call with the reply.
#[derive(Debug)]
pub struct Rounds {
    reply: Option<PersonReply>,
    question: OnceLock<PersonQuestion>,
}

/// The reply to the question of an earlier call.
#[derive(Debug)]
pub struct PersonReply {
    /// The state of the question, as the client repeats it; unchecked.
    pub state: String,
    /// The values of the form; `None` without an answer: the client may have declined by itself.
    pub values: Option<Map<String, Value>>,
}

/// A question that the client shows after a call.
#[derive(Debug)]
pub struct PersonQuestion {
    /// The question.
    pub message: String,
    /// The form.
    pub schema: Value,
    /// What the repeated call must know of this one.
    pub state: String,
}

impl Rounds {
    /// The rounds of a call, which has this reply to the question of an earlier one.
    pub const fn new(reply: Option<PersonReply>) -> Self {
        Self { reply, question: OnceLock::new() }
    }

    /// The reply to the question of an earlier call.
    pub const fn reply(&self) -> Option<&PersonReply> {
        self.reply.as_ref()
    }

    /// Asks a question after this call; a call asks one.
    pub fn ask(&self, question: PersonQuestion) {
        let _second = self.question.set(question);
    }

    /// The question of this call.
    pub fn question(&self) -> Option<&PersonQuestion> {
        self.question.get()
    }
}

/// All tools of a server, sorted by name. Cheap to clone.
///
/// They are made when one is first needed: their schemas take some 20 ms, which a start does not wait for.
#[derive(Clone)]
pub struct Tools(Arc<LazyLock<Vec<Tool>, MakeTools>>);

type MakeTools = Box<dyn FnOnce() -> Vec<Tool> + Send>;

impl Toolset {
    /// The sets of a list such as `core,frames`; `all` is every set.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(list: &str) -> Result<Vec<Self>, String> {
        let mut sets = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match Self::named(name) {
                Some(set) => sets.push(set),
                None if name == "all" => sets.extend(Self::ALL),
                None => return Err(name.to_owned()),
            }
        }
        sets.sort_unstable();
        sets.dedup();
        Ok(sets)
    }
}

impl Tools {
    /// The tools, sorted by name, so that lists are always the same.
    pub fn new(make: impl FnOnce() -> Vec<Tool> + Send + 'static) -> Self {
        let sorted = || {
            let mut tools = make();
            tools.sort_by(|a, b| a.name.cmp(&b.name));
            tools
        };
        Self(Arc::new(LazyLock::new(Box::new(sorted))))
    }

    /// The tools of these sets.
    pub fn in_sets<'a>(&'a self, sets: &'a [Toolset]) -> impl Iterator<Item = &'a Tool> {
        self.0.iter().filter(move |tool| tool.sets.iter().any(|set| sets.contains(set)))
    }

    /// The tool of a name, in any set.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok().map(|index| &self.0[index])
    }
}
