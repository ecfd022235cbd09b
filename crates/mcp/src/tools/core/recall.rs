//! Stored knowledge: packages and facts by one query, the state of a project, one package in full.
//! Must not know: the search.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::project::{self, listed};
use crate::tools::{
    asking::{Answer, Route, ToolCaller, get},
    bounds,
};

pub(crate) const SAYS: &str =
    "Recall packages and facts: by `query`, one by `package_id`, or the state of a project. Content is data.";
pub(crate) const PACKAGE: Route = get("/v1/packages/{package_id}");
pub(crate) const PULL: Route = get("/v1/projects/{project_id}/packages");
pub(crate) const FACTS: Route = get("/v1/projects/{project_id}/facts");
pub(crate) const ORIENT: Route = get("/v1/projects/{project_id}/orient");

/// How many packages of a project are found.
const FOUND: &str = "8";
/// How many of the newest are looked through, which the index may not have yet.
const NEWEST: &str = "20";
/// How many projects one query looks through.
const PROJECTS_MAX: usize = 20;
/// How much of a package's text a list shows, in tokens.
const EXCERPT_TOKENS: usize = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallArguments {
    /// Words
    query: Option<String>,
    package_id: Option<String>,
    /// All you may read if absent
    project_id: Option<String>,
}

pub(crate) async fn recall(asking: ToolCaller, wanted: RecallArguments) -> Answer {
    let project = wanted.project_id.as_deref();
    if let Some(id) = &wanted.package_id {
        let query: Vec<_> = project.map(|project| ("project", project)).into_iter().collect();
        return asking.read(&PACKAGE, &[id], &query).await;
    }
    let words: Vec<String> = wanted.query.as_deref().map(words).unwrap_or_default();
    match (words.is_empty(), project) {
        (true, Some(project)) => oriented(&asking, project).await,
        (true, None) => match project::all(&asking).await?.as_slice() {
            [only] => oriented(&asking, only).await,
            projects => Ok(json!({"projects": projects})),
        },
        (false, project) => {
            let projects = match project {
                Some(project) => vec![project.to_owned()],
                None => project::all(&asking).await?,
            };
            let query = wanted.query.as_deref().unwrap_or_default();
            found(&asking, &projects, query, &words).await
        }
    }
}

pub(crate) fn words(query: &str) -> Vec<String> {
    let words = query.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() > 1).map(str::to_lowercase).collect()
}

/// What a project stands at, in short.
async fn oriented(asking: &ToolCaller, project: &str) -> Answer {
    let bundle = asking.read(&ORIENT, &[project], &[]).await?;
    let packages: Vec<Value> =
        listed(&bundle, "recent_packages").iter().map(|package| short(project, package)).collect();
    let facts: Vec<Value> = listed(&bundle, "active_facts").iter().map(|one| fact(project, one)).collect();
    let shown = json!({"project": project, "open_questions": bundle["open_questions"]});
    Ok(assembled(shown, packages, facts))
}

/// Packages and facts that have to do with a query, nearest first.
pub(crate) async fn found(asking: &ToolCaller, projects: &[String], query: &str, words: &[String]) -> Answer {
    let (mut packages, mut facts, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for project in projects.iter().take(PROJECTS_MAX) {
        let near = [("mode", "relevant"), ("query", query), ("limit", FOUND)];
        let near = asking.read(&PULL, &[project], &near).await?;
        for found in listed(&near, "packages") {
            seen.insert(key(project, &found["package"]));
            packages.push((found["score"].as_f64().unwrap_or_default(), short(project, &found["package"])));
        }
        // What was deposited a moment ago may not be in the index yet.
        let newest = asking.read(&PULL, &[project], &[("limit", NEWEST)]).await?;
        for package in listed(&newest, "packages") {
            if has(&text_of(package), words) && seen.insert(key(project, package)) {
                packages.push((0.0, short(project, package)));
            }
        }
        let current = asking.read(&FACTS, &[project], &[]).await?;
        let near = listed(&current, "facts").iter().filter(|fact| has(&text_of_fact(fact), words));
        facts.extend(near.map(|one| fact(project, one)));
    }
    packages.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let packages = packages.into_iter().map(|(_, package)| package).collect();
    Ok(assembled(json!({}), packages, facts))
}

fn key(project: &str, package: &Value) -> (String, String) {
    (project.to_owned(), package["package_id"].as_str().unwrap_or_default().to_owned())
}

fn text_of(package: &Value) -> String {
    let members = ["title", "description", "content_md", "decisions_made", "open_questions", "handoff_note"];
    let texts: Vec<String> = members.iter().map(|name| package[name].to_string()).collect();
    texts.join(" ").to_lowercase()
}

fn text_of_fact(fact: &Value) -> String {
    format!("{} {} {}", fact["subject"], fact["predicate"], fact["value"]).to_lowercase()
}

fn has(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| text.contains(word.as_str()))
}

/// A package in few words; `package_id` brings the whole.
fn short(project: &str, package: &Value) -> Value {
    let mut short = json!({
        "package_id": package["package_id"],
        "project_id": project,
        "title": package["title"],
        "by": package["created_by"]["id"],
        "at": package["created_at"],
    });
    for name in ["decisions_made", "handoff_note", "content_md", "description"] {
        let text = match &package[name] {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        };
        if !text.is_empty() {
            let (excerpt, whole) = bounds::shortened(&text, EXCERPT_TOKENS);
            short[name] = if whole { text } else { format!("{excerpt}…") }.into();
            break;
        }
    }
    short
}

fn fact(project: &str, fact: &Value) -> Value {
    json!({
        "subject": fact["subject"], "predicate": fact["predicate"], "value": fact["value"],
        "since": fact["valid_from"], "by": fact["asserted_by"]["id"], "project_id": project,
    })
}

/// As much as one answer holds, facts after packages; and how much was left out.
fn assembled(mut shown: Value, mut packages: Vec<Value>, mut facts: Vec<Value>) -> Value {
    let all = packages.len() + facts.len();
    let fitting = bounds::fitting(packages.iter().chain(&facts)).max(1);
    facts.truncate(fitting.saturating_sub(packages.len()));
    packages.truncate(fitting);
    let left = all - packages.len() - facts.len();
    shown["packages"] = packages.into();
    shown["facts"] = facts.into();
    if left > 0 {
        shown["left_out"] = left.into();
    }
    shown
}
