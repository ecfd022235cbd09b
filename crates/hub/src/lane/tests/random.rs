//! For every interleaving of emitting, reading, subscribing, unsubscribing and sweeping: a subscriber that keeps up
//! sees exactly the matching messages, in order, once.

use proptest::prelude::*;

use super::*;

/// A step. A message is for the subscriptions whose bit is set.
#[derive(Debug, Clone)]
enum Step {
    Emit(u8),
    Read(usize),
    Come { bit: u8, back: bool },
    Go(usize),
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u8>().prop_map(Step::Emit),
        6 => (0..8_usize).prop_map(Step::Read),
        2 => (0..8_u8, any::<bool>()).prop_map(|(bit, back)| Step::Come { bit, back }),
        1 => (0..8_usize).prop_map(Step::Go),
        1 => Just(Step::Sweep),
    ]
}

/// The messages that a subscription should see, and has seen.
struct Reader {
    subscription: Subscription<u8, u64>,
    bit: u8,
    /// The messages that should wait for it.
    due: Vec<u64>,
    seen: Vec<u64>,
}

const LIMITS: LaneLimits = LaneLimits {
    entries_max: 4,
    backlog_max: 6,
    age_max: Duration::from_secs(1_000),
    keys_max: 1,
    key_bytes_max: 1 << 20,
    bytes_max: 1 << 20,
    sender_bytes_max: usize::MAX,
    sender_backlog_bytes_max: usize::MAX,
    subscriptions_max: 8,
    turn_count_max: 2,
    turn_bytes_max: 1 << 20,
    stall_max: Duration::from_secs(1_000),
};

fn is_for(mask: u8, bit: u8) -> bool {
    mask & (1 << bit) != 0
}

/// The emitted messages: the number and the mask of each.
fn come(lane: &Lane<u8, u64>, emitted: &[(u64, u8)], bit: u8, after: Option<u64>) -> Option<Reader> {
    let subscription = lane.subscribe("k", bit, after).ok()?;
    let missed = after.map_or(&[][..], |after| {
        let start = emitted.partition_point(|(number, _)| *number <= after);
        let missed = &emitted[start..];
        if missed.len() > LIMITS.entries_max { &[] } else { missed }
    });
    let due = missed.iter().filter(|(_, mask)| is_for(*mask, bit)).map(|(number, _)| *number).collect();
    Some(Reader { subscription, bit, due, seen: Vec::new() })
}

fn play(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let lane = Lane::<u8, u64>::new(LIMITS);
    // One subscription always exists, so that the ring is never freed.
    let keeper = lane.subscribe("k", 255, None).unwrap();
    let (mut readers, mut emitted): (Vec<Reader>, Vec<(u64, u8)>) = (Vec::new(), Vec::new());
    let mut last_seen = None;
    for step in steps {
        match step {
            Step::Emit(mask) => {
                let number = emitted.last().map_or(0, |(number, _)| *number) + 1;
                emitted.push((number, mask));
                let matches: super::super::Matches<u8> = Arc::new(move |bit| *bit < 8 && is_for(mask, *bit));
                let count =
                    lane.emit("k", Emission { number, message: number, bytes: 1, forget_at: None, matches });
                let matching: Vec<_> = readers.iter_mut().filter(|reader| is_for(mask, reader.bit)).collect();
                prop_assert_eq!(count, matching.len());
                matching.into_iter().for_each(|reader| reader.due.push(number));
            }
            Step::Read(nth) if nth < readers.len() => {
                let reader = &mut readers[nth];
                let mut deliveries = Vec::new();
                match reader.subscription.try_next(&mut deliveries) {
                    Ok(some) => {
                        prop_assert_eq!(some, !deliveries.is_empty());
                        let numbers: Vec<_> = deliveries.iter().map(|delivery| delivery.number).collect();
                        prop_assert!(reader.due.starts_with(&numbers), "{:?} of {:?}", numbers, reader.due);
                        let full = numbers.len() == LIMITS.turn_count_max;
                        prop_assert!(
                            full || numbers.len() == reader.due.len(),
                            "all that waits comes at once"
                        );
                        reader.due.drain(..numbers.len());
                        reader.seen.extend(numbers);
                    }
                    Err(ended) => {
                        // Only a subscription with more waiting messages than the backlog limit is dropped.
                        prop_assert_eq!(ended, EndReason::Stalled);
                        let newest = emitted.last().map_or(0, |(number, _)| *number);
                        let waits = reader.due.first().copied().unwrap_or(newest);
                        prop_assert!(newest - waits >= LIMITS.backlog_max as u64);
                        last_seen = readers.swap_remove(nth).seen.last().copied();
                    }
                }
            }
            Step::Come { bit, back } => {
                let after = last_seen.filter(|_| back);
                readers.extend(come(&lane, &emitted, bit, after));
            }
            Step::Go(nth) if nth < readers.len() => last_seen = readers.swap_remove(nth).seen.last().copied(),
            Step::Read(_) | Step::Go(_) => {}
            Step::Sweep => lane.sweep(),
        }
        prop_assert_eq!(lane.count("k"), readers.len() + 1);
    }
    drop(keeper);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fast_reader_sees_each_match_once_and_in_order(steps in prop::collection::vec(step(), 0..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { play(steps) })?;
    }
}
