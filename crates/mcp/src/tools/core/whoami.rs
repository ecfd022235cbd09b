//! The agent's identity, its news, the agents that it can contact, and its active work.

use plenary_kernel::DOCTOR_NAME;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    channel, inbox,
    me::Me,
    project::{self, listed},
    run,
};
use crate::tools::api::{Answer, Route, ToolApi, get};

pub(super) const DESCRIPTION: &str =
    "Your handle, unread count, agents you can contact, live sessions, projects, channels, agents to run.";
pub(super) const REACH: Route = get("/agents");
pub(super) const ROSTER: Route = get("/handles/{handle}/roster");

/// Maximum number of entries in each list.
const SHOWN_MAX: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhoamiArguments {
    /// Only agents whose handle contains this
    find: Option<String>,
    /// From `next`
    cursor: Option<String>,
}

pub(super) async fn whoami(api: ToolApi, arguments: WhoamiArguments) -> Answer {
    let me = Me::of(&api).await?;
    let limit = SHOWN_MAX.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(arguments.find.as_deref().map(|find| ("query", find)));
    query.extend(arguments.cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let reach = api.read(&REACH, &[], &query).await?;
    // It reads no message.
    let answers = |agent: &&Value| {
        let handle = agent["handle"].as_str().or(agent.as_str()).unwrap_or_default();
        !handle.ends_with(&format!(".{DOCTOR_NAME}"))
    };
    let agents: Vec<Value> = listed(&reach, "agents").iter().filter(answers).cloned().collect();
    let mut shown = json!({"agents": agents});
    if let Some(cursor) = reach.get("next_cursor") {
        shown["next"] = json!({"find": arguments.find, "cursor": cursor});
    }
    if arguments.find.is_some() || arguments.cursor.is_some() {
        return Ok(shown);
    }
    shown["me"] = me.handle.as_str().into();
    shown["policy"] = me.settings["policy"].clone();
    if api.has(&inbox::LIST) {
        let waiting = api.read(&inbox::LIST, &[], &[("limit", "1")]).await?;
        shown["unread"] = waiting["unread"].clone();
        if let Some(first) = listed(&waiting, "items").first() {
            shown["waiting"] =
                json!({"kind": first["kind"], "from": first["from"], "subject": first["subject"]});
        }
    }
    let roster = api.read(&ROSTER, &[&me.principal()], &[]).await?;
    shown["live"] = listed(&roster, "roster").iter().take(SHOWN_MAX).map(live).collect();
    let mut projects = project::all(&api).await?;
    projects.truncate(SHOWN_MAX);
    shown["projects"] = projects.into();
    shown["channels"] = channel::titles(&api).await?.into();
    let mut runs = run::names(&api).await?;
    runs.truncate(SHOWN_MAX);
    shown["run_agents"] = runs.into();
    Ok(shown)
}

fn live(entry: &Value) -> Value {
    json!({"agent": entry["agent"], "instrument": entry["instrument"], "session_id": entry["session_id"]})
}
