//! Lists are ordered by the start of the sessions, whatever the clock.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_accounts::{Accounts, Actor, Authority, Policy, TokenDigest, agent::command::RegisterAgent};
use plenary_hub::{Cursors, Presence};
use plenary_kernel::{AgentHandle, Clock, Stamp, TimestampMs};
use plenary_log::{Log, rigged::Store};

use crate::{
    Config, Sessions,
    command::{Caller, CreateBody, CreateSession},
};

/// A clock that shows the time to which it is set.
#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(self.0.load(Ordering::Relaxed))
    }
    fn stamp(&self) -> Stamp {
        Stamp::new(self.now(), [9; 10])
    }
}

fn ann() -> AgentHandle {
    "@ann.bot".parse().unwrap()
}

fn sessions_on(log: Log, clock: Arc<SetClock>) -> Sessions {
    let clock: Arc<dyn Clock> = clock;
    let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo"));
    let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
    Sessions::new(log, clock, accounts, Arc::new(Presence::default()), cursors, Config::default())
}

#[tokio::test]
async fn ids_of_one_millisecond_rise() {
    let sessions = sessions_on(Store::new().process(false).log, Arc::new(SetClock::default()));
    let mut session_ids = Vec::new();
    for _ in 0..50 {
        session_ids.push(sessions.mint(&[]).await.unwrap());
    }
    assert!(session_ids.is_sorted_by(|a, b| a < b), "{session_ids:?}");
}

#[tokio::test]
async fn a_session_with_agents_of_a_peer_has_an_id_that_the_peer_accepts() {
    let clock = Arc::new(SetClock::default());
    clock.0.store(20 * 3_600_000, Ordering::Relaxed);
    let sessions = sessions_on(Store::new().process(false).log, clock.clone());
    let ahead = sessions.mint(&[]).await.unwrap();
    let back = 19 * 3_600_000;
    clock.0.store(back, Ordering::Relaxed);
    let crossing = sessions.mint(&["@eve-at-rn.bot".parse().unwrap()]).await.unwrap();
    assert_eq!(crossing.minted_at(), Some(TimestampMs(back)));
    assert!(sessions.mint(&[]).await.unwrap() > ahead);
}

#[tokio::test]
async fn a_clock_that_was_set_back_puts_no_session_behind_older_ones() {
    let (store, clock) = (Store::new(), Arc::new(SetClock::default()));
    let mut session_ids = Vec::new();
    // Each time a process begins anew, the clock an hour behind the last.
    for (nth, hour) in [20, 19, 18, 30, 29].into_iter().enumerate() {
        clock.0.store(hour * 3_600_000, Ordering::Relaxed);
        let sessions = sessions_on(store.process(false).log, clock.clone());
        if nth == 0 {
            let authority = Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo")) };
            let ann = RegisterAgent::new(authority, ann(), TokenDigest::of("ann"));
            let command = RegisterAgent { policy: Policy::Open, ..ann };
            sessions.0.accounts.register_agent(command).await.unwrap();
        }
        for _ in 0..3 {
            let caller = Caller { handle: ann(), token: TokenDigest::of("ann") };
            let id = sessions.mint(&[]).await.unwrap();
            let command = CreateSession { caller, body: Ok(CreateBody::default()) };
            sessions.carry_out(&id, command, None).await.unwrap();
            session_ids.push(id);
            clock.0.fetch_add(1, Ordering::Relaxed);
        }
        let listed_ids = sessions.list(&ann(), None, 100).await.ok().unwrap().sessions;
        let listed_ids: Vec<_> = listed_ids.into_iter().rev().map(|session| session.id).collect();
        assert_eq!(listed_ids, session_ids, "at {hour}");
    }
}
