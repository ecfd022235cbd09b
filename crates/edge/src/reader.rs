//! A peer as the reader of its answers: it must read something now and then, and fast enough on average.
//! Must not know: the content of answers, or the effect of a missed deadline.

use std::{
    task::{Context, Waker},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    answers::Allowance,
    config::{Config, STALL_FORGOTTEN, STALLED_BEFORE_CUT},
    stalled::StallKey,
};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteProgress {
    pub(crate) bytes: u64,
    /// Whether the last bytes wait for the peer.
    pub(crate) is_stalled: bool,
}

/// The time by which a stalled peer must have read more, and the next check of its entry among the
/// stalled ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadDebt {
    pub(crate) deadline: Instant,
    pub(crate) again: Option<Instant>,
}

/// The reader of one connection, or of one answer on it.
pub(crate) struct Reader {
    allowance: Allowance,
    stall: Option<Stall>,
}

/// A period in which the peer has not kept up.
struct Stall {
    key: StallKey,
    /// Bytes written before it.
    written_before: u64,
    written: u64,
    /// When the peer last read something.
    moved: Instant,
    /// Since when no bytes wait for the peer.
    clear: Option<Instant>,
}

impl Reader {
    pub(crate) const fn new(allowance: Allowance) -> Self {
        Self { allowance, stall: None }
    }

    /// Whether others need its budget.
    pub(crate) fn is_cut(&self) -> bool {
        self.allowance.is_cut()
    }

    /// Whether it is cut or past its deadline, for callers that poll now and then.
    pub(crate) fn is_overdue(&mut self, config: &Config, written: WriteProgress) -> bool {
        let debt = self.debt(config, written, &Context::from_waker(Waker::noop()));
        self.is_cut() || debt.is_some_and(|debt| debt.deadline <= Instant::now())
    }

    /// When the peer must have read more. A peer that reads just enough to accept all waiting bytes, and
    /// then stalls again, counts as stalled all the time.
    pub(crate) fn debt(
        &mut self,
        config: &Config,
        written: WriteProgress,
        cx: &Context<'_>,
    ) -> Option<ReadDebt> {
        let stalled = &self.allowance.budget().stalled;
        if !written.is_stalled {
            if let Some(stall) = self.stall.as_mut().filter(|stall| stall.clear.is_none()) {
                stall.clear = Some(Instant::now());
                stalled.leave(stall.key);
            }
            return None;
        }
        let (now, written) = (Instant::now(), written.bytes);
        let stall = match &mut self.stall {
            Some(stall) if stall.clear.is_none_or(|clear| now < clear + STALL_FORGOTTEN) => stall,
            _ => {
                self.allowance.wakes(cx.waker());
                let key = stalled.enter(now, self.allowance.clone());
                self.stall.insert(Stall { key, written_before: written, written, moved: now, clear: None })
            }
        };
        if stall.clear.take().is_some() {
            stall.key = stalled.enter(stall.key.0, self.allowance.clone());
        }
        if stall.written != written {
            (stall.written, stall.moved) = (written, now);
        }
        let earned_ms = (written - stall.written_before).saturating_mul(1000)
            / u64::from(config.write_bytes_per_s_min.max(1));
        let average = stall.key.0 + config.write_grace + Duration::from_millis(earned_ms);
        let again = stalled.trim().then(|| now + STALLED_BEFORE_CUT);
        Some(ReadDebt { deadline: average.min(stall.moved + config.write_deadline), again })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(stall) = self.stall.as_ref().filter(|stall| stall.clear.is_none()) {
            self.allowance.budget().stalled.leave(stall.key);
        }
    }
}
