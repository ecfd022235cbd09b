//! Facts: assert, query, invalidate (sections 8.6, 8.7).

use axum::{Json, extract::State, response::Response};
use http::{Method, StatusCode};
use plenary_edge::{JsonBody, Operation, not_null};
use plenary_kernel::Class;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{Bearer, Path, given, in_project, json, list, text, writing};
use crate::{
    Context,
    cursor::{is_of_all_facts, is_of_current_facts},
    fact::{
        command::{AssertFact, InvalidateFact},
        document::{Assertion, shown},
    },
    history::FactSelection,
    limits::{LIST_MAX, TERM_BYTES_MAX, VALUE_BYTES_MAX},
    malformed::ContextFault,
    members::Object,
    parameters::Parameters,
    refusals::ContextRefusal,
    wire::InvalidationCount,
};

/// The asserted fact. Other members are stored unchanged.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Asserted` reads")]
struct NewFact {
    /// The entity.
    #[schemars(length(min = 1, max = TERM_BYTES_MAX))]
    subject: String,
    /// The property.
    #[schemars(length(min = 1, max = TERM_BYTES_MAX))]
    predicate: String,
    /// Its value; a number is a string too.
    #[schemars(length(max = VALUE_BYTES_MAX))]
    value: String,
    /// The package it comes from, of the same project.
    source_package_id: Option<String>,
    /// 0 to 1; 1 when absent.
    #[schemars(transform = not_null)]
    confidence: Option<f64>,
    /// `{id, type, session_id?}`; when absent, the source's author, else the holder of the token.
    asserted_by: Option<Map<String, Value>>,
    /// Free labels.
    #[schemars(transform = not_null)]
    tags: Option<Vec<String>>,
    /// RFC 3339 UTC; now when absent.
    valid_from: Option<String>,
}

/// A fact.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as bytes")]
struct Fact {
    /// `fact_` and 32 hex digits.
    fact_id: String,
    /// The project.
    project_id: String,
    /// What was asserted.
    #[serde(flatten)]
    asserted: NewFact,
    /// When it was recorded.
    created_at: String,
    /// When it ended; null while it is current.
    valid_to: Option<String>,
}

/// Facts of a project.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as bytes")]
struct Facts {
    /// By subject, predicate and time.
    facts: Vec<Fact>,
    /// The cursor of the next page; absent at the end.
    #[schemars(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The query of a list of facts.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct FactQuery {
    /// Only of this subject.
    subject: Option<String>,
    /// Only with this predicate.
    predicate: Option<String>,
    /// Facts that were current at this time: RFC 3339 UTC, or a day.
    as_of: Option<String>,
    /// Include ended facts.
    include_ended: Option<bool>,
    /// Only facts with at least this confidence.
    #[schemars(range(min = 0.0, max = 1.0))]
    min_confidence: Option<f64>,
    /// Only with this tag.
    tag: Option<String>,
    /// 1 to 1000; 1000 when absent.
    #[schemars(range(min = 1, max = LIST_MAX))]
    limit: Option<u64>,
    /// The `next_cursor` of an earlier page.
    cursor: Option<String>,
}

/// Which facts end.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct InvalidateQuery {
    /// Of this subject.
    #[schemars(length(min = 1))]
    subject: String,
    /// With this predicate.
    #[schemars(length(min = 1))]
    predicate: String,
    /// Only with this value.
    object: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let facts = "/v1/projects/{project_id}/facts";
    let assert_doc =
        writing(in_project("context.assert_fact", Method::POST, facts, "Assert a fact").tool("context"))
            .description("Ends the current fact of the same subject and predicate in the same write.")
            .success(StatusCode::CREATED)
            .request::<NewFact>()
            .reply::<Fact>()
            .errors(Class::Malformed, &["invalid_valid_from"]);
    let list_doc =
        in_project("context.facts", Method::GET, facts, "List facts: current, at a given time, or all")
            .tool("context")
            .query::<FactQuery>()
            .reply::<Facts>()
            .answers_page()
            .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"]);
    let end_doc =
        in_project("context.invalidate_fact", Method::DELETE, facts, "End a fact without a new value")
            .tool("context")
            .query::<InvalidateQuery>()
            .reply::<InvalidationCount>()
            .errors(Class::Malformed, &["invalid_parameter"])
            .errors(Class::Forbidden, &["unauthorized", "project_archived"]);
    vec![assert_doc.handled_by(assert), list_doc.handled_by(ask), end_doc.handled_by(invalidate)]
}

async fn assert(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    request_body: JsonBody,
) -> Result<Response, ContextRefusal> {
    let body = given(request_body)?;
    let text = text(&body)?;
    let by = &authority.by;
    let place = context.place(by, &project_id, asserter(text).as_deref()).await?;
    let fact = Assertion::read_open(text, |name| place.matches_name(name, &project_id))?;
    if project_id.is_empty() || project_id.len() > crate::limits::ID_BYTES_MAX {
        return Err(ContextFault::field("project_id", "a string of 1 to 1024 bytes").into());
    }
    let config = context.config();
    let command = AssertFact {
        authority,
        home: place.home,
        fact,
        attribution: config.attribution,
        makes_projects: config.auto_create_projects,
        trace: plenary_telemetry::current().map(|own| own.to_string().into()),
    };
    let document = context.assert_fact(&place.key, &command).await?;
    Ok(json(StatusCode::CREATED, shown(&document, None)))
}

/// The actor id in `asserted_by`, whether it exists or not.
fn asserter(text: &str) -> Option<String> {
    let by = Object::parse(text)?.get("asserted_by")?;
    serde_json::from_str(Object::parse(by)?.get("id")?).ok()
}

async fn ask(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    let parse_confidence = |text: &str| {
        let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        number.ok_or_else(|| ContextFault::parameter("min_confidence", "a number from 0 to 1"))
    };
    let (as_of, include_ended) = (parameters.moment("as_of")?, parameters.switch("include_ended")?);
    let is_of_list = if include_ended || as_of.is_some() { is_of_all_facts } else { is_of_current_facts };
    let selection = FactSelection {
        subject: parameters.one("subject")?,
        predicate: parameters.one("predicate")?,
        as_of,
        include_ended,
        min_confidence: parameters.one("min_confidence")?.map(parse_confidence).transpose()?,
        tag: parameters.one("tag")?,
        cursor: parameters.cursor(is_of_list)?,
    };
    let limit = parameters.count("limit", LIST_MAX, 1, LIST_MAX)?;
    let (project, _) = context.readable(&project_id, &authority.by).await?;
    let page = context.facts(&project, &selection, limit).await?;
    Ok(list("facts", &page.facts, page.next_cursor.as_deref()))
}

async fn invalidate(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Json<InvalidationCount>, ContextRefusal> {
    let subject_and_predicate = (parameters.required("subject")?, parameters.required("predicate")?);
    parameters.only(&["subject", "predicate", "object"])?;
    let command = InvalidateFact { authority, object: parameters.one("object")?.map(str::to_owned) };
    let place = context.place(&command.authority.by, &project_id, None).await?;
    let invalidated = context.invalidate_fact(&place.key, subject_and_predicate, &command).await?;
    Ok(Json(InvalidationCount { invalidated }))
}
