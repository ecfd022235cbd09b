//! A tool: its description for models, and its call.
//! Must not know: the list of tools, or the transport of a call.

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::{Map, Value};

use crate::operations::Caller;

/// A set of tools that a client asks for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolset {
    /// The few tools that do the daily work; what a client gets unless it asks for others.
    Core,
    /// The ten verbs of Agent-Channel Fan-Out.
    Frames,
    /// Agent Channel Protocol v2.
    Channels,
    /// The Agentic Protocol, also under the names of the reference's tools.
    Context,
    /// The Agent Session Protocol.
    Sessions,
    /// The Agent Protocol.
    Runs,
    /// Requests to people.
    Requests,
    /// `search` and `fetch`, which assistants on the web look for.
    Assistant,
}

/// What a client may assume of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may take something away.
    pub destructive: bool,
    /// Calling it twice is calling it once.
    pub idempotent: bool,
    /// It reaches beyond this network.
    pub open_world: bool,
}

/// A tool as a model is told of it, and what carries it out.
#[derive(Clone)]
pub struct Tool {
    /// `[a-z0-9_]`, at most 64.
    pub name: String,
    /// A few words for people.
    pub title: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub input: Arc<Map<String, Value>>,
    /// The JSON Schema of its structured result: an object.
    pub output: Option<Arc<Map<String, Value>>>,
    /// What may be assumed of it.
    pub hints: Hints,
    /// Whether a client that loads tools when they are needed loads this one at once.
    pub at_once: bool,
    /// Where it is listed.
    pub sets: Vec<Toolset>,
    /// What carries it out.
    pub action: Arc<dyn Action>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The result, an object as the output schema has it.
    Done(Value),
    /// A refusal, for the model to read: what happened and what to do next, with its stable code.
    Refused {
        /// The stable code.
        code: String,
        /// What happened, and what to do next.
        message: String,
    },
}

/// A call that is under way; dropping it cancels it.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = CallOutcome> + Send + 'a>>;

/// Carries out one tool.
pub trait Action: Send + Sync + 'static {
    /// Calls it in the caller's name. Arguments that do not fit the schema are refused with a code.
    fn call<'a>(&'a self, caller: &'a Caller, arguments: Map<String, Value>) -> CallFuture<'a>;

    /// The same for a client whose person can be asked there; most tools ask nobody.
    fn call_beside<'a>(
        &'a self,
        caller: &'a Caller,
        arguments: Map<String, Value>,
        _person: Option<Arc<dyn ClientPerson>>,
    ) -> CallFuture<'a> {
        self.call(caller, arguments)
    }
}

/// What a person at a client gave; dropping it takes the question back.
pub type PersonFuture<'a> = Pin<Box<dyn Future<Output = Option<Map<String, Value>>> + Send + 'a>>;

/// The person at the client of a call.
pub trait ClientPerson: Send + Sync {
    /// Asks for the values of a form; `None` where none are given: the client may have said no by itself.
    fn ask<'a>(&'a self, message: &'a str, schema: Value) -> PersonFuture<'a>;
}

/// All tools of a server, in the order of their names. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tools(Arc<[Tool]>);

impl Toolset {
    /// Every set, in the order of lists.
    pub const ALL: [Self; 8] = [
        Self::Core,
        Self::Frames,
        Self::Channels,
        Self::Context,
        Self::Sessions,
        Self::Runs,
        Self::Requests,
        Self::Assistant,
    ];

    /// The name by which it is asked for.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Frames => "frames",
            Self::Channels => "channels",
            Self::Context => "context",
            Self::Sessions => "sessions",
            Self::Runs => "runs",
            Self::Requests => "requests",
            Self::Assistant => "assistant",
        }
    }

    /// The sets of a list such as `core,frames`; `all` is every set.
    ///
    /// # Errors
    /// The name that no set has.
    pub fn parse(list: &str) -> Result<Vec<Self>, String> {
        let mut sets = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match Self::ALL.iter().find(|set| set.as_str() == name) {
                Some(set) => sets.push(*set),
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
    /// These tools, in the order of their names: lists are the same every time.
    #[must_use]
    pub fn new(mut tools: Vec<Tool>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Self(tools.into())
    }

    /// The tools of these sets.
    pub fn of<'a>(&'a self, sets: &'a [Toolset]) -> impl Iterator<Item = &'a Tool> {
        self.0.iter().filter(move |tool| tool.sets.iter().any(|set| sets.contains(set)))
    }

    /// The tool of a name, whatever its set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok().map(|at| &self.0[at])
    }
}
