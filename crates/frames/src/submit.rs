//! From a valid body to subscriptions: identity, rate, trust, the numbers, the count (section 7.1 of the memo).
//! Must not know: HTTP, or the form of a refusal.

use std::sync::Arc;

use plenary_accounts::Principal;
use plenary_kernel::{AgentHandle, SovereignHandle};
use plenary_log::{
    Fault,
    signals::{ANSWERS_WAIT, Answers, Publication, PublishError, SIGNAL_BYTES_MAX},
};

use crate::{
    decide::{self, Agents, Audience, Target},
    filter::Traits,
    frames::{Frames, TOPIC, counter},
    limits::PRINCIPALS_MAX,
    malformed::FrameFault,
    refusals::FrameRefusal,
    rejection::Rejection,
    scope::{Scope, Sessions},
    session::{Session, SessionNames},
    signal::{Envelope, FrameSignal},
    submission::Submission,
    wire::{Roster, Submitted},
};

/// The submitter's description of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submitter<'a> {
    pub(crate) named: SessionNames<'a>,
    /// Whether that session also receives the frame, if the scope includes it.
    pub(crate) echo: bool,
}

impl Frames {
    /// Sends a frame to every session that its scope includes.
    pub(crate) async fn submit(
        &self,
        principal: &Principal,
        submitter: Submitter<'_>,
        submission: Submission,
    ) -> Result<Submitted, FrameRefusal> {
        let Submission { frame, scope } = submission;
        decide::check_created_at(&frame, self.0.clock.now(), self.0.config.max_skew)?;
        let sender = decide::identity(&frame, &principal.who)?;
        let session = self.session(sender.clone(), &submitter.named)?;
        self.admit(&sender).map_err(|retry_after| Rejection::RateLimited { retry_after })?;
        if matches!(scope, Scope::Accord(..)) && self.0.accords.get().is_none() {
            return Err(Rejection::ScopeUnimplemented.into());
        }
        let target = decide::target(&frame, &scope)?;
        let org = match &target {
            Target::Peer(peer, grant) => return self.submit_across(&session, frame, (peer, grant)).await,
            Target::Members(org, _) => Some(org.clone()),
            Target::Own(_) | Target::Other(..) => None,
        };
        let to = self.audiences(&sender, &frame.sender, &frame.recipient, target).await?;
        if to.len() > PRINCIPALS_MAX || self.is_too_broad(&to) {
            return Err(Rejection::ScopeTooBroad.into());
        }
        // A submitter that names no session can't be excluded.
        let leaves_out = !submitter.echo && submitter.named.session_id.is_some();
        let others = to.iter().map(|(handle, _)| handle).filter(|other| **other != frame.recipient);
        let mut counters: Vec<_> = std::iter::once(&frame.recipient).chain(others).map(counter).collect();
        if frame.sender != frame.recipient && to.iter().all(|(handle, _)| *handle != frame.sender) {
            counters.push(counter(&frame.sender));
        }
        let signal = FrameSignal::Frame(Box::new(Envelope {
            traits: Traits { kind: frame.kind, sender: frame.sender, tool: session.tool, org },
            to,
            except: leaves_out.then_some((session.instrument, session.id)),
            forget_at_ms: frame.forget_at_ms,
            submitter: Some(session.agent),
            line: frame.line,
        }));
        let answers = self.ask(counters, &signal).await?;
        let (count, numbers) = (emitted(&answers), answers.numbers);
        let count = if self.0.config.coarse_counts { decide::coarse(count) } else { count };
        let event_id = numbers.first().map(ToString::to_string).unwrap_or_default();
        Ok(Submitted { frame_id: frame.id, event_id, delivered_count: count, recipient_count: count })
    }

    /// Whether a frame would reach more sessions here than the limit (FO-79).
    fn is_too_broad(&self, to: &[(SovereignHandle, Audience)]) -> bool {
        let most = self.0.config.expansion_max;
        let subscribed: usize = to.iter().map(|(handle, _)| self.subscriptions(handle)).sum();
        // The audience is evaluated only if all subscriptions together exceed the limit.
        subscribed > most
            && to.iter().map(|(handle, audience)| self.subscribed(handle, audience)).sum::<usize>() > most
    }

    /// The session that an agent names, with a generated id if it names none.
    pub(crate) fn session(
        &self,
        agent: AgentHandle,
        named: &SessionNames<'_>,
    ) -> Result<Session, FrameFault> {
        let fresh = match named.session_id {
            Some(_) => String::new(),
            None => self.0.clock.stamp().ulid(0).to_string().to_ascii_lowercase(),
        };
        Session::named(agent, named, &fresh)
    }

    /// The audience of the frame, by principal, under the current trust.
    async fn audiences(
        &self,
        sender: &AgentHandle,
        principal: &SovereignHandle,
        recipient: &SovereignHandle,
        target: Target,
    ) -> Result<Vec<(SovereignHandle, Audience)>, FrameRefusal> {
        let accounts = self.accounts();
        match &target {
            Target::Own(_) | Target::Peer(..) => {}
            // A change of trust at another process applies to the very next frame.
            Target::Other(..) | Target::Members(..) => accounts.observe_others().await?,
        }
        match target {
            // No recipient in this network.
            Target::Peer(..) => Ok(Vec::new()),
            Target::Own(sessions) => {
                Ok(vec![(recipient.clone(), Audience { sessions, agents: Agents::Every })])
            }
            Target::Other(owner, sessions) => {
                let reachable = accounts.reachable(sender, &owner).await?;
                Ok(vec![(recipient.clone(), decide::reached(sessions, reachable)?)])
            }
            Target::Members(org, role) => {
                let org = accounts.organisation(&org).await?;
                let mut to = Vec::new();
                for member in decide::members(&org.state, principal, role.as_ref())? {
                    let agents = if member == *principal {
                        Agents::Every
                    } else {
                        let reachable = accounts.reachable(sender, &decide::owner_of(&member)).await?;
                        if reachable.is_empty() {
                            continue;
                        }
                        Agents::Only(reachable)
                    };
                    to.push((member, Audience { sessions: Sessions::All, agents }));
                }
                Ok(to)
            }
        }
    }

    /// The subscriptions to a handle's stream, at all processes.
    pub(crate) async fn roster(&self, handle: SovereignHandle) -> Result<Roster, FrameRefusal> {
        let Answers { answers, .. } = self.ask(Vec::new(), &FrameSignal::Roster(handle.clone())).await?;
        let roster = Self::entries(&handle, &answers);
        Ok(Roster { handle, roster })
    }

    /// Sends a signal to every process, and collects the answers.
    pub(crate) async fn ask(
        &self,
        counters: Vec<Arc<str>>,
        signal: &FrameSignal,
    ) -> Result<Answers, FrameRefusal> {
        let body = signal.write();
        if body.len() > SIGNAL_BYTES_MAX {
            return Err(Rejection::ScopeTooBroad.into());
        }
        let time = if counters.is_empty() { self.0.clock.now() } else { self.0.numbers.next_time().await };
        let publication = Publication { topic: TOPIC, counters, at: time, body };
        self.0.signals.ask(publication, ANSWERS_WAIT).await.map_err(|error| match error {
            PublishError::Fault(fault) => fault.into(),
            PublishError::BodyTooLarge(_) | PublishError::TooManyCounters(_) => {
                Rejection::ScopeTooBroad.into()
            }
            PublishError::BadCounter(counter) => Fault::Corrupt(format!("{counter} is no counter")).into(),
        })
    }
}

/// The number of subscriptions that received a frame, at all processes of this network.
pub(crate) fn emitted(answers: &Answers) -> u64 {
    let answers = answers.answers.iter();
    answers.filter_map(|answer| std::str::from_utf8(answer).ok()?.parse::<u64>().ok()).sum()
}
