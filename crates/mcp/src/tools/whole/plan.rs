//! Turns arguments into a request of one operation: each name fills every place with that name, in the path, the
//! query and the body.
//! Must not know: what an operation does.

use std::collections::BTreeMap;

use http::Method;
use plenary_edge::OperationDoc;
use serde_json::{Map, Value};

use crate::{
    tool::Hints,
    tools::{
        api::{Refusal, Route},
        schema::{self, Descriptions},
    },
};

/// Parameters that are only for streams and browsers.
const HIDDEN: [&str; 2] = ["ticket", "stream"];
/// For an operation that streams: how long to read.
pub(super) const WAIT: &str = "wait_s";
/// The parameter for the number of rows, and its default for models.
pub(super) const LIMIT: &str = "limit";
const LIMIT_DEFAULT: u64 = 20;
/// Defaults of parameters of one operation: reading events must not consume them.
const DEFAULTS: [(&str, &str, &str); 1] = [("run.events", "since", "0")];

/// One operation, ready to be called.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) id: &'static str,
    pub(super) route: Route,
    pub(super) streams: bool,
    path: Vec<&'static str>,
    query: Vec<String>,
    body: Option<Body>,
    arguments: BTreeMap<String, Value>,
    required: Vec<String>,
    clashes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Body {
    members: Vec<String>,
    /// Whether it keeps unknown members.
    open: bool,
    required: bool,
}

/// A request of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Plan {
    pub(super) fn of(doc: &OperationDoc) -> Self {
        let schemas = doc.schemas();
        let mut plan = Self {
            id: doc.id(),
            route: Route { method: doc.method().clone(), path: doc.path() },
            streams: doc.streams(),
            path: doc.path_names().collect(),
            query: Vec::new(),
            body: None,
            arguments: BTreeMap::new(),
            required: Vec::new(),
            clashes: Vec::new(),
        };
        for (name, schema) in &schemas.path {
            plan.argument(name, schema, true);
        }
        if let Some(query) = &schemas.query {
            for (name, schema, required) in members(query).filter(|(name, ..)| !HIDDEN.contains(name)) {
                plan.query.push(name.to_owned());
                plan.argument(name, schema, required);
            }
        }
        if let Some(request) = &schemas.request {
            let named = members(request).map(|(name, ..)| name.to_owned()).collect();
            let open = request["additionalProperties"] == true;
            plan.body = Some(Body { members: named, open, required: schemas.request_required });
            for (name, schema, required) in members(request) {
                plan.argument(name, schema, required && schemas.request_required);
            }
        }
        if plan.streams {
            plan.argument(WAIT, &serde_json::json!({"type": "integer"}), false);
        }
        plan
    }

    fn argument(&mut self, name: &str, schema: &Value, required: bool) {
        let slim = Value::from(schema::slim(schema, Descriptions::Drop, 1));
        match self.arguments.get(name) {
            // A name has one type everywhere: a value that is text in a path is text in a body as well.
            Some(known) if known["type"] != slim["type"] => self.clashes.push(name.to_owned()),
            Some(_) => {}
            None => drop(self.arguments.insert(name.to_owned(), slim)),
        }
        if required && !self.required.iter().any(|known| known == name) {
            self.required.push(name.to_owned());
        }
    }

    /// Names with two meanings: no operation that is a tool may have one.
    pub(super) fn clashes(&self) -> &[String] {
        &self.clashes
    }

    /// The arguments by name.
    pub(super) fn arguments(&self) -> &BTreeMap<String, Value> {
        &self.arguments
    }

    /// The required arguments.
    pub(super) fn required(&self) -> &[String] {
        &self.required
    }

    /// The hints for clients, from the method.
    pub(super) fn hints(&self) -> Hints {
        let reads = self.route.method == Method::GET;
        let ends = self.route.method == Method::DELETE || self.route.method == Method::PATCH;
        let is_repeatable = reads || ends || self.route.method == Method::PUT;
        Hints { read_only: reads, destructive: ends, idempotent: is_repeatable, open_world: false }
    }

    /// Whether the operation pages by a number of rows.
    pub(super) fn has_limit(&self) -> bool {
        self.query.iter().any(|name| name == LIMIT)
    }

    /// The parameter after which a stream continues.
    pub(super) fn after(&self) -> Option<&str> {
        self.query.iter().map(String::as_str).find(|name| matches!(*name, "after" | "after_id" | "since"))
    }

    /// The request for these arguments.
    pub(super) fn request(&self, arguments: &Map<String, Value>) -> Result<Request, Refusal> {
        let is_open = self.body.as_ref().is_some_and(|body| body.open);
        if let Some(unknown) = arguments.keys().find(|name| !is_open && !self.arguments.contains_key(*name)) {
            let known: Vec<&str> = self.arguments.keys().map(String::as_str).collect();
            let message =
                format!("There is no argument `{unknown}`; the arguments are {}.", known.join(", "));
            return Err(Refusal::arguments(message));
        }
        let given_value = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        if let Some(missing) = self.required.iter().find(|name| given_value(name).is_none()) {
            return Err(Refusal::arguments(format!("`{missing}` is missing.")));
        }
        let values: Vec<String> =
            self.path.iter().map(|name| text(given_value(name).unwrap_or(&Value::Null))).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let mut query: Vec<(&str, String)> =
            self.query.iter().filter_map(|name| Some((name.as_str(), text(given_value(name)?)))).collect();
        if self.has_limit() && given_value(LIMIT).is_none() {
            query.push((LIMIT, LIMIT_DEFAULT.to_string()));
        }
        for (_, name, value) in
            DEFAULTS.iter().filter(|(id, name, _)| *id == self.id && given_value(name).is_none())
        {
            query.push((name, (*value).to_owned()));
        }
        if self.streams && self.query.iter().any(|name| name == "stream") {
            query.push(("stream", "true".to_owned()));
        }
        let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(Request { path: self.route.at(&values, &query), body: self.body(arguments) })
    }

    fn body(&self, arguments: &Map<String, Value>) -> Option<Value> {
        let body = self.body.as_ref()?;
        let elsewhere =
            |name: &String| self.query.contains(name) || self.path.contains(&name.as_str()) || name == WAIT;
        let belongs = |name: &String| body.members.contains(name) || body.open && !elsewhere(name);
        let members: Map<String, Value> = arguments
            .iter()
            .filter(|(name, _)| belongs(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        (body.required || !members.is_empty()).then(|| members.into())
    }
}

/// The members of an object's schema.
fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(move |(name, schema)| (name.as_str(), schema, required.iter().any(|required| required == name)))
}

/// A value in the form for a path or a query.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
