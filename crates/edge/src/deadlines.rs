//! The deadlines of a connection's peer: one timer for all of them.
//! Must not know: the effect of a missed deadline.

use std::{pin::Pin, task::Context, time::Duration};

use tokio::time::{Instant, Sleep};

use crate::{
    answers::Allowance,
    config::{Config, STALL_FORGOTTEN, STALLED_BEFORE_CUT},
    guard::{GuardState, Wire},
    stalled::Place,
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
    waiting: GuardState,
    heads: u32,
    since: Instant,
    octets_before: u64,
    allowance: Allowance,
    stall: Option<Stall>,
    idle_told: bool,
}

/// Until when a peer that stalls must have read more, and when its place among those who stall is looked at again.
#[derive(Debug, Clone, Copy)]
struct ReadDebt {
    by: Instant,
    again: Option<Instant>,
}

/// A time in which the peer has not kept up with what is written to it.
struct Stall {
    place: Place,
    /// Bytes written before it.
    written_before: u64,
    written: u64,
    /// When the peer last took something.
    moved: Instant,
    /// Since when nothing waits for the peer.
    clear: Option<Instant>,
}

impl<'a> Deadlines<'a> {
    pub(crate) fn new(config: &'a Config, allowance: Allowance) -> Self {
        Self {
            config,
            waiting: GuardState::Nothing,
            heads: 0,
            since: Instant::now(),
            octets_before: 0,
            allowance,
            stall: None,
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
        if self.allowance.is_cut() {
            return Some(Overdue::Output);
        }
        loop {
            let input = self.input(wire);
            let output = self.output(wire, cx);
            let next = [
                input.map(|(at, _)| at),
                output.map(|ReadDebt { by, again }| again.map_or(by, |at| at.min(by))),
            ];
            let next = next.into_iter().flatten().min()?;
            // An alarm that comes too early is cheaper than one that is moved with every request.
            if next < alarm.deadline() {
                alarm.as_mut().reset(next);
            }
            if alarm.as_mut().poll(cx).is_pending() {
                return None;
            }
            let now = Instant::now();
            if output.is_some_and(|output| output.by <= now) {
                return Some(Overdue::Output);
            }
            match input {
                Some((at, GuardState::Nothing)) if at <= now => {
                    self.idle_told = true;
                    return Some(Overdue::Idle);
                }
                Some((at, _)) if at <= now => return Some(Overdue::Input),
                _ => alarm.as_mut().reset(next.max(now)),
            }
        }
    }

    fn input(&mut self, wire: &Wire) -> Option<(Instant, GuardState)> {
        let (waiting, heads) = (wire.waiting(), wire.heads());
        // What was told once is not told again, unless the peer moves on.
        if waiting == GuardState::Ours || wire.is_overdue() || self.idle_told {
            return None;
        }
        if (waiting, heads) != (self.waiting, self.heads) {
            (self.waiting, self.heads) = (waiting, heads);
            self.since = Instant::now();
            self.octets_before = wire.body_octets();
        }
        let config = self.config;
        let allowed = match waiting {
            GuardState::Nothing if heads > 0 => config.idle_deadline,
            GuardState::Nothing | GuardState::Head | GuardState::Ours => config.head_deadline,
            GuardState::Body => {
                let octets = wire.body_octets() - self.octets_before;
                let earned_ms = octets.saturating_mul(1000) / u64::from(config.body_octets_per_s_min.max(1));
                (config.body_grace + Duration::from_millis(earned_ms)).min(config.body_deadline)
            }
        };
        Some((self.since + allowed, waiting))
    }

    /// When the peer must have read more: it takes something now and then, and enough of it on average. A peer that
    /// reads a little, lets everything be written, and stalls again is one that stalls all the time.
    fn output(&mut self, wire: &Wire, cx: &Context<'_>) -> Option<ReadDebt> {
        if !wire.is_write_stalled() {
            if let Some(stall) = self.stall.as_mut().filter(|stall| stall.clear.is_none()) {
                stall.clear = Some(Instant::now());
                self.allowance.budget().stalled.leave(stall.place);
            }
            return None;
        }
        let (now, written) = (Instant::now(), wire.written());
        let stalled = &self.allowance.budget().stalled;
        let stall = match &mut self.stall {
            Some(stall) if stall.clear.is_none_or(|clear| now < clear + STALL_FORGOTTEN) => stall,
            _ => {
                self.allowance.wakes(cx.waker());
                let place = stalled.enter(now, self.allowance.clone());
                self.stall.insert(Stall { place, written_before: written, written, moved: now, clear: None })
            }
        };
        if stall.clear.take().is_some() {
            stall.place = stalled.enter(stall.place.0, self.allowance.clone());
        }
        if stall.written != written {
            (stall.written, stall.moved) = (written, now);
        }
        let config = self.config;
        let earned_ms = (written - stall.written_before).saturating_mul(1000)
            / u64::from(config.write_bytes_per_s_min.max(1));
        let average = stall.place.0 + config.write_grace + Duration::from_millis(earned_ms);
        let again = stalled.trim().then(|| now + STALLED_BEFORE_CUT);
        Some(ReadDebt { by: average.min(stall.moved + config.write_deadline), again })
    }
}

impl Drop for Deadlines<'_> {
    fn drop(&mut self) {
        if let Some(stall) = self.stall.as_ref().filter(|stall| stall.clear.is_none()) {
            self.allowance.budget().stalled.leave(stall.place);
        }
    }
}
