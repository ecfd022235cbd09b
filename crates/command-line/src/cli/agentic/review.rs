//! `plenary context review`: pending reviews, answers, and the history.
//! Must not know: the contents of packages.

use clap::{Args, Subcommand};
use plenary_client::{
    Error, Reply,
    context::{Package, PackagePage, ReviewLog},
};

use super::{pull, render, target::ProjectTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{clean, clean_block, second},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the packages that await review
    List(List),
    /// Ask for a review of a package
    Request(Request),
    /// Approve a package: it becomes complete and cannot change again
    Approve(Answer),
    /// Request changes to a package
    Revise(Answer),
    /// Submit a package for review again after changes were requested
    Resubmit(Answer),
    /// Show the history of a package's review
    Log(PackageArgument),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Number of packages at most, up to 1000 [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: Option<u32>,
    /// Continue an earlier list from this cursor
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// The package
    id: String,
    /// Reviewer: human or agent
    #[arg(long, value_name = "WHO", value_parser = ["human", "agent"], default_value = "human")]
    by: String,
    /// Reason
    #[arg(long, short, value_name = "TEXT")]
    note: Option<String>,
}

/// The arguments of an answer to a review.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The package
    id: String,
    /// Reason, or the requested changes
    #[arg(long, short, value_name = "TEXT")]
    note: Option<String>,
}

/// One package.
#[derive(Debug, Args)]
pub(crate) struct PackageArgument {
    /// The package
    id: String,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, command: Command) -> Result<(), Failure> {
    let (client, project) = (&target.client, target.project_if_any());
    match command {
        Command::List(List { limit, cursor }) => {
            let reply = client.awaiting_review(target.project()?, limit, cursor.as_deref()).await?;
            context.answer(&reply, |page: &PackagePage| {
                if page.packages.is_empty() {
                    context.out.note("no package awaits review");
                    return Ok(());
                }
                pull::table(context, page)?;
                render::more(&context.out, page.next_cursor.as_deref());
                Ok(())
            })
        }
        Command::Request(Request { id, by, note }) => {
            let reply = client.flag_package(&id, project, &by, note.as_deref()).await.map_err(explained)?;
            report(context, &reply, &format!("awaits review by {by}"))
        }
        Command::Approve(answer) => step(context, target, &answer, "complete", "approved").await,
        Command::Revise(answer) => {
            step(context, target, &answer, "revision_requested", "sent back for changes").await
        }
        Command::Resubmit(answer) => {
            step(context, target, &answer, "awaiting_review", "awaits review again").await
        }
        Command::Log(PackageArgument { id }) => {
            let reply = client.review_log(&id, project).await?;
            context.answer(&reply, |log| log_lines(context, log))
        }
    }
}

async fn step(
    context: &Context,
    target: &ProjectTarget,
    answer: &Answer,
    status: &str,
    verb: &str,
) -> Result<(), Failure> {
    let Answer { id, note } = answer;
    let client = &target.client;
    let reply = client.review_package(id, target.project_if_any(), status, note.as_deref()).await;
    report(context, &reply.map_err(explained)?, verb)
}

fn report(context: &Context, reply: &Reply<Package>, verb: &str) -> Result<(), Failure> {
    context.answer(reply, |package| {
        let (id, title) = (clean(&package.package_id), clean(&package.title));
        Ok(context.out.line(&format!("{id} {verb}: {title}"))?)
    })
}

/// Explains an invalid step, and names the valid ones.
fn explained(error: Error) -> Failure {
    match error {
        Error::Refused(refused) if refused.code == "invalid_transition" => Failure::local_with(
            refused.message,
            "see its state with `plenary context review log ID`; correct a complete package by a new one with \
             `--parent ID`",
        ),
        other @ (Error::Refused(_) | Error::Network(_) | Error::Unreadable(_) | Error::Invalid(_)) => {
            other.into()
        }
    }
}

fn log_lines(context: &Context, log: &ReviewLog) -> Result<(), Failure> {
    for step in &log.reviews {
        let note = step.note.as_deref().map(|note| format!(": {}", clean_block(note, "    ")));
        let reviewer = match step.status.as_str() {
            "awaiting_review" => render::reviewer(&step.review_type),
            _ => String::new(),
        };
        context.out.line(&format!(
            "{} {} {} → {}{reviewer}{}",
            second(&step.at),
            clean(&step.by),
            clean(&step.action),
            clean(&step.status),
            note.unwrap_or_default()
        ))?;
    }
    Ok(())
}
