//! An agent that does what its input says: each line of a request's text is a step (`text hello`, `ask name=Who?`,
//! `hang`). It speaks the line protocol (`puppet lines`, `puppet lines --named` with the run in every line) or the
//! Agent Client Protocol (`puppet acp`). Must not know: what a test expects of the server.

mod acp;
mod lines;
mod stage;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = Runtime::new().context("a runtime starts")?;
    let code = match args.as_slice() {
        ["lines", flags @ ..] => runtime.block_on(lines::serve(flags.contains(&"--named"))),
        ["acp", ..] => runtime.block_on(acp::serve()),
        other => bail!("puppet lines|acp, not {other:?}"),
    };
    // A thread may still be reading standard input; it ends with the process.
    runtime.shutdown_background();
    Ok(ExitCode::from(code))
}
