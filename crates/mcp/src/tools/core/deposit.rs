//! Durable knowledge: a package of context, a fact.
//! Must not know: how it is found again.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{me::Me, project::chosen};
use crate::tools::{
    asking::{Answer, Refusal, Route, ToolCaller, delete, post},
    frame::{hex, now},
};

pub(crate) const DEPOSITS: &str = "Store decisions, findings or a handoff for others and for later sessions.";
pub(crate) const NOTES: &str = "Note a fact (ends the earlier value), or with `end` end it.";
pub(crate) const DEPOSIT: Route = post("/v1/projects/{project_id}/packages");
pub(crate) const ASSERT: Route = post("/v1/projects/{project_id}/facts");
pub(crate) const INVALIDATE: Route = delete("/v1/projects/{project_id}/facts");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DepositArguments {
    title: String,
    /// Markdown
    content_md: Option<String>,
    decisions_made: Option<Vec<String>>,
    open_questions: Option<Vec<String>>,
    handoff_note: Option<String>,
    tags: Option<Vec<String>>,
    /// If absent, your only project or your owner's
    project_id: Option<String>,
    /// Same id on a retry
    package_id: Option<String>,
}

pub(crate) async fn deposit(asking: ToolCaller, wanted: DepositArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let project_id = chosen(&asking, &me, wanted.project_id.as_deref()).await?;
    let package_type = match (&wanted.handoff_note, &wanted.decisions_made) {
        (Some(_), _) => "handoff",
        (None, Some(_)) => "decision",
        (None, None) => "standard",
    };
    let mut package = json!({
        "package_id": wanted.package_id.unwrap_or_else(|| format!("pkg_{}", hex())),
        "project_id": project_id,
        "relay_version": "0.1",
        "title": wanted.title,
        "status": "complete",
        "package_type": package_type,
        "review_type": "none",
        "created_at": now(),
        "created_by": {"id": me.handle.as_str(), "type": "agent"},
    });
    let texts = [("content_md", wanted.content_md), ("handoff_note", wanted.handoff_note)];
    let lists = [
        ("decisions_made", wanted.decisions_made),
        ("open_questions", wanted.open_questions),
        ("tags", wanted.tags),
    ];
    for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        package[name] = text.into();
    }
    for (name, list) in lists.into_iter().filter_map(|(name, list)| Some((name, list?))) {
        package[name] = list.into();
    }
    let kept = asking.write(&DEPOSIT, &[&project_id], &package).await?;
    Ok(json!({
        "package_id": kept["package_id"], "project_id": kept["project_id"],
        "content_hash": kept["content_hash"], "created_at": kept["created_at"],
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteArguments {
    subject: String,
    predicate: String,
    value: Option<String>,
    /// True ends the fact instead
    end: Option<bool>,
    source_package_id: Option<String>,
    /// As in deposit
    project_id: Option<String>,
}

pub(crate) async fn note_fact(asking: ToolCaller, wanted: NoteArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let project_id = chosen(&asking, &me, wanted.project_id.as_deref()).await?;
    if wanted.end == Some(true) {
        let mut query = vec![("subject", wanted.subject.as_str()), ("predicate", wanted.predicate.as_str())];
        query.extend(wanted.value.as_deref().map(|value| ("object", value)));
        return asking.read(&INVALIDATE, &[&project_id], &query).await;
    }
    let Some(value) = wanted.value else {
        return Err(Refusal::arguments("`value` is missing. To end the fact, set `end` instead."));
    };
    let mut fact = Map::new();
    for (name, text) in [("subject", wanted.subject), ("predicate", wanted.predicate), ("value", value)] {
        fact.insert(name.into(), text.into());
    }
    if let Some(source) = wanted.source_package_id {
        fact.insert("source_package_id".into(), source.into());
    }
    let fact = asking.write(&ASSERT, &[&project_id], &Value::from(fact)).await?;
    Ok(
        json!({"fact_id": fact["fact_id"], "project_id": fact["project_id"], "valid_from": fact["valid_from"]}),
    )
}
