//! `plenary teach`: the guide for agents, for files that agents read.
//! Must not know: the text.

use clap::{Args, ValueEnum};

use super::{context::Context, failure::Failure};
use crate::guide;

/// The form of the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The guide itself, as the server publishes it at `/llms.txt`
    Guide,
    /// A skill, for `skills/plenary/SKILL.md`
    Skill,
    /// A section for `AGENTS.md`: `plenary teach agents-md >> AGENTS.md`
    AgentsMd,
}

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
