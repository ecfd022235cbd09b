//! `plenary context init`: binds a directory to a project.
//! Must not know: the deposits.

use std::path::{Path, PathBuf};

use clap::Args;
use plenary_client::{
    Client, Error,
    context::{AboutProject, NewProject},
};
use serde_json::json;

use super::target::{ProjectArgs, ProjectTarget};
use crate::{
    cli::{
        context::Context,
        environment::Environment,
        failure::Failure,
        identity::{self, Setting},
    },
    out::clean,
};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Id of the project [default: --project, else the project that the directory is bound to, else the directory's name]
    #[arg(value_name = "PROJECT")]
    id: Option<String>,
    /// Display name, if the project is created
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Description, if the project is created
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) async fn run(context: &Context, args: &ProjectArgs, init: Init) -> Result<(), Failure> {
    let directory = context.directory()?.clone();
    let target = ProjectTarget::of(context, args)?;
    let own_name = || directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let bound = bound(&context.environment, &directory)?;
    let id = init.id.or_else(|| args.project_flag()).or_else(|| bound.clone()).or_else(own_name);
    let id = id.ok_or_else(|| {
        Failure::usage("this directory has no name", "name the project: `plenary context init PROJECT`")
    })?;
    let about = AboutProject { name: init.name, description: init.description, settings: None };
    // The operator creates it for the owner on whose behalf it acts.
    let own = target.actor.as_ref().map(|actor| owner_of(&actor.id).to_owned());
    let owner_id = target.actor.filter(|actor| actor.kind == "human").map(|actor| actor.id);
    let project = NewProject { project_id: id.clone(), owner_id, about };
    let foreign = foreign_owner(&target.client, &id, own.as_deref()).await?;
    // Any owner may share a project of any name with this agent.
    let is_named = |owner: &str| id.starts_with(&format!("{owner}:")) || bound.as_ref() == Some(&id);
    if let Some(owner) = foreign.as_deref().filter(|owner| !is_named(owner)) {
        let (id, owner) = (clean(&id), clean(owner));
        return Err(Failure::usage(
            format!("the project {id} belongs to {owner}, who can read what is deposited there"),
            format!(
                "to bind the directory to it, name it in full: `plenary context init {owner}:{id}`. Otherwise choose another id"
            ),
        ));
    }
    let (is_new, file) = bind(&target.client, &context.environment, &directory, project).await?;
    let before = bound.filter(|before| *before != id);
    if context.out.is_json() {
        let answer = json!({"project": id, "created": is_new, "file": file, "foreign_owner": foreign, "before": before});
        return Ok(context.out.line(&answer.to_string())?);
    }
    let how = if is_new { "created, and bound to this directory" } else { "bound to this directory" };
    context.out.line(&format!("project {} {how}: {}", clean(&id), file.display()))?;
    if let Some(before) = before {
        context.out.note(&format!("the directory was bound to the project {} until now", clean(&before)));
    }
    if let Some(owner) = foreign {
        context
            .out
            .note(&format!("the project belongs to {}, who can read what is deposited here", clean(&owner)));
    }
    context.out.note(
        "deposit with `plenary context deposit --title … --decision …`, brief with `plenary context orient`",
    );
    Ok(())
}

/// The project that this very directory is bound to.
pub(crate) fn bound(environment: &Environment, directory: &Path) -> Result<Option<String>, Failure> {
    let binding = identity::find_in_project_file(environment, directory, Setting::Project)?;
    Ok(binding.filter(|(_, file)| file.parent() == Some(directory)).map(|(project, _)| project))
}

/// The owner of an existing project, if it is another owner.
async fn foreign_owner(client: &Client, id: &str, own: Option<&str>) -> Result<Option<String>, Failure> {
    match client.project(id).await {
        Ok(project) => Ok(project.value.owner_id.filter(|owner| own.is_some_and(|own| own != owner))),
        Err(Error::Refused(refused)) if refused.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The owner in an actor's id: the owner of a handle, or the id itself.
fn owner_of(actor: &str) -> &str {
    actor.strip_prefix('@').and_then(|handle| handle.split('.').next()).unwrap_or(actor)
}

/// Binds a directory to a project, and creates a missing project; returns whether it did, and the file with the binding.
pub(crate) async fn bind(
    client: &Client,
    environment: &Environment,
    directory: &Path,
    project: NewProject,
) -> Result<(bool, PathBuf), Failure> {
    let is_new = match client.project(&project.project_id).await {
        Ok(_) => false,
        Err(Error::Refused(refused)) if refused.status == 404 => make(client, &project).await?,
        Err(error) => return Err(error.into()),
    };
    Ok((is_new, identity::write_project_file(environment, directory, Setting::Project, &project.project_id)?))
}

async fn make(client: &Client, project: &NewProject) -> Result<bool, Failure> {
    match client.create_project(project).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(refused)) if refused.code == "project_exists" => Err(Failure::local_with(
            format!("the project id {} belongs to another owner", clean(&project.project_id)),
            "choose another id, e.g. `plenary context init OWNER-PROJECT`, or ask the owner to share the project",
        )),
        Err(error) => Err(error.into()),
    }
}
