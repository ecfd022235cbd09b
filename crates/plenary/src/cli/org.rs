//! `plenary org`: organisations and who belongs to them.
//! Must not know: what membership allows.

use clap::Subcommand;
use plenary_kernel::{OwnerName, SovereignHandle};

use super::{context::Context, failure::Failure};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an organisation
    Add { org: OwnerName },
    /// Make someone a member, or change its roles
    AddMember {
        org: OwnerName,
        /// e.g. `~nick`
        member: SovereignHandle,
        /// What it is there; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// Take a member out
    RmMember {
        org: OwnerName,
        /// e.g. `~nick`
        member: SovereignHandle,
    },
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.configuring_client(None)?;
    let (reply, done) = match command {
        Command::Add { org } => (client.put_org(&org).await?, org.to_string()),
        Command::AddMember { org, member, roles } => {
            (client.put_member(&org, &member, &roles).await?, format!("{member} belongs to {org}"))
        }
        Command::RmMember { org, member } => {
            (client.remove_member(&org, &member).await?, format!("{member} no longer belongs to {org}"))
        }
    };
    context.answer(&reply, |_| Ok(context.out.line(&done)?))
}
