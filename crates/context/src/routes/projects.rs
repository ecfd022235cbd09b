//! Projects: make, list, share, archive (wire.md D.4, D.7).

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_accounts::Authority;
use plenary_edge::{Operation, Received};
use plenary_kernel::{AllowEntry, Class};
use plenary_shape::Sent;
use serde_json::Value;

use super::{
    Bearer, Path,
    bodies::{ABOUT, NEW_PROJECT, NEW_ROLE},
    by, doc, in_project, value, writing,
};
use crate::{
    Context,
    access::Role,
    limits::{PROJECTS_LISTED_BYTES_MAX, PROJECTS_LISTED_MAX},
    malformed::Malformed,
    naming::{Place, ambiguous},
    project::{
        command::{CreateProject, Edit, EditProject},
        event::About,
    },
    refusals::Refused,
    shape::{are_too_large, extensions},
    wire::{Member, Members, Project, Projects, written},
};

pub(super) fn operations() -> Vec<Operation<Context>> {
    let (project, members) = ("/v1/projects/{project_id}", "/v1/projects/{project_id}/members");
    let member = "/v1/projects/{project_id}/members/{member}";
    let create_doc = writing(
        doc("context.create_project", Method::POST, "/v1/projects", "Make a project")
            .action("context", "context_projects"),
    )
    .success(StatusCode::CREATED)
    .body(&NEW_PROJECT)
    .reply::<Project>()
    .errors(Class::Conflict, &["project_exists"]);
    let list_doc =
        doc("context.projects", Method::GET, "/v1/projects", "List the projects that one may read")
            .action("context", "context_projects")
            .reply::<Projects>()
            .answers_page();
    let edit_doc = writing(
        in_project("context.edit_project", Method::PATCH, project, "Describe a project")
            .action("context", "context_projects"),
    )
    .body(&ABOUT)
    .reply::<Project>();
    let of_member = |id, method, summary| {
        in_project(id, method, member, summary)
            .action("context", "context_projects")
            .path_parameter::<AllowEntry>("member", "`@owner.name`, or `@owner.*`")
            .errors(Class::Forbidden, &["unauthorized"])
    };
    let share_doc = of_member("context.share", Method::PUT, "Give somebody a role in a project")
        .body(&NEW_ROLE)
        .reply::<Member>()
        .errors(Class::Malformed, &["invalid_schema"])
        .errors(Class::Conflict, &["project_full"]);
    let unshare_doc = of_member("context.unshare", Method::DELETE, "Take somebody's role away")
        .success(StatusCode::NO_CONTENT)
        .errors(Class::Malformed, &["invalid_schema"]);
    let switch = |id, path, summary| {
        in_project(id, Method::POST, path, summary)
            .action("context", "context_projects")
            .reply::<Project>()
            .errors(Class::Forbidden, &["unauthorized"])
    };
    vec![
        Operation::new(create_doc, create),
        Operation::new(list_doc, list),
        Operation::new(
            in_project("context.project", Method::GET, project, "Show a project")
                .action("context", "context_projects")
                .reply::<Project>(),
            get,
        ),
        Operation::new(edit_doc, describe),
        Operation::new(
            in_project("context.members", Method::GET, members, "List who has a role")
                .action("context", "context_projects")
                .reply::<Members>(),
            roles,
        ),
        Operation::new(share_doc, share),
        Operation::new(unshare_doc, unshare),
        Operation::new(
            switch("context.archive", "/v1/projects/{project_id}/archive", "Take no more writes"),
            archive,
        ),
        Operation::new(
            switch("context.unarchive", "/v1/projects/{project_id}/unarchive", "Take writes again"),
            unarchive,
        ),
    ]
}

fn about(body: &Value, sent: &Sent<&Value>) -> Result<About, Malformed> {
    let settings = sent.get("settings").and_then(Value::as_object).cloned();
    if settings.as_ref().is_some_and(are_too_large) {
        return Err(Malformed::field("settings", "an object of at most 16384 bytes"));
    }
    let (name, description) = (sent.string("name"), sent.string("description"));
    Ok(About { name, description, settings, extensions: extensions(body)? })
}

/// A project after it was changed.
async fn shown(context: &Context, id: &str) -> Result<Json<Project>, Refused> {
    Ok(Json((&*context.project(id).await?).into()))
}

async fn create(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    received: Received,
) -> Result<(StatusCode, Json<Project>), Refused> {
    let body = value(received)?;
    let sent = by(&NEW_PROJECT, &body)?;
    let (project_id, owner) = (sent.needed("project_id"), sent.parsed("owner_id"));
    let command = CreateProject { authority, project_id, owner, about: about(&body, &sent)? };
    let key = context.create_project(&command).await?;
    Ok((StatusCode::CREATED, shown(&context, &key).await?))
}

async fn list(State(context): State<Context>, Bearer(authority): Bearer) -> Result<Json<Projects>, Refused> {
    let visible = context.visible(&authority.by, PROJECTS_LISTED_MAX + 1).await?;
    let references = ambiguous(&authority.by, &visible);
    let (mut projects, mut bytes) = (Vec::<Project>::new(), 0);
    for (key, project) in visible.iter().take(PROJECTS_LISTED_MAX) {
        let reference = references.get(key.as_str()).cloned();
        let project = Project { reference, ..Project::from(&**project) };
        bytes += written(&project);
        if bytes > PROJECTS_LISTED_BYTES_MAX && !projects.is_empty() {
            break;
        }
        projects.push(project);
    }
    let truncated = if visible.len() > projects.len() { vec!["projects"] } else { Vec::new() };
    Ok(Json(Projects { projects, truncated }))
}

async fn get(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, Refused> {
    let (_, project) = context.readable(&project_id, &authority.by).await?;
    Ok(Json((&*project).into()))
}

async fn edit(
    context: &Context,
    authority: Authority,
    project_id: &str,
    edit: Edit,
) -> Result<Json<Project>, Refused> {
    let Place { key, .. } = context.place(&authority.by, project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    shown(context, &key).await
}

async fn describe(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    received: Received,
) -> Result<Json<Project>, Refused> {
    let body = value(received)?;
    let about = about(&body, &by(&ABOUT, &body)?)?;
    edit(&context, authority, &project_id, Edit::Describe(about)).await
}

async fn archive(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, Refused> {
    edit(&context, authority, &project_id, Edit::Archive(None)).await
}

async fn unarchive(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, Refused> {
    edit(&context, authority, &project_id, Edit::Unarchive).await
}

async fn roles(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Members>, Refused> {
    let (_, project) = context.readable(&project_id, &authority.by).await?;
    let member = |(member, role): (&AllowEntry, &Role)| Member { member: member.to_string(), role: *role };
    Ok(Json(Members { members: project.members.iter().map(member).collect() }))
}

fn entry(text: &str) -> Result<AllowEntry, Malformed> {
    text.parse().map_err(|_| Malformed::field("member", "@owner.name or @owner.*"))
}

async fn share(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, member)): Path<(String, String)>,
    received: Received,
) -> Result<Json<Member>, Refused> {
    let body = value(received)?;
    let role = by(&NEW_ROLE, &body)?.word("role", Role::parse);
    let member = entry(&member)?;
    let edit = Edit::Share(member.clone(), role);
    let Place { key, .. } = context.place(&authority.by, &project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    Ok(Json(Member { member: member.to_string(), role }))
}

async fn unshare(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, member)): Path<(String, String)>,
) -> Result<StatusCode, Refused> {
    let edit = Edit::Unshare(entry(&member)?);
    let Place { key, .. } = context.place(&authority.by, &project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    Ok(StatusCode::NO_CONTENT)
}
