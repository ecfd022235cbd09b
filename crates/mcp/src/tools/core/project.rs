//! The default project, if a call names none.
//! Must not know: the operation in it.

use serde_json::Value;

use super::me::Me;
use crate::tools::api::{Refusal, Route, ToolApi, get};

pub(crate) const LIST: Route = get("/v1/projects");
/// Only projects of owners that the caller admits.
const ADMITTED: &[(&str, &str)] = &[("admitted", "true")];

/// The projects that the caller may read, of owners that it admits, each by an unambiguous name.
pub(crate) async fn all(api: &ToolApi) -> Result<Vec<String>, Refusal> {
    Ok(open(api, ADMITTED).await?.iter().filter_map(name).collect())
}

/// The projects that are not archived, as they are listed.
async fn open(api: &ToolApi, query: &[(&str, &str)]) -> Result<Vec<Value>, Refusal> {
    let mut found = api.read(&LIST, &[], query).await?;
    let Value::Array(mut projects) = found["projects"].take() else { return Ok(Vec::new()) };
    projects.retain(|project| project["archived_at"].is_null());
    Ok(projects)
}

fn name(project: &Value) -> Option<String> {
    project["ref"].as_str().or(project["project_id"].as_str()).map(str::to_owned)
}

/// The named project; else the only one; else the owner's own one with its name.
pub(crate) async fn chosen(api: &ToolApi, me: &Me, named: Option<&str>) -> Result<String, Refusal> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let own = me.handle.owner();
    let listed = open(api, ADMITTED).await?;
    let is_of_own_name = |project: &Value| project["owner_id"] == own && project["project_id"] == own;
    let mut projects: Vec<String> = listed.iter().filter_map(name).collect();
    match projects.len() {
        // A stranger may have shared a project of that id, which the id alone would mean.
        0 if open(api, &[]).await?.iter().any(|project| project["project_id"] == own) => {
            Ok(format!("{own}:{own}"))
        }
        0 => Ok(own.to_owned()),
        1 => Ok(projects.remove(0)),
        _ if listed.iter().any(is_of_own_name) => Ok(own.to_owned()),
        _ => {
            projects.truncate(20);
            let message = format!("Name `project_id`, one of: {}.", projects.join(", "));
            Err(Refusal::new("which_project", message))
        }
    }
}

/// The items of a list by its name; empty if it is absent.
pub(crate) fn listed<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}
