//! `plenary context fact`: assert, get (now or as of a moment), end, history.
//! Must not know: packages.

use clap::{Args, Subcommand};
use plenary_client::context::{Fact, FactPage, FactQuery, NewFact};

use super::{render, target::ProjectTarget};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
    },
    out::{Table, clean, second},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Assert a fact; it replaces the current fact with the same subject and predicate
    Assert(Assert),
    /// Show the facts that are true now or were true at a given time; with subject and predicate, print only the value, and
    /// exit with 1 if there is none
    Get(Get),
    /// End a fact without asserting a new value
    Invalidate(Invalidate),
    /// Show every fact ever asserted about a subject, oldest first
    History(History),
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context fact assert lexer status green")]
pub(crate) struct Assert {
    /// Subject, e.g. lexer
    subject: String,
    /// Predicate, e.g. status
    predicate: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// The package that the fact comes from
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Confidence, 0 to 1 [default: 1]
    #[arg(long, value_name = "N", value_parser = share)]
    confidence: Option<f64>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TEXT")]
    tags: Vec<String>,
    /// Time from which the fact is true: RFC 3339 in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    valid_from: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context fact get lexer status --as-of 2026-03-01")]
pub(crate) struct Get {
    /// Only facts about this subject
    subject: Option<String>,
    /// Only facts with this predicate
    predicate: Option<String>,
    /// Show the facts that were true at this time: RFC 3339 in UTC, or a day such as 2026-03-01
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Only facts with at least this confidence
    #[arg(long, value_name = "N", value_parser = share)]
    min_confidence: Option<f64>,
    /// Only facts with this tag
    #[arg(long)]
    tag: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Invalidate {
    /// Subject
    subject: String,
    /// Predicate
    predicate: String,
    /// End the fact only if it has this value
    #[arg(long, value_name = "VALUE")]
    object: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The subject
    subject: Option<String>,
    /// Only facts with this predicate
    predicate: Option<String>,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, command: Command) -> Result<(), Failure> {
    let (project, out) = (target.project()?, context.out);
    match command {
        Command::Assert(args) => {
            let fact = NewFact {
                subject: args.subject,
                predicate: args.predicate,
                value: args.value,
                source_package_id: args.source,
                confidence: args.confidence,
                // Named, because the token may be one that speaks for several, and the source may be another's.
                asserted_by: target.actor.clone(),
                tags: args.tags,
                valid_from: args.valid_from,
            };
            let reply = target.client.assert_fact(project, &fact).await?;
            context.answer(&reply, |fact| Ok(out.line(&render::fact(fact))?))
        }
        Command::Invalidate(args) => {
            let Invalidate { subject, predicate, object } = args;
            let reply =
                target.client.invalidate_fact(project, &subject, &predicate, object.as_deref()).await?;
            context.answer(&reply, |ended| {
                Ok(out.line(&match ended.invalidated {
                    0 => "there was no such current fact".to_owned(),
                    _ => format!("{} {} no longer has a current value", clean(&subject), clean(&predicate)),
                })?)
            })
        }
        Command::Get(args) => get(context, target, args).await,
        Command::History(args) => {
            let History { subject, predicate } = args;
            let query = FactQuery { subject, predicate, include_ended: true, ..FactQuery::default() };
            let facts = all(context, target, query).await?;
            table(context, &facts, "there are no such facts")
        }
    }
}

async fn get(context: &Context, target: &ProjectTarget, args: Get) -> Result<(), Failure> {
    let Get { subject, predicate, as_of, min_confidence, tag } = args;
    let is_single = subject.is_some() && predicate.is_some();
    let query = FactQuery { subject, predicate, as_of, min_confidence, tag, ..FactQuery::default() };
    let facts = all(context, target, query).await?;
    match facts.first() {
        None if is_single => {
            context.out.note("there is no such fact");
            Err(Failure::Reported(Exit::Refused))
        }
        Some(fact) if is_single && !context.out.is_json() => Ok(context.out.line(&clean(&fact.value))?),
        Some(_) | None => {
            table(context, &facts, "there are no facts; assert one with `plenary context fact assert`")
        }
    }
}

/// Every page of a list; printed under `--json`.
async fn all(context: &Context, target: &ProjectTarget, query: FactQuery) -> Result<Vec<Fact>, Failure> {
    let (project, client) = (target.project()?, &target.client);
    let mut facts = Vec::new();
    let fetch = async |cursor: Option<&str>| {
        let query = FactQuery { cursor: cursor.map(str::to_owned), ..query.clone() };
        client.facts(project, &query).await
    };
    let take = |page: &FactPage| facts.extend(page.facts.iter().cloned());
    context.pages(fetch, |page| page.next_cursor.as_deref(), take).await?;
    Ok(facts)
}

fn table(context: &Context, facts: &[Fact], empty: &str) -> Result<(), Failure> {
    let mut table = Table::new(&["SUBJECT", "PREDICATE", "FROM", "TO", "BY", "VALUE"]);
    for fact in facts {
        let to = fact.valid_to.as_deref().map_or("now".to_owned(), second);
        let author = fact.asserted_by.as_ref().map(|actor| actor.id.as_str()).unwrap_or_default();
        table.row([&fact.subject, &fact.predicate, &second(&fact.valid_from), &to, author, &fact.value]);
    }
    context.table(&table, empty)
}
