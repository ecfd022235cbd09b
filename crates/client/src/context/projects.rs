//! Projects: create, describe, share, archive (wire.md D.7).
//! Must not know: their content.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::path;
use crate::{
    Client, Reply, Result,
    client::{page, segment},
};

/// A project to create.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NewProject {
    /// Its id.
    pub project_id: String,
    /// The owner of the project; for the operator only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Its name and description.
    #[serde(flatten)]
    pub about: AboutProject,
}

/// The description of a project; an absent member stays unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AboutProject {
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Data that clients store with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
}

/// A project of the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Project {
    /// Its id.
    pub project_id: String,
    /// Its display name.
    #[serde(default)]
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// RFC 3339 UTC.
    #[serde(default)]
    pub created_at: String,
    /// Its owner; `None` for the operator's own.
    pub owner_id: Option<String>,
    /// When it was archived; since then it accepts no writes.
    pub archived_at: Option<String>,
}

/// The projects, by id.
#[derive(Debug, Clone, Deserialize)]
pub struct Projects {
    /// The projects that the token may read.
    pub projects: Vec<Project>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// A member and its role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// `@owner.name` or `@owner.*`.
    pub member: String,
    /// `reader`, `writer` or `reviewer`.
    pub role: String,
}

/// The members of a project.
#[derive(Debug, Clone, Deserialize)]
pub struct Members {
    /// All of them.
    pub members: Vec<Member>,
}

impl Client {
    /// `POST /v1/projects`.
    ///
    /// # Errors
    /// 409 `project_exists`.
    pub async fn create_project(&self, project: &NewProject) -> Result<Reply<Project>> {
        self.post("/v1/projects", project).await
    }

    /// `GET /v1/projects`; with `admitted`, only those of owners that the caller admits.
    pub async fn projects(&self, admitted: bool, cursor: Option<&str>) -> Result<Reply<Projects>> {
        self.get(&page(&format!("/v1/projects?admitted={admitted}"), cursor)).await
    }

    /// `GET /v1/projects/{id}`.
    ///
    /// # Errors
    /// 404 for a foreign project as for an absent one (AP-101).
    pub async fn project(&self, project_id: &str) -> Result<Reply<Project>> {
        self.get(&path::project(project_id, "")).await
    }

    /// `PATCH /v1/projects/{id}`.
    pub async fn edit_project(&self, project_id: &str, about: &AboutProject) -> Result<Reply<Project>> {
        self.patch(&path::project(project_id, ""), about).await
    }

    /// `POST …/archive` or `…/unarchive` (AP-2).
    pub async fn archive_project(&self, project_id: &str, archived: bool) -> Result<Reply<Project>> {
        let verb = if archived { "/archive" } else { "/unarchive" };
        self.post_empty(&path::project(project_id, verb)).await
    }

    /// `GET …/members`.
    pub async fn project_members(&self, project_id: &str) -> Result<Reply<Members>> {
        self.get(&path::project(project_id, "/members")).await
    }

    /// `PUT …/members/{member}`.
    ///
    /// # Errors
    /// 409 `project_full`.
    pub async fn share_project(&self, project_id: &str, member: &str, role: &str) -> Result<Reply<Member>> {
        let below = format!("/members/{}", segment(member));
        self.put(&path::project(project_id, &below), &json!({"role": role})).await
    }

    /// `DELETE …/members/{member}`.
    pub async fn unshare_project(&self, project_id: &str, member: &str) -> Result<Reply<()>> {
        let below = format!("/members/{}", segment(member));
        self.delete(&path::project(project_id, &below)).await
    }
}
