//! The tools for models, all made of operations: the few for daily work, the verbs of each protocol, and each
//! operation by itself.
//! Must not know: the transport of a call.

mod api;
mod arguments;
mod assistant;
pub mod bounds;
mod core;
mod frame;
mod frames;
mod relay;
mod schema;
mod stream;
mod whole;

use std::{future::Future, marker::PhantomData, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    operations::{Caller, Operations},
    tool::{Action, CallFuture, CallOutcome, ClientPerson, Hints, Tool, Tools, Toolset},
};
use api::{Answer, Refusal, ToolApi};
pub use core::NAMES as CORE;
pub use whole::faults;

/// Every tool of a server with these operations.
pub fn all(operations: &Operations) -> Tools {
    let operations = operations.clone();
    Tools::new(move || {
        [
            core::tools(&operations),
            assistant::tools(&operations),
            frames::tools(&operations),
            relay::tools(&operations),
            whole::tools(&operations),
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

/// Hints for tools that change nothing.
const READS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
/// Hints for tools that change something only at the first call.
const SETTLES: Hints = Hints { read_only: false, destructive: false, idempotent: true, open_world: false };
/// Hints for tools that add something, and remove nothing.
const ADDS: Hints = Hints { read_only: false, destructive: false, idempotent: false, open_world: false };

/// The description of a tool.
#[derive(Debug, Clone, Copy)]
struct Card {
    name: &'static str,
    description: &'static str,
    hints: Hints,
    sets: &'static [Toolset],
}

/// A tool made of several operations, with its own arguments.
struct ComposedTool<A, F> {
    operations: Operations,
    takes: Arc<Map<String, Value>>,
    repeatable: bool,
    work: F,
    arguments: PhantomData<fn() -> A>,
}

/// A tool with arguments of this type.
fn composed<A, F, W>(operations: &Operations, card: Card, work: F) -> Tool
where
    A: JsonSchema + DeserializeOwned + Send + 'static,
    F: Fn(ToolApi, A) -> W + Send + Sync + 'static,
    W: Future<Output = Answer> + Send + 'static,
{
    let Card { name, description, hints, sets } = card;
    let operations = operations.clone();
    let input = schema::of::<A>();
    let takes = input.clone();
    let action =
        ComposedTool { operations, takes, repeatable: hints.idempotent, work, arguments: PhantomData };
    Tool {
        name: name.to_owned(),
        title: String::new(),
        description: description.to_owned(),
        input,
        output: None,
        hints,
        at_once: false,
        sets: sets.to_vec(),
        action: Arc::new(action),
    }
}

impl<A, F, W> Action for ComposedTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(ToolApi, A) -> W + Send + Sync + 'static,
    W: Future<Output = Answer> + Send + 'static,
{
    fn call<'a>(&'a self, caller: &'a Caller, arguments: Map<String, Value>) -> CallFuture<'a> {
        self.call_with_person(caller, arguments, None)
    }

    fn call_with_person<'a>(
        &'a self,
        caller: &'a Caller,
        mut arguments: Map<String, Value>,
        person: Option<ClientPerson>,
    ) -> CallFuture<'a> {
        Box::pin(async move {
            let offset = match offset(&mut arguments) {
                Ok(offset) => offset,
                Err(refusal) => return refusal.into(),
            };
            arguments::mend(&self.takes, &mut arguments);
            if let Some(misfits) = arguments::misfits(&self.takes, &arguments) {
                return Refusal::arguments(misfits).into();
            }
            let read = match serde_json::from_value(arguments.clone().into()) {
                Ok(read) => read,
                Err(error) => {
                    return Refusal::arguments(format!("The arguments are not valid: {error}.")).into();
                }
            };
            let api = ToolApi {
                operations: self.operations.clone(),
                caller: caller.clone(),
                person,
                peer: None,
                offset,
            };
            match (self.work)(api, read).await {
                Ok(mut value) => match again(&mut value) {
                    Some(again) => CallOutcome::Done(bounded(true, offset, &again, value)),
                    None => CallOutcome::Done(bounded(self.repeatable, offset, &arguments, value)),
                },
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// The member of a result with the arguments that request the result again, for tools that first change something and
/// then read. It is removed before the result is returned.
const AGAIN: &str = "_again";

fn again(value: &mut Value) -> Option<Map<String, Value>> {
    value.as_object_mut()?.remove(AGAIN)?.as_object().cloned()
}

/// The position within a large result from which a call continues.
fn offset(arguments: &mut Map<String, Value>) -> Result<Option<usize>, Refusal> {
    let Some(offset) = arguments.remove(bounds::OFFSET) else { return Ok(None) };
    let number = offset.as_u64().and_then(|offset| usize::try_from(offset).ok());
    let wrong = || Refusal::arguments("`offset` must come from the `next` of an earlier result.");
    number.map(Some).ok_or_else(wrong)
}

/// The result within its limits: one that can be requested again continues by `offset`, any other is cut.
fn bounded(repeatable: bool, offset: Option<usize>, arguments: &Map<String, Value>, value: Value) -> Value {
    match (repeatable, offset) {
        (true, Some(offset)) => bounds::part(&value, offset, arguments),
        _ if bounds::fits(&value) => value,
        (true, None) => bounds::part(&value, 0, arguments),
        (false, _) => bounds::cut(value),
    }
}
