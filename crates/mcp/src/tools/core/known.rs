//! Packages and facts that match a query: from the search over everything, or project by project.
//! Must not know: the other rooms, or how an index ranks.

use std::{collections::HashSet, time::Duration};

use http::Method;
use plenary_retrieval::Query;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    project::{self, listed},
    recall::{FACTS, PULL, SEARCH},
};
use crate::tools::{
    api::{Answer, Refusal, Route, ToolApi},
    bounds,
};

/// The room of packages and facts.
const CONTEXT: &str = "context";
/// Number of hits among which packages and facts are looked for.
const HITS: &str = "50";
/// Maximum number of packages found by the search.
const PACKAGES_MAX: usize = 8;
/// Maximum number of facts found by the search.
const FACTS_MAX: usize = 16;
/// Maximum number of packages found in one project.
const FOUND: &str = "8";
/// Number of newest packages that are searched directly, because they may not be indexed yet.
const NEWEST: &str = "20";
/// Maximum number of projects searched one by one.
const PROJECTS_MAX: usize = 20;
/// Maximum number of pages of facts read in one project.
const FACT_PAGES_MAX: usize = 10;
/// Maximum size of a package's text in a list, in tokens.
const EXCERPT_TOKENS: usize = 120;
/// How often a search waits for its turn.
const TURNS_MAX: usize = 5;
/// How long it waits each time: the `Retry-After` of the refusal.
const TURN: Duration = Duration::from_secs(1);

/// The lists of a result, by their names.
pub(super) type Listed = (&'static str, Vec<Value>);

/// Lists of things that match a query, best first.
#[derive(Default)]
pub(crate) struct MatchLists {
    pub(crate) lists: Vec<Listed>,
    /// Whether more match.
    pub(crate) has_more: bool,
}

impl MatchLists {
    fn new(packages: Vec<Value>, facts: Vec<Value>, has_more: bool) -> Self {
        Self { lists: vec![("packages", packages), ("facts", facts)], has_more }
    }
}

/// The answer of a search. The agents of an owner have a number of searches at a time together, so this one waits for its turn.
pub(crate) async fn searched(
    api: &ToolApi,
    route: &Route,
    values: &[&str],
    query: &[(&str, &str)],
) -> Answer {
    for _ in 0..TURNS_MAX {
        match api.read(route, values, query).await {
            Err(refusal) if refusal.code == "too_many_searches" => sleep(TURN).await,
            answer => return answer,
        }
    }
    api.read(route, values, query).await
}

/// The packages and facts of all projects that match a query.
pub(crate) async fn known(api: &ToolApi, query: &str) -> Result<MatchLists, Refusal> {
    if api.has(&SEARCH) {
        match searched(api, &SEARCH, &[], &[("q", query), ("room", CONTEXT), ("limit", HITS)]).await {
            // A token for the context alone may not use the search, but it may read its projects.
            Err(refusal) if refusal.code == "insufficient_scope" => {}
            page => return Ok(of_hits(api, &page?).await),
        }
    }
    near(api, &project::all(api).await?, query).await
}

/// The packages and facts of a page of hits, each as it is now.
async fn of_hits(api: &ToolApi, page: &Value) -> MatchLists {
    let (mut packages, mut facts) = (Vec::new(), Vec::new());
    let mut has_more = page["next_cursor"].is_string();
    for hit in listed(page, "hits") {
        let is_package = hit["kind"] == "package";
        let is_full = if is_package { packages.len() == PACKAGES_MAX } else { facts.len() >= FACTS_MAX };
        if is_full {
            has_more = true;
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let project = text(&hit["reference"]["project_id"]);
        // Since the search it may have ended, or the caller may have lost the right to read it.
        let Ok(reply) = api.reply(Method::GET, &text(&hit["path"]), None).await else { continue };
        let item = reply.value();
        if is_package {
            packages.push(short(&project, &item));
        } else {
            facts.extend(listed(&item, "facts").iter().map(|one| fact(&project, one)));
        }
    }
    MatchLists::new(packages, facts, has_more)
}

/// The packages and facts of these projects that match a query.
pub(super) async fn near(api: &ToolApi, projects: &[String], query: &str) -> Result<MatchLists, Refusal> {
    let words = Query::read(query).map_err(|_| Refusal::arguments("`query` is too long."))?;
    let (mut packages, mut facts, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let mut has_more = projects.len() > PROJECTS_MAX;
    for project in projects.iter().take(PROJECTS_MAX) {
        let near = [("mode", "relevant"), ("query", query), ("limit", FOUND)];
        let near = searched(api, &PULL, &[project], &near).await?;
        for found in listed(&near, "packages") {
            seen.insert(key(project, &found["package"]));
            packages.push((found["score"].as_f64().unwrap_or_default(), short(project, &found["package"])));
        }
        // A recent deposit may not be in the index yet.
        let newest = api.read(&PULL, &[project], &[("limit", NEWEST)]).await?;
        for package in listed(&newest, "packages") {
            if words.coverage(&text_of_package(package)) > 0.0 && seen.insert(key(project, package)) {
                packages.push((0.0, short(project, package)));
            }
        }
        has_more |= add_facts(api, project, &words, &mut facts).await?;
    }
    let best_first = |mut scored: Vec<(f64, Value)>| -> Vec<Value> {
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        scored.into_iter().map(|(_, item)| item).collect()
    };
    Ok(MatchLists::new(best_first(packages), best_first(facts), has_more))
}

/// Adds the current facts of a project that have words of the query, each with its share of them. Returns whether some were not read.
async fn add_facts(
    api: &ToolApi,
    project: &str,
    words: &Query,
    facts: &mut Vec<(f64, Value)>,
) -> Result<bool, Refusal> {
    let mut cursor = None::<String>;
    for _ in 0..FACT_PAGES_MAX {
        let after: Vec<_> = cursor.as_deref().map(|cursor| ("cursor", cursor)).into_iter().collect();
        let page = api.read(&FACTS, &[project], &after).await?;
        for one in listed(&page, "facts") {
            let share = words.coverage(&text_of_fact(one));
            if share > 0.0 {
                facts.push((share, fact(project, one)));
            }
        }
        let Some(next) = page["next_cursor"].as_str() else { return Ok(false) };
        cursor = Some(next.to_owned());
    }
    Ok(true)
}

fn key(project: &str, package: &Value) -> (String, String) {
    (project.to_owned(), package["package_id"].as_str().unwrap_or_default().to_owned())
}

/// A text, or the texts of a list.
fn text_of(member: &Value) -> String {
    match member {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The text of a package in which words are searched.
fn text_of_package(package: &Value) -> String {
    let members = ["title", "description", "content_md", "decisions_made", "open_questions", "handoff_note"];
    members.map(|name| text_of(&package[name])).join("\n")
}

fn text_of_fact(fact: &Value) -> String {
    ["subject", "predicate", "value"].map(|name| text_of(&fact[name])).join(" ")
}

/// A package in short; `package_id` reads the whole.
pub(super) fn short(project: &str, package: &Value) -> Value {
    let mut short = json!({
        "package_id": package["package_id"],
        "project_id": project,
        "title": package["title"],
        "by": package["created_by"]["id"],
        "at": package["created_at"],
    });
    if package["status"] != "complete" {
        short["status"] = package["status"].clone();
    }
    for name in ["decisions_made", "handoff_note", "content_md", "description"] {
        let text = text_of(&package[name]);
        if !text.is_empty() {
            let (excerpt, whole) = bounds::shortened(&text, EXCERPT_TOKENS);
            short[name] = if whole { text } else { format!("{excerpt}…") }.into();
            break;
        }
    }
    short
}

/// A fact in short.
pub(super) fn fact(project: &str, fact: &Value) -> Value {
    json!({
        "subject": fact["subject"], "predicate": fact["predicate"], "value": fact["value"],
        "since": fact["valid_from"], "by": fact["asserted_by"]["id"], "project_id": project,
    })
}
