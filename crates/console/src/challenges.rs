//! Challenges that a passkey signs. A challenge contains its own expiry and a proof that this server created it, so
//! unused ones need no storage; the stream of the passkey records the used ones.
//! Must not know: the signer.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use plenary_kernel::TimestampMs;
use plenary_log::{Batch, Fault, RowOp};
use ring::{
    hmac::{self, HMAC_SHA256},
    rand::{SecureRandom as _, SystemRandom},
};

use crate::{
    Console,
    limits::{ATTEMPTS_ADDRESSES_MAX, ATTEMPTS_MAX, ATTEMPTS_UNKNOWN_MAX, CHALLENGE_MS_MAX},
};

/// The row with the key.
const ROW: &str = "console/challenges";
const KEY_BYTES: usize = 32;
const RANDOM_BYTES: usize = 16;
const UNTIL_BYTES: usize = 8;
const PURPOSE: &[u8] = b"a challenge of the console\0";
const MINUTE_MS: u64 = 60_000;

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Fault::Corrupt("no random bytes".into()))?;
    Ok(bytes)
}

fn challenge(key: &hmac::Key, until: TimestampMs, random: [u8; RANDOM_BYTES]) -> String {
    let payload = [&until.0.to_be_bytes()[..], &random].concat();
    let tag = hmac::sign(key, &[PURPOSE, &payload].concat());
    URL_SAFE_NO_PAD.encode([&payload[..], tag.as_ref()].concat())
}

/// The expiry of a challenge, if the key created it.
fn until(key: &hmac::Key, challenge: &str) -> Option<TimestampMs> {
    let bytes = URL_SAFE_NO_PAD.decode(challenge).ok()?;
    let (payload, tag) = bytes.split_at_checked(UNTIL_BYTES + RANDOM_BYTES)?;
    hmac::verify(key, &[PURPOSE, payload].concat(), tag).ok()?;
    Some(TimestampMs(u64::from_be_bytes(payload[..UNTIL_BYTES].try_into().ok()?)))
}

impl Console {
    /// A new challenge.
    pub(crate) async fn challenge(&self) -> Result<String, Fault> {
        let until = TimestampMs(self.0.clock.now().0.saturating_add(CHALLENGE_MS_MAX));
        Ok(challenge(self.challenge_key().await?, until, random()?))
    }

    /// The expiry of a challenge of this server; `None` if it is not one or has expired.
    pub(crate) async fn challenge_until(&self, challenge: &str) -> Result<Option<TimestampMs>, Fault> {
        let now = self.0.clock.now();
        Ok(until(self.challenge_key().await?, challenge).filter(|until| now < *until))
    }

    /// The key, which all processes of a store share.
    async fn challenge_key(&self) -> Result<&hmac::Key, Fault> {
        self.0.challenge_key.get_or_try_init(|| self.stored_key()).await
    }

    async fn stored_key(&self) -> Result<hmac::Key, Fault> {
        if self.log().read_row(ROW).await?.is_none() {
            let value = Some(random::<KEY_BYTES>()?.to_vec().into());
            // If another process was faster, its row stays and is read below.
            let row = RowOp { name: ROW.into(), expected: Some(0), value };
            self.log().append(Batch { rows: vec![row], ..Batch::default() }).await?;
        }
        let row = self.log().read_row(ROW).await?.filter(|row| row.value.len() == KEY_BYTES);
        Ok(hmac::Key::new(HMAC_SHA256, &row.ok_or_else(broken)?.value))
    }
}

/// The failed sign-ins of the current minute, by address. `None` stands for addresses that many clients share, and for
/// addresses beyond the limit.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    minute: AtomicU64,
    counted: Mutex<HashMap<Option<IpAddr>, u32>>,
}

impl Failures {
    fn check(&self, now: TimestampMs, address: Option<IpAddr>, count: bool) -> bool {
        let mut counted = self.counted.lock();
        let minute = now.0 / MINUTE_MS;
        if self.minute.swap(minute, Ordering::Relaxed) != minute {
            counted.clear();
        }
        let has_room = counted.len() < ATTEMPTS_ADDRESSES_MAX || counted.contains_key(&address);
        let address = address.filter(|_| has_room);
        let max = if address.is_some() { ATTEMPTS_MAX } else { ATTEMPTS_UNKNOWN_MAX };
        if count {
            *counted.entry(address).or_default() += 1;
        }
        counted.get(&address).is_none_or(|failed| *failed < max)
    }
    /// Whether a client at this address may try.
    pub(crate) fn may_try(&self, now: TimestampMs, address: Option<IpAddr>) -> bool {
        self.check(now, address, false)
    }
    /// Counts a failed attempt.
    pub(crate) fn failed(&self, now: TimestampMs, address: Option<IpAddr>) {
        self.check(now, address, true);
    }
}

/// Seconds until the next minute.
pub(crate) fn next_minute_s(now: TimestampMs) -> u64 {
    (MINUTE_MS - now.0 % MINUTE_MS).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_itself_until_when_it_holds_and_cannot_be_made_up() {
        let key = hmac::Key::new(HMAC_SHA256, &[7; KEY_BYTES]);
        let text = challenge(&key, TimestampMs(5), [1; RANDOM_BYTES]);
        assert_eq!(until(&key, &text), Some(TimestampMs(5)));
        let other = hmac::Key::new(HMAC_SHA256, &[8; KEY_BYTES]);
        assert_eq!(until(&other, &text), None);
        let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        bytes[7] = 6;
        assert_eq!(until(&key, &URL_SAFE_NO_PAD.encode(&bytes)), None, "it cannot be made to last");
        for wrong in ["", "x", "AAAA", &text[..text.len() - 2]] {
            assert_eq!(until(&key, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn who_fails_too_often_waits_for_the_next_minute_and_nobody_else_does() {
        let failures = Failures::default();
        let (one, other) = (Some("192.0.2.1".parse().unwrap()), Some("192.0.2.2".parse().unwrap()));
        let now = TimestampMs(MINUTE_MS * 9 + 1);
        for _ in 0..ATTEMPTS_MAX {
            assert!(failures.may_try(now, one));
            failures.failed(now, one);
        }
        assert!(!failures.may_try(now, one) && failures.may_try(now, other) && failures.may_try(now, None));
        assert_eq!(next_minute_s(now), 60);
        assert!(failures.may_try(TimestampMs(MINUTE_MS * 10), one));
    }

    #[test]
    fn past_their_number_addresses_are_counted_together() {
        let failures = Failures::default();
        let now = TimestampMs(MINUTE_MS);
        for nth in 0..ATTEMPTS_ADDRESSES_MAX {
            let address = IpAddr::from(u32::try_from(nth).unwrap().to_be_bytes());
            failures.failed(now, Some(address));
        }
        let late = Some("192.0.2.1".parse().unwrap());
        for _ in 0..ATTEMPTS_UNKNOWN_MAX {
            failures.failed(now, late);
        }
        assert!(!failures.may_try(now, late) && failures.counted.lock().len() <= ATTEMPTS_ADDRESSES_MAX + 1);
    }
}
