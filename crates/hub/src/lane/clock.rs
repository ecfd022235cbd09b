//! The clock of the lane, which runs on while the machine sleeps: a message must not outlive its age by a sleep.
//! Must not know: messages.

use std::time::Duration;

use tokio::time::Instant;

/// Now, on the clock by which messages age: later than `Instant::now()` by the time that the machine has slept.
pub fn lane_now() -> Instant {
    Instant::now() + slept()
}

/// How long the machine has slept since it started, in whole seconds, so that the two readings never make it smaller.
#[cfg(all(target_os = "linux", not(test)))]
fn slept() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let read = |clock| {
        let at = clock_gettime(clock);
        Duration::new(u64::try_from(at.tv_sec).unwrap_or(0), u32::try_from(at.tv_nsec).unwrap_or(0))
    };
    let slept = read(ClockId::Boottime).saturating_sub(read(ClockId::Monotonic));
    Duration::from_secs((slept + Duration::from_millis(500)).as_secs())
}

#[cfg(all(not(target_os = "linux"), not(test)))]
fn slept() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
thread_local! {
    pub(super) static SLEPT: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

#[cfg(test)]
fn slept() -> Duration {
    SLEPT.get()
}
