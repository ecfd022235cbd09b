//! Facts in the form of the reference's tools.
//! Must not know: how facts are stored.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{
    asking::{Answer, ToolCaller},
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
pub(super) async fn assert_fact(asking: ToolCaller, wanted: AssertArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let project = chosen(&asking, &me, wanted.project_id.as_deref()).await?;
    let of = [("subject", wanted.subject.as_str()), ("predicate", wanted.relation.as_str())];
    // A project that does not exist yet has no facts.
    if let Ok(current) = asking.read(&FACTS, &[&project], &of).await
        && let Some(fact) = listed(&current, "facts").iter().find(|fact| fact["value"] == wanted.object)
    {
        return Ok(named(fact.clone()));
    }
    let mut fact = json!({"subject": wanted.subject, "predicate": wanted.relation, "value": wanted.object});
    if let Some(source) = wanted.source_package_id {
        fact["source_package_id"] = source.into();
    }
    Ok(named(asking.write(&ASSERT, &[&project], &fact).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct InvalidateArguments {
    subject: String,
    relation: String,
    object: Option<String>,
    project_id: Option<String>,
}

pub(super) async fn invalidate_fact(asking: ToolCaller, wanted: InvalidateArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let project = chosen(&asking, &me, wanted.project_id.as_deref()).await?;
    let mut query = vec![("subject", wanted.subject.as_str()), ("predicate", wanted.relation.as_str())];
    query.extend(wanted.object.as_deref().map(|object| ("object", object)));
    asking.read(&INVALIDATE, &[&project], &query).await
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

pub(super) async fn query_facts(asking: ToolCaller, wanted: QueryArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let project = chosen(&asking, &me, wanted.project_id.as_deref()).await?;
    let ended = wanted.include_ended.map(|ended| ended.to_string());
    let given = [
        ("subject", wanted.subject.as_deref()),
        ("predicate", wanted.relation.as_deref()),
        ("as_of", wanted.as_of.as_deref()),
        ("include_ended", ended.as_deref()),
    ];
    let query: Vec<_> = given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let found = asking.read(&FACTS, &[&project], &query).await?;
    let fits = |fact: &&Value| wanted.object.as_deref().is_none_or(|object| fact["value"] == object);
    let facts = listed(&found, "facts").iter().filter(fits).take(wanted.limit.unwrap_or(FACTS_DEFAULT));
    Ok(facts.cloned().map(named).collect())
}
