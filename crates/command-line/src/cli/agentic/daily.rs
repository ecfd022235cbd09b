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

use super::{place::ProjectTarget, words};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{clean, second, utc},
};

const DAY_MS: u64 = 86_400_000;
/// Projects that are queried concurrently.
const ASKED_AT_ONCE: usize = 8;
/// Packages read per project.
const PACKAGES: u32 = 100;

/// The arguments of `context daily`.
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

pub(super) async fn run(context: &Context, place: &ProjectTarget, args: &Daily) -> Result<(), Failure> {
    let today = now().0 / DAY_MS;
    let since = TimestampMs((today + 1).saturating_sub(u64::from(args.days)) * DAY_MS);
    let projects = match place.project_if_chosen() {
        Some(project) => vec![project.to_owned()],
        None => {
            let all = place.client.projects(false).await?.value.projects;
            all.into_iter().filter(|p| p.archived_at.is_none()).map(|p| p.project_id).collect()
        }
    };
    let ask = |project: String| async move { project_report(place, project, since).await };
    let told: Vec<ProjectReport> =
        stream::iter(projects).map(ask).buffered(ASKED_AT_ONCE).try_collect().await?;
    let digest = place.client.orchestrate(place.project_if_chosen(), None, Some(0), None, false).await?;
    let date = utc(since)[..10].to_owned();
    if context.out.is_json() {
        let questions: Value = serde_json::from_str(digest.json()).unwrap_or_default();
        let raws = |of: fn(&ProjectReport) -> &Vec<(Package, Value)>| -> Vec<Value> {
            told.iter().flat_map(|t| of(t).iter().map(|(_, raw)| raw.clone())).collect()
        };
        let answer = json!({
            "since": utc(since).replace(' ', "T"), "packages": raws(|t| &t.today),
            "awaiting_review": raws(|t| &t.waiting), "open_questions": questions["open_questions"],
        });
        return Ok(context.out.line(&answer.to_string())?);
    }
    let lines = markdown(&date, &told, &digest.open_questions);
    Ok(lines.iter().try_for_each(|line| context.out.line(line))?)
}

fn markdown(date: &str, told: &[ProjectReport], questions: &[OpenQuestion]) -> Vec<String> {
    let mut lines = vec![format!("# Since {date}")];
    for ProjectReport { project, today, .. } in told.iter().filter(|told| !told.today.is_empty()) {
        let briefs = today.iter().flat_map(|(package, _)| words::brief(package)).collect();
        lines.extend(words::section(&clean(project), briefs));
    }
    if told.iter().all(|told| told.today.is_empty()) {
        lines.extend([String::new(), "Nothing was deposited.".to_owned()]);
    }
    let waiting = told.iter().flat_map(|told| told.waiting.iter().map(move |(package, _)| (told, package)));
    let waiting: Vec<String> = waiting
        .map(|(told, package)| {
            let (title, id, by) =
                (clean(&package.title), clean(&package.package_id), clean(&package.review_type));
            let age = second(&package.created_at);
            format!("- {title} ({}, by {by}, since {age}) `{id}`", clean(&told.project))
        })
        .collect();
    if !waiting.is_empty() {
        lines.extend(words::section("Waits for review", waiting));
    }
    if !questions.is_empty() {
        lines.extend(words::section("Open questions", questions.iter().map(words::question).collect()));
    }
    lines
}

async fn project_report(
    place: &ProjectTarget,
    project: String,
    since: TimestampMs,
) -> Result<ProjectReport, Failure> {
    let query = PackageQuery { limit: Some(PACKAGES), ..PackageQuery::default() };
    let latest = place.client.latest_packages(&project, &query).await?;
    let waiting = place.client.awaiting_review(&project, Some(PACKAGES), None).await?;
    let at = |package: &Package| rfc3339::parse(&package.created_at).and_then(|ms| u64::try_from(ms).ok());
    let is_recent = |(package, _): &(Package, Value)| at(package).is_some_and(|at| at >= since.0);
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
