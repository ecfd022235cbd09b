//! `plenary org`: organisations and who belongs to them.
//! Must not know: what membership allows.

use clap::{Args, Subcommand};
use plenary_client::Client;
use plenary_kernel::{OwnerName, SovereignHandle};
use plenary_wire::accounts::{
    NewMember, ORG_GET, ORG_PUT, ORG_REMOVE_MEMBER, ORG_SET_MEMBER, OrgView, PageQuery, Role,
};

use super::{context::Context, failure::Failure, identity::Realm};
use crate::out::Table;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an organisation
    Add(Of),
    /// Show an organisation's members
    Show(Of),
    /// Make someone a member, or change its roles
    AddMember {
        #[command(flatten)]
        of: Of,
        /// e.g. `~nick`
        member: SovereignHandle,
        /// What it is there; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// Take a member out
    RmMember {
        #[command(flatten)]
        of: Of,
        /// e.g. `~nick`
        member: SovereignHandle,
    },
}

/// Which organisation.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The organisation: an owner's name
    org: OwnerName,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let (Command::Add(of) | Command::Show(of) | Command::AddMember { of, .. } | Command::RmMember { of, .. }) =
        &command;
    let client = context.configuring_client(Realm::Owner(&of.org))?;
    let done = |words: String| Ok(context.out.line(&words)?);
    match command {
        Command::Show(Of { org }) => show(context, &client, &org).await,
        Command::Add(Of { org }) => {
            let reply = client.call(&ORG_PUT, &[&org], &(), &()).await?;
            context.answer(&reply, |_| done(org.to_string()))
        }
        Command::AddMember { of: Of { org }, member, roles } => {
            let reply = client.call(&ORG_SET_MEMBER, &[&org, &member], &(), &NewMember { roles }).await?;
            context.answer(&reply, |_| done(format!("{member} belongs to {org}")))
        }
        Command::RmMember { of: Of { org }, member } => {
            let reply = client.call(&ORG_REMOVE_MEMBER, &[&org, &member], &(), &()).await?;
            context.answer(&reply, |_| done(format!("{member} no longer belongs to {org}")))
        }
    }
}

async fn show(context: &Context, client: &Client, org: &OwnerName) -> Result<(), Failure> {
    let mut table = Table::new(&["MEMBER", "ROLES"]);
    let take = |page: &OrgView| {
        for member in &page.members {
            let roles: Vec<_> = member.roles.iter().map(Role::as_str).collect();
            table.row([member.handle.as_str(), &roles.join(" ")]);
        }
    };
    let ask = async |at: Option<&str>| client.call(&ORG_GET, &[org], &PageQuery::at(at), &()).await;
    context.pages(ask, |page| page.next_cursor.as_ref(), take).await?;
    context.table(&table, "nobody belongs to it")
}
