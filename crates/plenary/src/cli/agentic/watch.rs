//! `plenary context watch`: what happens in a project, over every break of the stream, until Ctrl-C.
//! Must not know: how the stream is kept up.

use clap::Args;
use plenary_client::{
    context::{ContextEvent, ContextStream, Signal},
    frames::StreamOptions,
};
use tokio::signal::unix::{SignalKind, signal};

use super::place::Place;
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Style, clean},
};

/// What to follow.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Begin behind the event of this id
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Wait for the server where it is not up yet
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(context: &Context, place: &Place, args: Watch) -> Result<(), Failure> {
    let options = StreamOptions { wait_for_server: args.wait, ..StreamOptions::default() };
    let mut stream = place.client.context_events(place.project()?, args.after, options);
    let watch = |kind| signal(kind).map_err(|e| Failure::local(format!("signals cannot be watched: {e}")));
    let (mut interrupt, mut terminate) = (watch(SignalKind::interrupt())?, watch(SignalKind::terminate())?);
    tokio::select! {
        outcome = follow(context, place, &mut stream) => outcome,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

async fn follow(context: &Context, place: &Place, stream: &mut ContextStream) -> Result<(), Failure> {
    let out = context.out;
    loop {
        match stream.next().await? {
            Signal::Opened => out.note(&format!("watching {}; stop with Ctrl-C", clean(place.project()?))),
            Signal::Keepalive => {}
            Signal::Lost { reason, retry_in } => {
                out.note(&format!("the stream broke ({reason}); again in {} ms", retry_in.as_millis()));
            }
            Signal::Event(event) => {
                let text = line(context, &event);
                let printed = tokio::task::spawn_blocking(move || out.line(&text)).await;
                printed.map_err(|e| Failure::local(format!("printing failed: {e}")))??;
            }
        }
    }
}

fn line(context: &Context, event: &ContextEvent) -> String {
    if context.out.is_json() {
        return event.json.clone();
    }
    let id = event.id.as_deref().map(|id| format!("#{} ", clean(id))).unwrap_or_default();
    let name = context.out.paint(Style::Green, &clean(&event.name));
    format!("{}{name} {}", context.out.paint(Style::Dim, &id), clean(&event.json))
}
