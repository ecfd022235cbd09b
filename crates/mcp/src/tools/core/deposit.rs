//! Durable knowledge: a package of context, a fact.
//! Must not know: how it is found again.

use plenary_kernel::{
    TimestampMs,
    rfc3339::{self, Utc},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    me::Me,
    project::{chosen, listed},
    recall::{FACTS, PACKAGE},
};
use crate::tools::{
    api::{Answer, Refusal, Route, ToolApi, delete, post},
    frame::{hex, now},
};

pub(crate) const DEPOSIT_DESCRIPTION: &str =
    "Store decisions, findings or a handoff for others and for later sessions.";
pub(crate) const NOTE_DESCRIPTION: &str = "Note a fact (ends the old value), `propose` or `end` it.";
/// The tag of a package that proposes a fact.
const PROPOSED_FACT: &str = "proposed-fact";
/// Longest title of such a package, in characters.
const PROPOSED_TITLE: usize = 200;
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

pub(crate) async fn deposit(api: ToolApi, arguments: DepositArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project_id = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let package_type = match (&arguments.handoff_note, &arguments.decisions_made) {
        (Some(_), _) => "handoff",
        (None, Some(_)) => "decision",
        (None, None) => "standard",
    };
    let mut package = json!({
        "package_id": arguments.package_id.unwrap_or_else(|| format!("pkg_{}", hex())),
        "project_id": project_id,
        "relay_version": "0.1",
        "title": arguments.title,
        "status": "complete",
        "package_type": package_type,
        "review_type": "none",
        "created_at": now(),
        "created_by": {"id": me.handle.as_str(), "type": "agent"},
    });
    let texts = [("content_md", arguments.content_md), ("handoff_note", arguments.handoff_note)];
    let lists = [
        ("decisions_made", arguments.decisions_made),
        ("open_questions", arguments.open_questions),
        ("tags", arguments.tags),
    ];
    for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        package[name] = text.into();
    }
    for (name, list) in lists.into_iter().filter_map(|(name, list)| Some((name, list?))) {
        package[name] = list.into();
    }
    let stored = match api.write(&DEPOSIT, &[&project_id], &package).await {
        Err(refusal) if refusal.code == "duplicate_package_id" => {
            repeated(&api, &package).await?.ok_or(refusal)?
        }
        other => other?,
    };
    Ok(json!({
        "package_id": stored["package_id"], "project_id": stored["project_id"],
        "content_hash": stored["content_hash"], "created_at": stored["created_at"],
    }))
}

/// The stored package of this id, if it differs only in its time: then this is a retry.
async fn repeated(api: &ToolApi, package: &Value) -> Result<Option<Value>, Refusal> {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    let query = [("project", text("project_id"))];
    let stored = api.read(&PACKAGE, &[text("package_id")], &query).await?;
    let timeless = |package: &Value| {
        let mut members = package.as_object().cloned().unwrap_or_default();
        members.retain(|name, _| name != "created_at" && name != "content_hash");
        members
    };
    Ok((timeless(package) == timeless(&stored)).then_some(stored))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteArguments {
    subject: String,
    predicate: String,
    value: Option<String>,
    end: Option<bool>,
    propose: Option<bool>,
    source_package_id: Option<String>,
    /// As in deposit
    project_id: Option<String>,
}

pub(crate) async fn note_fact(api: ToolApi, arguments: NoteArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project_id = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    if arguments.end == Some(true) {
        if arguments.propose == Some(true) {
            return Err(Refusal::arguments(
                "`end` and `propose` exclude each other: an end is not proposed.",
            ));
        }
        let mut query =
            vec![("subject", arguments.subject.as_str()), ("predicate", arguments.predicate.as_str())];
        query.extend(arguments.value.as_deref().map(|value| ("object", value)));
        return api.read(&INVALIDATE, &[&project_id], &query).await;
    }
    let Some(value) = arguments.value else {
        return Err(Refusal::arguments("`value` is missing. To end the fact, set `end` instead."));
    };
    let (subject, predicate) = (arguments.subject, arguments.predicate);
    let source = arguments.source_package_id;
    if arguments.propose == Some(true) {
        let proposed = Proposed { subject, predicate, value, source };
        return proposed.deposited(&api, &me, &project_id).await;
    }
    // Named, because the author of the source would count otherwise (AP-45).
    let asserted_by = json!({"id": me.handle.as_str(), "type": "agent"});
    let mut fact =
        json!({"subject": subject, "predicate": predicate, "value": value, "asserted_by": asserted_by});
    if let Some(source) = source {
        fact["source_package_id"] = source.into();
    }
    let fact = api.write(&ASSERT, &[&project_id], &fact).await?;
    let mut noted = json!({"fact_id": fact["fact_id"], "project_id": fact["project_id"], "valid_from": fact["valid_from"]});
    // Read after the write: until then another agent may have asserted something else.
    if let Some(before) = fact["valid_from"].as_str().and_then(micro_before)
        && let Some(earlier) = fact_of(&api, &project_id, [&subject, &predicate], Some(&before)).await
        && earlier["value"] != value
    {
        noted["replaced"] = earlier;
    }
    Ok(noted)
}

/// The microsecond before a time of the server, which has microseconds.
fn micro_before(time: &str) -> Option<String> {
    let ms = u64::try_from(rfc3339::parse(time)?).ok()?;
    let micros: u64 = time.get(23..26)?.parse().ok()?;
    let before = (ms * 1_000 + micros).checked_sub(1)?;
    let text = Utc(TimestampMs(before / 1_000)).to_string();
    Some(format!("{}{:03}Z", text.trim_end_matches('Z'), before % 1_000))
}

/// The fact of a subject and predicate now, or at a time, in short, with its source; `None` if it cannot be read, for example
/// in a project that does not exist yet.
async fn fact_of(
    api: &ToolApi,
    project: &str,
    [subject, predicate]: [&str; 2],
    as_of: Option<&str>,
) -> Option<Value> {
    let mut cursor = None::<String>;
    loop {
        let mut query = vec![("subject", subject), ("predicate", predicate)];
        query.extend(as_of.map(|time| ("as_of", time)));
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = api.read(&FACTS, &[project], &query).await.ok()?;
        if let Some(fact) = listed(&page, "facts").first() {
            return Some(json!({
                "value": fact["value"], "by": fact["asserted_by"]["id"], "since": fact["valid_from"],
                "source_package_id": fact["source_package_id"],
            }));
        }
        // A page of a long history may have none.
        cursor = Some(page["next_cursor"].as_str()?.to_owned());
    }
}

/// A fact that awaits review. It is a package, so that it has a source and a history, and is listed with other reviews.
struct Proposed {
    subject: String,
    predicate: String,
    value: String,
    source: Option<String>,
}

impl Proposed {
    async fn deposited(self, api: &ToolApi, me: &Me, project: &str) -> Answer {
        let Self { subject, predicate, value, source } = self;
        // A deposit accepts any parent; a fact needs a source that exists.
        if let Some(source) = &source {
            let absent = || Refusal::arguments("`source_package_id` names no package of this project.");
            let read = api.read(&PACKAGE, &[source], &[("project", project)]).await;
            read.map_err(|refusal| if refusal.code.ends_with("_not_found") { absent() } else { refusal })?;
        }
        let current = fact_of(api, project, [&subject, &predicate], None).await;
        let contradicts = current.filter(|fact| fact["value"] != value);
        let title: String =
            format!("Fact: {subject} {predicate}: {value}").chars().take(PROPOSED_TITLE).collect();
        let mut package = json!({
            "package_id": format!("pkg_{}", hex()), "project_id": project, "relay_version": "0.1", "title": title,
            "status": "awaiting_review", "package_type": "standard", "review_type": "human", "created_at": now(),
            "created_by": {"id": me.handle.as_str(), "type": "agent"}, "tags": [PROPOSED_FACT],
            "content_md": format!("{subject} {predicate}: {value}"),
            "x-fact": {"subject": subject, "predicate": predicate, "value": value, "source_package_id": source},
        });
        if let Some(source) = source {
            package["parent_package_id"] = source.into();
        }
        let mut answer = json!({"project_id": project});
        if let Some(current) = contradicts {
            package["open_questions"] = json!([contradiction(&current)]);
            package["x-contradicts"] = current.clone();
            answer["contradicts"] = current;
        }
        let stored = api.write(&DEPOSIT, &[project], &package).await?;
        answer["package_id"] = stored["package_id"].clone();
        Ok(answer)
    }
}

fn contradiction(current: &Value) -> String {
    let text = |name: &str| current[name].as_str().unwrap_or_default().to_owned();
    let source = current["source_package_id"].as_str().map(|id| format!(", from {id}")).unwrap_or_default();
    format!("Does this replace \"{}\", by {} since {}{source}?", text("value"), text("by"), text("since"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_microsecond_before_may_be_in_an_earlier_second() {
        for (time, before) in [
            ("2026-05-22T10:00:00.123456Z", "2026-05-22T10:00:00.123455Z"),
            ("2026-05-22T10:00:00.123000Z", "2026-05-22T10:00:00.122999Z"),
            ("2026-05-22T10:00:00.000000Z", "2026-05-22T09:59:59.999999Z"),
        ] {
            assert_eq!(micro_before(time).as_deref(), Some(before));
        }
    }
}
