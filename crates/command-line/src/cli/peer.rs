//! `plenary peer`: networks of other operators that this one is linked to.
//! Must not know: how networks speak with each other.

use clap::{Args, Subcommand};
use plenary_client::{
    Client, Error,
    peers::{Grants, NewPeer, Peer, PeerAcceptance},
};
use plenary_kernel::OwnerName;

use super::{context::Context, failure::Failure, identity::Realm, status::usage_line};
use crate::{
    duration::parse_seconds,
    out::{Table, clean, utc},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Invite another network; its operator accepts with the code that is printed
    Invite {
        #[command(flatten)]
        named: NamedPeer,
        /// How long the invitation lasts, e.g. `1h` [default: 24h]
        #[arg(long, value_name = "TIME", value_parser = lasting)]
        expires_in: Option<u64>,
    },
    /// Accept the invitation of another network
    Accept {
        #[command(flatten)]
        named: NamedPeer,
        /// What its operator got: `plp_…`
        code: String,
    },
    /// List the networks that this one is linked to
    List,
    /// Ask a peer whether the accord holds
    Check(PeerArgument),
    /// Revoke an accord or an invitation; nothing crosses from now on
    Revoke(PeerArgument),
}

/// Longest time that an invitation lasts, in seconds.
const LASTING_MAX: u64 = 30 * 86_400;

fn lasting(text: &str) -> Result<u64, String> {
    let seconds = parse_seconds(text)?;
    if (1..=LASTING_MAX).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("at least 1s and at most 30d".to_owned())
    }
}

/// One peer.
#[derive(Debug, Args)]
pub(crate) struct PeerArgument {
    /// What the network is called here
    peer: OwnerName,
}

/// A network, and the names granted to it.
#[derive(Debug, Args)]
pub(crate) struct NamedPeer {
    /// What the network is to be called here, e.g. `acme`
    peer: OwnerName,
    /// Its public URL, e.g. `https://plenary.acme.example`
    network: String,
    /// Grant it a name for owners of this network, e.g. `support=nick,rose`; may be repeated. Other owners take no part
    #[arg(long = "grants", visible_alias = "grant", value_name = "NAME=OWNER,…")]
    grants: Vec<String>,
}

impl NamedPeer {
    fn granted(&self) -> Result<Grants, Failure> {
        let mut all = Grants::new();
        for text in &self.grants {
            let (name, owners) = text.split_once('=').ok_or_else(|| {
                Failure::usage(
                    format!("`{text}` is not a grant: it has no `=`"),
                    "write NAME=OWNER,…, e.g. `--grant support=nick,rose`",
                )
            })?;
            all.entry(name.to_owned()).or_default().extend(owners.split(',').map(str::to_owned));
        }
        Ok(all)
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.configuring_client(Realm::Server)?;
    match command {
        Command::Invite { named, expires_in } => {
            let grants = granted(context, &named)?;
            let new = NewPeer { network: named.network, peer: named.peer, grants, expires_in_s: expires_in };
            let reply = client.invite_peer(&new).await?;
            context.answer(&reply, |invitation| {
                context
                    .out
                    .note(&format!("the operator of {} accepts with:", clean(&invitation.peer.network)));
                Ok(context
                    .out
                    .line(&format!("plenary peer accept NAME {} {}", invitation.inviting, invitation.code))?)
            })
        }
        Command::Accept { named, code } => {
            let grants = granted(context, &named)?;
            let acceptance = PeerAcceptance { network: named.network, code, peer: named.peer, grants };
            let reply = client.accept_peer(&acceptance).await?;
            context.answer(&reply, |peer| {
                Ok(context.out.line(&format!("linked to {} as {}", clean(&peer.network), peer.peer))?)
            })
        }
        Command::List => {
            let reply = client.peers().await?;
            let mut table =
                Table::new(&["PEER", "NETWORK", "ACCORD", "SINCE", "GRANTS", "GRANTED", "STORED HERE"]);
            for peer in &reply.value.peers {
                table.row(row(peer).each_ref().map(String::as_str));
            }
            context.answer(&reply, |_| {
                context.table(&table, "no peers yet; invite one with `plenary peer invite NAME URL`")
            })
        }
        Command::Check(PeerArgument { peer }) => {
            let reply = match client.check_peer(&peer).await {
                Err(error) => return Err(revoked(&client, &peer, error).await),
                Ok(reply) => reply,
            };
            if !reply.value.alive && !context.out.is_json() {
                let why = clean(reply.value.error.as_deref().unwrap_or_default()).into_owned();
                return Err(Failure::local(format!("{peer} does not say that the accord holds: {why}")));
            }
            context.done(&reply, &format!("{peer}: the accord holds"))
        }
        Command::Revoke(PeerArgument { peer }) => {
            let reply = match client.revoke_peer(&peer).await {
                Err(error) => return Err(revoked(&client, &peer, error).await),
                Ok(reply) => reply,
            };
            context.done(&reply, &format!("revoked {peer}"))
        }
    }
}

/// The grants, with a warning if there are none.
fn granted(context: &Context, named: &NamedPeer) -> Result<Grants, Failure> {
    let grants = named.granted()?;
    if grants.is_empty() {
        context.out.note(
            "no owner of this network takes part: nothing is granted, and grants never change; to grant something, revoke \
             the accord and make another one",
        );
    }
    Ok(grants)
}

/// The refusal of a command for one peer: an accord that was revoked and an invitation that has expired are still listed.
async fn revoked(client: &Client, name: &OwnerName, error: Error) -> Failure {
    if !matches!(&error, Error::Refused(refused) if refused.status == 404) {
        return error.into();
    }
    let peers = client.peers().await;
    let listed = peers.ok().and_then(|reply| reply.value.peers.into_iter().find(|peer| peer.peer == *name));
    let Some(peer) = listed else { return error.into() };
    let (what, another) = match peer.standing.as_str() {
        "revoked" => (format!("the accord with {name} was revoked at {}", utc(peer.since)), true),
        "expired" => (format!("the invitation of {name} has expired"), true),
        "invited" => (format!("the operator of {name} has not accepted the invitation yet"), false),
        _ => return error.into(),
    };
    if another {
        let network = clean(&peer.network).into_owned();
        return Failure::local_with(
            what,
            format!("make another one with `plenary peer invite {name} {network}`"),
        );
    }
    Failure::local_with(
        what,
        "ask its operator to accept it, with the code that `plenary peer invite` printed",
    )
}

fn row(peer: &Peer) -> [String; 7] {
    let mut standing = match (peer.revoked_by.as_deref(), peer.told) {
        (Some("peer"), _) => "revoked by it".to_owned(),
        (Some(_), Some(false)) => "revoked, not confirmed yet".to_owned(),
        _ => peer.standing.clone(),
    };
    if let Some(since) = peer.no_news_since {
        let why = peer.no_news_because.as_deref().unwrap_or_default();
        standing = format!("{standing}; no news since {}: {}", utc(since), clean(why));
    }
    if peer.diverged_sessions > 0 {
        standing = format!("{standing}; sessions that differ after a restore: {}", peer.diverged_sessions);
    }
    if peer.sessions_behind > 0 {
        standing = format!("{standing}; sessions that are behind here: {}", peer.sessions_behind);
    }
    let grants = peer.grants.iter().map(|(name, owners)| format!("{name}={}", owners.join(",")));
    [
        peer.peer.to_string(),
        clean(&peer.network).into_owned(),
        standing,
        utc(peer.since),
        grants.collect::<Vec<_>>().join(" "),
        peer.granted.join(" "),
        peer.stored.as_ref().map(usage_line).unwrap_or_default(),
    ]
}
