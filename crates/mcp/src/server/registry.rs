//! Who is being served: the sessions of the initialize era and whose they are, the requests under way, and when each of
//! them has to end.
//! Must not know: messages, or how a session is carried out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use plenary_accounts::{Principal, TokenDigest};
use tokio_util::sync::CancellationToken;

use super::limits::{REQUESTS_PER_CALLER_MAX, SESSION_IDLE, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX};

/// Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Registry(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<Arc<str>, Session>,
    requests: HashMap<u64, Request>,
    per_token: HashMap<TokenDigest, usize>,
    next: u64,
}

#[derive(Debug)]
struct Session {
    whose: Principal,
    used: Instant,
    /// Requests of it that are under way.
    open: usize,
}

#[derive(Debug)]
struct Request {
    whose: Principal,
    session: Option<Arc<str>>,
    ended: CancellationToken,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    registry: Registry,
    number: u64,
    token: TokenDigest,
    session: Option<Arc<str>>,
    ended: CancellationToken,
}

impl Lease {
    /// Done when the answer has to end: the token is dead, or the session closed.
    pub(super) const fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request; `None` when the caller has too many under way.
    pub(super) fn begin(&self, whose: &Principal, session: Option<&str>) -> Option<Lease> {
        let mut inner = self.lock();
        let count = inner.per_token.entry(whose.token).or_default();
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
        let request = Request { whose: whose.clone(), session: session.clone(), ended: ended.clone() };
        inner.requests.insert(number, request);
        Some(Lease { registry: self.clone(), number, token: whose.token, session, ended })
    }

    /// Whether this session is the caller's, with this very token.
    pub(super) fn is_of(&self, session: &str, whose: &Principal) -> bool {
        self.lock().sessions.get(session).is_some_and(|session| session.whose == *whose)
    }

    /// Notes a session that was opened.
    pub(super) fn opened(&self, session: &str, whose: &Principal) {
        let entry = Session { whose: whose.clone(), used: Instant::now(), open: 0 };
        self.lock().sessions.insert(session.into(), entry);
    }

    /// Forgets a session, and ends what is under way in it.
    pub(super) fn closed(&self, session: &str) {
        let mut inner = self.lock();
        inner.sessions.remove(session);
        let requests = inner.requests.values().filter(|request| request.session.as_deref() == Some(session));
        requests.for_each(|request| request.ended.cancel());
    }

    /// The sessions that have to be closed before the caller may open one more.
    pub(super) fn making_room(&self, whose: &Principal) -> Vec<Arc<str>> {
        let inner = self.lock();
        let mut all: Vec<_> = inner.sessions.iter().collect();
        all.sort_by_key(|(_, session)| (session.open > 0, session.used));
        let own = all.iter().filter(|(_, session)| session.whose.who == whose.who);
        let own_over = (own.clone().count() + 1).saturating_sub(SESSIONS_PER_CALLER_MAX);
        let over = (all.len() + 1).saturating_sub(SESSIONS_MAX);
        let mut closing: Vec<Arc<str>> = own.take(own_over).map(|(id, _)| (*id).clone()).collect();
        let others = all.iter().map(|(id, _)| (*id).clone()).filter(|id| !closing.contains(id));
        let others: Vec<_> = others.take(over.saturating_sub(closing.len())).collect();
        closing.extend(others);
        closing
    }

    /// The sessions in which nothing has happened for too long.
    pub(super) fn idle(&self, now: Instant) -> Vec<Arc<str>> {
        let is_idle =
            |session: &Session| session.open == 0 && now.duration_since(session.used) >= SESSION_IDLE;
        let inner = self.lock();
        inner.sessions.iter().filter(|(_, session)| is_idle(session)).map(|(id, _)| id.clone()).collect()
    }

    /// Everyone who has a session or a request under way, once.
    pub(super) fn callers(&self) -> Vec<Principal> {
        let inner = self.lock();
        let sessions = inner.sessions.values().map(|session| &session.whose);
        let requests = inner.requests.values().map(|request| &request.whose);
        let all: HashMap<TokenDigest, &Principal> =
            sessions.chain(requests).map(|whose| (whose.token, whose)).collect();
        all.into_values().cloned().collect()
    }

    /// Ends what was begun with a token, and gives the sessions that have to be closed.
    pub(super) fn end(&self, token: &TokenDigest) -> Vec<Arc<str>> {
        let inner = self.lock();
        let requests = inner.requests.values().filter(|request| request.whose.token == *token);
        requests.for_each(|request| request.ended.cancel());
        let sessions = inner.sessions.iter().filter(|(_, session)| session.whose.token == *token);
        sessions.map(|(id, _)| id.clone()).collect()
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
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_accounts::Who;

    use super::*;

    fn principal(name: &str, token: &str) -> Principal {
        Principal { who: Who::Agent(name.parse().unwrap()), token: TokenDigest::of(token) }
    }

    #[test]
    fn a_session_is_its_callers_and_that_of_its_very_token() {
        let registry = Registry::default();
        let nick = principal("@nick.bot", "a");
        registry.opened("s", &nick);
        assert!(registry.is_of("s", &nick));
        assert!(!registry.is_of("s", &principal("@nick.bot", "b")) && !registry.is_of("t", &nick));
        assert!(!registry.is_of("s", &principal("@bob.bot", "a")));
        registry.closed("s");
        assert!(!registry.is_of("s", &nick));
    }

    #[test]
    fn past_their_number_requests_of_one_caller_are_refused_and_others_are_not() {
        let registry = Registry::default();
        let (nick, bob) = (principal("@nick.bot", "a"), principal("@bob.bot", "b"));
        let mut leases: Vec<_> =
            (0..REQUESTS_PER_CALLER_MAX).map(|_| registry.begin(&nick, None).unwrap()).collect();
        assert!(registry.begin(&nick, None).is_none());
        assert!(registry.begin(&bob, None).is_some());
        leases.pop();
        assert!(registry.begin(&nick, None).is_some());
    }

    #[test]
    fn past_their_number_the_session_that_was_silent_longest_makes_room() {
        let registry = Registry::default();
        let nick = principal("@nick.bot", "a");
        for number in 0..SESSIONS_PER_CALLER_MAX {
            assert!(registry.making_room(&nick).is_empty());
            registry.opened(&number.to_string(), &nick);
        }
        let _busy = registry.begin(&nick, Some("0"));
        assert_eq!(registry.making_room(&nick), ["1".into()]);
        assert!(registry.making_room(&principal("@bob.bot", "b")).is_empty());
    }

    #[test]
    fn past_the_number_of_all_any_session_makes_room() {
        let registry = Registry::default();
        for number in 0..SESSIONS_MAX {
            registry.opened(&number.to_string(), &principal(&format!("@nick.b{}", number / 8), "a"));
        }
        assert_eq!(registry.making_room(&principal("@bob.bot", "b")).len(), 1);
    }

    #[test]
    fn a_session_is_idle_when_nothing_is_under_way() {
        let registry = Registry::default();
        let nick = principal("@nick.bot", "a");
        registry.opened("s", &nick);
        let lease = registry.begin(&nick, Some("s")).unwrap();
        let later = Instant::now() + SESSION_IDLE + SESSION_IDLE;
        assert!(registry.idle(later).is_empty());
        drop(lease);
        assert_eq!(registry.idle(later), ["s".into()]);
        assert!(registry.idle(Instant::now()).is_empty());
    }

    #[test]
    fn with_a_token_everything_ends_that_was_begun_with_it() {
        let registry = Registry::default();
        let nick = principal("@nick.bot", "a");
        registry.opened("s", &nick);
        let lease = registry.begin(&nick, None).unwrap();
        assert_eq!(registry.callers(), [nick.clone()]);
        assert_eq!(registry.end(&TokenDigest::of("b")), []);
        assert!(!lease.ended().is_cancelled());
        assert_eq!(registry.end(&nick.token), ["s".into()]);
        assert!(lease.ended().is_cancelled());
    }
}
