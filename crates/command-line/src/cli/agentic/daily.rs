//! `plenary context daily`: today's packages of all projects, pending reviews, open questions.
//! Must not know: how a package is printed.

use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use plenary_client::{
    context::{OpenQuestion, Package, PackageQuery},
    frames::now,
};
use plenary_kernel::{TimestampMs, rfc3339};
use serde_json::{Value, json};

use super::{render, target::ProjectTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{clean, second, utc},
};

const DAY_MS: u64 = 86_400_000;
/// Projects that are queried concurrently.
const ASKED_AT_ONCE: usize = 8;
/// Packages read per project.
const PACKAGES: u32 = 100;

#[derive(Debug, Args)]
pub(crate) struct Daily {
    /// Number of days to cover, including today; a day begins at midnight UTC
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
}

/// The part of the report for one project.
struct ProjectReport {
    project: String,
    today: Vec<(Package, Value)>,
    waiting: Vec<(Package, Value)>,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, args: &Daily) -> Result<(), Failure> {
    let today = now().0 / DAY_MS;
    let since = TimestampMs((today + 1).saturating_sub(u64::from(args.days)) * DAY_MS);
    let projects = match target.project_if_chosen() {
        Some(project) => vec![project.to_owned()],
        None => {
            let (mut all, mut cursor) = (Vec::new(), None);
            loop {
                let page = target.client.projects(false, cursor.as_deref()).await?.value;
                all.extend(page.projects);
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            all.into_iter().filter(|p| p.archived_at.is_none()).map(|p| p.project_id).collect()
        }
    };
    let report = |project: String| async move { project_report(target, project, since).await };
    let reports: Vec<ProjectReport> =
        stream::iter(projects).map(report).buffered(ASKED_AT_ONCE).try_collect().await?;
    let digest = target.client.orchestrate(target.project_if_chosen(), None, Some(0), None, false).await?;
    let date = utc(since)[..10].to_owned();
    if context.out.is_json() {
        let questions: Value = serde_json::from_str(digest.json()).unwrap_or_default();
        let raws = |packages_of: fn(&ProjectReport) -> &Vec<(Package, Value)>| -> Vec<Value> {
            reports.iter().flat_map(|report| packages_of(report).iter().map(|(_, raw)| raw.clone())).collect()
        };
        let answer = json!({
            "since": utc(since).replace(' ', "T"), "packages": raws(|t| &t.today),
            "awaiting_review": raws(|t| &t.waiting), "open_questions": questions["open_questions"],
        });
        return Ok(context.out.line(&answer.to_string())?);
    }
    let lines = markdown(&date, &reports, &digest.open_questions);
    Ok(lines.iter().try_for_each(|line| context.out.line(line))?)
}

fn markdown(date: &str, reports: &[ProjectReport], questions: &[OpenQuestion]) -> Vec<String> {
    let mut lines = vec![format!("# Since {date}")];
    for ProjectReport { project, today, .. } in reports.iter().filter(|report| !report.today.is_empty()) {
        let briefs = today.iter().flat_map(|(package, _)| render::brief(package)).collect();
        lines.extend(render::section(&clean(project), briefs));
    }
    if reports.iter().all(|report| report.today.is_empty()) {
        lines.extend([String::new(), "Nothing was deposited.".to_owned()]);
    }
    let waiting =
        reports.iter().flat_map(|report| report.waiting.iter().map(move |(package, _)| (report, package)));
    let waiting: Vec<String> = waiting
        .map(|(report, package)| {
            let (title, id) = (clean(&package.title), clean(&package.package_id));
            let (reviewer, age) = (render::reviewer(&package.review_type), second(&package.created_at));
            let comma = if reviewer.is_empty() { "" } else { "," };
            format!("- {title} ({}{comma}{reviewer}, since {age}) `{id}`", clean(&report.project))
        })
        .collect();
    if !waiting.is_empty() {
        lines.extend(render::section("Waits for review", waiting));
    }
    if !questions.is_empty() {
        lines.extend(render::section("Open questions", questions.iter().map(render::question).collect()));
    }
    lines
}

async fn project_report(
    target: &ProjectTarget,
    project: String,
    since: TimestampMs,
) -> Result<ProjectReport, Failure> {
    let query = PackageQuery { limit: Some(PACKAGES), ..PackageQuery::default() };
    let latest = target.client.latest_packages(&project, &query).await?;
    let waiting = target.client.awaiting_review(&project, Some(PACKAGES), None).await?;
    let created_at =
        |package: &Package| rfc3339::parse(&package.created_at).and_then(|ms| u64::try_from(ms).ok());
    let is_recent = |(package, _): &(Package, Value)| created_at(package).is_some_and(|ms| ms >= since.0);
    let today = with_raw(&latest.packages, latest.json()).into_iter().filter(is_recent).collect();
    let waiting = with_raw(&waiting.packages, waiting.json());
    Ok(ProjectReport { project, today, waiting })
}

/// Packages together with their own JSON.
fn with_raw(packages: &[Package], json: &str) -> Vec<(Package, Value)> {
    let raw: Value = serde_json::from_str(json).unwrap_or_default();
    let raws = raw["packages"].as_array().cloned().unwrap_or_default();
    packages.iter().cloned().zip(raws).collect()
}
