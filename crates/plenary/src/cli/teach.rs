//! `plenary teach`: what an agent is told of the network, for files that agents read.
//! Must not know: the text.

use clap::{Args, ValueEnum};

use super::{context::Context, failure::Failure};
use crate::guide;

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// As it is, and as the server has it at `/llms.txt`
    Guide,
    /// A skill, for `skills/plenary/SKILL.md`
    Skill,
    /// A part of `AGENTS.md`: `plenary teach agents-md >> AGENTS.md`
    AgentsMd,
}

/// What to print.
#[derive(Debug, Args)]
pub(crate) struct Teach {
    /// The form
    #[arg(default_value = "guide")]
    form: Form,
}

pub(crate) fn run(context: &Context, args: &Teach) -> Result<(), Failure> {
    let text = match args.form {
        Form::Guide => guide::GUIDE.to_owned(),
        Form::Skill => guide::skill(),
        Form::AgentsMd => guide::snippet(),
    };
    Ok(context.out.bytes(text.as_bytes())?)
}
