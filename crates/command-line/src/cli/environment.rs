//! The environment of a command: variables and the working directory.
//! Must not know: their meaning.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    rc::Rc,
};

use clap::{
    Arg,
    builder::{OsStr as OsStrName, Resettable},
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::failure::Failure;
use crate::secrets;

/// Maximum number of commands suggested in place of an unknown one.
const SUGGESTED_MAX: usize = 2;

/// The command line without those variables of its options that are empty: an empty variable counts as unset.
pub fn ignoring_empty(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let unset = |argument: Arg| match argument.get_env().is_some_and(is_empty) {
        true => argument.env(Resettable::<OsStrName>::Reset),
        false => argument,
    };
    command.mut_args(unset).mut_subcommands(ignoring_empty)
}

/// The error of a wrong value, with the variable that holds the value in place of its option.
pub fn naming_variables(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(_) | None => String::new(),
    };
    let (option, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let option = option.split(' ').next().unwrap_or_default().to_owned();
    let is_option =
        |argument: OsString| argument.to_string_lossy().split('=').next() == Some(option.as_str());
    let is_typed = std::env::args_os().any(is_option);
    let variable = variable_of(command, option.trim_start_matches("--"))
        .filter(|name| !is_typed && std::env::var(name).is_ok_and(|set| set == value));
    if let Some(variable) = variable {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// The error of an unknown command with the nearest names first, or else with the commands that there are.
pub fn suggesting_commands(mut error: clap::Error, command: &clap::Command, words: &[String]) -> clap::Error {
    if let Some(ContextValue::Strings(near)) = error.get(ContextKind::SuggestedSubcommand) {
        let nearest = near.iter().rev().take(SUGGESTED_MAX).cloned().collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(nearest));
        return error;
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut inner = command;
        for word in words {
            inner = inner.find_subcommand(word).unwrap_or(inner);
        }
        let names: Vec<&str> = inner.get_subcommands().map(clap::Command::get_name).collect();
        let tip = if std::ptr::eq(inner, command) {
            "`plenary help` lists the commands".to_owned()
        } else {
            format!("its commands are {}", names.join(", "))
        };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Refuses a variable of this program that is not text: it would count as unset, and the command would act as somebody else.
pub(crate) fn check_variables() -> Result<(), Failure> {
    let is_broken = |(name, value): &(OsString, OsString)| {
        name.to_string_lossy().starts_with("PLENARY_") && value.to_str().is_none()
    };
    std::env::vars_os().find(is_broken).map_or(Ok(()), |(name, _)| {
        let name = name.to_string_lossy();
        Err(Failure::usage(format!("the variable {name} is not UTF-8"), "set it again, or unset it"))
    })
}

/// The variable of an option, in any command.
fn variable_of(command: &clap::Command, option: &str) -> Option<String> {
    let own = command.get_arguments().find(|argument| argument.get_long() == Some(option));
    let variable = own.and_then(Arg::get_env).map(|name| name.to_string_lossy().into_owned());
    variable.or_else(|| command.get_subcommands().find_map(|command| variable_of(command, option)))
}

type Variables = dyn Fn(&str) -> Option<String>;

/// The environment of the process, or of a test.
pub(crate) struct Environment {
    var: Rc<Variables>,
    directory: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process. Only the working directory is read at once.
    pub(crate) fn of_process() -> Self {
        Self { var: Rc::new(secrets::variable), directory: std::env::current_dir().ok() }
    }

    /// A variable; empty counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.var)(name).filter(|value| !value.is_empty())
    }

    /// The same variables, with another working directory.
    pub(crate) fn moved(&self, directory: PathBuf) -> Self {
        Self { var: Rc::clone(&self.var), directory: Some(directory) }
    }

    /// The working directory, unless it was removed.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        self.directory.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn of_test(directory: &std::path::Path, vars: &[(&str, &str)]) -> Self {
        let vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self {
            var: Rc::new(move |name: &str| {
                vars.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
            }),
            directory: Some(directory.to_owned()),
        }
    }
}
