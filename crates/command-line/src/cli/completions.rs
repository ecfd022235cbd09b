//! `plenary completions`: a completion script for a shell.
//! Must not know: the commands.

use clap::{Args, Command, builder::PossibleValue};
use clap_complete::Shell;

use super::{context::Context, failure::Failure};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plenary completions bash > ~/.local/share/bash-completion/completions/plenary\n  plenary \
        completions zsh > ~/.zfunc/_plenary   # with fpath+=~/.zfunc before compinit in ~/.zshrc\n  plenary completions fish > \
        ~/.config/fish/completions/plenary.fish"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &Completions) -> Result<(), Failure> {
    let (mut script, mut command) = (Vec::new(), (context.program.command)());
    clap_complete::generate(args.shell, &mut command, "plenary", &mut script);
    if args.shell == Shell::Fish {
        command.get_subcommands().for_each(|command| fish_values(command, None, &mut script));
    }
    Ok(context.out.bytes(&script)?)
}

/// The values of arguments without a flag, which the generator leaves out for fish.
fn fish_values(command: &Command, parent: Option<&str>, script: &mut Vec<u8>) {
    let name = command.get_name();
    let place = match parent {
        Some(parent) => format!("{parent}; and __fish_seen_subcommand_from {name}"),
        None => name.to_owned(),
    };
    for argument in command.get_positionals() {
        let values = argument.get_possible_values();
        let values: Vec<&str> =
            values.iter().filter(|value| !value.is_hide_set()).map(PossibleValue::get_name).collect();
        if !values.is_empty() {
            let line = format!(
                "complete -c plenary -n \"__fish_plenary_using_subcommand {place}\" -f -a \"{}\"\n",
                values.join(" ")
            );
            script.extend(line.into_bytes());
        }
    }
    if parent.is_none() {
        command.get_subcommands().for_each(|command| fish_values(command, Some(name), script));
    }
}
