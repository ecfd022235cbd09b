//! `plenary owner`: persons and organisations that own agents.
//! Must not know: agents.

use clap::Subcommand;
use plenary_client::accounts::OwnerList;
use plenary_kernel::OwnerName;

use super::{
    connect::default_owner,
    context::Context,
    failure::Failure,
    identity::{Holder, Realm},
};
use crate::out::{Table, utc};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create an owner and save its token on this machine
    Add {
        /// Name of the owner, e.g. `nick`
        owner: OwnerName,
        /// Also print the token
        #[arg(long)]
        show_token: bool,
    },
    /// List owners
    List,
    /// Replace an owner's token and save the new one; the old token stops working at once
    RotateToken {
        /// The owner
        owner: OwnerName,
        /// Also print the token
        #[arg(long)]
        show_token: bool,
    },
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let realm = match &command {
        Command::Add { .. } | Command::List => Realm::Server,
        Command::RotateToken { owner, .. } => Realm::Owner(owner),
    };
    let client = context.configuring_client(realm)?;
    match command {
        Command::Add { owner, show_token } => {
            context.check_tokens_file()?;
            let reply = client.create_owner(&owner).await?;
            let speaker = default_owner(context);
            let saved = context.save_token(&Holder::Owner(owner.clone()), &reply.token);
            note_new_speaker(context, speaker);
            if !show_token {
                context.out.note(&format!(
                    "to hand the owner a token, `plenary owner rotate-token {owner} --show-token` prints a new one"
                ));
            }
            context.answer(&reply, |created| {
                let line = if show_token { created.token.clone() } else { created.owner.to_string() };
                Ok(context.out.line(&line)?)
            })?;
            saved
        }
        Command::List => {
            let mut table = Table::new(&["OWNER", "SINCE"]);
            let take = |page: &OwnerList| {
                for entry in &page.owners {
                    table.row([entry.owner.as_str(), &entry.created_at.map(utc).unwrap_or_default()]);
                }
            };
            context
                .pages(async |cursor| client.owners(cursor).await, |page| page.next_cursor.as_deref(), take)
                .await?;
            context.table(&table, "no owners yet; create one with `plenary owner add NAME`")
        }
        Command::RotateToken { owner, show_token } => {
            context.check_tokens_file()?;
            let reply = client.rotate_owner_token(&owner).await?;
            let saved = context.save_token(&Holder::Owner(owner.clone()), &reply.token);
            context.answer(&reply, |new| {
                let line = if show_token { &new.token } else { owner.as_str() };
                Ok(context.out.line(line)?)
            })?;
            saved
        }
    }
}

/// Reports that a new token changes the speaker of commands without `--as`.
fn note_new_speaker(context: &Context, before: Result<OwnerName, Failure>) {
    if let (Ok(before), Ok(now)) = (before, default_owner(context))
        && before != now
    {
        context.out.note(&format!(
            "commands without --as now speak as @{now}; `--as @{before}` is who spoke before"
        ));
    }
}
