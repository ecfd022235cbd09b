//! The interface to links and sessions for the rest of the server: create, find by secret, list, end.
//! Must not know: the bodies of requests.

use std::{fmt, str::FromStr};

use plenary_engine::{Conditions, ExecuteError, Room as _, Sealed, seal};
use plenary_kernel::{AgentHandle, MalformedText, OwnerName, TimestampMs};
use plenary_log::{Condition, Fault};

use super::{
    ConsoleRole, ConsoleRoom, ConsoleSession, KeyringCommand,
    command::{ConsoleCommand, IssuerSignIn, KeyringFacts, MakeLink, SessionUse, SignIn, SignOut, SignedIn},
    cookie::{ConsoleCookie, keyring_of_cookie, keyring_of_link, link_of},
    state::{IssuerSubject, Rights, SessionClient},
};
use crate::{
    Accounts, Actor, AgentKind, Authority, Failure, Principal, Rejection, TokenDigest, TokenOwner,
    limits::{CONSOLE_IDLE_MS_MAX, CONSOLE_LINK_MS_MAX, CONSOLE_SESSION_MS_MAX},
};

/// The number of parts of the longest idle time of a session; one use is recorded in each part.
const USES_NOTED: u64 = 168;

/// The set of links and sessions of an owner or of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyring {
    /// The operator's.
    Operator,
    /// An owner's.
    Owner(OwnerName),
}

impl Keyring {
    /// The bearer that its sessions represent.
    pub fn who(&self) -> TokenOwner {
        match self {
            Self::Operator => TokenOwner::Operator,
            Self::Owner(owner) => TokenOwner::Owner(owner.clone()),
        }
    }
    /// The owner.
    pub fn owner(&self) -> Option<&OwnerName> {
        match self {
            Self::Operator => None,
            Self::Owner(owner) => Some(owner),
        }
    }
    /// Whether a session of it may speak as an agent.
    pub fn has(&self, agent: &AgentHandle) -> bool {
        self.owner().is_none_or(|owner| owner.as_str() == agent.owner())
    }
    fn of(actor: &Actor, of_operator: bool) -> Option<Self> {
        if of_operator { Some(Self::Operator) } else { actor.owner().map(Self::Owner) }
    }
}

impl fmt::Display for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Owner(owner) => write!(f, "~{owner}"),
        }
    }
}

impl FromStr for Keyring {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        match text.strip_prefix('~') {
            Some(owner) => Ok(Self::Owner(owner.parse()?)),
            None if text == "operator" => Ok(Self::Operator),
            None => Err(MalformedText { what: "keyring", expected: "~owner or operator" }),
        }
    }
}

/// An open session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// Its keyring.
    pub keyring: Keyring,
    /// Its id.
    pub id: String,
    /// Its data.
    pub session: ConsoleSession,
}

impl OpenSession {
    /// The bearer of its cookie.
    pub fn principal(&self, as_agent: Option<AgentHandle>) -> Principal {
        let who = as_agent.map_or_else(|| self.keyring.who(), TokenOwner::Agent);
        let cookie = self.session.cookie.bytes().copied().unwrap_or_default();
        Principal { who, token: TokenDigest::of_console(cookie, self.keyring == Keyring::Operator) }
    }
}

impl Accounts {
    /// Creates a link that opens one session, and returns its secret.
    ///
    /// # Errors
    /// `Revoked` if the token behind it is no longer valid; the fault of the store.
    pub fn make_console_link<'a>(
        &'a self,
        by: &'a Principal,
        keyring: &'a Keyring,
        role: ConsoleRole,
        person: Option<AgentHandle>,
    ) -> Sealed<'a, Result<String, Failure>> {
        seal(async move {
            let through = match by.token.console() {
                None => by.token,
                // A link from a session ends with the token behind the session.
                Some(_) => {
                    let session = self.session_of(by).await?.ok_or(Rejection::Revoked)?.session;
                    // The link would outlast the person's account at the issuer.
                    if session.identity.is_some() {
                        return Err(Rejection::SignedInAtIssuer.into());
                    }
                    session.rights.through
                }
            };
            let secret = link_of(keyring);
            let command = MakeLink {
                by: Actor::from(by.who.clone()),
                link: TokenDigest::of(&secret),
                rights: Rights { through, role, person },
                lasts_ms: CONSOLE_LINK_MS_MAX,
            };
            self.on_keyring(keyring, &command).await?;
            Ok(secret)
        })
    }

    /// The proof of the rule by which an actor signed in at an issuer; `None` if it did not. What it makes counts only while
    /// [`Accounts::is_issuer_proof`] is true of it, so that nothing of a person outlasts the person's admission.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn signed_in_through<'a>(
        &'a self,
        authority: &'a Authority,
    ) -> Sealed<'a, Result<Option<TokenDigest>, Fault>> {
        seal(async move {
            let session = self.session_behind(authority).await?;
            Ok(session.filter(|session| session.identity.is_some()).map(|session| session.rights.through))
        })
    }

    /// The session of the console in which an actor acts.
    async fn session_behind(&self, authority: &Authority) -> Result<Option<ConsoleSession>, Fault> {
        let console = authority.token.as_ref().and_then(TokenDigest::console);
        let Some((cookie, of_operator)) = console else { return Ok(None) };
        let Some(keyring) = Keyring::of(&authority.by, of_operator) else { return Ok(None) };
        let (state, _) = self.0.keyrings.state(&keyring.to_string()).await?;
        Ok(state.of_cookie(cookie).map(|(_, session)| session.clone()))
    }

    /// What an owner or the operator acts through: its token, also that with which its session of the console began, or the
    /// proof of the rule of an issuer. `None` for the server itself. What it makes may end with it, see
    /// [`Accounts::still_counts`].
    ///
    /// # Errors
    /// The fault of the store.
    pub fn acts_through<'a>(
        &'a self,
        authority: &'a Authority,
    ) -> Sealed<'a, Result<Option<TokenDigest>, Fault>> {
        seal(async move {
            let session = self.session_behind(authority).await?;
            let token = authority.token.filter(|token| token.bytes().is_some());
            Ok(session.map(|session| session.rights.through).or(token))
        })
    }

    /// Whether what somebody acted through, if known, still counts for an owner, and the person, if any, was not deleted.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn still_counts<'a>(
        &'a self,
        owner: &'a OwnerName,
        through: Option<&'a TokenDigest>,
        person: Option<&'a AgentHandle>,
    ) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            let is_valid = match through {
                Some(through) => self.is_through_valid(&Keyring::Owner(owner.clone()), through).await?,
                None => true,
            };
            Ok(is_valid && self.person_exists(person).await?)
        })
    }

    /// Uses a link. Returns the session and its cookie, which is not stored.
    ///
    /// # Errors
    /// `LinkInvalid`; the fault of the store.
    pub fn sign_in<'a>(
        &'a self,
        link: &'a str,
        client: SessionClient,
    ) -> Sealed<'a, Result<(OpenSession, ConsoleCookie), Failure>> {
        seal(async move {
            let keyring = keyring_of_link(link).ok_or(Rejection::LinkInvalid)?;
            let (state, _) = self.0.keyrings.fresh(&keyring.to_string()).await?;
            let person = state.link(&TokenDigest::of(link)).and_then(|link| link.rights.person.as_ref());
            if !self.person_exists(person).await? {
                return Err(Rejection::LinkInvalid.into());
            }
            let cookie = ConsoleCookie::random(&keyring);
            let command = SignIn {
                link: TokenDigest::of(link),
                cookie: TokenDigest::of(cookie.expose()),
                lasts_ms: CONSOLE_SESSION_MS_MAX,
                client,
            };
            Ok((self.open_by(&keyring, &command, Rejection::LinkInvalid).await?, cookie))
        })
    }

    /// Signs in a person with a verified token of an issuer and the rights that a matching rule gives; without a person in
    /// them, the owner's default person. Returns the session and its cookie, which is not stored.
    ///
    /// # Errors
    /// `NotFound` if the owner does not exist or has no such person; `Revoked` if the rule no longer exists;
    /// the fault of the store.
    pub fn sign_in_at_issuer<'a>(
        &'a self,
        keyring: &'a Keyring,
        identity: IssuerSubject,
        rights: Rights,
        client: SessionClient,
    ) -> Sealed<'a, Result<(OpenSession, ConsoleCookie), Failure>> {
        seal(async move {
            let person = match (rights.person, keyring.owner()) {
                (Some(handle), _) => {
                    let person_state = self.fresh_agent(&handle).await?.state;
                    let is_person = person_state.is_live()
                        && person_state.kind() == AgentKind::Person
                        && keyring.has(&handle);
                    Some(is_person.then_some(handle).ok_or(Rejection::NotFound)?)
                }
                (None, Some(owner)) => {
                    if !self.fresh_owner(owner).await?.state.exists() {
                        return Err(Rejection::NotFound.into());
                    }
                    self.default_person(owner).await?.map(|person| person.handle)
                }
                (None, None) => None,
            };
            let cookie = ConsoleCookie::random(keyring);
            let rights = Rights { person, ..rights };
            let command = IssuerSignIn { identity, rights, cookie: TokenDigest::of(cookie.expose()), client };
            Ok((self.open_by(keyring, &command, Rejection::NotFound).await?, cookie))
        })
    }

    /// Carries out a command on a keyring.
    pub(super) async fn on_keyring<C: ConsoleCommand>(
        &self,
        keyring: &Keyring,
        command: &C,
    ) -> Result<C::Reply, ExecuteError<Rejection>> {
        let command = KeyringCommand { accounts: self, command };
        Ok(self.0.keyrings.execute(&keyring.to_string(), &command, None).await?.reply)
    }

    /// The session that a command opens. `otherwise` is the refusal if it has ended since.
    pub(super) async fn open_by<C: ConsoleCommand<Reply = SignedIn>>(
        &self,
        keyring: &Keyring,
        command: &C,
        otherwise: Rejection,
    ) -> Result<OpenSession, Failure> {
        let id = self.on_keyring(keyring, command).await?.session;
        let (state, _) = self.0.keyrings.state(&keyring.to_string()).await?;
        let session = state.session(&id).cloned().ok_or(otherwise)?;
        Ok(OpenSession { keyring: keyring.clone(), id, session })
    }

    /// The open session of a cookie.
    pub fn console_session<'a>(&'a self, cookie: &'a str) -> Sealed<'a, Result<Option<OpenSession>, Fault>> {
        seal(async move {
            let Some(keyring) = keyring_of_cookie(cookie) else { return Ok(None) };
            let digest = TokenDigest::of(cookie);
            let Some(bytes) = digest.bytes() else { return Ok(None) };
            let open_session = self.open_session(keyring, bytes).await?;
            if let Some(open_session) = &open_session {
                self.note_use(open_session).await;
            }
            Ok(open_session)
        })
    }

    /// The open sessions of an owner or the operator, the oldest first.
    pub fn console_sessions<'a>(
        &'a self,
        keyring: &'a Keyring,
    ) -> Sealed<'a, Result<Vec<OpenSession>, Fault>> {
        seal(async move {
            let (state, _) = self.0.keyrings.fresh(&keyring.to_string()).await?;
            let (now, idle) = (self.clock().now(), CONSOLE_IDLE_MS_MAX);
            let mut open_sessions = Vec::new();
            for (id, session) in state.sessions().filter(|(_, session)| session.is_open(now, idle)) {
                if self.are_valid(keyring, &session.rights).await? {
                    let (keyring, id) = (keyring.clone(), id.to_owned());
                    open_sessions.push(OpenSession { keyring, id, session: session.clone() });
                }
            }
            Ok(open_sessions)
        })
    }

    /// Ends a session; its streams end with it.
    ///
    /// # Errors
    /// `NotFound`; the fault of the store.
    pub fn sign_out<'a>(
        &'a self,
        by: &'a Principal,
        keyring: &'a Keyring,
        session: &'a str,
    ) -> Sealed<'a, Result<(), Failure>> {
        seal(async move {
            let command = SignOut { by: Actor::from(by.who.clone()), session: session.to_owned() };
            Ok(self.on_keyring(keyring, &command).await?)
        })
    }

    /// The open session of a principal, if it has one.
    pub fn session_of<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> Sealed<'a, Result<Option<OpenSession>, Fault>> {
        seal(async move {
            let Some((cookie, of_operator)) = principal.token.console() else { return Ok(None) };
            let actor = Actor::from(principal.who.clone());
            let Some(keyring) = Keyring::of(&actor, of_operator) else { return Ok(None) };
            self.open_session(keyring, cookie).await
        })
    }

    /// Whether the session of a principal is open, or its lent token is valid.
    pub(crate) async fn person_is_there(&self, principal: &Principal) -> Result<bool, Fault> {
        if let Some((token, of_operator)) = principal.token.lender() {
            let Some(keyring) = Keyring::of(&Actor::from(principal.who.clone()), of_operator) else {
                return Ok(false);
            };
            return self.is_through_valid(&keyring, &token).await;
        }
        let Some(open) = self.session_of(principal).await? else { return Ok(false) };
        self.note_use(&open).await;
        Ok(true)
    }

    async fn open_session(&self, keyring: Keyring, cookie: &[u8; 32]) -> Result<Option<OpenSession>, Fault> {
        let (state, _) = self.0.keyrings.fresh(&keyring.to_string()).await?;
        let (now, idle) = (self.clock().now(), CONSOLE_IDLE_MS_MAX);
        let Some((id, session)) = state.of_cookie(cookie) else { return Ok(None) };
        let is_valid = session.is_open(now, idle) && self.are_valid(&keyring, &session.rights).await?;
        if !is_valid {
            return Ok(None);
        }
        Ok(Some(OpenSession { keyring, id: id.to_owned(), session: session.clone() }))
    }

    /// Whether the token behind rights is valid, and their person exists.
    pub(super) async fn are_valid(&self, keyring: &Keyring, rights: &Rights) -> Result<bool, Fault> {
        Ok(self.is_through_valid(keyring, &rights.through).await?
            && self.person_exists(rights.person.as_ref()).await?)
    }

    /// Whether the person of a link, a session or a passkey, if any, was not deleted: each ends with its person.
    pub(super) async fn person_exists(&self, person: Option<&AgentHandle>) -> Result<bool, Fault> {
        match person {
            Some(person) => Ok(!self.fresh_agent(person).await?.state.is_deleted()),
            None => Ok(true),
        }
    }

    /// Whether the token that a link was made with is the operator's or the owner's.
    async fn is_through_valid(&self, keyring: &Keyring, through: &TokenDigest) -> Result<bool, Fault> {
        if self.0.operator.matches(through) || self.is_issuer_proof(through) {
            return Ok(true);
        }
        match keyring {
            Keyring::Operator => Ok(false),
            Keyring::Owner(owner) => Ok(self.fresh_owner(owner).await?.state.accepts_token(through)),
        }
    }

    /// Records a use of a session from time to time. A fault does not fail the request.
    async fn note_use(&self, open_session: &OpenSession) {
        let every_ms = CONSOLE_IDLE_MS_MAX / USES_NOTED;
        let due_at = open_session.session.last_used_at.0.saturating_add(every_ms);
        if self.clock().now() < TimestampMs(due_at) {
            return;
        }
        let command = SessionUse { session: open_session.id.clone(), every_ms };
        if let Err(ExecuteError::Fault(fault)) = self.on_keyring(&open_session.keyring, &command).await {
            tracing::warn!(%fault, "the use of a console session was not recorded");
        }
    }

    /// Whether the session of an actor is open, or its lent token is valid, with the conditions for the
    /// append.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn person_holds<'a>(
        &'a self,
        actor: &'a Actor,
        token: &'a TokenDigest,
        conditions: &'a mut Vec<Condition>,
    ) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            let Some(person) = self.session_holds(actor, token, conditions).await? else { return Ok(false) };
            // A person that acts as itself is checked as the actor.
            let Some(person) = person.filter(|person| *actor != Actor::Agent(person.clone())) else {
                return Ok(true);
            };
            let person = self.known_agent(&person).await?;
            conditions.push(person.condition());
            Ok(!person.state.is_deleted())
        })
    }

    /// The same without the session's person, which is returned: it may have been deleted since the request began.
    pub(crate) async fn session_holds(
        &self,
        actor: &Actor,
        token: &TokenDigest,
        conditions: &mut Vec<Condition>,
    ) -> Result<Option<Option<AgentHandle>>, Fault> {
        if let Some((token, of_operator)) = token.lender() {
            let holds = match Keyring::of(actor, of_operator) {
                Some(Keyring::Operator) => self.0.operator.matches(&token),
                Some(Keyring::Owner(owner)) => {
                    let owner = self.owner(&owner).await?;
                    conditions.push(owner.condition());
                    owner.state.accepts_token(&token)
                }
                None => false,
            };
            return Ok(holds.then_some(None));
        }
        let Some((cookie, of_operator)) = token.console() else { return Ok(None) };
        let Some(keyring) = Keyring::of(actor, of_operator) else { return Ok(None) };
        let id = keyring.to_string();
        let console = self.0.keyrings.look_up(&id).await?;
        let stream = ConsoleRoom::stream(&id);
        conditions.push(Condition { stream, expected: console.version, upon: console.upon });
        let (now, idle) = (self.clock().now(), CONSOLE_IDLE_MS_MAX);
        match console.state.of_cookie(cookie) {
            Some((_, session)) if session.is_open(now, idle) => {
                let holds = self.is_through_valid(&keyring, &session.rights.through).await?;
                Ok(holds.then(|| session.rights.person.clone()))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Whether the token behind a link is valid now, with the condition for the append.
    pub(crate) async fn keyring_facts(
        &self,
        through: &TokenDigest,
        conditions: &mut Conditions,
    ) -> Result<KeyringFacts, Fault> {
        if self.0.operator.matches(through) || self.is_issuer_proof(through) {
            return Ok(KeyringFacts { is_token_valid: true });
        }
        let is_token_valid = match self.owner_of(through).await? {
            Some(owner) => {
                let owner = self.owner(&owner).await?;
                conditions.push(owner.condition());
                owner.state.accepts_token(through)
            }
            None => false,
        };
        Ok(KeyringFacts { is_token_valid })
    }
}
