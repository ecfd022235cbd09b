//! `plenary runs`: the states of runs, their events, and the threads.
//! Must not know: how a run is printed.

use clap::Args;
use plenary_client::{Client, Signal, StreamOptions, runs::RunOrThread};

use super::{agents::AgentName, follow, render::RunPrinter};
use crate::{
    cli::{context::Context, destination::Destination, failure::Failure, stream},
    out::{Table, clean},
};

/// Default number of listed runs or threads.
const LISTED_DEFAULT: u32 = 20;

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    which: AgentName,
    /// Number of runs; those of the last thread are listed whole
    #[arg(long, default_value_t = LISTED_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Only runs of threads that were opened before this one
    #[arg(long, value_name = "THREAD_ID")]
    before: Option<String>,
}

/// One run.
#[derive(Debug, Args)]
pub(crate) struct OfRun {
    #[command(flatten)]
    which: AgentName,
    /// The run
    #[arg(value_name = "RUN_ID")]
    run: String,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    run_args: OfRun,
    /// Follow new events until the run ends
    #[arg(long, short)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Threads {
    #[command(flatten)]
    which: AgentName,
    /// Number of threads at most
    #[arg(long, default_value_t = LISTED_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Only threads that were opened before this one
    #[arg(long, value_name = "THREAD_ID")]
    before: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    which: AgentName,
    /// The thread
    #[arg(value_name = "THREAD_ID")]
    thread: String,
}

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// Id or URL of the artifact
    #[arg(value_name = "ARTIFACT")]
    artifact: String,
    #[command(flatten)]
    to: Destination,
}

pub(super) async fn list(context: &Context, args: &List) -> Result<(), Failure> {
    let client = super::client(context)?;
    let agent = &args.which.agent;
    let page = client.threads(agent, Some(args.limit), args.before.as_deref()).await?;
    let mut table = Table::new(&["RUN", "THREAD", "STATUS", "CREATED"]);
    let (mut listed, mut threads) = (0, page.reply.iter().peekable());
    let (mut last, mut reports) = (None, Vec::new());
    while let Some(thread) = threads.next_if(|_| listed < args.limit) {
        for run in thread.runs.iter().rev() {
            let reply = client.run_report(agent, run).await?;
            table.row([&reply.run_id, &reply.thread_id, reply.value.status.as_str(), &reply.created_at]);
            reports.push(reply.json().trim_end().to_owned());
            listed += 1;
        }
        last = Some(&thread.thread_id);
    }
    if context.out.is_json() {
        context.out.line(&format!("[{}]", reports.join(",")))?;
    }
    let agent = clean(agent);
    context.table(&table, &format!("there are none; start a run with `plenary run {agent} TEXT`"))?;
    if let Some(last) = last.filter(|_| page.more || threads.peek().is_some()) {
        context.out.note(&format!("for older runs: `plenary runs list {agent} --before {last}`"));
    }
    Ok(())
}

pub(super) async fn show(context: &Context, args: &OfRun) -> Result<(), Failure> {
    let reply = super::client(context)?.run_report(&args.which.agent, &args.run).await?;
    context.answer(&reply, |run| {
        let out = context.out;
        let status = if run.held { "held until a person accepts it" } else { run.status.as_str() };
        out.line(&format!("run {} of {}: {status}", run.run_id, clean(&run.agent)))?;
        out.line(&format!("  thread  {}", run.thread_id))?;
        out.line(&format!("  created {}, changed {}", clean(&run.created_at), clean(&run.updated_at)))?;
        let keys = run.request_keys.as_ref().map(|keys| keys.keys().cloned().collect::<Vec<_>>().join(", "));
        for (name, text) in
            [("asks for", keys.as_ref()), ("result", run.result.as_ref()), ("error", run.error.as_ref())]
        {
            if let Some(text) = text {
                out.line(&format!("  {name}: {}", crate::out::clean_block(text, "    ")))?;
            }
        }
        Ok(())
    })
}

pub(super) async fn cancel(context: &Context, args: &OfRun) -> Result<(), Failure> {
    let canceled = super::client(context)?.cancel_run(&args.which.agent, &args.run).await?;
    if context.out.is_json() {
        let answer = serde_json::json!({"run_id": canceled.run_id, "thread_id": canceled.thread_id});
        return Ok(context.out.line(&answer.to_string())?);
    }
    Ok(context.out.line(&format!("canceling {}", canceled.run_id))?)
}

pub(super) async fn events(context: &Context, args: &Events) -> Result<(), Failure> {
    let client = super::client(context)?;
    let OfRun { which, run } = &args.run_args;
    if !args.follow {
        return print_events(context, &client, &which.agent, RunOrThread::Run(run)).await;
    }
    let mut events = client.follow_run(&which.agent, run, None, StreamOptions::default());
    let mut printer = RunPrinter::new(context.out, client.base().clone());
    let following = async {
        loop {
            match events.next().await? {
                Some(Signal::Event(event)) => printer.print(&event).await?,
                signal => {
                    if follow::report_signal(context, (&which.agent, run), signal)? {
                        return Ok(());
                    }
                }
            }
        }
    };
    stream::until_interrupted(following).await
}

pub(super) async fn replay(context: &Context, args: &Replay) -> Result<(), Failure> {
    let client = super::client(context)?;
    print_events(context, &client, &args.which.agent, RunOrThread::Thread(&args.thread)).await
}

/// Prints all stored events, page by page.
async fn print_events(
    context: &Context,
    client: &Client,
    agent: &str,
    source: RunOrThread<'_>,
) -> Result<(), Failure> {
    let mut printer = RunPrinter::new(context.out, client.base().clone());
    let mut since: Option<String> = None;
    loop {
        let page = client.run_events(agent, source, since.as_deref()).await?;
        for event in &page.events {
            printer.print(event).await?;
        }
        match page.next {
            Some(next) if since.as_ref() != Some(&next) => since = Some(next),
            Some(_) | None => return Ok(()),
        }
    }
}

pub(super) async fn threads(context: &Context, args: &Threads) -> Result<(), Failure> {
    let client = super::client(context)?;
    let agent = &args.which.agent;
    let page = client.threads(agent, Some(args.limit), args.before.as_deref()).await?;
    context.answer(&page.reply, |threads| {
        let mut table = Table::new(&["THREAD", "RUNS", "CREATED", "TITLE"]);
        for thread in threads {
            let (runs, title) = (thread.runs.len().to_string(), thread.title.as_deref().unwrap_or_default());
            table.row([&thread.thread_id, &runs, &thread.created_at, title]);
        }
        context
            .table(&table, &format!("there are none; start a run with `plenary run {} TEXT`", clean(agent)))
    })?;
    if let (true, Some(last)) = (page.more, page.reply.last()) {
        context.out.note(&format!(
            "for older threads: `plenary runs threads {} --before {}`",
            clean(agent),
            last.thread_id
        ));
    }
    Ok(())
}

pub(super) async fn fetch(context: &Context, args: &Fetch) -> Result<(), Failure> {
    let path = args.to.file()?;
    let id = args.artifact.rsplit('/').next().unwrap_or_default();
    let artifact = super::client(context)?.artifact(id).await?;
    let Some(path) = path else { return Ok(context.out.bytes(&artifact.content)?) };
    std::fs::write(path, &artifact.content)
        .map_err(|error| Failure::local(format!("{} cannot be written: {error}", path.display())))?;
    context.out.note(&format!(
        "{} bytes of {} in {}",
        artifact.content.len(),
        clean(&artifact.mime_type),
        path.display()
    ));
    Ok(())
}
