//! The attention level of an agent, and its end. Pure.
//! Must not know: the messages that an agent gets.

use plenary_kernel::TimestampMs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest period until the end of a level, in milliseconds.
pub const ATTENTION_MS_MAX: u64 = 366 * 24 * 3_600 * 1_000;

plenary_kernel::words! {
    /// An attention level; each admits less than the one before.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum AttentionLevel {
        /// Everything.
        #[default]
        Open = "open",
        /// Its own people, urgent messages, and replies to what it sent.
        Focus = "focus",
        /// Nothing.
        Dnd = "dnd",
    }
}

/// The last period with a level other than `open`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attention {
    /// `focus` or `dnd`.
    pub level: AttentionLevel,
    /// When it began, in ms since the epoch.
    #[schemars(with = "u64")]
    pub since: TimestampMs,
    /// When it ends or ended, in ms since the epoch; absent if it has no end yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub until: Option<TimestampMs>,
}

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionChange {
    /// The level.
    pub level: AttentionLevel,
    /// When it ends.
    pub until: Option<TimestampMs>,
}

impl AttentionChange {
    /// Whether its end is valid at this time: in the future, not too far away, and absent for `open`.
    pub fn is_valid(&self, now: TimestampMs) -> bool {
        let is_ahead = |until: TimestampMs| until > now && until.0 - now.0 <= ATTENTION_MS_MAX;
        self.until.is_none_or(|until| self.level != AttentionLevel::Open && is_ahead(until))
    }

    /// The last period after this change at a time.
    pub fn after(self, before: Option<Attention>, at: TimestampMs) -> Option<Attention> {
        let running = before.filter(|before| before.level_at(at) != AttentionLevel::Open);
        match (self.level, running) {
            (AttentionLevel::Open, Some(running)) => Some(Attention { until: Some(at), ..running }),
            (AttentionLevel::Open, None) => before,
            (level, running) => {
                let since = running.map_or(at, |running| running.since);
                Some(Attention { level, since, until: self.until })
            }
        }
    }
}

impl Attention {
    /// The level now.
    pub fn level_at(&self, now: TimestampMs) -> AttentionLevel {
        if self.is_running(now) { self.level } else { AttentionLevel::Open }
    }

    /// Whether it has not ended yet. A beginning that is later than now does not matter: the clock was set back.
    pub fn is_running(&self, now: TimestampMs) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Whether a time is within it.
    pub fn covers(&self, at: TimestampMs) -> bool {
        at >= self.since && self.until.is_none_or(|until| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(level: AttentionLevel, until: Option<u64>) -> AttentionChange {
        AttentionChange { level, until: until.map(TimestampMs) }
    }

    #[test]
    fn a_period_begins_is_changed_and_ends() {
        use AttentionLevel::{Dnd, Focus, Open};
        let ms = TimestampMs;
        assert_eq!(change(Open, None).after(None, ms(5)), None);
        let focus = change(Focus, Some(50)).after(None, ms(10)).unwrap();
        for (time, level) in [(9, Focus), (10, Focus), (49, Focus), (50, Open)] {
            assert_eq!(focus.level_at(ms(time)), level, "{time}");
        }
        let dnd = change(Dnd, None).after(Some(focus), ms(20)).unwrap();
        assert_eq!((dnd.since, dnd.until, dnd.level_at(ms(1_000))), (ms(10), None, Dnd));
        let ended = change(Open, None).after(Some(dnd), ms(30)).unwrap();
        assert_eq!((ended.level_at(ms(30)), ended.covers(ms(29))), (Open, true));
        assert_eq!(change(Open, None).after(Some(ended), ms(40)), Some(ended), "it is over already");
        assert_eq!(change(Dnd, None).after(Some(ended), ms(60)).unwrap().since, ms(60));
    }

    #[test]
    fn an_end_lies_ahead_and_not_too_far() {
        use AttentionLevel::{Dnd, Open};
        for (attention, is_valid) in [
            (change(Open, None), true),
            (change(Open, Some(20)), false),
            (change(Dnd, None), true),
            (change(Dnd, Some(10)), false),
            (change(Dnd, Some(11)), true),
            (change(Dnd, Some(10 + ATTENTION_MS_MAX)), true),
            (change(Dnd, Some(11 + ATTENTION_MS_MAX)), false),
        ] {
            assert_eq!(attention.is_valid(TimestampMs(10)), is_valid, "{attention:?}");
        }
    }
}
