//! `plenary context project`: create, describe, share, archive.
//! Must not know: the content of a project.

use clap::{Args, Subcommand};
use plenary_client::{
    Client,
    context::{AboutProject, Members, NewProject, Project, Projects},
};
use plenary_kernel::AllowEntry;

use super::target::{ProjectArgs, ProjectTarget, governing_client};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, second},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the projects that the caller may read
    List(List),
    /// Create a project; `context init` also binds this directory to it
    Create(Create),
    /// Show a project
    Show(ProjectArgument),
    /// Change the name or description of a project
    Edit(Create),
    /// Archive a project: it accepts no more writes and stays readable
    Archive(ProjectArgument),
    /// Restore an archived project, so that it accepts writes again
    Restore(ProjectArgument),
    /// List the members of a project besides its owner and the owner's agents
    Members(ProjectArgument),
    /// Give an agent a role in a project
    Share(Share),
    /// Remove an agent's role
    Unshare(Unshare),
}

/// One project.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgument {
    /// The project [default: the one of this directory]
    #[arg(value_name = "PROJECT")]
    id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only projects of the agent's own owner, and of owners that its policy or allowlist admits
    #[arg(long)]
    admitted: bool,
}

/// The arguments of `project create` and `project edit`.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Id of the project
    #[arg(value_name = "PROJECT")]
    id: String,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context project share '@ana.*' reviewer")]
pub(crate) struct Share {
    /// `@owner.name`, or `@owner.*` for every agent of an owner
    member: AllowEntry,
    /// reader, writer (also deposits and asserts) or reviewer (reads and reviews)
    #[arg(value_parser = ["reader", "writer", "reviewer"], default_value = "writer")]
    role: String,
}

#[derive(Debug, Args)]
pub(crate) struct Unshare {
    /// The member, as `project members` shows it
    member: AllowEntry,
}

pub(super) async fn run(context: &Context, args: &ProjectArgs, command: Command) -> Result<(), Failure> {
    let target_of_args = || ProjectTarget::of(context, args);
    let out = context.out;
    match command {
        Command::List(args) => list(context, &target_of_args()?, args.admitted).await,
        Command::Create(Create { id, name, description }) => {
            let target = target_of_args()?;
            let human = target.actor.as_ref().filter(|actor| actor.kind == "human");
            let owner_id = human.map(|actor| actor.id.clone());
            let about = AboutProject { name, description, settings: None };
            let project = NewProject { project_id: id, owner_id, about };
            show(context, &target.client.create_project(&project).await?)
        }
        Command::Edit(Create { id, name, description }) => {
            let about = AboutProject { name, description, settings: None };
            show(context, &target_of_args()?.client.edit_project(&id, &about).await?)
        }
        Command::Show(project) => {
            let target = target_of_args()?;
            show(context, &target.client.project(&id_of(&target, project)?).await?)
        }
        Command::Members(project) => {
            let target = target_of_args()?;
            let reply = target.client.project_members(&id_of(&target, project)?).await?;
            context.answer(&reply, |Members { members }| {
                let mut table = Table::new(&["MEMBER", "ROLE"]);
                members.iter().for_each(|member| table.row([&member.member, &member.role]));
                Ok(out
                    .table(&table, "no members; give an agent a role with `plenary context project share`")?)
            })
        }
        Command::Archive(project) => {
            let id = id_of(&target_of_args()?, project)?;
            show(context, &governing_client(context)?.archive_project(&id, true).await?)
        }
        Command::Restore(project) => {
            let id = id_of(&target_of_args()?, project)?;
            show(context, &governing_client(context)?.archive_project(&id, false).await?)
        }
        Command::Share(Share { member, role }) => {
            let (id, client): (String, Client) =
                (target_of_args()?.project()?.to_owned(), governing_client(context)?);
            let reply = client.share_project(&id, member.as_str(), &role).await?;
            context.answer(&reply, |now| {
                let (member, role) = (clean(&now.member), clean(&now.role));
                Ok(out.line(&format!("{member} is a {role} of {}", clean(&id)))?)
            })
        }
        Command::Unshare(Unshare { member }) => {
            let (id, client) = (target_of_args()?.project()?.to_owned(), governing_client(context)?);
            context.done(
                &client.unshare_project(&id, member.as_str()).await?,
                &format!("{member} has no role in {}", clean(&id)),
            )
        }
    }
}

fn id_of(target: &ProjectTarget, project: ProjectArgument) -> Result<String, Failure> {
    match project.id {
        Some(id) => Ok(id),
        None => target.project().map(str::to_owned),
    }
}

async fn list(context: &Context, target: &ProjectTarget, admitted: bool) -> Result<(), Failure> {
    let mut table = Table::new(&["PROJECT", "OWNER", "CREATED", "STATE", "NAME"]);
    let take = |page: &Projects| {
        for project in &page.projects {
            let state = if project.archived_at.is_some() { "archived" } else { "open" };
            let owner = project.owner_id.as_deref().unwrap_or("operator");
            table.row([&project.project_id, owner, &second(&project.created_at), state, &project.name]);
        }
    };
    let ask = async |cursor: Option<&str>| target.client.projects(admitted, cursor).await;
    context.pages(ask, |page| page.next_cursor.as_deref(), take).await?;
    context.table(&table, "no projects yet; create one with `plenary context init`")
}

fn show(context: &Context, reply: &plenary_client::Reply<Project>) -> Result<(), Failure> {
    context.answer(reply, |project| {
        let owner = project.owner_id.as_deref().unwrap_or("operator");
        let archived =
            project.archived_at.as_deref().map(|archived_at| format!(", archived {}", second(archived_at)));
        let (id, name) = (clean(&project.project_id), clean(&project.name));
        let since = second(&project.created_at);
        let archived = archived.unwrap_or_default();
        context.out.line(&format!("{id}  {name} (of {}, since {since}{archived})", clean(owner)))?;
        if !project.description.is_empty() {
            context.out.line(&format!("  {}", clean(&project.description)))?;
        }
        Ok(())
    })
}
