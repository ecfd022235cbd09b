//! The requests and responses of the console. Pure.
//! Must not know: HTTP, or permissions.

use plenary_accounts::{
    AgentKind, ConsoleRole, KnownPasskey, OpenSession,
    limits::{DISPLAY_NAME_CHARS_MAX, PASSKEY_NAME_CHARS_MAX},
    wire::ReachedBy,
};
use plenary_kernel::{AgentHandle, OwnerName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::event::WriteMade;

/// `POST /console/links`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct NewLink {
    /// The owner whose console opens; when absent, the owner of the token, or all owners for the operator's token.
    #[serde(default)]
    pub(crate) owner: Option<OwnerName>,
    /// The role of the session: when absent `owner`, or `operator` for the operator's token without `owner`; `viewer`
    /// only reads.
    #[serde(default)]
    pub(crate) role: Option<ConsoleRole>,
    /// The person that signs in; the owner's default person when absent.
    #[serde(default)]
    pub(crate) person: Option<AgentHandle>,
}

/// A new link, shown only once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LinkMade {
    /// The URL at which a browser signs in once.
    pub(crate) url: String,
    /// Its validity in seconds.
    pub(crate) expires_in: u64,
    /// The role of its session.
    pub(crate) role: ConsoleRole,
}

/// `POST /console/sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewConsoleSession")]
pub(crate) struct NewSession {
    /// The part after `#link=` in the URL of the link.
    #[serde(default)]
    pub(crate) link: Option<String>,
    /// Instead of a link: the response of a passkey.
    #[serde(default)]
    pub(crate) passkey: Option<PasskeyAnswer>,
}

/// A challenge for a passkey.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChallengeMade {
    /// The challenge, in base64url.
    pub(crate) challenge: String,
    /// The host of the passkeys: `rpId` of the browser's interface.
    pub(crate) rp_id: String,
    /// Its validity in seconds.
    pub(crate) expires_in: u64,
}

/// `POST /console/passkeys`: the result of `navigator.credentials.create`, in base64url.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PasskeyMade {
    /// The name that people see, one line of 1 to 60 characters.
    #[schemars(length(min = 1, max = PASSKEY_NAME_CHARS_MAX))]
    pub(crate) name: String,
    /// `response.clientDataJSON`.
    pub(crate) client_data: String,
    /// `response.getAuthenticatorData()`.
    pub(crate) authenticator_data: String,
}

/// The result of `navigator.credentials.get`, in base64url.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PasskeyAnswer {
    /// `rawId`.
    pub(crate) credential_id: String,
    /// `response.clientDataJSON`.
    pub(crate) client_data: String,
    /// `response.authenticatorData`.
    pub(crate) authenticator_data: String,
    /// `response.signature`.
    pub(crate) signature: String,
}

/// A passkey.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Passkey")]
pub(crate) struct PasskeyView {
    /// Its id.
    pub(crate) passkey_id: String,
    /// The credential id that the authenticator assigned, in base64url.
    pub(crate) credential_id: String,
    /// The name that people see.
    pub(crate) name: String,
    /// The role of its sessions.
    pub(crate) role: ConsoleRole,
    /// The person that signs in with it; null for the operator.
    pub(crate) person: Option<AgentHandle>,
    /// When it was added, in ms since the epoch.
    pub(crate) created_at: u64,
    /// When it was last used to sign in.
    pub(crate) last_used_at: Option<u64>,
    /// Whether it may be used: the token behind the session that added it is still valid.
    pub(crate) usable: bool,
}

impl From<KnownPasskey> for PasskeyView {
    fn from(known: KnownPasskey) -> Self {
        let KnownPasskey { id, passkey, is_usable, .. } = known;
        Self {
            passkey_id: id,
            credential_id: passkey.credential,
            name: passkey.name,
            role: passkey.rights.role,
            person: passkey.rights.person,
            created_at: passkey.created_at.0,
            last_used_at: passkey.last_used_at.map(|at| at.0),
            usable: is_usable,
        }
    }
}

/// The passkeys, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Passkeys")]
pub(crate) struct PasskeyList {
    /// The passkeys.
    pub(crate) passkeys: Vec<PasskeyView>,
    /// Whether passkeys can be used: the public URL has a host name, over TLS or at `localhost`.
    pub(crate) available: bool,
}

/// An issuer at which people can sign in.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignInIssuer")]
pub(crate) struct IssuerView {
    /// Its name, as in `/console/sign-in/{issuer}`.
    pub(crate) name: String,
    /// The name that people see.
    pub(crate) title: String,
}

/// The issuers at which people can sign in, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignInIssuers")]
pub(crate) struct IssuerList {
    /// The issuers.
    pub(crate) issuers: Vec<IssuerView>,
}

/// The session of the cookie.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OwnSession {
    /// Its id.
    pub(crate) session_id: String,
    /// Its role.
    pub(crate) role: ConsoleRole,
    /// The owner of the console; null for the operator.
    pub(crate) owner: Option<OwnerName>,
    /// The person who is signed in; null if none is named.
    pub(crate) person: Option<AgentHandle>,
    /// The value that each write sends as `X-Plenary-CSRF`.
    pub(crate) csrf: String,
    /// When it ends at the latest, in ms since the epoch.
    pub(crate) expires_at: u64,
}

impl OwnSession {
    pub(crate) fn new(open: OpenSession, csrf: String) -> Self {
        Self {
            role: open.session.rights.role,
            owner: open.keyring.owner().cloned(),
            person: open.session.rights.person,
            expires_at: open.session.until.0,
            session_id: open.id,
            csrf,
        }
    }
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    /// Its id.
    pub(crate) session_id: String,
    /// Its role.
    pub(crate) role: ConsoleRole,
    /// The person that is signed in.
    pub(crate) person: Option<AgentHandle>,
    /// When it began, in ms since the epoch.
    pub(crate) created_at: u64,
    /// When it was last used, to within an hour.
    pub(crate) last_used_at: u64,
    /// When it ends at the latest.
    pub(crate) expires_at: u64,
    /// The address from which it began.
    pub(crate) address: Option<String>,
    /// The user agent with which it began.
    pub(crate) user_agent: Option<String>,
    /// The issuer at which the person signed in, by its name in the configuration; null if it began otherwise.
    pub(crate) issuer: Option<String>,
    /// The person's name at the issuer: an address, a name or a subject.
    pub(crate) issuer_subject: Option<String>,
    /// Whether it is the session of this request.
    pub(crate) current: bool,
}

impl SessionView {
    pub(crate) fn new(open: OpenSession, current: Option<&str>) -> Self {
        Self {
            current: current == Some(open.id.as_str()),
            session_id: open.id,
            role: open.session.rights.role,
            person: open.session.rights.person,
            created_at: open.session.created_at.0,
            last_used_at: open.session.last_used_at.0,
            expires_at: open.session.until.0,
            address: open.session.client.address,
            user_agent: open.session.client.user_agent,
            issuer: open.session.identity.as_ref().map(|identity| identity.issuer.clone()),
            issuer_subject: open.session.identity.map(|identity| identity.shown),
        }
    }
}

/// The open sessions, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSessions")]
pub(crate) struct SessionList {
    /// The sessions.
    pub(crate) sessions: Vec<SessionView>,
}

/// `POST /_admin/people`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NewPerson {
    /// The handle, `@owner.name`.
    pub(crate) handle: AgentHandle,
    /// The person's name, one line of 1 to 100 characters.
    #[schemars(length(min = 1, max = DISPLAY_NAME_CHARS_MAX))]
    #[serde(default)]
    pub(crate) display_name: Option<String>,
}

/// An entry of the audit: a person's write in the name of an agent, decision on a request, or change of agents or tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditEntry {
    /// When, in ms since the epoch.
    pub(crate) at: u64,
    /// The person, `@owner.name`; or `operator` or `~owner` if no person was signed in.
    pub(crate) person: String,
    /// The console session; absent if the person used a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
    /// The agent in whose name the person wrote; absent if in the person's own.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentHandle>,
    /// The operation's id.
    pub(crate) operation: String,
    /// The path of the request.
    pub(crate) path: String,
    /// The status of the response; 0 while it is not known, and permanently if the server ended in between.
    pub(crate) status: u16,
}

impl From<WriteMade> for AuditEntry {
    fn from(write: WriteMade) -> Self {
        Self {
            at: write.at.0,
            person: write.person,
            session_id: write.session,
            agent: write.agent,
            operation: write.operation,
            path: write.path,
            status: write.status,
        }
    }
}

/// A page of entries, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditPage {
    /// The entries.
    pub(crate) entries: Vec<AuditEntry>,
    /// The `cursor` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// The state of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgentStanding {
    /// It has an active run, or its coding agent was active within the last minute.
    Working,
    /// One of its runs waits for an answer, or it waits for a person.
    Waiting,
    /// It is connected, or has a live coding session.
    Idle,
    /// It is not connected, and has no live coding session.
    Gone,
}

/// An agent in the overview.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentAtAGlance {
    /// The handle.
    pub(crate) handle: AgentHandle,
    /// Whether it is a program or a person.
    pub(crate) kind: AgentKind,
    /// Its display name.
    pub(crate) display_name: Option<String>,
    /// Its state.
    pub(crate) state: AgentStanding,
    /// Since when, in ms since the epoch, if it is known.
    pub(crate) since: Option<u64>,
    /// Inbox items that it has not seen.
    pub(crate) unread: u64,
    /// When the oldest of them was sent.
    pub(crate) oldest_unread_at: Option<u64>,
    /// The position in the log up to which its messages were delivered; 0 if none was.
    pub(crate) delivered_to: u64,
    /// The position up to which it has seen them.
    pub(crate) seen_to: u64,
    /// The position up to which it has acknowledged them.
    pub(crate) acknowledged_to: u64,
    /// Active sessions that it has joined.
    pub(crate) sessions_active: u64,
    /// Its active runs.
    pub(crate) runs_active: u64,
    /// Its runs that wait for an answer.
    pub(crate) runs_waiting: u64,
}

/// A live session of a coding agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CodingAtAGlance {
    /// The session's name in the coding agent.
    pub(crate) session: String,
    /// The coding agent's name.
    pub(crate) client: String,
    /// `working`, `waiting` for a person, or `idle`.
    pub(crate) state: AgentStanding,
    /// Whether the coding agent runs hooks. Without hooks it only has tools, and gets no notifications by itself.
    pub(crate) hooks: bool,
    /// When it was last active, in ms since the epoch.
    pub(crate) since: u64,
    /// `focus` or `dnd`, if it limits interruptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attention: Option<&'static str>,
    /// When this ends, in ms since the epoch, if an end was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attention_until: Option<u64>,
}

/// The caller or an agent that it can contact, with its activity.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhoIsThere {
    /// The handle.
    pub(crate) handle: AgentHandle,
    /// Whether it is a program or a person.
    pub(crate) kind: AgentKind,
    /// Why the caller can contact it; absent for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trust: Option<ReachedBy>,
    /// Its state.
    pub(crate) state: AgentStanding,
    /// Since when, in ms since the epoch, if it is known.
    pub(crate) since: Option<u64>,
    /// Inbox items that it has not seen; only for agents of the caller's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unread: Option<u64>,
    /// When the oldest of them was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_unread_at: Option<u64>,
    /// The live sessions of its coding agents, the most recently used first; only for agents of the caller's owner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sessions: Vec<CodingAtAGlance>,
    /// `focus` or `dnd`, if it limits interruptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attention: Option<&'static str>,
    /// When this ends, in ms since the epoch, if an end was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attention_until: Option<u64>,
}

/// `GET /who`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Who")]
pub(crate) struct WhoPage {
    /// On the first page first the caller; then the agents that it can contact, by handle.
    pub(crate) agents: Vec<WhoIsThere>,
    /// The `cursor` of the next page, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// The activity of today (UTC).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// Messages in sessions.
    pub(crate) messages_today: u64,
    /// Runs that were requested.
    pub(crate) runs_today: u64,
    /// Runs that ended with an error.
    pub(crate) runs_failed_today: u64,
    /// Whether the counts are incomplete.
    pub(crate) at_least: bool,
}

/// The requests that wait for a person.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WaitingForPeople")]
pub(crate) struct WaitingCount {
    /// Their number.
    pub(crate) count: u64,
    /// When the oldest was made, in ms since the epoch.
    pub(crate) oldest_at: Option<u64>,
}

/// `GET /overview`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// The agents and people, by handle.
    pub(crate) agents: Vec<AgentAtAGlance>,
    /// Whether there are more agents than are shown.
    pub(crate) more: bool,
    /// The activity of today (UTC).
    pub(crate) counts: Counts,
    /// The requests that wait for a person.
    pub(crate) waiting: WaitingCount,
}
