//! One definition per public operation, from which its route and its description derive.
//! Must not know: which operations there are.

use std::sync::Arc;

use axum::{
    handler::Handler,
    routing::{MethodFilter, MethodRouter, on},
};
use http::{Method, StatusCode};
use plenary_kernel::Class;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    error::ErrorBody, exposed::Exposed, measured::Measured, metrics::OperationMetrics, strict::Shape,
};

/// Makes the schema of one type, with what it refers to in the generator.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Who may call an operation; the room's own code enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Anyone.
    None,
    /// An agent, as itself.
    Agent,
    /// An owner, of its own agents, or the operator.
    Owner,
    /// The operator only.
    Operator,
    /// Any token.
    Any,
}

impl Auth {
    /// The stable name, as it stands in the description.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Agent => "agent",
            Self::Owner => "owner",
            Self::Operator => "operator",
            Self::Any => "any",
        }
    }
}

/// A refusal that an operation documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorDoc {
    /// Its class, which has the status.
    pub class: Class,
    /// Its code.
    pub code: &'static str,
}

/// A parameter in the path.
#[derive(Debug, Clone)]
pub(crate) struct PathParameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: SchemaOf,
}

/// The description of one operation: everything but the handler.
#[derive(Debug, Clone)]
pub struct OperationDoc {
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) auth: Auth,
    pub(crate) success: StatusCode,
    /// Another success, which has no body.
    pub(crate) empty_success: Option<StatusCode>,
    pub(crate) request: Option<SchemaOf>,
    pub(crate) request_required: bool,
    pub(crate) reply: Option<SchemaOf>,
    pub(crate) reply_type: &'static str,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) path_parameters: Vec<PathParameter>,
    pub(crate) errors: Vec<ErrorDoc>,
    pub(crate) error_body: SchemaOf,
    pub(crate) exposed: Option<Exposed>,
}

impl OperationDoc {
    /// An operation `room.verb` at a path in axum's syntax, `/sessions/{id}`; success is 200 unless said otherwise.
    #[must_use]
    pub fn new(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            method,
            path,
            summary,
            description: "",
            auth: Auth::Agent,
            success: StatusCode::OK,
            empty_success: None,
            request: None,
            request_required: false,
            reply: None,
            reply_type: "application/json",
            query: None,
            path_parameters: Vec::new(),
            errors: Vec::new(),
            error_body: |generator| generator.subschema_for::<ErrorBody<'static>>(),
            exposed: None,
        }
    }

    /// What there is to know beyond the summary.
    #[must_use]
    pub fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Who may call it; an agent unless said otherwise.
    #[must_use]
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// The status of success.
    #[must_use]
    pub fn success(mut self, status: StatusCode) -> Self {
        self.success = status;
        self
    }

    /// The status of another success, which has no body.
    #[must_use]
    pub fn or_empty(mut self, status: StatusCode) -> Self {
        self.empty_success = Some(status);
        self
    }

    /// The body it wants.
    #[must_use]
    pub fn request<T: JsonSchema>(mut self) -> Self {
        self.request = Some(|generator| generator.subschema_for::<T>());
        self.request_required = true;
        self.errors(Class::Malformed, &["unknown_member"])
    }

    /// The body it takes, or none.
    #[must_use]
    pub fn optional_request<T: JsonSchema>(mut self) -> Self {
        self = self.request::<T>();
        self.request_required = false;
        self
    }

    /// The body of its success.
    #[must_use]
    pub fn reply<T: JsonSchema>(mut self) -> Self {
        self.reply = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// The body of its success where that is not JSON.
    #[must_use]
    pub fn reply_type(mut self, media_type: &'static str) -> Self {
        self.reply_type = media_type;
        self.reply = self.reply.or(Some(|_| schemars::json_schema!({"type": "string"})));
        self
    }

    /// The query parameters, as the members of one object type.
    #[must_use]
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(|generator| generator.root_schema_for::<T>());
        self
    }

    /// A parameter of the path by its name there; one that is not told about is text.
    #[must_use]
    pub fn path_parameter<T: JsonSchema>(mut self, name: &'static str, description: &'static str) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<T>();
        self.path_parameters.push(PathParameter { name, description, schema });
        self
    }

    /// Refusals of one class that it may answer with, by their codes.
    #[must_use]
    pub fn errors(mut self, class: Class, codes: &[&'static str]) -> Self {
        self.errors.extend(codes.iter().map(|code| ErrorDoc { class, code }));
        self
    }

    /// The form in which this room says "no"; the house form unless said otherwise.
    #[must_use]
    pub fn error_body<T: JsonSchema>(mut self) -> Self {
        self.error_body = |generator| generator.subschema_for::<T>();
        self
    }

    /// The stable name, `session.create`.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// The path, in axum's syntax.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// One line for people.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        self.summary
    }

    /// Who may call it.
    #[must_use]
    pub const fn required_auth(&self) -> Auth {
        self.auth
    }

    /// The refusals it may answer with.
    #[must_use]
    pub fn documented_errors(&self) -> &[ErrorDoc] {
        &self.errors
    }

    /// The names of the parameters in the path, in order.
    pub fn path_names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?.strip_suffix('}')?;
            Some(name.strip_prefix('*').unwrap_or(name))
        })
    }
}

type Mount<S> =
    Box<dyn FnOnce(MethodFilter, Arc<OperationMetrics>, Option<Arc<Shape>>) -> MethodRouter<S> + Send>;

/// An operation and what answers it.
pub struct Operation<S> {
    pub(crate) doc: OperationDoc,
    pub(crate) mount: Mount<S>,
}

impl<S: Clone + Send + Sync + 'static> Operation<S> {
    /// The operation, answered by an axum handler.
    pub fn new<H, T>(doc: OperationDoc, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let mount: Mount<S> = Box::new(|method, metrics, shape| {
            let measured = Measured::new(handler, metrics);
            on(method, measured.of_shape(shape))
        });
        Self { doc, mount }
    }

    /// Its description.
    #[must_use]
    pub const fn doc(&self) -> &OperationDoc {
        &self.doc
    }
}

impl<S> std::fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.doc.fmt(f)
    }
}
