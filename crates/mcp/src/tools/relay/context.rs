//! Sessions and packages in the form of the reference's tools.
//! Must not know: how packages are stored.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{
    api::{Answer, Refusal, Route, ToolApi, get, post},
    core::{
        deposit::DEPOSIT,
        me::Me,
        project::{chosen, listed},
        recall::{ORIENT, PACKAGE, PULL},
    },
    frame::{hex, now},
};

pub(crate) const START: Route = post("/v1/projects/{project_id}/sessions");
pub(crate) const SESSIONS: Route = get("/v1/projects/{project_id}/sessions");
pub(crate) const ORCHESTRATE: Route = get("/v1/orchestrate");

/// Number of packages in the modes `latest` and `next`, and in the status.
const LATEST: &str = "5";
const NEXT: &str = "20";
const RECENT: &str = "10";
/// Number of hits of a search.
const HITS: &str = "10";

#[derive(Deserialize, JsonSchema)]
pub(super) struct StartArguments {
    project_id: Option<String>,
    #[expect(dead_code, reason = "the reference's parameter; sessions have no place for it")]
    agent_description: Option<String>,
}

pub(super) async fn session_start(api: ToolApi, arguments: StartArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let session = start_session(&api, &project).await?;
    let recent = packages(&api, &project, LATEST).await?;
    let recent: Vec<Value> = recent.iter().map(|package| short(package, true)).collect();
    Ok(json!({"session": session, "recent_packages": recent}))
}

async fn start_session(api: &ToolApi, project: &str) -> Answer {
    let mut session = api.write(&START, &[project], &json!({})).await?;
    session["id"] = session["session_id"].clone();
    Ok(session)
}

async fn packages(api: &ToolApi, project: &str, limit: &str) -> Result<Vec<Value>, Refusal> {
    let found = api.read(&PULL, &[project], &[("limit", limit)]).await?;
    Ok(listed(&found, "packages").to_vec())
}

fn short(package: &Value, dated: bool) -> Value {
    let mut short = json!({
        "id": package["package_id"], "title": package["title"], "status": package["status"],
        "handoff_note": package["handoff_note"],
    });
    if dated {
        short["created_at"] = package["created_at"].clone();
    }
    short
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Latest,
    Next,
    Relevant,
    Specific,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct PullArguments {
    package_id: Option<String>,
    mode: Option<Mode>,
    query: Option<String>,
    // The reference accepts it, but does not describe it. Here an argument has to be described to be accepted.
    project_id: Option<String>,
}

pub(super) async fn pull_context(api: ToolApi, arguments: PullArguments) -> Answer {
    let project = arguments.project_id.as_deref();
    // Without a mode, an id or a query says which one is meant.
    let implied = match (&arguments.package_id, &arguments.query) {
        (Some(_), _) => Mode::Specific,
        (None, Some(_)) => Mode::Relevant,
        (None, None) => Mode::Latest,
    };
    match (arguments.mode.unwrap_or(implied), &arguments.package_id, &arguments.query) {
        (Mode::Specific, Some(id), _) => {
            let query: Vec<_> = project.map(|project| ("project", project)).into_iter().collect();
            match api.read(&PACKAGE, &[id], &query).await {
                // A missing package is null (wire.md 0.4, row 3).
                Err(refusal) if refusal.code == "package_not_found" => Ok(Value::Null),
                found => found,
            }
        }
        (Mode::Relevant, _, Some(query_text)) => {
            let mut query = vec![("focus", query_text.as_str()), ("snippets", HITS)];
            query.extend(project.map(|project| ("project", project)));
            let digest = api.read(&ORCHESTRATE, &[], &query).await?;
            let hits = listed(&digest, "snippets").iter().map(|hit| {
                json!({
                    "package_id": hit["package_id"], "content_type": hit["content_type"],
                    "content": hit["content"], "similarity": hit["score"],
                })
            });
            Ok(hits.collect())
        }
        (mode, _, _) => {
            let me = Me::of(&api).await?;
            let project = chosen(&api, &me, project).await?;
            let limit = if mode == Mode::Latest { LATEST } else { NEXT };
            Ok(packages(&api, &project, limit).await?.into())
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct DepositArguments {
    title: String,
    description: Option<String>,
    project_id: Option<String>,
    decisions: Option<Vec<String>>,
    open_questions: Option<Vec<String>>,
    handoff_note: Option<String>,
    status: Option<String>,
    review_type: Option<String>,
    auto: Option<bool>,
    topic: Option<String>,
    artifact_type: Option<String>,
}

pub(super) async fn deposit(api: ToolApi, arguments: DepositArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let package_type = if arguments.auto == Some(true) { "auto_deposit" } else { "standard" };
    let mut created_by = json!({"id": me.handle.as_str(), "type": "agent"});
    let session = running_session(&api, &me, &project).await?;
    if !session.is_null() {
        created_by["session_id"] = session["session_id"].clone();
    }
    let mut package = json!({
        "package_id": format!("pkg_{}", hex()),
        "project_id": project,
        "relay_version": "0.1",
        "title": arguments.title,
        "description": arguments.description.unwrap_or_default(),
        "status": status_of(arguments.status.as_deref()),
        "package_type": package_type,
        "review_type": arguments.review_type.as_deref().unwrap_or("none"),
        "created_at": now(),
        "created_by": created_by,
        "decisions_made": arguments.decisions.unwrap_or_default(),
        "open_questions": arguments.open_questions.unwrap_or_default(),
        "handoff_note": arguments.handoff_note.unwrap_or_default(),
    });
    for (name, text) in [("topic", arguments.topic), ("artifact_type", arguments.artifact_type)] {
        if let Some(text) = text {
            package[name] = text.into();
        }
    }
    match api.write(&DEPOSIT, &[&project], &package).await {
        Err(refusal) if refusal.code == "project_archived" => {
            Ok(json!({"skipped": true, "reason": "project_archived", "project_id": project}))
        }
        stored => stored,
    }
}

/// The reference's states in the protocol's terms (wire.md 0.4, row 14).
fn status_of(status: Option<&str>) -> &str {
    match status {
        None | Some("approved") => "complete",
        Some("pending_review") => "awaiting_review",
        Some("rejected") => "revision_requested",
        Some("in_progress" | "blocked") => "draft",
        Some(other) => other,
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OfProject {
    project_id: Option<String>,
}

pub(super) async fn status(api: ToolApi, arguments: OfProject) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let recent = packages(&api, &project, RECENT).await?;
    let pending = recent.iter().filter(|package| package["status"] == "awaiting_review").count();
    let questions: usize = recent.iter().map(|package| listed(package, "open_questions").len()).sum();
    let packages: Vec<Value> = recent.iter().map(|package| short(package, false)).collect();
    Ok(json!({
        "session": open_session(&api, &me, &project).await?,
        "total_recent_packages": recent.len(),
        "pending_review": pending,
        "open_questions": questions,
        "packages": packages,
    }))
}

/// The agent's newest active session; null if there is none.
async fn open_session(api: &ToolApi, me: &Me, project: &str) -> Answer {
    let found = api.read(&SESSIONS, &[project], &[("limit", NEXT)]).await?;
    let names = [me.handle.as_str(), me.handle.name()];
    let open = listed(&found, "sessions").iter().find(|session| {
        session["ended_at"].is_null()
            && session["actor_id"].as_str().is_some_and(|actor| names.contains(&actor))
    });
    Ok(open.cloned().map_or(Value::Null, |mut session| {
        session["id"] = session["session_id"].clone();
        session
    }))
}

/// The same, also where the project does not exist yet and has no sessions.
async fn running_session(api: &ToolApi, me: &Me, project: &str) -> Answer {
    match open_session(api, me, project).await {
        Err(refusal) if refusal.code == "project_not_found" => Ok(Value::Null),
        found => found,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Markdown,
    Json,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OrientArguments {
    project_id: Option<String>,
    format: Option<Format>,
    key_packages: Option<usize>,
    open_questions: Option<usize>,
    window_days: Option<u64>,
}

pub(super) async fn session_orient(api: ToolApi, arguments: OrientArguments) -> Answer {
    let me = Me::of(&api).await?;
    let project = chosen(&api, &me, arguments.project_id.as_deref()).await?;
    let mut session = running_session(&api, &me, &project).await?;
    let started = session.is_null();
    if started {
        session = start_session(&api, &project).await?;
    }
    let days = arguments.window_days.unwrap_or(14).to_string();
    let mut bundle = api.read(&ORIENT, &[&project], &[("window_days", &days)]).await?;
    truncate(&mut bundle, "recent_packages", arguments.key_packages.unwrap_or(3));
    truncate(&mut bundle, "open_questions", arguments.open_questions.unwrap_or(5));
    if arguments.format == Some(Format::Json) {
        bundle["session"] =
            json!({"id": session["session_id"], "callsign": session["callsign"], "auto_started": started});
        return Ok(bundle);
    }
    Ok(markdown(&bundle, session["callsign"].as_str(), started).into())
}

fn truncate(bundle: &mut Value, name: &str, most: usize) {
    if let Some(list) = bundle[name].as_array_mut() {
        list.truncate(most);
    }
}

/// The bundle as Markdown, with the session's callsign at its head.
fn markdown(bundle: &Value, callsign: Option<&str>, started: bool) -> String {
    let mut text = String::new();
    if let Some(callsign) = callsign {
        let verb = if started { "this run is" } else { "active run" };
        let _ = writeln!(text, "**{verb} `{callsign}`**\n");
    }
    let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let _ = writeln!(text, "# {}\n", field(&bundle["project"]["name"]));
    let sections = [
        ("Packages", "recent_packages"),
        ("Active facts", "active_facts"),
        ("Open questions", "open_questions"),
    ];
    for (title, name) in sections {
        let items = listed(bundle, name);
        if items.is_empty() {
            continue;
        }
        let _ = writeln!(text, "## {title}");
        for item in items {
            let line = match name {
                "recent_packages" => format!(
                    "{} ({}): {}",
                    field(&item["title"]),
                    field(&item["status"]),
                    field(&item["handoff_note"])
                ),
                "active_facts" => format!(
                    "{} {} {}",
                    field(&item["subject"]),
                    field(&item["predicate"]),
                    field(&item["value"])
                ),
                _ => field(&item["question"]),
            };
            let _ = writeln!(text, "- {}", line.trim_end_matches(": "));
        }
        text.push('\n');
    }
    text
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OrchestrateArguments {
    project_id: Option<String>,
    focus: Option<String>,
    snippets: Option<u64>,
    include_archived: Option<bool>,
}

pub(super) async fn orchestrate(api: ToolApi, arguments: OrchestrateArguments) -> Answer {
    let snippets = arguments.snippets.unwrap_or(25).to_string();
    let mut query = vec![("snippets", snippets.as_str())];
    query.extend(arguments.focus.as_deref().map(|focus| ("focus", focus)));
    query.extend(arguments.project_id.as_deref().map(|project| ("project", project)));
    query.extend(
        arguments.include_archived.filter(|is_included| *is_included).map(|_| ("include_archived", "true")),
    );
    api.read(&ORCHESTRATE, &[], &query).await
}
