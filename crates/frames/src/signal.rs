//! The signals between processes on one store: a frame with its audience, or a question for
//! subscriptions.
//! Must not know: the transport of signals, or the connected sessions.

use bytes::{BufMut, Bytes, BytesMut};
use plenary_kernel::{AgentHandle, OwnerName, SovereignHandle};
use serde::{Deserialize, Serialize};

use crate::{
    catalogue::Kind,
    decide::{Agents, Audience},
    filter::Traits,
    scope::Sessions,
    session::{Instrument, SessionName, ToolClass},
};

/// The version of this form. A process ignores other versions.
const FORM: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrameSignal {
    /// A frame that was accepted.
    Frame(Box<Envelope>),
    /// A question for the subscriptions to this handle.
    Roster(SovereignHandle),
}

/// A frame on its way to subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The properties for filters.
    pub(crate) traits: Traits,
    /// Its audience, by principal.
    pub(crate) to: Vec<(SovereignHandle, Audience)>,
    /// The sender's own session, if it is excluded on request.
    pub(crate) except: Option<(Instrument, SessionName)>,
    /// When it must be forgotten, in milliseconds since the epoch.
    pub(crate) forget_at_ms: Option<i64>,
    /// The submitting agent; unknown if the sending process has an earlier version.
    pub(crate) submitter: Option<AgentHandle>,
    /// The frame's JSON, on one line.
    pub(crate) line: Bytes,
}

#[derive(Serialize, Deserialize)]
enum Head {
    #[serde(rename = "frame")]
    Frame {
        kind: String,
        sender: SovereignHandle,
        tool: ToolClass,
        org: Option<OwnerName>,
        to: Vec<SharedAudience>,
        except: Option<(Instrument, SessionName)>,
        forget_at_ms: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AgentHandle>,
    },
    #[serde(rename = "roster")]
    Roster { handle: SovereignHandle },
}

#[derive(Serialize, Deserialize)]
struct SharedAudience {
    owner: OwnerName,
    sessions: Sessions,
    /// Names of the owner's agents; absent means all.
    names: Option<Vec<String>>,
}

impl SharedAudience {
    fn of(handle: &SovereignHandle, audience: &Audience) -> Self {
        let names = match &audience.agents {
            Agents::Every => None,
            Agents::Only(agents) => Some(agents.iter().map(|agent| agent.name().to_owned()).collect()),
        };
        Self { owner: crate::decide::owner_of(handle), sessions: audience.sessions.clone(), names }
    }

    fn read(self) -> Option<(SovereignHandle, Audience)> {
        let Self { owner, sessions, names } = self;
        let agents = match names {
            None => Agents::Every,
            Some(names) => {
                let agent = |name: String| format!("@{owner}.{name}").parse().ok();
                Agents::Only(names.into_iter().map(agent).collect::<Option<_>>()?)
            }
        };
        Some((format!("~{owner}").parse().ok()?, Audience { sessions, agents }))
    }
}

impl FrameSignal {
    /// The bytes of a signal: the form, the length of the head, the head, the frame.
    pub(crate) fn write(&self) -> Bytes {
        let (head, line) = match self {
            Self::Roster(handle) => (Head::Roster { handle: handle.clone() }, Bytes::new()),
            Self::Frame(envelope) => {
                let Envelope { traits, to, except, forget_at_ms, submitter, line } = envelope.as_ref();
                let head = Head::Frame {
                    kind: traits.kind.def().name.to_owned(),
                    sender: traits.sender.clone(),
                    tool: traits.tool.clone(),
                    org: traits.org.clone(),
                    to: to.iter().map(|(handle, audience)| SharedAudience::of(handle, audience)).collect(),
                    except: except.clone(),
                    forget_at_ms: *forget_at_ms,
                    by: submitter.clone(),
                };
                (head, line.clone())
            }
        };
        let head = serde_json::to_vec(&head).expect("names and numbers can be written");
        let mut bytes = BytesMut::with_capacity(5 + head.len() + line.len());
        bytes.put_u8(FORM);
        bytes.put_u32(u32::try_from(head.len()).expect("a head is far smaller"));
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&line);
        bytes.freeze()
    }

    /// Parses a signal; `None` for another version.
    pub(crate) fn read(bytes: &Bytes) -> Option<Self> {
        let (form, rest) = bytes.split_first()?;
        let length = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
        let head = rest.get(4..4 + length).filter(|_| *form == FORM)?;
        match serde_json::from_slice(head).ok()? {
            Head::Roster { handle } => Some(Self::Roster(handle)),
            Head::Frame { kind, sender, tool, org, to, except, forget_at_ms, by: submitter } => {
                let traits = Traits { kind: Kind::named(&kind)?, sender, tool, org };
                let to = to.into_iter().map(SharedAudience::read).collect::<Option<_>>()?;
                // A copy, so that the list of recipients is not kept in memory as long as the frame.
                let line = Bytes::copy_from_slice(&bytes[5 + length..]);
                Some(Self::Frame(Box::new(Envelope { traits, to, except, forget_at_ms, submitter, line })))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(names: &[&str]) -> FrameSignal {
        let agents = names.iter().map(|name| format!("@bob.{name}").parse().unwrap()).collect();
        let only = Audience { sessions: Sessions::Prefix("cc-".into()), agents: Agents::Only(agents) };
        let every = Audience {
            sessions: Sessions::One("cc".parse().unwrap(), "s 1".parse().unwrap()),
            agents: Agents::Every,
        };
        FrameSignal::Frame(Box::new(Envelope {
            traits: Traits {
                kind: Kind::named("intent_declare").unwrap(),
                sender: "~nick".parse().unwrap(),
                tool: "cc".parse().unwrap(),
                org: Some("acme".parse().unwrap()),
            },
            to: vec![("~bob".parse().unwrap(), only), ("~nick".parse().unwrap(), every)],
            except: Some(("cc".parse().unwrap(), "s 1".parse().unwrap())),
            forget_at_ms: Some(-1),
            submitter: Some("@nick.cc".parse().unwrap()),
            line: Bytes::from_static(b"{\"a\": 1.0}"),
        }))
    }

    #[test]
    fn a_written_signal_is_read_and_its_form_is_frozen() {
        let signal = envelope(&["a", "b"]);
        let bytes = signal.write();
        assert_eq!(FrameSignal::read(&bytes), Some(signal));
        let head = r#"{"frame":{"kind":"intent_declare","sender":"~nick","tool":"cc","org":"acme","to":[{"owner":"bob","sessions":{"prefix":"cc-"},"names":["a","b"]},{"owner":"nick","sessions":{"one":["cc","s 1"]},"names":null}],"except":["cc","s 1"],"forget_at_ms":-1,"by":"@nick.cc"}}"#;
        assert_eq!(&bytes[5..bytes.len() - 10], head.as_bytes());
        assert_eq!(bytes[0], 1);
        assert_eq!(bytes[1..5], u32::try_from(head.len()).unwrap().to_be_bytes());
        let roster = FrameSignal::Roster("~nick".parse().unwrap());
        assert_eq!(&roster.write()[5..], br#"{"roster":{"handle":"~nick"}}"#);
        assert_eq!(FrameSignal::read(&roster.write()), Some(roster));
    }

    #[test]
    fn truncated_and_unknown_signals_are_ignored() {
        let bytes = envelope(&[]).write();
        for cut in 0..bytes.len() - 10 {
            assert_eq!(FrameSignal::read(&bytes.slice(..cut)), None, "{cut}");
        }
        let mut other = bytes.to_vec();
        other[0] = 2;
        assert_eq!(FrameSignal::read(&other.into()), None);
    }
}
