//! The number of mails in the last hour, of each owner and to each address. In the memory of this process; a restart
//! resets it.
//! Must not know: the content of mails.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::{OwnerName, TimestampMs};
use quick_cache::sync::Cache;

use crate::{MAIL_RATES_MAX, MAILS_PER_ADDRESS_MAX, MAILS_PER_OWNER_MAX};

const HOUR_MS: u64 = 3_600_000;

/// The key of a counter: an owner and an address, or all addresses.
type Counted = (OwnerName, Option<String>);

type Times = Arc<Mutex<VecDeque<TimestampMs>>>;

/// The times of the mails of the last hour.
pub(crate) struct MailRates(Cache<Counted, Times>);

impl Default for MailRates {
    fn default() -> Self {
        Self(Cache::new(MAIL_RATES_MAX))
    }
}

/// When the next mail may be sent, if the limit is reached.
fn next(times: &mut VecDeque<TimestampMs>, now: TimestampMs, max: usize) -> Option<TimestampMs> {
    let end = |time: &TimestampMs| TimestampMs(time.0.saturating_add(HOUR_MS));
    // Times ahead of a clock that was set back count as now, or they would count until it has caught up.
    times.iter_mut().for_each(|time| *time = (*time).min(now));
    while times.front().is_some_and(|first| end(first) <= now) {
        times.pop_front();
    }
    times.front().filter(|_| times.len() >= max).map(end)
}

impl MailRates {
    /// Counts a mail that is sent now.
    ///
    /// # Errors
    /// The time of the next mail, if the limit is reached.
    pub(crate) fn take(&self, owner: &OwnerName, to: &str, now: TimestampMs) -> Result<(), TimestampMs> {
        let times = |key: Counted| {
            let result: Result<_, std::convert::Infallible> =
                self.0.get_or_insert_with(&key, || Ok(Times::default()));
            let Ok(times) = result;
            times
        };
        // The spelling of an address does not matter for its limit.
        let address_times = times((owner.clone(), Some(to.to_lowercase())));
        let owner_times = times((owner.clone(), None));
        let (mut address_times, mut owner_times) = (address_times.lock(), owner_times.lock());
        let wait = next(&mut address_times, now, MAILS_PER_ADDRESS_MAX).max(next(
            &mut owner_times,
            now,
            MAILS_PER_OWNER_MAX,
        ));
        match wait {
            Some(until) => Err(until),
            None => {
                address_times.push_back(now);
                owner_times.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_a_limited_number_of_mails_of_an_owner_within_an_hour() {
        let (rates, ann, bob) = (MailRates::default(), "ann".parse().unwrap(), "bob".parse().unwrap());
        let take = |owner: &OwnerName, to: &str, now| rates.take(owner, to, TimestampMs(now));
        for nth in 0..MAILS_PER_ADDRESS_MAX as u64 {
            assert_eq!(take(&ann, "A@b.c", nth), Ok(()));
        }
        assert_eq!(take(&ann, "a@b.c", 500), Err(TimestampMs(HOUR_MS)));
        assert_eq!(take(&ann, "other@b.c", 500), Ok(()), "another address");
        assert_eq!(take(&bob, "a@b.c", 500), Ok(()), "another owner");
        assert_eq!(take(&ann, "a@b.c", HOUR_MS), Ok(()));
        assert_eq!(take(&ann, "a@b.c", HOUR_MS), Err(TimestampMs(HOUR_MS + 1)));
    }

    #[test]
    fn an_owner_sends_a_limited_number_of_mails_within_an_hour_to_any_addresses() {
        let (rates, ann) = (MailRates::default(), "ann".parse().unwrap());
        for nth in 0..MAILS_PER_OWNER_MAX {
            assert_eq!(rates.take(&ann, &format!("{nth}@b.c"), TimestampMs(7)), Ok(()));
        }
        assert_eq!(rates.take(&ann, "new@b.c", TimestampMs(8)), Err(TimestampMs(HOUR_MS + 7)));
    }
}
