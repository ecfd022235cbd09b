//! `plenary console`: a link that signs a browser in, and the passkeys of people.
//! Must not know: the page.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use plenary_client::{TokenKind, console::NewLink};
use plenary_kernel::{AgentHandle, OwnerName};

use super::{context::Context, failure::Failure, identity::Realm, shell};
use crate::{
    browser,
    out::{Table, utc},
    paths,
};

/// The command that prints a link to a server's console on its own machine, by its data directory or else its URL.
pub fn console_command(data: Option<&Path>, url: &str) -> String {
    let default = paths::default_data_dir(&|name| std::env::var(name).ok());
    match data.map(|data| std::path::absolute(data).unwrap_or_else(|_| data.to_owned())) {
        Some(data) if default.as_ref() == Some(&data) => "plenary console".to_owned(),
        Some(data) => format!("PLENARY_DATA={} plenary console", shell::quoted(&data.to_string_lossy())),
        None => format!("plenary --url {url} console"),
    }
}

/// The role of a browser session.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// Read and write with the owner's rights
    Owner,
    /// Only read, with the owner's rights
    Viewer,
    /// Read and change everything
    Operator,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  plenary console --owner nick --open"
)]
pub(crate) struct Console {
    #[command(subcommand)]
    command: Option<Command>,
    /// Owner whose console opens, e.g. `nick` [default: all owners, for the operator]
    #[arg(long)]
    owner: Option<OwnerName>,
    /// Role of the browser session [default: owner; without --owner: operator]
    #[arg(long)]
    role: Option<Role>,
    /// Person who signs in [default: @OWNER]
    #[arg(long, value_name = "@OWNER.NAME", value_parser = AgentHandle::of_recipient)]
    person: Option<AgentHandle>,
    /// Also open the link in the browser
    #[arg(long)]
    open: bool,
}

/// The subcommands of `plenary console`.
#[derive(Debug, Subcommand)]
enum Command {
    /// List the passkeys that people sign in with, or remove one; they are added in the console
    #[command(
        after_help = "Examples:\n  plenary console passkeys --owner nick\n  plenary console passkeys --owner nick --remove ID"
    )]
    Passkeys {
        /// Owner of the passkeys, e.g. `nick` [default: the operator's]
        #[arg(long)]
        owner: Option<OwnerName>,
        /// Remove this passkey, and end the sessions that it started
        #[arg(long, value_name = "ID")]
        remove: Option<String>,
    },
}

async fn passkeys(
    context: &Context,
    owner: Option<OwnerName>,
    remove: Option<String>,
) -> Result<(), Failure> {
    let client = context.configuring_client(owner.as_ref().map_or(Realm::Server, Realm::Owner))?;
    if let Some(id) = remove {
        let reply = client.remove_passkey(&id, owner.as_ref()).await?;
        return context.answer(&reply, |()| {
            context.out.note("the passkey is removed, and its sessions have ended");
            Ok(())
        });
    }
    let reply = client.passkeys(owner.as_ref()).await?;
    context.answer(&reply, |list| {
        let mut table = Table::new(&["ID", "NAME", "WHO", "ROLE", "ADDED", "LAST USED", "USABLE"]);
        for passkey in &list.passkeys {
            let person = passkey.person.as_ref().map_or("operator", AgentHandle::as_str);
            let used = passkey.last_used_at.map_or_else(|| "never".to_owned(), utc);
            let usable = if passkey.usable { "yes" } else { "no: its token was replaced" };
            table.row([
                &*passkey.passkey_id,
                &*passkey.name,
                person,
                &*passkey.role,
                &utc(passkey.created_at),
                &used,
                usable,
            ]);
        }
        context.out.table(&table, "no passkeys; add one in the console, on the page Access")?;
        Ok(())
    })
}

pub(crate) async fn run(context: &Context, args: Console) -> Result<(), Failure> {
    let person = context.named_speaker().cloned();
    if let Some(agent) = person.as_ref().filter(|handle| handle.owner() != handle.name()) {
        return Err(Failure::usage(
            format!(
                "--as names {agent}, but a console opens for the operator, or for an owner and its people"
            ),
            format!(
                "leave out --as, and name the owner with --owner {}, a person of it with --person",
                agent.owner()
            ),
        ));
    }
    if context.given_token()?.is_some_and(|given| given.token.kind() == TokenKind::Agent) {
        return Err(Failure::auth(
            "an agent's token opens no console",
            "use the token of the owner or the operator, or leave out the token to use a saved one",
        ));
    }
    let of_person = person.as_ref().map(AgentHandle::owner_name);
    if let Some(Command::Passkeys { owner, remove }) = args.command {
        return passkeys(context, owner.or(of_person), remove).await;
    }
    let owner = args.owner.or(of_person);
    if owner.is_none() && matches!(args.role, Some(Role::Owner)) {
        return Err(Failure::usage("--role owner needs an owner", "name the owner with --owner NAME"));
    }
    let realm = owner.as_ref().map_or(Realm::Server, Realm::Owner);
    let client = context.configuring_client(realm)?;
    let role = args.role.map(|role| {
        let name = match role {
            Role::Owner => "owner",
            Role::Viewer => "viewer",
            Role::Operator => "operator",
        };
        name.to_owned()
    });
    // The server creates the default person at its first use, if it is not named.
    let is_default = |person: &AgentHandle| {
        person.owner() == person.name() && owner.as_ref() == Some(&person.owner_name())
    };
    let person = args.person.or(person).filter(|person| !is_default(person));
    let link = NewLink { owner, role, person };
    let reply = client.console_link(&link).await?;
    context.answer(&reply, |link| {
        context.out.line(&link.url)?;
        let minutes = link.expires_in / 60;
        context.out.note(&format!(
            "the link signs one browser in as {}; it works once, within {minutes} minutes",
            link.role
        ));
        Ok(())
    })?;
    if args.open {
        browser::open(&reply.url).map_err(|error| {
            Failure::local_with(
                format!("{} cannot be started: {error}", browser::OPENER),
                "open the link yourself",
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_finds_a_server_that_has_another_place_than_the_default() {
        let at = |data: Option<&str>| console_command(data.map(Path::new), "http://127.0.0.1:7421");
        assert_eq!(at(Some("/srv/a b")), "PLENARY_DATA='/srv/a b' plenary console");
        assert_eq!(at(None), "plenary --url http://127.0.0.1:7421 console");
        let default = paths::default_data_dir(&|name| std::env::var(name).ok());
        assert!(default.is_none_or(|data| at(data.to_str()) == "plenary console"));
    }
}
