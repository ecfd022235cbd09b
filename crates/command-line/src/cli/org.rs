//! `plenary org`: organisations and their members.
//! Must not know: the rights of members.

use clap::{Args, Subcommand};
use plenary_client::{Client, accounts::Org};
use plenary_kernel::{OwnerName, SovereignHandle};

use super::{context::Context, failure::Failure, identity::Realm};
use crate::out::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create an organisation
    Add(OrgArgument),
    /// Show an organisation's members
    Show(OrgArgument),
    /// Add a member, or change a member's roles
    AddMember {
        #[command(flatten)]
        organisation: OrgArgument,
        /// The member, e.g. `~nick`
        member: SovereignHandle,
        /// A role of the member; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// Remove a member
    RmMember {
        #[command(flatten)]
        organisation: OrgArgument,
        /// The member, e.g. `~nick`
        member: SovereignHandle,
    },
}

/// One organisation.
#[derive(Debug, Args)]
pub(crate) struct OrgArgument {
    /// The organisation, an owner's name
    org: OwnerName,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let (Command::Add(organisation)
    | Command::Show(organisation)
    | Command::AddMember { organisation, .. }
    | Command::RmMember { organisation, .. }) = &command;
    let client = context.configuring_client(Realm::Owner(&organisation.org))?;
    let (reply, done) = match command {
        Command::Show(OrgArgument { org }) => return show(context, &client, &org).await,
        Command::Add(OrgArgument { org }) => (client.put_org(&org).await?, org.to_string()),
        Command::AddMember { organisation: OrgArgument { org }, member, roles } => {
            (client.put_member(&org, &member, &roles).await?, format!("{member} is a member of {org}"))
        }
        Command::RmMember { organisation: OrgArgument { org }, member } => {
            (client.remove_member(&org, &member).await?, format!("{member} is no longer a member of {org}"))
        }
    };
    context.done(&reply, &done)
}

async fn show(context: &Context, client: &Client, org: &OwnerName) -> Result<(), Failure> {
    let mut table = Table::new(&["MEMBER", "ROLES"]);
    let take = |page: &Org| {
        page.members.iter().for_each(|member| table.row([member.handle.as_str(), &member.roles.join(" ")]));
    };
    context
        .pages(async |cursor| client.org(org, cursor).await, |page| page.next_cursor.as_deref(), take)
        .await?;
    context.table(&table, "the organisation has no members")
}
