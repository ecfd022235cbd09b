//! `plenary context init`: binds a directory to a project.
//! Must not know: what is deposited there.

use clap::Args;
use plenary_client::{
    Error,
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
    let made = match place.client.project(&id).await {
        Ok(_) => false,
        Err(Error::Refused(refused)) if refused.status == 404 => {
            make(&place, NewProject { project_id: id.clone(), owner_id: None, about }).await?
        }
        Err(error) => return Err(error.into()),
    };
    let file = identity::write_project_file(&directory, Setting::Project, &id)?;
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

async fn make(place: &Place, mut project: NewProject) -> Result<bool, Failure> {
    // The operator makes it for the owner in whose name it acts.
    project.owner_id =
        place.actor.as_ref().filter(|actor| actor.kind == "human").map(|actor| actor.id.clone());
    match place.client.create_project(&project).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(refused)) if refused.code == "project_exists" => Err(Failure::local_with(
            format!("the project id {} is taken by another owner", clean(&project.project_id)),
            "choose another, e.g. `plenary context init OWNER-PROJECT`, or have it shared with you",
        )),
        Err(error) => Err(error.into()),
    }
}
