//! `plenary owner`: persons and organisations that own agents.
//! Must not know: agents.

use clap::Subcommand;
use plenary_kernel::{OwnerName, TimestampMs};
use plenary_wire::accounts::{NewOwner, OWNER_CREATE, OWNER_LIST, OWNER_ROTATE_TOKEN, OwnerPage, PageQuery};

use super::{
    context::Context,
    failure::Failure,
    identity::{Holder, Realm},
};
use crate::out::{Table, utc};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an owner, and save its token
    Add {
        /// Its name, e.g. `nick`
        owner: OwnerName,
        /// Print the token too
        #[arg(long)]
        show_token: bool,
    },
    /// List the owners
    List,
    /// Give an owner a new token, and save it; the old one is dead at once
    RotateToken {
        /// The owner
        owner: OwnerName,
        /// Print the token too
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
            let reply = client.call(&OWNER_CREATE, &[], &(), &NewOwner { owner: owner.clone() }).await?;
            let kept = context.keep_token(&Holder::Owner(owner), &reply.token);
            context.answer(&reply, |made| {
                let line = if show_token { made.token.clone() } else { made.owner.to_string() };
                Ok(context.out.line(&line)?)
            })?;
            kept
        }
        Command::List => {
            let mut table = Table::new(&["OWNER", "SINCE"]);
            let take = |page: &OwnerPage| {
                for entry in &page.owners {
                    table.row([entry.owner.as_str(), &utc(TimestampMs(entry.created_at))]);
                }
            };
            let ask = async |at: Option<&str>| client.call(&OWNER_LIST, &[], &PageQuery::at(at), &()).await;
            context.pages(ask, |page| page.next_cursor.as_ref(), take).await?;
            context.table(&table, "no owners yet; make one with `plenary owner add NAME`")
        }
        Command::RotateToken { owner, show_token } => {
            context.check_tokens_file()?;
            let reply = client.call(&OWNER_ROTATE_TOKEN, &[&owner], &(), &()).await?;
            let kept = context.keep_token(&Holder::Owner(owner.clone()), &reply.token);
            context.answer(&reply, |new| {
                let line = if show_token { &new.token } else { owner.as_str() };
                Ok(context.out.line(line)?)
            })?;
            kept
        }
    }
}
