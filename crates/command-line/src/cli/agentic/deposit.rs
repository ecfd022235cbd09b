//! `plenary context deposit`: from flags, from a note, or from the commits since the last deposit.
//! Must not know: how notes and commits are read.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use plenary_client::{
    context::{Creator, NewPackage, Package, PackageQuery, RELAY_VERSION, new_package_id},
    frames::{Frame, now},
};

use super::{
    compose::{self, CommitSummary, TITLE_CHARS_MAX},
    deliverable::{self, DeliverableFile},
    git::{COMMITS_AT_FIRST, Repository},
    note, render, session,
    target::{ProjectArgs, ProjectSource, ProjectTarget, project_of},
};
use crate::{
    cli::{context::Context, failure::Failure, input},
    out::clean,
};

/// Pages of packages that are searched for the last deposit from this repository.
const PAGES_MAX: usize = 10;
/// Packages per page.
const PAGE: u32 = 100;
/// The time limit of a deposit from a hook.
const AUTO_MAX: Duration = Duration::from_secs(10);

const HELP: &str = "\
The first heading of a note (--file) is the title. Its sections Decisions, Open questions and Handoff become lists and \
the handoff note; the rest is the body. Front matter may set title, description, type, status, review, significance, next, \
topic, parent, tags, deliverables. Flags override the note; lists are joined.

With --git, the commits since the last deposit of this repository give title, decisions (lines `Decision: …`, else the \
subjects), questions (`Question: …`), handoff (`Handoff: …`) and the changed files with their hashes.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Deposit {
    /// Title, up to 200 characters
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Type: standard, milestone, decision, handoff, auto_deposit, analysis, question, orchestrator_report or x-…
    /// [default: standard]
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Status: draft, awaiting_review or complete [default: complete]
    #[arg(long, value_parser = ["draft", "awaiting_review", "complete"])]
    status: Option<String>,
    /// Ask a human or an agent for a review; the package then awaits review
    #[arg(long, value_name = "WHO", value_parser = ["human", "agent"], conflicts_with = "status")]
    review: Option<String>,
    /// A decision that was made; may be repeated
    #[arg(long = "decision", value_name = "TEXT")]
    decisions: Vec<String>,
    /// An open question; may be repeated
    #[arg(long = "question", value_name = "TEXT")]
    questions: Vec<String>,
    /// Handoff note: information for the next session
    #[arg(long, value_name = "TEXT")]
    handoff: Option<String>,
    /// Reader that continues the work
    #[arg(long, value_name = "WHO", value_parser = ["human", "agent"])]
    next: Option<String>,
    /// A deliverable: a file, recorded with its hash and size, or a URL; may be repeated
    #[arg(long = "deliverable", value_name = "PATH")]
    deliverables: Vec<String>,
    /// Also upload the contents of the files
    #[arg(long)]
    upload: bool,
    /// Significance, 1 to 10 [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=10))]
    significance: Option<u8>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TEXT")]
    tags: Vec<String>,
    /// Subject area
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// The package that this one corrects or continues
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A note in Markdown, or - for standard input
    #[arg(long, value_name = "NOTE.md")]
    file: Option<PathBuf>,
    /// Compose the package from the commits since the last deposit of this repository
    #[arg(long)]
    git: bool,
    /// Use the commits after this one
    #[arg(long, value_name = "COMMIT", requires = "git")]
    since: Option<String>,
    /// For hooks: print nothing, stop after ten seconds, and always exit with 0
    #[arg(long)]
    auto: bool,
    /// Print the package without depositing it
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(context: &Context, args: &ProjectArgs, deposit: Deposit) -> Result<(), Failure> {
    if !deposit.auto {
        return attempt(context, args, deposit).await;
    }
    match tokio::time::timeout(AUTO_MAX, attempt(context, args, deposit)).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            // The caller's own work has priority: report the failure and succeed.
            crate::cli::explain::report(context, &failure);
        }
        Err(_) => context.out.note("nothing was deposited: the server did not answer in time"),
    }
    Ok(())
}

async fn attempt(context: &Context, args: &ProjectArgs, deposit: Deposit) -> Result<(), Failure> {
    let target = ProjectTarget::of(context, args)?;
    let project = target.project()?.to_owned();
    let Some((mut package, delivered)) = compose(context, &target, args, &deposit).await? else {
        if !deposit.auto {
            context.out.note("there is nothing new since the last deposit");
        }
        return Ok(());
    };
    if package.title.is_empty() {
        return Err(Failure::usage(
            "a package needs a title",
            "give --title TEXT, a note with a heading (--file NOTE.md), or --git",
        ));
    }
    let length = package.title.chars().count();
    if length > TITLE_CHARS_MAX {
        return Err(Failure::usage(
            format!("the title has {length} characters; the maximum is {TITLE_CHARS_MAX}"),
            "shorten it, and move the rest to --description",
        ));
    }
    if deposit.dry_run {
        let git_commit = package.created_by.git_commit.take();
        package.created_by = Creator { git_commit, ..target.actor.clone().unwrap_or_default() };
        let text = serde_json::to_string_pretty(&package)
            .map_err(|error| Failure::local(format!("the package cannot be written: {error}")))?;
        return Ok(context.out.line(&text)?);
    }
    let commit = package.created_by.git_commit.take();
    package.created_by = session::creator(context, &target, deposit.auto).await?;
    package.created_by.git_commit = commit;
    if deposit.upload {
        super::blob::upload(context, &target, delivered).await?;
    }
    let reply = target.client.deposit(&package).await?;
    if deposit.auto {
        return Ok(());
    }
    context.answer(&reply, |package: &Package| {
        let waits = match package.status.as_str() {
            "awaiting_review" => format!(", awaits review{}", render::reviewer(&package.review_type)),
            _ => String::new(),
        };
        context.out.note(&format!("deposited in {}{waits}: {}", clean(&project), clean(&package.title)));
        Ok(context.out.line(&clean(&package.package_id))?)
    })
}

/// Composes the package, without its author; `None` if there is nothing new.
async fn compose(
    context: &Context,
    target: &ProjectTarget,
    args: &ProjectArgs,
    deposit: &Deposit,
) -> Result<Option<(NewPackage, Vec<DeliverableFile>)>, Failure> {
    let directory = context.directory()?;
    let mut package = from_flags(target, deposit)?;
    let mut names = deposit.deliverables.clone();
    if let Some(path) = &deposit.file {
        let text = if path.as_os_str() == "-" { input::standard()? } else { input::file(path)? };
        let mut note = note::read(&text);
        names.append(&mut note.front.deliverables);
        for key in &note.front.unknown {
            context.out.note(&format!("the note's `{}` is not known and is ignored", clean(key)));
        }
        if let Some(text) = note.front.significance.take().filter(|_| package.significance.is_none()) {
            package.significance =
                Some(text.parse().ok().filter(|n| (1..=10).contains(n)).ok_or_else(|| {
                    Failure::usage(
                        format!("the note's significance is `{text}`"),
                        "write a number from 1 to 10",
                    )
                })?);
        }
        compose::with_note(&mut package, note);
    }
    if deposit.git && !from_git(context, target, deposit, &mut package).await? {
        return Ok(None);
    }
    let root = match project_of(context, args)? {
        Some((_, ProjectSource::File(file))) => file.parent().unwrap_or(directory).to_owned(),
        _ => directory.clone(),
    };
    let mut delivered = Vec::new();
    for name in &names {
        let file = deliverable::read(directory, &root, name)?;
        package.deliverables.retain(|other| other.path != file.entry.path);
        package.deliverables.push(file.entry.clone());
        delivered.push(file);
    }
    let set_default = |field: &mut String, default: &str| {
        if field.is_empty() {
            *field = default.to_owned();
        }
    };
    set_default(&mut package.package_type, if deposit.auto { "auto_deposit" } else { "standard" });
    set_default(&mut package.review_type, if package.status == "awaiting_review" { "human" } else { "none" });
    let status = if package.review_type == "none" { "complete" } else { "awaiting_review" };
    set_default(&mut package.status, status);
    Ok(Some((package, delivered)))
}

/// The package from the flags alone.
fn from_flags(target: &ProjectTarget, deposit: &Deposit) -> Result<NewPackage, Failure> {
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(NewPackage {
        package_id: new_package_id(),
        project_id: target.project()?.to_owned(),
        relay_version: RELAY_VERSION.to_owned(),
        created_at: Frame::time(now()),
        title: or_empty(&deposit.title),
        description: or_empty(&deposit.description),
        package_type: or_empty(&deposit.kind),
        status: match &deposit.review {
            Some(_) => "awaiting_review".to_owned(),
            None => or_empty(&deposit.status),
        },
        review_type: or_empty(&deposit.review),
        decisions_made: deposit.decisions.clone(),
        open_questions: deposit.questions.clone(),
        handoff_note: or_empty(&deposit.handoff),
        estimated_next_actor: deposit.next.clone(),
        significance: deposit.significance,
        tags: deposit.tags.clone(),
        topic: deposit.topic.clone(),
        parent_package_id: deposit.parent.clone(),
        ..NewPackage::default()
    })
}

/// Fills in the values of the commits; returns whether there are any.
async fn from_git(
    context: &Context,
    target: &ProjectTarget,
    deposit: &Deposit,
    package: &mut NewPackage,
) -> Result<bool, Failure> {
    let directory = context.directory()?;
    let repository = Repository::of(directory)?;
    if deposit.auto && repository.is_rebasing()? {
        return Ok(false);
    }
    let base = match &deposit.since {
        Some(since) => Some(repository.commit(since)?),
        None => last_deposited(target, &repository).await?,
    };
    let (commits, all) = repository.commits(base.as_deref())?;
    let Some(oldest) = commits.last() else { return Ok(false) };
    let first = base.is_none();
    if first && all > commits.len() && !deposit.auto {
        context.out.note(&format!(
            "this is the first deposit from this repository; it covers the newest {COMMITS_AT_FIRST} commits, \
             --since COMMIT selects others"
        ));
    }
    let base = match base {
        Some(base) => base,
        None => repository.parent_of(&oldest.id)?,
    };
    let (files, files_all) = repository.changed(&base)?;
    let branch = repository.branch()?;
    let summary = CommitSummary {
        commits: &commits,
        commits_all: if first { commits.len() } else { all },
        files: &files,
        files_all,
        branch: branch.as_deref(),
    };
    compose::with_commits(package, &summary);
    package.created_by.git_commit = Some(repository.head);
    Ok(true)
}

/// The last commit named by the newest package from this repository.
async fn last_deposited(target: &ProjectTarget, repository: &Repository) -> Result<Option<String>, Failure> {
    let mut query = PackageQuery { limit: Some(PAGE), ..PackageQuery::default() };
    for _ in 0..PAGES_MAX {
        let page = target.client.latest_packages(target.project()?, &query).await?.value;
        for package in &page.packages {
            if let Some(commit) = &package.created_by.git_commit
                && let Some(base) = repository.base_with(commit)?
            {
                return Ok(Some(base));
            }
        }
        if page.next_cursor.is_none() {
            break;
        }
        query.cursor = page.next_cursor;
    }
    Ok(None)
}
