//! Facts in the form of the reference's tools.
//! Must not know: how facts are stored.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{
    api::{Answer, ToolApi},
    core::{
        deposit::{ASSERT, INVALIDATE},
        me::Me,
        project::{chosen, listed},
        recall::FACTS,
    },
};

/// Default number of facts per query.
const FACTS_DEFAULT: usize = 100;

/// A fact with the reference's names in addition to the protocol's.
fn named(mut fact: Value) -> Value {
    for (name, member) in
        [("id", "fact_id"), ("relation", "predicate"), ("object", "value"), ("ended_at", "valid_to")]
    {
        fact[name] = fact[member].clone();
    }
    fact
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AssertArguments {
    subject: String,
    relation: String,
    object: String,
    source_package_id: Option<String>,
    project_id: Option<String>,
}

/// Asserting the current value again changes nothing here (wire.md 0.4, row 10).
pub(super) async fn assert_fact(api: ToolApi, arguments: AssertArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let key = [("subject", arguments.subject.as_str()), ("predicate", arguments.relation.as_str())];
    // A project that does not exist yet has no facts.
    if let Ok(current) = api.read(&FACTS, &[&project], &key).await
        && let Some(fact) = listed(&current, "facts").iter().find(|fact| fact["value"] == arguments.object)
    {
        return Ok(named(fact.clone()));
    }
    let mut fact =
        json!({"subject": arguments.subject, "predicate": arguments.relation, "value": arguments.object});
    if let Some(source) = arguments.source_package_id {
        fact["source_package_id"] = source.into();
    }
    Ok(named(api.write(&ASSERT, &[&project], &fact).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct InvalidateArguments {
    subject: String,
    relation: String,
    object: Option<String>,
    project_id: Option<String>,
}

pub(super) async fn invalidate_fact(api: ToolApi, arguments: InvalidateArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let mut query = vec![("subject", arguments.subject.as_str()), ("predicate", arguments.relation.as_str())];
    query.extend(arguments.object.as_deref().map(|object| ("object", object)));
    api.read(&INVALIDATE, &[&project], &query).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct QueryArguments {
    subject: Option<String>,
    relation: Option<String>,
    object: Option<String>,
    as_of: Option<String>,
    include_ended: Option<bool>,
    limit: Option<usize>,
    project_id: Option<String>,
}

pub(super) async fn query_facts(api: ToolApi, arguments: QueryArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let ended = arguments.include_ended.map(|ended| ended.to_string());
    let filters = [
        ("subject", arguments.subject.as_deref()),
        ("predicate", arguments.relation.as_deref()),
        ("as_of", arguments.as_of.as_deref()),
        ("include_ended", ended.as_deref()),
    ];
    let query: Vec<_> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let found = api.read(&FACTS, &[&project], &query).await?;
    let fits = |fact: &&Value| arguments.object.as_deref().is_none_or(|object| fact["value"] == object);
    let facts = listed(&found, "facts").iter().filter(fits).take(arguments.limit.unwrap_or(FACTS_DEFAULT));
    Ok(facts.cloned().map(named).collect())
}
