//! `plenary context init`: binds a directory to a project.
//! Must not know: what is deposited there.

use std::path::{Path, PathBuf};

use clap::Args;
use plenary_client::{
    Client, Error,
    context::{AboutProject, NewProject},
};
use serde_json::json;

use super::place::{Place, PlaceArgs};
use crate::{
    cli::{
        context::Context,
        failure::Failure,
        identity::{self, Setting},
    },
    out::clean,
};

/// Which project.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Its id [default: --project, else the directory's name]
    #[arg(value_name = "PROJECT")]
    id: Option<String>,
    /// A name for people, where it is made
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What it is, where it is made
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) async fn run(context: &Context, args: &PlaceArgs, init: Init) -> Result<(), Failure> {
    let directory =
        context.around.directory().ok_or_else(|| Failure::local("the working directory is gone"))?.clone();
    let place = Place::of(context, args)?;
    let own_name = || directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let id = init.id.or_else(|| args.project_flag()).or_else(own_name).ok_or_else(|| {
        Failure::usage("this directory has no name", "name the project: `plenary context init PROJECT`")
    })?;
    let about = AboutProject { name: init.name, description: init.description, settings: None };
    // The operator makes it for the owner in whose name it acts.
    let owner_id = place.actor.filter(|actor| actor.kind == "human").map(|actor| actor.id);
    let project = NewProject { project_id: id.clone(), owner_id, about };
    let (made, file) = bind(&place.client, &directory, project).await?;
    if context.out.is_json() {
        let answer = json!({"project": id, "created": made, "file": file});
        return Ok(context.out.line(&answer.to_string())?);
    }
    let how = if made { "made, and bound here" } else { "bound here" };
    context.out.line(&format!("project {} {how}: {}", clean(&id), file.display()))?;
    context.out.note(
        "deposit with `plenary context deposit --title … --decision …`, brief with `plenary context orient`",
    );
    Ok(())
}

/// Binds a directory to a project, which is made where it is missing; whether it was, and the file that says so.
pub(crate) async fn bind(
    client: &Client,
    directory: &Path,
    project: NewProject,
) -> Result<(bool, PathBuf), Failure> {
    let made = match client.project(&project.project_id).await {
        Ok(_) => false,
        Err(Error::Refused(refused)) if refused.status == 404 => make(client, &project).await?,
        Err(error) => return Err(error.into()),
    };
    Ok((made, identity::write_project_file(directory, Setting::Project, &project.project_id)?))
}

async fn make(client: &Client, project: &NewProject) -> Result<bool, Failure> {
    match client.create_project(project).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(refused)) if refused.code == "project_exists" => Err(Failure::local_with(
            format!("the project id {} is taken by another owner", clean(&project.project_id)),
            "choose another, e.g. `plenary context init OWNER-PROJECT`, or have it shared with you",
        )),
        Err(error) => Err(error.into()),
    }
}
