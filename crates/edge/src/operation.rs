//! One definition per public operation, from which its route and its description derive.
//! Must not know: the list of operations.

use std::sync::Arc;

use axum::{
    handler::Handler,
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use http::{Method, StatusCode};
use plenary_kernel::{Class, Refusal};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::{
    config::{ITEM_RESERVED_BYTES, PAGE_RESERVED_BYTES},
    error::ErrorBody,
    exposed::ToolExposure,
    measured::MeasuredHandler,
    metrics::OperationMetrics,
    strict::Shape,
};

/// Generates the schema of one type, with the types that it refers to in the generator.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

plenary_kernel::words! {
    /// Who may call an operation; the room's own code enforces it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Auth {
        /// Anyone.
        None = "none",
        /// An agent, as itself.
        Agent = "agent",
        /// An owner, for its own agents, or the operator.
        Owner = "owner",
        /// The operator only.
        Operator = "operator",
        /// Any token.
        Any = "any",
    }
}

/// A refusal that an operation documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorDoc {
    /// Its class, which has the status.
    pub(crate) class: Class,
    pub(crate) code: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) struct PathParameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: SchemaOf,
}

/// A header that an operation reads, or that its successes have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderDoc {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
}

/// A protocol's form of a refusal.
pub type RefusalForm = fn(Refusal) -> Response;

/// The description of one operation: everything but the handler.
#[derive(Debug, Clone)]
pub struct OperationDoc {
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) auth: Auth,
    /// Whether it also answers some callers without a token.
    pub(crate) token_optional: bool,
    pub(crate) success: StatusCode,
    /// Other successes with the same body.
    pub(crate) other_successes: Vec<StatusCode>,
    /// Other answers without a body that are not refusals.
    pub(crate) empty_successes: Vec<StatusCode>,
    /// Refusals in the room's form with a status that no class has.
    pub(crate) other_refusals: Vec<StatusCode>,
    pub(crate) request: Option<SchemaOf>,
    pub(crate) request_required: bool,
    pub(crate) request_type: &'static str,
    pub(crate) example: Option<fn() -> Value>,
    pub(crate) reply: Option<SchemaOf>,
    pub(crate) reply_type: &'static str,
    /// Other forms of the success, as text.
    pub(crate) other_reply_types: Vec<&'static str>,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) path_parameters: Vec<PathParameter>,
    pub(crate) reads_headers: Vec<HeaderDoc>,
    /// The headers of its successes.
    pub(crate) sends_headers: Vec<HeaderDoc>,
    pub(crate) errors: Vec<ErrorDoc>,
    /// Whether it is carried out once for an `Idempotency-Key`.
    pub(crate) takes_key: bool,
    pub(crate) error_body: SchemaOf,
    pub(crate) exposed: Option<ToolExposure>,
    pub(crate) room: &'static str,
    /// Bytes that an answer may need; 0 for small answers.
    pub(crate) reserves: usize,
    /// Whether it has an effect although its method is safe.
    pub(crate) acts: bool,
    /// Whether a page of any site may call it.
    pub(crate) for_pages: bool,
    /// Whether agents of other networks may call it.
    pub(crate) for_guests: bool,
    /// Whether the parameter `project` of the query limits it to that project.
    pub(crate) project_by_query: bool,
    /// The form of refusals below its path that come before any operation; the common form if absent.
    pub(crate) refused_as: Option<RefusalForm>,
}

impl OperationDoc {
    /// An operation `room.verb` at a path in axum's syntax, `/sessions/{id}`; success is 200 by default.
    /// A writing one takes an `Idempotency-Key` by default; the room's own code implements this.
    pub fn new(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> Self {
        let takes_key = !method.is_safe();
        Self {
            id,
            method,
            path,
            summary,
            description: "",
            auth: Auth::Agent,
            token_optional: false,
            success: StatusCode::OK,
            other_successes: Vec::new(),
            empty_successes: Vec::new(),
            other_refusals: Vec::new(),
            request: None,
            request_required: false,
            request_type: "application/json",
            example: None,
            reply: None,
            reply_type: "application/json",
            other_reply_types: Vec::new(),
            query: None,
            path_parameters: Vec::new(),
            reads_headers: Vec::new(),
            sends_headers: Vec::new(),
            errors: Vec::new(),
            takes_key,
            error_body: |generator| generator.subschema_for::<ErrorBody<'static>>(),
            exposed: None,
            room: "",
            reserves: 0,
            acts: false,
            for_pages: false,
            for_guests: false,
            project_by_query: false,
            refused_as: None,
        }
    }

    /// Details beyond the summary.
    pub fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Who may call it; an agent by default.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// The callers that it permits, by their token. Without a valid one it refuses with the codes that all rooms share; a
    /// protocol with codes of its own declares [`OperationDoc::auth`] and those.
    pub fn needs_token(self, auth: Auth) -> Self {
        self.auth(auth).errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
    }

    /// It also answers some callers without a token.
    pub fn token_optional(mut self) -> Self {
        self.token_optional = true;
        self
    }

    /// The status of success.
    pub fn success(mut self, status: StatusCode) -> Self {
        self.success = status;
        self
    }

    /// The status of another success with the same body.
    pub fn or_status(mut self, status: StatusCode) -> Self {
        self.other_successes.push(status);
        self
    }

    /// The status of another answer without a body that is not a refusal.
    pub fn or_empty(mut self, status: StatusCode) -> Self {
        self.empty_successes.push(status);
        self
    }

    /// A refusal in the room's form with a status that no class has.
    pub fn or_refusal(mut self, status: StatusCode) -> Self {
        self.other_refusals.push(status);
        self
    }

    /// The required body.
    pub fn request<T: JsonSchema>(mut self) -> Self {
        self.request = Some(|generator| generator.subschema_for::<T>());
        self.request_required = true;
        self.errors(Class::Malformed, &["unknown_member"])
    }

    /// The optional body.
    pub fn optional_request<T: JsonSchema>(mut self) -> Self {
        self = self.request::<T>();
        self.request_required = false;
        self
    }

    /// The media type of a body that is not JSON; it may be empty, unless [`OperationDoc::request`] requires it.
    pub fn request_type(mut self, media_type: &'static str) -> Self {
        self.request_type = media_type;
        self.request = self.request.or(Some(|_| schemars::json_schema!({"type": "string"})));
        self
    }

    /// An example of its body.
    pub fn example(mut self, example: fn() -> Value) -> Self {
        self.example = Some(example);
        self
    }

    /// The body of its success.
    pub fn reply<T: JsonSchema>(mut self) -> Self {
        self.reply = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// The media type of its success if it is not JSON.
    pub fn reply_type(mut self, media_type: &'static str) -> Self {
        self.reply_type = media_type;
        self.reply = self.reply.or(Some(|_| schemars::json_schema!({"type": "string"})));
        self
    }

    /// Another form of the success that clients may request; it is text.
    pub fn or_reply_type(mut self, media_type: &'static str) -> Self {
        self.other_reply_types.push(media_type);
        self
    }

    /// The query parameters, as the members of one object type.
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(|generator| generator.root_schema_for::<T>());
        self
    }

    /// A parameter of the path by its name; one without a description is text.
    pub fn path_parameter<T: JsonSchema>(mut self, name: &'static str, description: &'static str) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<T>();
        self.path_parameters.push(PathParameter { name, description, schema });
        self
    }

    /// A header that it reads.
    pub fn reads_header(mut self, name: &'static str, description: &'static str) -> Self {
        self.reads_headers.push(HeaderDoc { name, description });
        self
    }

    /// A header of its successes.
    pub fn sends_header(mut self, name: &'static str, description: &'static str) -> Self {
        self.sends_headers.push(HeaderDoc { name, description });
        self
    }

    /// Its answer is a file for saving.
    pub fn answers_file(self) -> Self {
        self.sends_header(
            "Content-Disposition",
            "`attachment` or `inline`, with the name if there is one (RFC 6266).",
        )
    }

    /// Its answer gives a browser a cookie, or takes it away.
    pub fn sets_cookie(self) -> Self {
        self.sends_header("Set-Cookie", "The cookie of a browser, given or taken away.")
    }

    /// Its answer has an `ETag`, and `If-None-Match` is compared with it.
    pub fn has_etag(self) -> Self {
        self.sends_header("ETag", "The version of the answer.")
            .reads_header("If-None-Match", "The `ETag` of a known answer: 304 if it is still the same.")
    }

    /// Its answer is bytes, of which a client may ask for a part.
    pub fn answers_ranges(self) -> Self {
        self.has_etag()
            .reads_header("Range", "The part that is wanted, such as `bytes=0-1023`.")
            .sends_header("Accept-Ranges", "`bytes`.")
            .sends_header("Content-Range", "Which part this is; with 206 only.")
    }

    /// Its stream of server-sent events continues where an earlier one ended.
    pub fn continues(self) -> Self {
        self.reads_header(
            "Last-Event-ID",
            "The id of the last event that was received: the stream continues after it.",
        )
    }

    /// Its answer is a page; a `Link` leads to the next one.
    pub fn links_pages(self) -> Self {
        self.sends_header("Link", "`<URL>; rel=\"next\"`: the next page, if there is one.")
    }

    /// Its answer is a page of a list, or a stream of that size: budget is reserved before it is made.
    pub fn answers_page(self) -> Self {
        self.reserving(PAGE_RESERVED_BYTES)
    }

    /// Its answer may be one large object: budget is reserved before it is made.
    pub fn answers_item(self) -> Self {
        self.reserving(ITEM_RESERVED_BYTES)
    }

    fn reserving(mut self, bytes: usize) -> Self {
        self.reserves = bytes;
        self.errors(Class::TooMany, &["overloaded"]).errors(Class::Unavailable, &["overloaded"])
    }

    /// Its possible refusals of one class, by their codes.
    pub fn errors(mut self, class: Class, codes: &[&'static str]) -> Self {
        self.errors.extend(codes.iter().map(|code| ErrorDoc { class, code }));
        self
    }

    /// It ignores an `Idempotency-Key`: every call counts, or a repeated one changes nothing.
    pub fn without_key(mut self) -> Self {
        self.takes_key = false;
        self
    }

    /// It has an effect although its method is safe.
    pub fn acts(mut self) -> Self {
        self.acts = true;
        self
    }

    /// A page of any site may call it (CORS): it uses no cookie. It is the only operation at its path.
    pub fn for_pages(mut self) -> Self {
        self.for_pages = true;
        self
    }

    /// Refusals below its path that come before any operation have this form.
    pub fn refused_as(mut self, form: RefusalForm) -> Self {
        self.refused_as = Some(form);
        self
    }

    /// Agents of other networks may call it too, within an accord.
    pub fn for_guests(mut self) -> Self {
        self.for_guests = true;
        self
    }

    /// The parameter `project` of the query limits it to that project, as a project in the path does; it refuses the
    /// parameter twice.
    pub fn in_project_of_query(mut self) -> Self {
        self.project_by_query = true;
        self
    }

    /// The form of this room's refusals; the common form by default.
    pub fn error_body<T: JsonSchema>(mut self) -> Self {
        self.error_body = |generator| generator.subschema_for::<T>();
        self
    }

    /// The room that it belongs to, its tag in the description; by default the first part of its id.
    pub fn room(mut self, room: &'static str) -> Self {
        self.room = room;
        self
    }

    /// The operation, answered by an axum handler.
    pub fn handled_by<S, H, T>(self, handler: H) -> Operation<S>
    where
        S: Clone + Send + Sync + 'static,
        H: Handler<T, S>,
        T: 'static,
    {
        let reserves = self.reserves;
        let mount: Mount<S> = Box::new(move |method, metrics, shape| {
            let measured = MeasuredHandler::new(handler, metrics).reserving(reserves);
            on(method, measured.of_shape(shape))
        });
        Operation { doc: self, mount }
    }

    /// Whether it changes nothing.
    pub fn only_reads(&self) -> bool {
        self.method.is_safe() && !self.acts
    }

    /// Whether agents of other networks may call it.
    pub const fn is_for_guests(&self) -> bool {
        self.for_guests
    }

    /// Whether the query may limit it to one project.
    pub const fn is_in_project_of_query(&self) -> bool {
        self.project_by_query
    }

    /// The room it belongs to.
    pub fn room_name(&self) -> &'static str {
        if self.room.is_empty() { self.id.split('.').next().unwrap_or_default() } else { self.room }
    }

    /// The stable name, `session.create`.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// The method.
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// The path, in axum's syntax.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// One line for people.
    pub const fn summary(&self) -> &'static str {
        self.summary
    }

    /// Its possible refusals, each code once. For an invalid key, the room may use the status of its
    /// malformed requests.
    pub(crate) fn documented_errors(&self) -> Vec<ErrorDoc> {
        let mut errors = self.errors.clone();
        let of_the_key =
            [(Class::Malformed, "invalid_idempotency_key"), (Class::Conflict, "idempotency_key_reused")];
        for (class, code) in of_the_key.into_iter().filter(|_| self.takes_key) {
            if !errors.iter().any(|error| error.code == code) {
                errors.push(ErrorDoc { class, code });
            }
        }
        errors
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

/// An operation and its handler.
pub struct Operation<S> {
    pub(crate) doc: OperationDoc,
    pub(crate) mount: Mount<S>,
}

impl<S> Operation<S> {
    /// Its description.
    pub const fn doc(&self) -> &OperationDoc {
        &self.doc
    }
}

impl<S> std::fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.doc.fmt(f)
    }
}
