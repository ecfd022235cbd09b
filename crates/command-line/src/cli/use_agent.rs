//! `plenary use`: the agent of this directory and those below it.
//! Must not know: the server.

use clap::Args;
use plenary_kernel::AgentHandle;

use super::{
    context::Context,
    failure::Failure,
    identity::{self, Holder, Setting},
};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary use @nick.assistant")]
pub(crate) struct Use {
    /// The agent, e.g. `@nick.assistant`
    handle: AgentHandle,
}

pub(crate) fn run(context: &Context, args: &Use) -> Result<(), Failure> {
    let directory = context.directory()?;
    let path =
        identity::write_project_file(&context.environment, directory, Setting::Agent, args.handle.as_str())?;
    if context.out.is_json() {
        let answer = serde_json::json!({"agent": args.handle, "file": path});
        return Ok(context.out.line(&answer.to_string())?);
    }
    context.out.line(&format!("{} speaks here: {}", args.handle, path.display()))?;
    let server = match context.server() {
        Err(Failure::Unreachable { .. }) => return Ok(()),
        server => server?,
    };
    let holder = Holder::Agent(args.handle.clone());
    let saved = context.tokens_file().map(|file| file.load()).transpose()?;
    if saved.is_none_or(|tokens| tokens.of(&server).get(&holder).is_none()) {
        context.out.note(&format!(
            "no token of this agent is saved for {server} yet; run `plenary agent add {0}` or `plenary token add {0}`",
            args.handle
        ));
    }
    Ok(())
}
