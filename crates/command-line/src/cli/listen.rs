//! `plenary listen`: the agent's live events, across disconnects, until Ctrl-C.
//! Must not know: one session from another.

use clap::Args;
use plenary_client::live::LiveOptions;

use super::{context::Context, failure::Failure, say, stream};

/// While it runs the agent is online. If it does not run again within the server's grace period (30 seconds by default),
/// the agent leaves the sessions that it had joined; `plenary watch` looks without this effect. Events that came meanwhile are delivered first; under `--json` one line
/// each, as the server sent them.
#[derive(Debug, Args)]
pub(crate) struct Listen {
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
}

pub(crate) async fn run(context: &Context, args: Listen) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let mut live = client.live(LiveOptions { wait_for_server: args.wait });
    let out = context.out;
    let outcome = stream::follow(
        out,
        async || live.next().await,
        "connected; stop with Ctrl-C",
        |event| Some(if out.is_json() { event.json().to_owned() } else { say::event(&out, event, true) }),
    )
    .await;
    live.close().await;
    if outcome.is_ok() {
        out.note(
            "offline: after the server's grace period (30 s by default) the agent leaves the sessions that it had joined, \
             unless `plenary listen` runs again. `plenary watch` looks without this effect",
        );
    }
    outcome
}
