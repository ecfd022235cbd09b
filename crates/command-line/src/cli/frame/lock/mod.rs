//! `plenary frame lock`, `unlock` and `extend`: advisory claims. They inform others and block nobody, and the server
//! keeps no table of them.
//! Must not know: how a command is run.

mod claim;
mod command;
mod first_claim;
mod resource;

use std::time::Duration;

use clap::Args;
use plenary_client::frames::{LeaseExtend, Leases, LockRelease, Payload, Uuid, now};

use super::{
    compose::{FrameArgs, answer_with, note_no_listener, reach, report, whole_ms},
    recent::recent_before_sending,
    seat::Speaker,
};
use crate::{
    cli::{context::Context, failure::Failure},
    duration::parse_duration,
    out::clean,
};
use claim::Claim;

/// Maximum lease (FO-26): one hour.
const LEASE_MAX: Duration = Duration::from_secs(3_600);
/// The lease of a claim without a command.
const LONE_LEASE: Duration = Duration::from_secs(300);
/// The lease of a claim that is extended while its command runs: after a crash the claim expires this soon.
const KEPT_LEASE: Duration = Duration::from_secs(60);

const LOCK_HELP: &str = "\
With a command: claims the resource, warns of earlier claims, runs the command, extends the claim while \
it runs, and releases it when the command ends, also after Ctrl-C. The exit code is the command's: 128 plus the number \
of the signal that ended it, or 126 or 127 if it could not be run. PLENARY_LEASE gives the command the lease's id.
Without a command: claims the resource and prints the lease's id for `plenary frame unlock` and `extend`.
A claim is advisory: it informs others and blocks nobody. The server keeps no table of claims.";

#[derive(Debug, Args)]
#[command(after_help = LOCK_HELP)]
pub(crate) struct Lock {
    /// Resource to claim: a path, or any agreed name. Paths on this machine are made absolute
    resource: String,
    /// Reason for the claim
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// Duration of the claim unless it is extended, at most 1h [default: 5m; with a command 1m]
    #[arg(long = "for", value_name = "TIME", value_parser = lease)]
    lease: Option<Duration>,
    /// If others hold an earlier claim, wait this long for them [default: warn and continue]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// Use the resource name as written, even if it is a path
    #[arg(long)]
    verbatim: bool,
    #[command(flatten)]
    frame: FrameArgs,
    /// The command to run
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Unlock {
    /// The lease's id, or the claimed resource: releases every claim of the agent on it
    lease: String,
    #[command(flatten)]
    frame: FrameArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Extend {
    /// The lease's id, or the claimed resource: extends every claim of the agent on it
    lease: String,
    /// Duration to add, at most 1h
    #[arg(long = "by", value_name = "TIME", value_parser = lease, default_value = "5m")]
    by: Duration,
    #[command(flatten)]
    frame: FrameArgs,
}

fn lease(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text)?;
    if span.is_zero() || span > LEASE_MAX {
        return Err("a lease lasts from 1ms to 1h".into());
    }
    Ok(span)
}

pub(super) async fn lock(context: &Context, args: Lock) -> Result<(), Failure> {
    let with_command = !args.command.is_empty();
    let resource =
        if args.verbatim { args.resource.clone() } else { resource::named(context, &args.resource) };
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    let claim = Claim {
        context,
        speaker,
        frame: args.frame,
        resource,
        lease_id: Uuid::random(),
        lease: args.lease.unwrap_or(if with_command { KEPT_LEASE } else { LONE_LEASE }),
        intent: args.intent,
    };
    if with_command {
        return command::run(&claim, args.wait, &args.command).await;
    }
    let announced = first_claim::claim(&claim, args.wait).await?;
    if context.out.is_json() {
        context.out.line(&answer_with(&announced.reply, "lease_id", &claim.lease_id))?;
    } else {
        context.out.line(claim.lease_id.as_str())?;
        context.out.note(&format!("claimed {}; {}", claim.resource, reach(announced.others())));
        note_no_listener(context, announced.others());
    }
    Ok(())
}

pub(super) async fn unlock(context: &Context, args: Unlock) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    for (lease_id, resource) in known(context, &speaker, &args.frame, &args.lease).await? {
        let released =
            format!("released {} (lease {lease_id})", clean(resource.as_deref().unwrap_or(&args.lease)));
        let payload = Payload::LockRelease(LockRelease { lease_id, resource });
        report(context, &args.frame.send(context, &speaker, &payload).await?)?;
        context.out.note(&released);
    }
    Ok(())
}

pub(super) async fn extend(context: &Context, args: Extend) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    for (lease_id, _) in known(context, &speaker, &args.frame, &args.lease).await? {
        let payload = Payload::LeaseExtend(LeaseExtend { lease_id, ttl_ms: whole_ms(args.by) });
        report(context, &args.frame.send(context, &speaker, &payload).await?)?;
    }
    Ok(())
}

/// The lease with this id, or all of this agent's claims of a resource that the server still holds: at least one.
async fn known(
    context: &Context,
    speaker: &Speaker,
    frame: &FrameArgs,
    named: &str,
) -> Result<Vec<(Uuid, Option<String>)>, Failure> {
    if let Ok(lease_id) = named.parse() {
        return Ok(vec![(lease_id, None)]);
    }
    let mut leases = Leases::default();
    for received in recent_before_sending(speaker).await? {
        leases.take(&received);
    }
    let resource = resource::named(context, named);
    let drafted_with = frame.drafted_with(context, speaker);
    let of_agent = leases.active(now()).into_iter().filter(|lease| {
        lease.holder == speaker.handle
            && lease.drafted_with == drafted_with
            && (lease.resource == resource || lease.resource == named)
    });
    let own: Vec<_> = of_agent.map(|lease| (lease.lease_id.clone(), Some(lease.resource.clone()))).collect();
    if own.is_empty() {
        return Err(Failure::usage(
            format!("no claim of {} on {resource} is known", speaker.agent),
            "list the claims with `plenary frame locks`, or name the lease by its id",
        ));
    }
    Ok(own)
}
