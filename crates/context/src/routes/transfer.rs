//! Export and import: newline-delimited JSON both ways (wire.md D.7; AP-3, AP-76, AP-77, AP-80).

use std::io;

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
};
use futures_util::stream::try_unfold;
use http::{HeaderValue, Method, StatusCode, header};
use plenary_accounts::Actor;
use plenary_edge::{Line, Lines, Operation};
use plenary_kernel::{Class, Share};
use plenary_log::Fault;
use plenary_room::broken_off;
use schemars::JsonSchema;

use super::{Bearer, Downloader, Path, doc, in_project};
use crate::{
    Context,
    limits::{EXPORT_PROJECTS_MAX, IMPORT_AGENTS_MAX, LINE_BYTES_MAX},
    malformed::ContextFault,
    package_reader::{ReadableProjects, in_order},
    parameters::Parameters,
    project_names::{Home, split},
    refusals::ContextRefusal,
    rejection::Rejection,
    transfer::{ExportCursor, Exporter, Import, Importer, Mode, Report, Since},
};

const NDJSON: &str = "application/x-ndjson";

/// The query of an export.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct ExportQuery {
    /// The `cursor` of the last record that was received: the export continues after it.
    after: Option<String>,
    /// The `since` of the last line of an earlier export: only newer records.
    since: Option<String>,
}

/// The query of an import.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct ImportQuery {
    /// `skip`, `overwrite` or `rename`; `skip` when absent.
    conflict: Option<Mode>,
    /// Report what the import would do, and write nothing.
    dry_run: Option<bool>,
    /// The only project of the import, `OWNER:ID`, whatever owner the records name.
    into: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let export_doc =
        in_project("context.export", Method::GET, "/v1/projects/{project_id}/export", "Export a project").no_tool("whole projects, line by line, for programs")
            .description(
                "Lines `{record, data, content_hash?, reviews?, cursor}`; the last one is `end` with the counts. An export \
                 without it is incomplete. It breaks off once the caller may no longer read the project.",
            )
            .query::<ExportQuery>()
            .reply_type(NDJSON)
            .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"])
            .errors(Class::TooMany, &["too_many_exports"]);
    let all_doc =
        doc("context.export_all", Method::GET, "/v1/export", "Export every project that the caller may read")
            .no_tool("whole projects, line by line, for programs")
            .answers_page()
            .query::<ExportQuery>()
            .reply_type(NDJSON)
            .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"])
            .errors(Class::TooMany, &["too_many_exports"])
            .errors(Class::Conflict, &["too_many_projects"]);
    let import_doc = doc("context.import", Method::POST, "/v1/import", "Import an export")
        .no_tool("whole projects, line by line, for programs")
        .without_key()
        .description(
            "The body is newline-delimited JSON of any length. Records that exist are skipped, so an \
             import can be repeated. For the operator, and for owners with their own projects, in \
             their own name and those of their agents.",
        )
        .query::<ImportQuery>()
        .request_type(NDJSON)
        .reply::<Report>()
        .errors(Class::Malformed, &["invalid_parameter"])
        .errors(Class::Forbidden, &["unauthorized"])
        .errors(Class::NotFound, &["owner_not_found"])
        .errors(Class::Conflict, &["too_many_renames"]);
    vec![export_doc.handled_by(export), all_doc.handled_by(export_all), import_doc.handled_by(import)]
}

async fn export(
    State(context): State<Context>,
    reader: Downloader,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    let project = context.readable(&project_id, &reader.actor()).await?;
    let share = context.running_work().export(&reader.actor())?;
    let projects = ReadableProjects { projects: vec![project], damaged: Vec::new() };
    stream(context, (reader, share), projects, &parameters).await
}

async fn export_all(
    State(context): State<Context>,
    reader: Downloader,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    let ReadableProjects { projects, damaged } =
        context.readable_projects(&reader.actor(), EXPORT_PROJECTS_MAX + 1).await?;
    let (projects, is_cut) = in_order(projects, EXPORT_PROJECTS_MAX);
    if is_cut {
        return Err(Rejection::TooManyProjects.into());
    }
    let projects = ReadableProjects { projects, damaged };
    let share = context.running_work().export(&reader.actor())?;
    stream(context, (reader, share), projects, &parameters).await
}

fn interrupted(fault: Fault) -> io::Error {
    tracing::error!(%fault, "an export was interrupted");
    io::Error::other(fault)
}

async fn stream(
    context: Context,
    (reader, share): (Downloader, Share<String>),
    projects: ReadableProjects,
    parameters: &Parameters,
) -> Result<Response, ContextRefusal> {
    let since = match parameters.one("since")? {
        Some(text) => Some(Since::read(context.log(), text).await??),
        None => None,
    };
    let after = parameters.one("after")?.map(ExportCursor::read).transpose()?;
    let exporter = Exporter::new(context.clone(), projects, since, after).await?;
    let state = (exporter, (context, reader, share));
    let pieces = try_unfold(state, |(mut exporter, reading)| async move {
        let (context, reader, _) = &reading;
        let next = exporter.next().await.map_err(interrupted)?;
        // Checked after the piece was read, so that nothing is sent that was written after the right had ended.
        let is_allowed = exporter.may_read_piece(&reader.actor()).await.map_err(interrupted)?;
        if !is_allowed || !reader.is_valid(context).await {
            return Err(broken_off());
        }
        Ok(next.map(|piece| (Bytes::from(piece), (exporter, reading))))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    Ok(response)
}

async fn import(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    parameters: Parameters,
    request: Request,
) -> Result<Json<Report>, ContextRefusal> {
    let mode = match parameters.one("conflict")? {
        None => Mode::Skip,
        Some(word) => Mode::parse(word)
            .ok_or_else(|| ContextFault::parameter("conflict", "one of skip, overwrite, rename"))?,
    };
    let dry_run = parameters.switch("dry_run")?;
    // A misspelled `dry_run` must not write.
    parameters.only(&["conflict", "dry_run", "into"])?;
    if matches!(authority.by, Actor::Agent(_) | Actor::Seed) {
        return Err(Rejection::NotPermitted.into());
    }
    let attribution = context.config().attribution;
    let into = match parameters.one("into")? {
        None => None,
        Some(text) => {
            let named = split(text).ok_or_else(|| ContextFault::parameter("into", "a project, OWNER:ID"))?;
            Some(Home { owner: named.0, project_id: named.1.to_owned() })
        }
    };
    let own_owner = authority.by.owner();
    if let Some(into) = &into {
        if own_owner.as_ref().is_some_and(|own_owner| *own_owner != into.owner) {
            return Err(Rejection::NotPermitted.into());
        }
        if !context.accounts().fresh_owner(&into.owner).await?.state.exists() {
            return Err(Rejection::OwnerNotFound(into.owner.clone()).into());
        }
    }
    let own_agents = match &own_owner {
        Some(owner) => context.accounts().agents_of(Some(owner), IMPORT_AGENTS_MAX).await?,
        None => Vec::new(),
    };
    let own_agents = own_agents.into_iter().map(|agent| agent.handle).collect();
    let import = Import { authority: &authority, mode, attribution, own_agents };
    let mut importer = Importer::new(&context, import, dry_run).into_project(into);
    let (parts, body) = request.into_parts();
    let mut lines = Lines::new(&parts, body, LINE_BYTES_MAX)?;
    let mut nth = 0;
    while let Some(line) = lines.next().await? {
        nth += 1;
        match line {
            Line::Bytes(bytes) => importer.line(nth, Some(&bytes)).await?,
            Line::TooLong => importer.line(nth, None).await?,
        }
    }
    Ok(Json(importer.finish().await?))
}
