//! An operation's tool for models, and its types as separate schemas.
//! Must not know: the list of tools, or how they are called.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use crate::operation::{OperationDoc, SchemaOf};

/// How an operation is exposed as a tool for models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolExposure {
    /// A tool of its own: `session.send` is `session_send`.
    Tool {
        /// The set of tools that contains it.
        set: &'static str,
    },
    /// An action of a tool that several operations share: `session.join` is the action `join`.
    Action {
        /// The set of tools that contains it.
        set: &'static str,
        /// The tool.
        tool: &'static str,
    },
    /// No tool.
    Nowhere {
        /// The reason.
        reason: &'static str,
    },
}

/// The input and output of an operation, each as a self-contained schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schemas {
    /// The parameters of the path, in its order.
    pub path: Vec<(&'static str, Value)>,
    /// The object whose members are the parameters of the query.
    pub query: Option<Value>,
    /// The required or optional body.
    pub request: Option<Value>,
    /// Whether the body is required.
    pub request_required: bool,
    /// The body of its success; a string if it is not JSON.
    pub reply: Option<Value>,
}

impl OperationDoc {
    /// Exposes it to models as a separate tool, in this set.
    pub const fn tool(mut self, set: &'static str) -> Self {
        self.exposed = Some(ToolExposure::Tool { set });
        self
    }

    /// Exposes it to models as an action of a tool, in this set.
    pub const fn action(mut self, set: &'static str, tool: &'static str) -> Self {
        self.exposed = Some(ToolExposure::Action { set, tool });
        self
    }

    /// Does not expose it to models, for this reason.
    pub const fn no_tool(mut self, reason: &'static str) -> Self {
        self.exposed = Some(ToolExposure::Nowhere { reason });
        self
    }

    /// How it is exposed; `None` if this was not decided.
    pub const fn exposed(&self) -> Option<ToolExposure> {
        self.exposed
    }

    /// Whether its success is a stream of Server-Sent Events.
    pub fn streams(&self) -> bool {
        self.reply_type == "text/event-stream"
    }

    /// Its input and output.
    pub fn schemas(&self) -> Schemas {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
        };
        let mut generator = settings().for_deserialize().into_generator();
        let mut value = |schema: SchemaOf| make(schema, &mut generator);
        let text = |_: &mut SchemaGenerator| schemars::json_schema!({"type": "string"});
        let path = self
            .path_names()
            .map(|name| {
                let described = self.path_parameters.iter().find(|parameter| parameter.name == name);
                (name, value(described.map_or(text, |parameter| parameter.schema)))
            })
            .collect();
        Schemas {
            path,
            query: self.query.map(&mut value),
            request: self.request.map(&mut value),
            request_required: self.request_required,
            reply: self.reply.map(|reply| make(reply, &mut settings().for_serialize().into_generator())),
        }
    }
}

fn make(schema: fn(&mut SchemaGenerator) -> Schema, generator: &mut SchemaGenerator) -> Value {
    schema(generator).into()
}
