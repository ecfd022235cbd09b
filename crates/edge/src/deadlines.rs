//! The deadlines of a connection's peer: one timer for all of them.
//! Must not know: the effect of a missed deadline.

use std::{pin::Pin, task::Context, time::Duration};

use tokio::time::{Instant, Sleep};

use crate::{
    answers::Allowance,
    config::Config,
    guard::{GuardState, Wire},
    reader::{ReadDebt, Reader},
};

/// The kind of deadline that has passed.
pub(crate) enum Overdue {
    /// The peer owes the rest of a request.
    Input,
    /// The peer has not started another request.
    Idle,
    /// The peer does not read.
    Output,
}

/// The deadlines of the peer.
pub(crate) struct Deadlines<'a> {
    config: &'a Config,
    waiting: GuardState,
    heads: u32,
    since: Instant,
    bytes_before: u64,
    reader: Reader,
    idle_reported: bool,
}

impl<'a> Deadlines<'a> {
    /// `accepted_at` is when the connection was accepted.
    pub(crate) fn new(config: &'a Config, allowance: Allowance, accepted_at: Instant) -> Self {
        Self {
            config,
            waiting: GuardState::Nothing,
            heads: 0,
            since: accepted_at,
            bytes_before: 0,
            reader: Reader::new(allowance),
            idle_reported: false,
        }
    }

    /// The first deadline: a new connection must begin to send.
    pub(crate) fn first(&self) -> Instant {
        self.since + self.config.head_deadline
    }

    /// The deadline that has passed; if none, the task is woken at the next one.
    pub(crate) fn poll(
        &mut self,
        wire: &Wire,
        mut alarm: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Option<Overdue> {
        if self.reader.is_cut() {
            return Some(Overdue::Output);
        }
        loop {
            let input = self.input(wire);
            let output = self.reader.debt(self.config, wire.output(), cx);
            let next = [
                input.map(|(at, _)| at),
                output.map(|ReadDebt { deadline, again }| again.map_or(deadline, |at| at.min(deadline))),
            ];
            let next = next.into_iter().flatten().min()?;
            // An early alarm costs less than moving it with every request.
            if next < alarm.deadline() {
                alarm.as_mut().reset(next);
            }
            if alarm.as_mut().poll(cx).is_pending() {
                return None;
            }
            let now = Instant::now();
            if output.is_some_and(|output| output.deadline <= now) {
                return Some(Overdue::Output);
            }
            match input {
                Some((at, GuardState::Nothing)) if at <= now => {
                    self.idle_reported = true;
                    return Some(Overdue::Idle);
                }
                Some((at, _)) if at <= now => return Some(Overdue::Input),
                _ => alarm.as_mut().reset(next.max(now)),
            }
        }
    }

    fn input(&mut self, wire: &Wire) -> Option<(Instant, GuardState)> {
        let (waiting, heads) = (wire.waiting(), wire.heads());
        // A deadline is reported once, unless the peer makes progress.
        if waiting == GuardState::Ours || wire.is_overdue() || self.idle_reported {
            return None;
        }
        if (waiting, heads) != (self.waiting, self.heads) {
            (self.waiting, self.heads) = (waiting, heads);
            self.since = Instant::now();
            self.bytes_before = wire.body_bytes();
        }
        let config = self.config;
        let allowed = match waiting {
            GuardState::Nothing if heads > 0 => config.idle_deadline,
            GuardState::Nothing | GuardState::Head | GuardState::Ours => config.head_deadline,
            GuardState::Body => {
                let bytes = wire.body_bytes() - self.bytes_before;
                let earned_ms = bytes.saturating_mul(1000) / u64::from(config.body_bytes_per_s_min.max(1));
                (config.body_grace + Duration::from_millis(earned_ms)).min(config.body_deadline)
            }
        };
        Some((self.since + allowed, waiting))
    }
}
