//! `plenary context pull`: packages, the latest, by id, or by a query.
//! Must not know: how a package is printed.

use clap::Args;
use plenary_client::context::{PackagePage, PackageQuery, RelevantPage};

use super::{render, target::ProjectTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, second},
};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context pull --query 'lexer performance' --limit 3")]
pub(crate) struct Pull {
    /// `latest`, or a package's id [default: latest]
    #[arg(value_name = "latest|ID", conflicts_with = "query")]
    which: Option<String>,
    /// Packages that match this text, best match first
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["status", "kind", "parent", "cursor"])]
    query: Option<String>,
    /// Number of packages at most, up to 1000 [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: Option<u32>,
    /// Only packages with this status
    #[arg(long, value_parser = ["draft", "awaiting_review", "revision_requested", "complete"])]
    status: Option<String>,
    /// Only packages of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only packages that correct or continue this one
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Continue an earlier list from this cursor
    #[arg(long)]
    cursor: Option<String>,
    /// Print one line for each package
    #[arg(long)]
    short: bool,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, args: Pull) -> Result<(), Failure> {
    let out = context.out;
    if let Some(id) = args.which.as_ref().filter(|which| *which != "latest") {
        let reply = target.client.package(id, target.project_if_any()).await?;
        return context.answer(&reply, |package| {
            Ok(render::whole(package).iter().try_for_each(|line| out.line(line))?)
        });
    }
    if let Some(query) = &args.query {
        let reply = target.client.relevant_packages(target.project()?, query, args.limit).await?;
        return context.answer(&reply, |RelevantPage { packages }| {
            if packages.is_empty() {
                out.note("no package matches");
            }
            for hit in packages {
                for (n, line) in render::brief(&hit.package).iter().enumerate() {
                    let score = if n == 0 { format!("  {:.3}", hit.score) } else { String::new() };
                    out.line(&format!("{line}{score}"))?;
                }
            }
            Ok(())
        });
    }
    let query = PackageQuery {
        limit: args.limit,
        status: args.status,
        package_type: args.kind,
        parent: args.parent,
        cursor: args.cursor,
    };
    let reply = target.client.latest_packages(target.project()?, &query).await?;
    context.answer(&reply, |page| {
        if args.short {
            table(context, page)?
        } else {
            briefs(context, page)?
        }
        render::more(&out, page.next_cursor.as_deref());
        Ok(())
    })
}

fn briefs(context: &Context, page: &PackagePage) -> Result<(), Failure> {
    if page.packages.is_empty() {
        context.out.note("there are no packages; deposit one with `plenary context deposit`");
    }
    let lines = page.packages.iter().flat_map(render::brief);
    Ok(lines.into_iter().try_for_each(|line| context.out.line(&line))?)
}

/// A line for each package.
pub(super) fn table(context: &Context, page: &PackagePage) -> Result<(), Failure> {
    let mut table = Table::new(&["PACKAGE", "CREATED", "BY", "TYPE", "STATUS", "TITLE"]);
    for package in &page.packages {
        let created = second(&package.created_at);
        let (creator, kind) = (&package.created_by.id, &package.package_type);
        table.row([&package.package_id, &created, creator, kind, &package.status, &clean(&package.title)]);
    }
    Ok(context.out.table(&table, "there are no packages")?)
}
