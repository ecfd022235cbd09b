//! Frames under an accord (section 6 of the memo, `accord:`): to and from networks of other operators. A
//! foreign sender is called `@OWNER-at-PEER.NAME` here, and reaches agents whose allowlists contain that
//! name.
//! Must not know: how networks are linked, or what was granted.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, OwnerName, SovereignHandle, json};
use plenary_log::Fault;
use plenary_room::async_trait;
use serde_json::Value;

use crate::{
    decide::{self, Agents, Audience},
    filter::Traits,
    frame::Frame,
    frames::{Frames, counter},
    refusals::FrameRefusal,
    rejection::Rejection,
    scope::Sessions,
    session::{Session, ToolClass},
    signal::{Envelope, FrameSignal},
    submit::emitted,
    wire::Submitted,
};

/// A frame to another network.
#[derive(Debug, Clone, Copy)]
pub struct LeavingFrame<'a> {
    /// The peer, by its name here.
    pub peer: &'a OwnerName,
    /// The peer's grant that covers it.
    pub grant: &'a str,
    /// The submitting agent.
    pub sender: &'a AgentHandle,
    /// The class of tools of its session.
    pub tool: &'a str,
    /// The frame's JSON, on one line.
    pub line: &'a Bytes,
}

/// Why a frame was not sent.
#[derive(Debug)]
pub enum SendError {
    /// There is no such accord or grant for the sender, or no agent there admits it.
    Unauthorised,
    /// The peer, or this server on its behalf, accepts no more frames now.
    TooMany {
        /// The pause before the next attempt.
        retry_after: Duration,
    },
    /// The peer can't be reached, or did not accept the frame.
    Unreachable,
    /// The store failed.
    Fault(Fault),
}

/// Sends frames to networks of other operators.
#[async_trait]
pub trait AccordCarrier: Send + Sync {
    /// Sends a frame to a peer, at most once.
    async fn carry(&self, frame: LeavingFrame<'_>) -> Result<u64, SendError>;
}

/// A frame from a peer.
#[derive(Debug, Clone, Copy)]
pub struct ArrivingFrame<'a> {
    /// The peer, by its name here.
    pub peer: &'a OwnerName,
    /// The submitting agent, by its name there.
    pub agent: &'a AgentHandle,
    /// The class of tools of its session.
    pub tool: &'a str,
    /// Its JSON.
    pub text: &'a Bytes,
}

/// Why a frame of a peer is not delivered.
#[derive(Debug)]
pub enum ReceiveError {
    /// It violates the memo, or its sender is not its own principal.
    Malformed,
    /// No agent admits the sender.
    Unauthorised,
    /// The store failed, or a process of this network could not be reached.
    Failed,
}

impl From<SendError> for FrameRefusal {
    fn from(not_carried: SendError) -> Self {
        match not_carried {
            SendError::Unauthorised => Rejection::ScopeUnauthorised.into(),
            SendError::TooMany { retry_after } => Rejection::RateLimited { retry_after }.into(),
            SendError::Unreachable => Rejection::PeerUnreachable.into(),
            SendError::Fault(fault) => fault.into(),
        }
    }
}

impl Frames {
    /// Sets the carrier to other networks. Only the first call counts; until then accord scopes are not
    /// implemented.
    pub fn set_accords(&self, accords: Arc<dyn AccordCarrier>) {
        let _first = self.0.accords.set(accords);
    }

    /// Sends a frame to a peer, and numbers it like every other frame to a handle here.
    pub(crate) async fn submit_across(
        &self,
        session: &Session,
        frame: Frame,
        (peer, grant): (&OwnerName, &str),
    ) -> Result<Submitted, FrameRefusal> {
        let accords = self.0.accords.get().ok_or(Rejection::ScopeUnimplemented)?;
        let (sender, tool) = (&session.agent, session.tool.as_str());
        let leaving = LeavingFrame { peer, grant, sender, tool, line: &frame.line };
        let count = accords.carry(leaving).await?;
        let count = if self.0.config.coarse_counts { decide::coarse(count) } else { count };
        let mut counters = vec![counter(&frame.recipient)];
        if frame.sender != frame.recipient {
            counters.push(counter(&frame.sender));
        }
        // The number of the recipient's handle rises, but no session here receives the frame; the
        // sender's owner sees it.
        let signal = FrameSignal::Frame(Box::new(Envelope {
            traits: Traits { kind: frame.kind, sender: frame.sender, tool: session.tool.clone(), org: None },
            to: Vec::new(),
            except: None,
            forget_at_ms: frame.forget_at_ms,
            submitter: Some(session.agent.clone()),
            line: frame.line,
        }));
        let numbers = self.ask(counters, &signal).await?.numbers;
        let event_id = numbers.first().map(ToString::to_string).unwrap_or_default();
        Ok(Submitted { frame_id: frame.id, event_id, delivered_count: count, recipient_count: count })
    }

    /// Delivers a frame of a peer to sessions of these owners, whose agents admit its sender; returns
    /// their number.
    ///
    /// # Errors
    /// [`ReceiveError`]; some sessions may have received it if not all processes could be reached.
    pub fn receive<'a>(
        &'a self,
        arriving: &'a ArrivingFrame<'a>,
        owners: &'a BTreeSet<OwnerName>,
    ) -> Sealed<'a, Result<u64, ReceiveError>> {
        seal(async move {
            let frame = checked(arriving).ok_or(ReceiveError::Malformed)?;
            let now = self.0.clock.now();
            decide::check_created_at(&frame, now, self.0.config.max_skew)
                .map_err(|_| ReceiveError::Malformed)?;
            let sender = elsewhere(arriving.agent, arriving.peer).ok_or(ReceiveError::Malformed)?;
            let tool: ToolClass = arriving.tool.parse().map_err(|_| ReceiveError::Malformed)?;
            self.accounts().observe_others().await.map_err(|_| ReceiveError::Failed)?;
            // An owner of this network may have the name from before names with `-at-` were refused: no
            // foreign sender may use it.
            let namesake =
                self.accounts().owner(&sender.owner_name()).await.map_err(|_| ReceiveError::Failed)?;
            if namesake.state.exists() {
                return Err(ReceiveError::Unauthorised);
            }
            let (mut count, mut is_admitted) = (0, false);
            for owner in owners {
                let listing =
                    self.accounts().listing(&sender, owner).await.map_err(|_| ReceiveError::Failed)?;
                if listing.is_empty() {
                    continue;
                }
                is_admitted = true;
                let recipient: SovereignHandle =
                    format!("~{owner}").parse().expect("an owner's name makes a handle");
                let frame = renamed(&frame, &sender, &recipient).ok_or(ReceiveError::Malformed)?;
                let audience = Audience { sessions: Sessions::All, agents: Agents::Only(listing) };
                let signal = FrameSignal::Frame(Box::new(Envelope {
                    traits: Traits { kind: frame.kind, sender: frame.sender, tool: tool.clone(), org: None },
                    to: vec![(recipient.clone(), audience)],
                    except: None,
                    forget_at_ms: frame.forget_at_ms,
                    submitter: Some(sender.clone()),
                    line: frame.line,
                }));
                let answers = self.ask(vec![counter(&recipient)], &signal).await;
                count += emitted(&answers.map_err(|_| ReceiveError::Failed)?);
            }
            if is_admitted { Ok(count) } else { Err(ReceiveError::Unauthorised) }
        })
    }
}

/// A valid frame of a peer, from its own principal.
fn checked(arriving: &ArrivingFrame<'_>) -> Option<Frame> {
    json::check(arriving.text).ok()?;
    let frame = Frame::read(arriving.text).ok()?;
    let is_own = frame.sender.owner() == arriving.agent.owner()
        && frame.principals.iter().all(|(_, principal)| *principal == frame.sender);
    is_own.then_some(frame)
}

/// The local name of a peer's agent; `None` if its own network already names it as another network's.
fn elsewhere(agent: &AgentHandle, peer: &OwnerName) -> Option<AgentHandle> {
    let owner = Some(agent.owner_name()).filter(|owner| !owner.is_elsewhere())?;
    let owner = OwnerName::elsewhere(&owner, peer)?;
    format!("@{owner}.{}", agent.name()).parse().ok()
}

/// The frame with the names of this network.
fn renamed(frame: &Frame, sender: &AgentHandle, recipient: &SovereignHandle) -> Option<Frame> {
    let mut value: Value = serde_json::from_slice(&frame.line).ok()?;
    let own = format!("~{}", sender.owner());
    for (field, _) in &frame.principals {
        *value.pointer_mut(&format!("/{}", field.replace('.', "/")))? = own.clone().into();
    }
    value["sender_handle"] = own.into();
    value["recipient_handle"] = recipient.as_str().into();
    Frame::read(&Bytes::from(value.to_string())).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(principal: &str) -> Bytes {
        let frame = json!({
            "envelope_version": "1.0", "frame_id": "0b9ff1b3-1f2a-4c53-8a54-6b7d1a3c2e4f", "kind": "agent_advisory",
            "sender_handle": "~nick", "recipient_handle": "~rose", "created_at": "2026-01-01T00:00:00Z",
            "payload": {"advisory_text": "across"}, "acted_by": principal, "drafted_with": "~cc",
            "provenance_compute_location": "local-only", "provenance_method": ["test"],
            "provenance_context_check": "skipped", "provenance_basis": "test",
        });
        Bytes::from(frame.to_string())
    }

    fn arriving<'a>(peer: &'a OwnerName, agent: &'a AgentHandle, text: &'a Bytes) -> ArrivingFrame<'a> {
        ArrivingFrame { peer, agent, tool: "cc", text }
    }

    #[test]
    fn fo_50_a_frame_from_elsewhere_has_the_names_of_this_network() {
        let (peer, agent) = ("acme".parse().unwrap(), "@nick.cc".parse().unwrap());
        let text = frame("~nick");
        let sent = checked(&arriving(&peer, &agent, &text)).unwrap();
        let sender = elsewhere(&agent, &peer).unwrap();
        assert_eq!(sender.as_str(), "@nick-at-acme.cc");
        let here = renamed(&sent, &sender, &"~ida".parse().unwrap()).unwrap();
        assert_eq!((here.sender.as_str(), here.recipient.as_str()), ("~nick-at-acme", "~ida"));
        assert!(here.principals.iter().all(|(_, principal)| *principal == here.sender));
        let value: Value = serde_json::from_slice(&here.line).unwrap();
        assert_eq!(
            (&value["payload"], &value["drafted_with"]),
            (&json!({"advisory_text": "across"}), &json!("~cc"))
        );
    }

    #[test]
    fn fo_51_a_frame_that_is_not_its_senders_own_does_not_come_in() {
        let peer = "acme".parse().unwrap();
        let read =
            |agent: &str, text: &Bytes| checked(&arriving(&peer, &agent.parse().unwrap(), text)).is_some();
        assert!(read("@nick.cc", &frame("~nick")));
        assert!(!read("@other.cc", &frame("~nick")));
        assert!(!read("@nick.cc", &frame("~other")));
        assert!(!read("@nick.cc", &Bytes::from_static(b"{\"a\":1,\"a\":2}")));
        let long: AgentHandle = format!("@{}.cc", "x".repeat(62)).parse().unwrap();
        assert!(
            elsewhere(&long, &peer).is_some_and(|here| here.as_str().starts_with("@long-")),
            "a stand-in"
        );
        assert_eq!(
            elsewhere(&"@nick-at-rose.cc".parse().unwrap(), &peer),
            None,
            "it is for rose to speak for it"
        );
    }
}
