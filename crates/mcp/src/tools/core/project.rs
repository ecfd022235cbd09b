//! The default project, if a call names none.
//! Must not know: the operation in it.

use serde_json::Value;

use super::me::Me;
use crate::tools::api::{Refusal, Route, ToolApi, get};

pub(crate) const LIST: Route = get("/v1/projects");

/// The projects that the caller may read, of owners that it admits, each by an unambiguous name.
pub(crate) async fn all(api: &ToolApi) -> Result<Vec<String>, Refusal> {
    let found = api.read(&LIST, &[], &[("admitted", "true")]).await?;
    let projects = found["projects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let open = projects.iter().filter(|project| project["archived_at"].is_null());
    let name =
        |project: &'_ Value| project["ref"].as_str().or(project["project_id"].as_str()).map(str::to_owned);
    Ok(open.filter_map(name).collect())
}

/// The named project; else the only one; else the one with the owner's name.
pub(crate) async fn chosen(api: &ToolApi, me: &Me, named: Option<&str>) -> Result<String, Refusal> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let own = me.handle.owner();
    let mut projects = all(api).await?;
    match projects.len() {
        0 => Ok(own.to_owned()),
        1 => Ok(projects.remove(0)),
        _ if projects.iter().any(|project| project == own) => Ok(own.to_owned()),
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
