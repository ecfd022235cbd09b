//! `plenary runs`: where runs stand, what they said, which threads there are.
//! Must not know: how a run is told.

use std::path::PathBuf;

use clap::Args;
use plenary_client::{
    Client, Reply,
    frames::StreamOptions,
    runs::{Place, Signal},
};
use plenary_wire::runs::{ARTIFACT, SHOW, THREADS, ThreadReport, ThreadsQuery};

use super::{agents::Which, follow, words::Voice};
use crate::{
    cli::{context::Context, failure::Failure, interrupts::Interrupts},
    out::{Table, clean},
};

/// How many of the latest runs or threads are listed.
const LISTED_DEFAULT: u32 = 20;

/// Which runs.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    which: Which,
    /// How many, of the latest threads
    #[arg(long, default_value_t = LISTED_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

/// One run.
#[derive(Debug, Args)]
pub(crate) struct OfRun {
    #[command(flatten)]
    which: Which,
    /// The run
    #[arg(value_name = "RUN_ID")]
    run: String,
}

/// One run's events.
#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    of: OfRun,
    /// Go on with what comes, to the end of the run
    #[arg(long, short)]
    follow: bool,
}

/// Which threads.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    #[command(flatten)]
    which: Which,
    /// How many
    #[arg(long, default_value_t = LISTED_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Only threads that were opened before this one
    #[arg(long, value_name = "THREAD_ID")]
    before: Option<String>,
}

/// One thread.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    which: Which,
    /// The thread
    #[arg(value_name = "THREAD_ID")]
    thread: String,
}

/// One artifact.
#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// Its id, or its URL
    #[arg(value_name = "ARTIFACT")]
    artifact: String,
    /// Write it here [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn list(context: &Context, args: &List) -> Result<(), Failure> {
    let client = super::client(context)?;
    let agent = &args.which.agent;
    let query = ThreadsQuery { limit: Some(args.limit), before: None };
    let threads = client.call(&THREADS, &[agent], &query, &()).await?.value;
    let latest = threads.iter().flat_map(|thread| thread.runs.iter().rev());
    let mut table = Table::new(&["RUN", "THREAD", "STATUS", "CREATED"]);
    for run in latest.take(usize::try_from(args.limit).unwrap_or(usize::MAX)) {
        let reply = client.call(&SHOW, &[agent, run], &(), &()).await?;
        let (run, thread) = (reply.run_id.to_string(), reply.thread_id.to_string());
        table.row([&run, &thread, reply.status.as_str(), &reply.created_at]);
        context.answer(&reply, |_| Ok(()))?;
    }
    context.table(&table, &format!("there are none; begin with `plenary run {} TEXT`", clean(agent)))
}

pub(super) async fn show(context: &Context, args: &OfRun) -> Result<(), Failure> {
    let reply = super::client(context)?.call(&SHOW, &[&args.which.agent, &args.run], &(), &()).await?;
    context.answer(&reply, |run| {
        let out = context.out;
        out.line(&format!("run {} of {}: {}", run.run_id, clean(&run.agent), run.status.as_str()))?;
        out.line(&format!("  thread  {}", run.thread_id))?;
        out.line(&format!("  created {}, changed {}", clean(&run.created_at), clean(&run.updated_at)))?;
        let asked = run.request_keys.as_ref().map(|keys| keys.keys().cloned().collect::<Vec<_>>().join(", "));
        for (name, text) in
            [("asks for", asked.as_ref()), ("result", run.result.as_ref()), ("error", run.error.as_ref())]
        {
            if let Some(text) = text {
                out.line(&format!("  {name}: {}", crate::out::clean_block(text, "    ")))?;
            }
        }
        Ok(())
    })
}

pub(super) async fn cancel(context: &Context, args: &OfRun) -> Result<(), Failure> {
    let told = super::client(context)?.cancel_run(&args.which.agent, &args.run).await?;
    if context.out.is_json() {
        let answer = serde_json::json!({"run_id": told.run_id, "thread_id": told.thread_id});
        return Ok(context.out.line(&answer.to_string())?);
    }
    Ok(context.out.line(&format!("canceling {}", told.run_id))?)
}

pub(super) async fn events(context: &Context, args: &Events) -> Result<(), Failure> {
    let client = super::client(context)?;
    let OfRun { which, run } = &args.of;
    if !args.follow {
        return tell(context, &client, &which.agent, Place::Run(run)).await;
    }
    let mut interrupts = Interrupts::new()?;
    let mut stream = client.follow_run(&which.agent, run, None, StreamOptions::default());
    let mut voice = Voice::new(context.out, client.base().clone());
    let following = async {
        loop {
            match stream.next().await? {
                Some(Signal::Event(event)) => voice.tell(&event).await?,
                signal => {
                    if follow::said(context, (&which.agent, run), signal)? {
                        return Ok(());
                    }
                }
            }
        }
    };
    tokio::select! {
        outcome = following => outcome,
        () = interrupts.next() => Ok(()),
    }
}

pub(super) async fn replay(context: &Context, args: &Replay) -> Result<(), Failure> {
    let client = super::client(context)?;
    tell(context, &client, &args.which.agent, Place::Thread(&args.thread)).await
}

/// All that lies behind, page by page.
async fn tell(context: &Context, client: &Client, agent: &str, place: Place<'_>) -> Result<(), Failure> {
    let mut voice = Voice::new(context.out, client.base().clone());
    let mut since: Option<String> = None;
    loop {
        let page = client.run_events(agent, place, since.as_deref()).await?;
        for event in &page.events {
            voice.tell(event).await?;
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
    let query = ThreadsQuery { limit: Some(args.limit), before: args.before.clone() };
    let page = client.call_for_raw(&THREADS, &[agent], &query, &()).await?;
    let more = page.header("link").is_some_and(|link| link.contains("rel=\"next\""));
    let reply: Reply<Vec<ThreadReport>> = Reply::read(page)?;
    context.answer(&reply, |threads| {
        let mut table = Table::new(&["THREAD", "RUNS", "CREATED", "TITLE"]);
        for thread in threads {
            let (runs, title) = (thread.runs.len().to_string(), thread.title.as_deref().unwrap_or_default());
            table.row([&thread.thread_id.to_string(), &runs, &thread.created_at, title]);
        }
        context.table(&table, &format!("there are none; begin with `plenary run {} TEXT`", clean(agent)))
    })?;
    if let (true, Some(last)) = (more, reply.last()) {
        context.out.note(&format!("there are older ones: --before {}", last.thread_id));
    }
    Ok(())
}

pub(super) async fn fetch(context: &Context, args: &Fetch) -> Result<(), Failure> {
    let id = args.artifact.rsplit('/').next().unwrap_or_default();
    let artifact = super::client(context)?.call_for_raw(&ARTIFACT, &[&id], &(), &()).await?;
    let Some(path) = &args.out else { return Ok(context.out.bytes(&artifact.body)?) };
    std::fs::write(path, &artifact.body)
        .map_err(|error| Failure::local(format!("{} cannot be written: {error}", path.display())))?;
    context.out.note(&format!(
        "{} bytes of {} in {}",
        artifact.body.len(),
        clean(artifact.header("content-type").unwrap_or("application/octet-stream")),
        path.display()
    ));
    Ok(())
}
