//! The sessions with their owners, the requests in progress, and when each of them must end.
//! Must not know: messages, or how a session is carried out.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use parking_lot::{Mutex, MutexGuard};
use plenary_accounts::{Principal, TokenClient, TokenDigest, TokenOwner};
use plenary_kernel::{OwnerName, Share, Shares, SharesFull};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    changes::Callers,
    limits::{REQUESTS_PER_CALLER_MAX, SESSION_IDLE, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX},
};
use crate::operations::Caller;

/// The registry. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Registry {
    inner: Arc<Mutex<Inner>>,
    /// The session slots by owner; the operator's sessions have no owner.
    slots: Shares<Option<OwnerName>>,
}

/// The slot of a session that is about to be opened.
pub(super) type SessionSlot = Share<Option<OwnerName>>;

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<Arc<str>, Session>,
    requests: HashMap<u64, Request>,
    per_token: HashMap<TokenDigest, usize>,
    next: u64,
}

/// Who has a session: the bearer of a token, and the client that may continue with another token.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub(super) principal: Principal,
    pub(super) client: Option<TokenClient>,
}

impl Holder {
    /// Whether the next token may come only once the last one has ended: an issuer's token ends by itself, a grant of a person
    /// is revoked.
    fn outlasts_its_token(&self) -> bool {
        matches!(self.client, Some(TokenClient::OfIssuer { .. }))
    }
}

#[derive(Debug)]
struct Session {
    holder: Holder,
    callers: watch::Sender<Caller>,
    used: Instant,
    _slot: SessionSlot,
    /// The number of its pending requests.
    open: usize,
    /// Their ids, as they were written.
    ids: HashSet<Arc<str>>,
}

#[derive(Debug)]
struct Request {
    principal: Principal,
    session: Option<Arc<str>>,
    ended: CancellationToken,
}

/// A pending request; dropping it ends it.
#[derive(Debug)]
pub(super) struct Lease {
    registry: Registry,
    number: u64,
    token: TokenDigest,
    session: Option<Arc<str>>,
    /// The request's id, once it has taken it.
    id: Option<Arc<str>>,
    ended: CancellationToken,
}

impl Lease {
    /// Takes the id of a request in its session; false if another pending request has it, which would not get its answer
    /// any more.
    pub(super) fn take_id(&mut self, id: &str) -> bool {
        let mut inner = self.registry.lock();
        let Some(session) = self.session.as_ref().and_then(|session| inner.sessions.get_mut(session)) else {
            return true;
        };
        let id: Arc<str> = id.into();
        let is_free = session.ids.insert(id.clone());
        self.id = Some(id).filter(|_| is_free);
        is_free
    }

    /// Canceled when the answer must end: the token is no longer valid, or the session is closed.
    pub(super) const fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

/// The owner of a caller.
fn owner(principal: &Principal) -> Option<OwnerName> {
    match &principal.who {
        TokenOwner::Operator => None,
        TokenOwner::Owner(owner) => Some(owner.clone()),
        TokenOwner::Agent(agent) => Some(agent.owner_name()),
    }
}

impl Registry {
    /// A registry with a limit of sessions for each owner.
    pub(super) fn new(sessions_per_owner_max: usize) -> Self {
        Self { inner: Arc::default(), slots: Shares::new(SESSIONS_MAX, sessions_per_owner_max) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Registers a request; `None` if the caller has too many pending ones.
    pub(super) fn begin(&self, principal: &Principal, session: Option<&str>) -> Option<Lease> {
        let mut inner = self.lock();
        let count = inner.per_token.entry(principal.token).or_default();
        if *count >= REQUESTS_PER_CALLER_MAX {
            return None;
        }
        *count += 1;
        inner.next += 1;
        let number = inner.next;
        let session = session.and_then(|id| {
            let (id, _) = inner.sessions.get_key_value(id)?;
            Some(id.clone())
        });
        if let Some(session) = session.as_ref().and_then(|id| inner.sessions.get_mut(id)) {
            session.open += 1;
            session.used = Instant::now();
        }
        let ended = CancellationToken::new();
        let request =
            Request { principal: principal.clone(), session: session.clone(), ended: ended.clone() };
        inner.requests.insert(number, request);
        Some(Lease { registry: self.clone(), number, token: principal.token, session, id: None, ended })
    }

    /// Admits the caller of a request to a session that belongs to it, with this very token; what the session follows then
    /// continues in the name of this caller. A client that speaks as the same agent with another token, such as one with a wider
    /// scope, continues its session; from then on the session ends with that token.
    pub(super) fn admit_to(&self, session: &str, holder: &Holder, caller: &Caller) -> Option<Callers> {
        let mut inner = self.lock();
        let session = inner.sessions.get_mut(session)?;
        let is_same_client = holder.client.is_some()
            && session.holder.client == holder.client
            && session.holder.principal.who == holder.principal.who;
        if is_same_client {
            session.holder.principal = holder.principal.clone();
        }
        (session.holder.principal == holder.principal).then(|| {
            session.callers.send_replace(caller.clone());
            session.callers.subscribe()
        })
    }

    /// Registers an opened session.
    pub(super) fn opened(&self, session: &str, holder: Holder, slot: SessionSlot) {
        let (callers, _) = watch::channel(Caller::default());
        let used = Instant::now();
        let entry = Session { holder, callers, used, _slot: slot, open: 0, ids: HashSet::new() };
        self.lock().sessions.insert(session.into(), entry);
    }

    /// Removes a session, and ends its pending requests.
    pub(super) fn closed(&self, session: &str) {
        let mut inner = self.lock();
        inner.sessions.remove(session);
        let requests = inner.requests.values().filter(|request| request.session.as_deref() == Some(session));
        requests.for_each(|request| request.ended.cancel());
    }

    /// Reserves a slot for one more session of a caller.
    ///
    /// # Errors
    /// The session to close first, if there is one: the least recently used of the caller beyond the caller's limit, of the
    /// owner beyond the owner's, and beyond the total limit of the owner with the most sessions.
    pub(super) fn admit(&self, principal: &Principal) -> Result<SessionSlot, Option<Arc<str>>> {
        let own = |session: &Session| session.holder.principal.who == principal.who;
        let inner = self.lock();
        if inner.sessions.values().filter(|session| own(session)).count() >= SESSIONS_PER_CALLER_MAX {
            return Err(inner.least_recently_used(own));
        }
        let owner_name = owner(principal);
        let full = match self.slots.take(owner_name.clone(), 1) {
            Ok(slot) => return Ok(slot),
            Err(full) => full,
        };
        let from = match full {
            SharesFull::Key => owner_name,
            SharesFull::Total => {
                let owners = inner.sessions.values().map(|session| owner(&session.holder.principal));
                owners.max_by_key(|owner| self.slots.used_by(owner)).flatten()
            }
        };
        Err(inner.least_recently_used(|session| owner(&session.holder.principal) == from))
    }

    /// The sessions that are idle for too long.
    pub(super) fn idle(&self, now: Instant) -> Vec<Arc<str>> {
        let is_idle =
            |session: &Session| session.open == 0 && now.duration_since(session.used) >= SESSION_IDLE;
        let inner = self.lock();
        inner.sessions.iter().filter(|(_, session)| is_idle(session)).map(|(id, _)| id.clone()).collect()
    }

    /// Every caller with a session or a pending request, once.
    pub(super) fn callers(&self) -> Vec<Principal> {
        let inner = self.lock();
        let sessions = inner.sessions.values().map(|session| &session.holder.principal);
        let requests = inner.requests.values().map(|request| &request.principal);
        let all: HashMap<TokenDigest, &Principal> =
            sessions.chain(requests).map(|principal| (principal.token, principal)).collect();
        all.into_values().cloned().collect()
    }

    /// Ends the requests that were started with a token; returns the sessions to close.
    pub(super) fn end(&self, token: &TokenDigest) -> Vec<Arc<str>> {
        let inner = self.lock();
        let requests = inner.requests.values().filter(|request| request.principal.token == *token);
        requests.for_each(|request| request.ended.cancel());
        let ends = |holder: &Holder| holder.principal.token == *token && !holder.outlasts_its_token();
        inner.sessions.iter().filter(|(_, session)| ends(&session.holder)).map(|(id, _)| id.clone()).collect()
    }
}

impl Inner {
    /// The least recently used of these sessions, preferably without pending requests.
    fn least_recently_used(&self, is_one: impl Fn(&Session) -> bool) -> Option<Arc<str>> {
        let ones = self.sessions.iter().filter(|(_, session)| is_one(session));
        ones.min_by_key(|(_, session)| (session.open > 0, session.used)).map(|(id, _)| id.clone())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut inner = self.registry.lock();
        inner.requests.remove(&self.number);
        if let Some(count) = inner.per_token.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                inner.per_token.remove(&self.token);
            }
        }
        if let Some(session) = self.session.as_ref().and_then(|id| inner.sessions.get_mut(id)) {
            session.open -= 1;
            session.used = Instant::now();
            if let Some(id) = &self.id {
                session.ids.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::limits::SESSIONS_PER_OWNER_MAX, *};

    fn principal(name: &str, token: &str) -> Principal {
        Principal { who: TokenOwner::Agent(name.parse().unwrap()), token: TokenDigest::of(token) }
    }

    fn registry() -> Registry {
        Registry::new(SESSIONS_PER_OWNER_MAX)
    }

    /// Opens a session if there is a slot for it.
    fn open(registry: &Registry, session: &str, principal: &Principal) -> Result<(), Option<Arc<str>>> {
        registry.opened(session, of_token(principal), registry.admit(principal)?);
        Ok(())
    }

    fn admits(registry: &Registry, session: &str, holder: &Holder) -> bool {
        registry.admit_to(session, holder, &Caller::default()).is_some()
    }

    fn of_token(principal: &Principal) -> Holder {
        Holder { principal: principal.clone(), client: None }
    }

    fn of_client(name: &str, token: &str, client: &str) -> Holder {
        Holder { principal: principal(name, token), client: Some(TokenClient::OfGrant(client.into())) }
    }

    #[test]
    fn a_session_is_its_callers_and_that_of_its_very_token() {
        let registry = registry();
        let nick = principal("@nick.bot", "a");
        open(&registry, "s", &nick).unwrap();
        let admits = |session, holder| admits(&registry, session, &holder);
        assert!(admits("s", of_token(&nick)) && !admits("t", of_token(&nick)));
        for (name, token) in [("@nick.bot", "b"), ("@bob.bot", "a")] {
            assert!(!admits("s", of_token(&principal(name, token))));
            assert!(!admits("s", of_client(name, "b", "client")));
        }
        registry.closed("s");
        assert!(!admits("s", of_token(&nick)));
    }

    #[test]
    fn a_session_goes_on_with_another_token_of_its_client_and_ends_with_it() {
        let registry = registry();
        let first = of_client("@nick.bot", "a", "client");
        registry.opened("s", first.clone(), registry.admit(&first.principal).unwrap());
        for other in [
            of_client("@nick.bot", "b", "other"),
            of_client("@bob.bot", "b", "client"),
            of_token(&principal("@nick.bot", "b")),
        ] {
            assert!(!admits(&registry, "s", &other), "{other:?}");
        }
        let wider = of_client("@nick.bot", "b", "client");
        assert!(admits(&registry, "s", &wider));
        assert_eq!(registry.callers(), std::slice::from_ref(&wider.principal));
        assert_eq!(registry.end(&first.principal.token), []);
        assert_eq!(registry.end(&wider.principal.token), ["s".into()]);
    }

    #[test]
    fn a_session_of_an_issuers_subject_waits_for_its_next_token() {
        let registry = registry();
        let subject = |token: &str, name: &str| {
            let client = TokenClient::OfIssuer { issuer: "idp".into(), name: Some(name.into()) };
            Holder { principal: principal("@nick.bot", token), client: Some(client) }
        };
        let first = subject("a", "idp: 17");
        registry.opened("s", first.clone(), registry.admit(&first.principal).unwrap());
        let lease = registry.begin(&first.principal, Some("s")).unwrap();
        assert_eq!(registry.end(&first.principal.token), []);
        assert!(lease.ended().is_cancelled());
        assert!(!admits(&registry, "s", &subject("b", "idp: 18")));
        assert!(admits(&registry, "s", &subject("b", "idp: 17")));
    }

    #[test]
    fn past_their_number_requests_of_one_caller_are_refused_and_others_are_not() {
        let registry = registry();
        let (nick, bob) = (principal("@nick.bot", "a"), principal("@bob.bot", "b"));
        let mut leases: Vec<_> =
            (0..REQUESTS_PER_CALLER_MAX).map(|_| registry.begin(&nick, None).unwrap()).collect();
        assert!(registry.begin(&nick, None).is_none());
        assert!(registry.begin(&bob, None).is_some());
        leases.pop();
        assert!(registry.begin(&nick, None).is_some());
    }

    #[test]
    fn beyond_the_limit_the_least_recently_used_session_is_closed() {
        let registry = registry();
        let nick = principal("@nick.bot", "a");
        for number in 0..SESSIONS_PER_CALLER_MAX {
            open(&registry, &number.to_string(), &nick).unwrap();
        }
        let _busy = registry.begin(&nick, Some("0"));
        assert_eq!(open(&registry, "x", &nick), Err(Some("1".into())));
        registry.closed("1");
        assert_eq!(open(&registry, "x", &nick), Ok(()));
        assert_eq!(open(&registry, "y", &principal("@bob.bot", "b")), Ok(()));
    }

    #[test]
    fn past_the_owners_number_a_session_of_the_owner_makes_room() {
        let registry = Registry::new(2);
        let (first, second) = (principal("@nick.a", "a"), principal("@nick.b", "b"));
        open(&registry, "1", &first).unwrap();
        open(&registry, "2", &second).unwrap();
        assert_eq!(open(&registry, "x", &second), Err(Some("1".into())));
        assert_eq!(open(&registry, "3", &principal("@bob.bot", "c")), Ok(()));
        registry.closed("1");
        assert_eq!(open(&registry, "x", &second), Ok(()));
        // A slot without a session, while one is being opened.
        let other = Registry::new(1);
        let _taken = other.admit(&first).unwrap();
        assert_eq!(other.admit(&second).err(), Some(None));
    }

    #[test]
    fn past_the_number_of_all_one_of_the_owner_with_the_most_makes_room() {
        let registry = Registry::new(SESSIONS_MAX);
        open(&registry, "carol", &principal("@carol.bot", "a")).unwrap();
        for number in 1..SESSIONS_MAX {
            let agent = format!("@nick.b{}", number / 8);
            open(&registry, &number.to_string(), &principal(&agent, "a")).unwrap();
        }
        assert_eq!(open(&registry, "x", &principal("@bob.bot", "b")), Err(Some("1".into())));
    }

    #[test]
    fn a_session_is_idle_when_nothing_is_under_way() {
        let registry = registry();
        let nick = principal("@nick.bot", "a");
        open(&registry, "s", &nick).unwrap();
        let lease = registry.begin(&nick, Some("s")).unwrap();
        let later = Instant::now() + SESSION_IDLE + SESSION_IDLE;
        assert!(registry.idle(later).is_empty());
        drop(lease);
        assert_eq!(registry.idle(later), ["s".into()]);
        assert!(registry.idle(Instant::now()).is_empty());
    }

    #[test]
    fn pending_requests_of_a_session_have_different_ids() {
        let registry = registry();
        let nick = principal("@nick.bot", "a");
        for session in ["s", "t"] {
            open(&registry, session, &nick).unwrap();
        }
        let mut leases: Vec<_> =
            ["s", "s", "t"].iter().map(|session| registry.begin(&nick, Some(session)).unwrap()).collect();
        assert!(leases[0].take_id("1") && !leases[1].take_id("1") && leases[1].take_id("\"1\""));
        assert!(leases[2].take_id("1"), "another session has its own");
        let mut alone = registry.begin(&nick, None).unwrap();
        assert!(alone.take_id("1") && registry.begin(&nick, None).unwrap().take_id("1"));
        drop(leases.remove(1));
        let mut next = registry.begin(&nick, Some("s")).unwrap();
        assert!(!next.take_id("1"), "a refused request frees nothing");
        drop(leases.remove(0));
        assert!(next.take_id("1"));
    }

    #[test]
    fn with_a_token_everything_ends_that_was_begun_with_it() {
        let registry = registry();
        let nick = principal("@nick.bot", "a");
        open(&registry, "s", &nick).unwrap();
        let lease = registry.begin(&nick, None).unwrap();
        assert_eq!(registry.callers(), std::slice::from_ref(&nick));
        assert_eq!(registry.end(&TokenDigest::of("b")), []);
        assert!(!lease.ended().is_cancelled());
        assert_eq!(registry.end(&nick.token), ["s".into()]);
        assert!(lease.ended().is_cancelled());
    }
}
