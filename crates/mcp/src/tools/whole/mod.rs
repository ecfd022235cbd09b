//! Each operation as a tool, as its room defines it: a separate tool, or an action of a shared tool.
//! Must not know: what an operation does.

mod answer;
mod plan;

use std::{collections::BTreeMap, sync::Arc};

use plenary_edge::{OperationDoc, ToolExposure};
use serde_json::{Map, Value, json};

use super::{
    api::{Refusal, ToolApi},
    core::results,
};
use crate::{
    operations::{Caller, Operations},
    tool::{Action, CallFuture, CallOutcome, Hints, Tool, Toolset},
};
use plan::Plan;

/// The argument that selects an operation of a shared tool.
const ACTION: &str = "action";

/// One operation, or several with their actions.
struct OperationTool {
    operations: Operations,
    plans: Plans,
}

enum Plans {
    One(Box<Plan>),
    Several(BTreeMap<&'static str, Plan>),
}

/// The tools of every operation that is declared as one.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let mut tools = Vec::new();
    let mut shared: BTreeMap<(&str, &str), Vec<&OperationDoc>> = BTreeMap::new();
    for doc in operations.docs() {
        match doc.exposed() {
            Some(ToolExposure::Tool { set }) => tools.extend(sole(operations, doc, set)),
            Some(ToolExposure::Action { set, tool }) => shared.entry((set, tool)).or_default().push(doc),
            Some(ToolExposure::Nowhere { .. }) | None => {}
        }
    }
    tools.extend(shared.into_iter().filter_map(|((set, name), docs)| several(operations, name, set, &docs)));
    tools
}

/// The last part of an operation's id: `join` of `session.join`.
fn verb(doc: &OperationDoc) -> &'static str {
    doc.id().rsplit('.').next().unwrap_or(doc.id())
}

fn sole(operations: &Operations, doc: &OperationDoc, set_name: &str) -> Option<Tool> {
    let plan = Plan::of(doc);
    let input = json!({"type": "object", "properties": plan.arguments()});
    let input = with_required(input, plan.required());
    let (name, description) = (doc.id().replace('.', "_"), format!("{}.", doc.summary()));
    Some(tool(
        operations,
        (name, description),
        (Toolset::named(set_name)?, plan.hints()),
        input,
        Plans::One(Box::new(plan)),
    ))
}

fn several(operations: &Operations, name: &str, set_name: &str, docs: &[&OperationDoc]) -> Option<Tool> {
    let plans: BTreeMap<_, _> = docs.iter().map(|doc| (verb(doc), Plan::of(doc))).collect();
    let mut properties = BTreeMap::new();
    let actions: Vec<&str> = docs.iter().map(|doc| verb(doc)).collect();
    for (name, schema) in plans.values().flat_map(Plan::arguments) {
        properties.insert(name.clone(), schema.clone());
    }
    properties.insert(ACTION.to_owned(), json!({"type": "string", "enum": actions}));
    let mut required: Vec<String> = plans.values().next()?.required().to_vec();
    required.retain(|name| plans.values().all(|plan| plan.required().contains(name)));
    required.push(ACTION.to_owned());
    let input = with_required(json!({"type": "object", "properties": properties}), &required);
    let each: Vec<String> =
        docs.iter().map(|doc| action_text(verb(doc), plans.get(verb(doc)), &required)).collect();
    let description = format!("{}.", each.join("; "));
    let hints = plans.values().map(Plan::hints).reduce(|a, b| Hints {
        read_only: a.read_only && b.read_only,
        destructive: a.destructive || b.destructive,
        idempotent: a.idempotent && b.idempotent,
        open_world: a.open_world || b.open_world,
    })?;
    Some(tool(
        operations,
        (name.to_owned(), description),
        (Toolset::named(set_name)?, hints),
        input,
        Plans::Several(plans),
    ))
}

/// An action with its additional required arguments: `invite(invite)`.
fn action_text(verb: &str, plan: Option<&Plan>, common: &[String]) -> String {
    let needed = plan.map(Plan::required).unwrap_or_default();
    let own: Vec<&str> = needed.iter().filter(|name| !common.contains(name)).map(String::as_str).collect();
    if own.is_empty() { verb.to_owned() } else { format!("{verb}({})", own.join(", ")) }
}

fn with_required(mut input: Value, required: &[String]) -> Map<String, Value> {
    if !required.is_empty() {
        input["required"] = required.into();
    }
    input.as_object().cloned().unwrap_or_default()
}

fn tool(
    operations: &Operations,
    (name, description): (String, String),
    (set, hints): (Toolset, Hints),
    input: Map<String, Value>,
    plans: Plans,
) -> Tool {
    let action = OperationTool { operations: operations.clone(), plans };
    Tool {
        name,
        title: String::new(),
        description,
        input: Arc::new(input),
        output: Some(results::with(&[])),
        // A run has the effects of its agent.
        hints: Hints { open_world: set == Toolset::Runs && !hints.read_only, ..hints },
        at_once: false,
        sets: vec![set],
        action: Arc::new(action),
    }
}

impl OperationTool {
    fn plan(&self, arguments: &mut Map<String, Value>) -> Result<&Plan, Refusal> {
        match &self.plans {
            Plans::One(plan) => Ok(plan),
            Plans::Several(plans) => {
                let named = arguments.remove(ACTION);
                let found = named.as_ref().and_then(Value::as_str).and_then(|name| plans.get(name));
                found.ok_or_else(|| {
                    let names: Vec<&str> = plans.keys().copied().collect();
                    Refusal::arguments(format!("`action` must be one of: {}.", names.join(", ")))
                })
            }
        }
    }
}

impl Action for OperationTool {
    fn call<'a>(&'a self, caller: &'a Caller, mut arguments: Map<String, Value>) -> CallFuture<'a> {
        Box::pin(async move {
            let api = ToolApi {
                operations: self.operations.clone(),
                caller: caller.clone(),
                person: None,
                peer: None,
                offset: None,
            };
            let named = arguments.get(ACTION).cloned().filter(|_| matches!(self.plans, Plans::Several(_)));
            let plan = match self.plan(&mut arguments) {
                Ok(plan) => plan,
                Err(refusal) => return refusal.into(),
            };
            match answer::ask(&api, plan, arguments).await {
                Ok(mut value) => {
                    if let (Some(named), Some(next)) = (named, value.get_mut("next")) {
                        next[ACTION] = named;
                    }
                    CallOutcome::Done(value)
                }
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// Errors in how operations are declared as tools; empty in a tested server.
pub fn faults(docs: &[OperationDoc]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut shared: BTreeMap<(&str, String), (&str, Value)> = BTreeMap::new();
    for doc in docs {
        let id = doc.id();
        let (set_name, family) = match doc.exposed() {
            None => {
                faults.push(format!("{id} does not say whether it is a tool"));
                continue;
            }
            Some(ToolExposure::Nowhere { reason }) => {
                if reason.is_empty() {
                    faults.push(format!("{id} gives no reason why it is no tool"));
                }
                continue;
            }
            Some(ToolExposure::Tool { set }) => (set, None),
            Some(ToolExposure::Action { set, tool }) => (set, Some(tool)),
        };
        if Toolset::named(set_name).is_none() {
            faults.push(format!("{id} is of the set {set_name}, which there is not"));
        }
        let plan = Plan::of(doc);
        faults
            .extend(plan.clashes().iter().map(|name| format!("{id} has two things that are called {name}")));
        let request = doc.schemas().request;
        if request.is_some_and(|request| !request["properties"].is_object()) {
            faults.push(format!("{id} takes a body that is no object of members"));
        }
        let Some(family) = family else { continue };
        for (name, schema) in plan.arguments() {
            let (first, known) = shared.entry((family, name.clone())).or_insert((id, schema.clone()));
            if known["type"] != schema["type"] || name == ACTION {
                faults.push(format!("{id} and {first} of {family} differ in {name}"));
            }
        }
    }
    faults
}
