//! Projects: create, list, share, archive (wire.md D.4, D.7).

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_accounts::Authority;
use plenary_edge::{JsonBody, Operation, OperationDoc, members_not_null};
use plenary_kernel::{AllowEntry, Class, OwnerName, json::Tree, text::check_line};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{Bearer, Path, doc, in_project, value, value_with_extensions, writing};
use crate::{
    Context,
    access::Role,
    cursor::is_of_projects,
    extensions::Extensions,
    limits::{
        ABOUT_BYTES_MAX, ID_BYTES_MAX, NAME_CHARACTERS_MAX, PROJECTS_LISTED_BYTES_MAX, PROJECTS_LISTED_MAX,
    },
    malformed::ContextFault,
    package_reader::in_order,
    parameters::Parameters,
    project::{
        command::{CreateProject, Edit, EditProject},
        event::ProjectDescription,
    },
    project_names::{self, ResolvedProject},
    refusals::ContextRefusal,
    shape::Shape,
    wire::{Member, Members, Project, Projects, written},
};

/// A new project.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
struct NewProject {
    /// Its id.
    #[schemars(length(min = 1, max = ID_BYTES_MAX))]
    project_id: String,
    /// The owner of the project; for the operator only.
    owner_id: Option<OwnerName>,
    /// What it is about.
    #[serde(flatten)]
    about: AboutProject,
}

/// The fields of a project; absent fields do not change.
#[derive(Debug, JsonSchema)]
#[schemars(transform = members_not_null)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
struct AboutProject {
    /// A name for people.
    #[schemars(length(min = 1, max = NAME_CHARACTERS_MAX))]
    name: Option<String>,
    /// What it is.
    #[schemars(length(max = ABOUT_BYTES_MAX))]
    description: Option<String>,
    /// Data that clients store with it.
    settings: Option<Map<String, Value>>,
}

/// A role.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
struct NewRole {
    /// What the member may do.
    role: Role,
}

#[derive(Debug, JsonSchema)]
#[schemars(rename = "ListProjectsQuery")]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct ListQuery {
    /// Only projects of the agent's own owner, and of owners that its policy or its allowlist admits.
    admitted: Option<bool>,
    /// The `next_cursor` of an earlier page.
    cursor: Option<String>,
}

fn list_doc() -> OperationDoc {
    doc("context.projects", Method::GET, "/v1/projects", "List the projects that the caller may read")
        .action("context", "context_projects")
        .query::<ListQuery>()
        .reply::<Projects>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"])
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let (project, members) = ("/v1/projects/{project_id}", "/v1/projects/{project_id}/members");
    let member = "/v1/projects/{project_id}/members/{member}";
    let create_doc = writing(
        doc("context.create_project", Method::POST, "/v1/projects", "Create a project")
            .action("context", "context_projects"),
    )
    .success(StatusCode::CREATED)
    .request::<NewProject>()
    .reply::<Project>()
    .errors(Class::Conflict, &["project_exists"]);
    let edit_doc = writing(
        in_project("context.edit_project", Method::PATCH, project, "Describe a project")
            .action("context", "context_projects"),
    )
    .request::<AboutProject>()
    .reply::<Project>();
    let of_member = |id, method, summary| {
        in_project(id, method, member, summary)
            .action("context", "context_projects")
            .path_parameter::<AllowEntry>("member", "`@owner.name`, or `@owner.*`")
            .errors(Class::Malformed, &["invalid_schema"])
            .errors(Class::Forbidden, &["unauthorized"])
    };
    let share_doc = of_member("context.share", Method::PUT, "Give an agent a role in a project")
        .request::<NewRole>()
        .reply::<Member>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Conflict, &["project_full"]);
    let unshare_doc = of_member("context.unshare", Method::DELETE, "Remove an agent's role in a project")
        .description("The project's owner removes any role; an agent, and the owner of an agent, its own.")
        .success(StatusCode::NO_CONTENT);
    let switch = |id, path, summary| {
        in_project(id, Method::POST, path, summary)
            .action("context", "context_projects")
            .reply::<Project>()
            .errors(Class::Forbidden, &["unauthorized"])
    };
    vec![
        create_doc.handled_by(create),
        list_doc().handled_by(list),
        in_project("context.project", Method::GET, project, "Show a project")
            .action("context", "context_projects")
            .reply::<Project>()
            .handled_by(get),
        edit_doc.handled_by(describe),
        in_project("context.members", Method::GET, members, "List the members of a project")
            .action("context", "context_projects")
            .reply::<Members>()
            .handled_by(roles),
        share_doc.handled_by(share),
        unshare_doc.handled_by(unshare),
        switch("context.archive", "/v1/projects/{project_id}/archive", "Archive a project")
            .handled_by(archive),
        switch("context.unarchive", "/v1/projects/{project_id}/unarchive", "Restore an archived project")
            .handled_by(unarchive),
    ]
}

fn one_line(shape: &Shape<'_>, member: &str, text: Option<&str>) -> Result<(), ContextFault> {
    match text.map(check_line) {
        Some(Err(why)) => shape.wrong(member, why.trim_start_matches("must be ")),
        Some(Ok(())) | None => Ok(()),
    }
}

fn about(
    shape: &Shape<'_>,
    settings: Option<&Value>,
    extensions: Extensions,
) -> Result<ProjectDescription, ContextFault> {
    let name = shape.text_if("name")?;
    if name.is_some_and(|name| !(1..=NAME_CHARACTERS_MAX).contains(&name.chars().count())) {
        return shape.wrong("name", "1 to 200 characters");
    }
    one_line(shape, "name", name)?;
    let description = shape.text_if("description")?;
    if description.is_some_and(|text| text.len() > ABOUT_BYTES_MAX) {
        return shape.wrong("description", "a string of at most 16384 bytes");
    }
    let settings = match settings {
        None => None,
        Some(Value::Object(settings)) => Some(settings.clone()),
        Some(_) => return shape.wrong("settings", "an object"),
    };
    if settings.as_ref().is_some_and(|settings| {
        serde_json::to_vec(settings).map_or(usize::MAX, |json| json.len()) > ABOUT_BYTES_MAX
    }) {
        return shape.wrong("settings", "an object of at most 16384 bytes");
    }
    let (name, description) = (name.map(str::to_owned), description.map(str::to_owned));
    Ok(ProjectDescription { name, description, settings, extensions })
}

/// The response with a changed project.
async fn shown(context: &Context, id: &str) -> Result<Json<Project>, ContextRefusal> {
    Ok(Json((&*context.project(id).await?).into()))
}

async fn create(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    request_body: JsonBody,
) -> Result<(StatusCode, Json<Project>), ContextRefusal> {
    let (body, extensions) = value_with_extensions(request_body)?;
    let tree = Tree::from(&body);
    let shape = Shape::root(&tree)?;
    let project_id = shape.id("project_id")?.to_owned();
    one_line(&shape, "project_id", Some(&project_id))?;
    let owner = match shape.text_or_null("owner_id")? {
        None => None,
        Some(_) => Some(shape.word("owner_id", |text| text.parse().ok(), "an owner's name")?),
    };
    let home = owner.clone().or_else(|| authority.by.owner());
    // Named in full, it is the same project as by the plain id. The operator names the owner that way too.
    let full_name =
        project_names::split(&project_id).filter(|(named, _)| home.as_ref().is_none_or(|home| home == named));
    let (owner, project_id) = match full_name {
        Some((named, id)) => (owner.or_else(|| home.is_none().then_some(named)), id.to_owned()),
        None => (owner, project_id),
    };
    let command = CreateProject {
        authority,
        project_id,
        owner,
        about: about(&shape, body.get("settings"), extensions)?,
    };
    let key = context.create_project(&command).await?;
    Ok((StatusCode::CREATED, shown(&context, &key).await?))
}

async fn list(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    parameters: Parameters,
) -> Result<Json<Projects>, ContextRefusal> {
    let visible = if parameters.switch("admitted")? {
        context.admitted(&authority.by, PROJECTS_LISTED_MAX + 1).await?
    } else {
        context.visible(&authority.by, PROJECTS_LISTED_MAX + 1).await?
    };
    let after = parameters.cursor(is_of_projects)?;
    let (visible, is_cut) = in_order(visible, PROJECTS_LISTED_MAX);
    let references = context.references(&authority.by, &visible).await?;
    let (mut projects, mut bytes) = (Vec::<Project>::new(), 0);
    let (mut last, mut next_cursor) = (None::<&String>, None);
    for (key, project) in visible.iter().filter(|(key, _)| after.is_none_or(|after| key.as_str() > after)) {
        let reference = references.get(key.as_str()).cloned();
        let project = Project { reference, ..Project::from(&**project) };
        bytes += written(&project);
        if bytes > PROJECTS_LISTED_BYTES_MAX && !projects.is_empty() {
            next_cursor = last.cloned();
            break;
        }
        projects.push(project);
        last = Some(key);
    }
    let truncated = if is_cut || next_cursor.is_some() { vec!["projects"] } else { Vec::new() };
    Ok(Json(Projects { projects, next_cursor, truncated }))
}

async fn get(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, ContextRefusal> {
    let (_, project) = context.readable(&project_id, &authority.by).await?;
    Ok(Json((&*project).into()))
}

async fn edit(
    context: &Context,
    authority: Authority,
    project_id: &str,
    edit: Edit,
) -> Result<Json<Project>, ContextRefusal> {
    let ResolvedProject { key, .. } = context.place(&authority.by, project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    shown(context, &key).await
}

async fn describe(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    request_body: JsonBody,
) -> Result<Json<Project>, ContextRefusal> {
    let (body, extensions) = value_with_extensions(request_body)?;
    let about = about(&Shape::root(&Tree::from(&body))?, body.get("settings"), extensions)?;
    edit(&context, authority, &project_id, Edit::Describe(about)).await
}

async fn archive(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, ContextRefusal> {
    edit(&context, authority, &project_id, Edit::Archive(None)).await
}

async fn unarchive(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Project>, ContextRefusal> {
    edit(&context, authority, &project_id, Edit::Unarchive).await
}

async fn roles(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
) -> Result<Json<Members>, ContextRefusal> {
    let (_, project) = context.readable(&project_id, &authority.by).await?;
    let member = |(member, role): (&AllowEntry, &Role)| Member { member: member.to_string(), role: *role };
    Ok(Json(Members { members: project.members.iter().map(member).collect() }))
}

fn entry(text: &str) -> Result<AllowEntry, ContextFault> {
    text.parse().map_err(|_| ContextFault::field("member", "@owner.name or @owner.*"))
}

async fn share(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, member)): Path<(String, String)>,
    request_body: JsonBody,
) -> Result<Json<Member>, ContextRefusal> {
    let body = value(request_body)?;
    let role =
        Shape::root(&Tree::from(&body))?.word("role", Role::parse, "one of reader, writer, reviewer")?;
    let member = entry(&member)?;
    let edit = Edit::Share(member.clone(), role);
    let ResolvedProject { key, .. } = context.place(&authority.by, &project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    Ok(Json(Member { member: member.to_string(), role }))
}

async fn unshare(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, member)): Path<(String, String)>,
) -> Result<StatusCode, ContextRefusal> {
    let edit = Edit::Unshare(entry(&member)?);
    let ResolvedProject { key, .. } = context.place(&authority.by, &project_id, None).await?;
    context.edit_project(&key, &EditProject { authority, edit }).await?;
    Ok(StatusCode::NO_CONTENT)
}
