//! The time of a notification: at once, at the end of quiet hours, or in a digest. Pure.
//! Must not know: its content.

use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::{TimeZone, TimeZoneDatabase},
};
use plenary_kernel::TimestampMs;

use crate::wire::Quiet;

/// Parsed quiet hours.
struct Hours {
    zone: TimeZone,
    from: Time,
    to: Time,
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !two(hour) || !two(minute) {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

impl Hours {
    fn read(quiet: &Quiet) -> Result<Self, &'static str> {
        // The zones are bundled with the program, so they are the same on every machine.
        let zone = TimeZoneDatabase::bundled().get(&quiet.time_zone);
        let zone = zone.map_err(|_| "`quiet.time_zone` is no IANA time zone, such as Europe/Berlin.")?;
        let times = time(&quiet.from).zip(time(&quiet.to));
        let (from, to) = times.ok_or("`quiet.from` and `quiet.to` must be times from 00:00 to 23:59.")?;
        if from == to {
            return Err("`quiet.from` and `quiet.to` must differ.");
        }
        Ok(Self { zone, from, to })
    }

    /// The first instant at or after a local time of a day.
    fn instant(&self, date: Date, time: Time) -> Option<Timestamp> {
        Some(self.zone.to_ambiguous_zoned(date.to_datetime(time)).compatible().ok()?.timestamp())
    }

    /// The end of the quiet hours that contain an instant.
    fn end(&self, now: Timestamp) -> Option<Timestamp> {
        let today = now.to_zoned(self.zone.clone()).date();
        // Quiet hours that started the day before may continue.
        for begins in [today.yesterday().ok()?, today] {
            let ends = if self.from < self.to { begins } else { begins.tomorrow().ok()? };
            let (from, to) = (self.instant(begins, self.from)?, self.instant(ends, self.to)?);
            if from <= now && now < to {
                return Some(to);
            }
        }
        None
    }
}

/// What is wrong with quiet hours.
pub(crate) fn check(quiet: &Quiet) -> Result<(), &'static str> {
    Hours::read(quiet).map(drop)
}

fn moment(time: TimestampMs) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(time.0).ok()?).ok()
}

/// The end of the quiet hours that contain an instant.
pub(crate) fn quiet_until(quiet: Option<&Quiet>, now: TimestampMs) -> Option<TimestampMs> {
    let hours = Hours::read(quiet?).ok()?;
    let end = hours.end(moment(now)?)?.as_millisecond();
    u64::try_from(end).ok().map(TimestampMs)
}

/// The time of the digest for a notification; `None` if it is sent alone, at once.
pub(crate) fn collected_until(
    quiet: Option<&Quiet>,
    digest_minutes: Option<u32>,
    now: TimestampMs,
) -> Option<TimestampMs> {
    if let Some(end) = quiet_until(quiet, now) {
        return Some(end);
    }
    let step = u64::from(digest_minutes?).max(1) * 60_000;
    let end = TimestampMs((now.0 / step + 1) * step);
    Some(quiet_until(quiet, end).unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> TimestampMs {
        TimestampMs(u64::try_from(text.parse::<Timestamp>().unwrap().as_millisecond()).unwrap())
    }

    fn berlin(from: &str, to: &str) -> Quiet {
        Quiet { time_zone: "Europe/Berlin".into(), from: from.into(), to: to.into() }
    }

    #[test]
    fn the_night_ends_in_the_morning_of_its_zone() {
        let night = berlin("22:00", "07:00");
        for (now, end) in [
            ("2026-01-10T20:59:59Z", None),
            ("2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
            ("2026-01-11T05:59:59.999Z", Some("2026-01-11T06:00:00Z")),
            ("2026-01-11T06:00:00Z", None),
            // The night is an hour shorter when summer time begins, and an hour longer when it ends.
            ("2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z")),
            ("2026-10-24T20:00:00Z", Some("2026-10-25T06:00:00Z")),
        ] {
            assert_eq!(collected_until(Some(&night), None, at(now)), end.map(at), "{now}");
        }
    }

    #[test]
    fn quiet_hours_may_lie_within_a_day_and_begin_at_a_skipped_time() {
        let noon = berlin("12:00", "13:30");
        assert_eq!(
            collected_until(Some(&noon), None, at("2026-01-10T11:15:00Z")),
            Some(at("2026-01-10T12:30:00Z"))
        );
        assert_eq!(collected_until(Some(&noon), None, at("2026-01-10T12:30:00Z")), None);
        // 02:30 does not exist on that night: the clocks show 03:30 then.
        let skipped = berlin("01:00", "02:30");
        assert_eq!(
            collected_until(Some(&skipped), None, at("2026-03-29T00:30:00Z")),
            Some(at("2026-03-29T01:30:00Z"))
        );
    }

    #[test]
    fn a_digest_is_sent_at_the_end_of_its_minutes_and_not_in_quiet_hours() {
        assert_eq!(
            collected_until(None, Some(60), at("2026-01-10T11:15:00Z")),
            Some(at("2026-01-10T12:00:00Z"))
        );
        assert_eq!(collected_until(None, None, at("2026-01-10T11:15:00Z")), None);
        let night = berlin("22:00", "07:00");
        assert_eq!(
            collected_until(Some(&night), Some(60), at("2026-01-10T20:30:00Z")),
            Some(at("2026-01-11T06:00:00Z"))
        );
    }

    #[test]
    fn invalid_hours_are_refused() {
        for (from, to) in
            [("22:00", "22:00"), ("24:00", "07:00"), ("7:00", "08:00"), ("", "07:00"), ("+1:00", "2:00")]
        {
            assert!(check(&berlin(from, to)).is_err(), "{from} {to}");
        }
        assert!(
            check(&Quiet { time_zone: "Berlin".into(), from: "22:00".into(), to: "07:00".into() }).is_err()
        );
        assert!(check(&berlin("22:00", "07:00")).is_ok());
    }
}
