//! What the peer of a connection owes, and until when: one alarm for all of it.
//! Must not know: what happens when a deadline has passed.

use std::{pin::Pin, task::Context, time::Duration};

use tokio::time::{Instant, Sleep};

use crate::{
    config::Config,
    guard::{Waiting, Wire},
};

/// Whose deadline has passed.
pub(crate) enum Overdue {
    /// The peer owes the rest of a request.
    Input,
    /// The peer has not begun another request.
    Idle,
    /// The peer does not read.
    Output,
}

/// When the peer must have done what it owes.
pub(crate) struct Deadlines<'a> {
    config: &'a Config,
    waiting: Waiting,
    heads: u32,
    since: Instant,
    octets_before: u64,
    writes: u32,
    stalled_since: Option<Instant>,
    idle_told: bool,
}

impl<'a> Deadlines<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        Self {
            config,
            waiting: Waiting::Nothing,
            heads: 0,
            since: Instant::now(),
            octets_before: 0,
            writes: 0,
            stalled_since: None,
            idle_told: false,
        }
    }

    /// The first deadline: a new connection must begin to speak.
    pub(crate) fn first(&self) -> Instant {
        self.since + self.config.head_deadline
    }

    /// Which deadline has passed; when none has, the task is woken at the next one.
    pub(crate) fn poll(
        &mut self,
        wire: &Wire,
        mut alarm: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Option<Overdue> {
        let input = self.input(wire);
        let output = self.output(wire);
        let next = match (&input, output) {
            (Some((at, _)), Some(by)) if *at > by => by,
            (Some((at, _)), _) => *at,
            (None, Some(by)) => by,
            (None, None) => return None,
        };
        // An alarm that comes too early is cheaper than one that is moved with every request.
        if next < alarm.deadline() {
            alarm.as_mut().reset(next);
        }
        while alarm.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if output.is_some_and(|by| by <= now) {
                return Some(Overdue::Output);
            }
            match &input {
                Some((at, Waiting::Nothing)) if *at <= now => {
                    self.idle_told = true;
                    return Some(Overdue::Idle);
                }
                Some((at, _)) if *at <= now => return Some(Overdue::Input),
                _ => alarm.as_mut().reset(next),
            }
        }
        None
    }

    fn input(&mut self, wire: &Wire) -> Option<(Instant, Waiting)> {
        let (waiting, heads) = (wire.waiting(), wire.heads());
        // What was told once is not told again, unless the peer moves on.
        if waiting == Waiting::Ours || wire.is_overdue() || self.idle_told {
            return None;
        }
        if (waiting, heads) != (self.waiting, self.heads) {
            (self.waiting, self.heads) = (waiting, heads);
            self.since = Instant::now();
            self.octets_before = wire.body_octets();
        }
        let config = self.config;
        let allowed = match waiting {
            Waiting::Nothing if heads > 0 => config.idle_deadline,
            Waiting::Nothing | Waiting::Head | Waiting::Ours => config.head_deadline,
            Waiting::Body => {
                let octets = wire.body_octets() - self.octets_before;
                let earned_ms = octets.saturating_mul(1000) / u64::from(config.body_octets_per_s_min.max(1));
                (config.body_grace + Duration::from_millis(earned_ms)).min(config.body_deadline)
            }
        };
        Some((self.since + allowed, waiting))
    }

    fn output(&mut self, wire: &Wire) -> Option<Instant> {
        let Some(writes) = wire.write_stalled() else {
            self.stalled_since = None;
            return None;
        };
        if self.writes != writes || self.stalled_since.is_none() {
            self.writes = writes;
            self.stalled_since = Some(Instant::now());
        }
        self.stalled_since.map(|since| since + self.config.write_deadline)
    }
}
