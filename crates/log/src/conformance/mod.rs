//! The suite that every backend passes: each case is a test of its own, made by [`conformance!`](crate::conformance!).
//! Compiled only under the feature `conformance`, for tests. Must not know: any backend.

use std::{future::Future, time::Duration};

use crate::OpenedLog;

pub mod appends;
mod build;
pub mod conditions;
pub mod damage;
pub mod durable;
pub mod feeds;
pub mod indexes;
pub mod keys;
mod model;
pub mod random;
pub mod reading;
pub mod rows;
pub mod shared;
pub mod shared_signals;
pub mod signals;
pub mod usage;

/// A case that takes longer hangs.
const CASE_MAX: Duration = Duration::from_secs(120);

/// A store under test. Dropping it may remove what it kept.
pub trait Store: Send + Sync + Sized + 'static {
    /// Whether what the store needs is at hand; when not, the cases end at once.
    fn at_hand() -> bool {
        true
    }
    /// A new store with nothing in it.
    fn fresh() -> impl Future<Output = Self> + Send;
    /// A handle on this store. It is called again after `closed` if the cases `durable` are asked for, and while
    /// another handle is open if the cases `shared` are asked for.
    fn open(&self) -> impl Future<Output = OpenedLog> + Send;
    /// Waits, after all handles were dropped, until the store may be opened again.
    fn closed(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A durable store whose disk can be made to lie.
pub trait Damageable: Store {
    /// Damages what was stored, while no handle is open.
    fn damage(&self, damage: damage::Damage<'_>) -> impl Future<Output = ()> + Send;
}

/// Runs one case to its end, on a runtime of its own.
///
/// # Panics
/// If the case fails or does not end.
pub fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async { tokio::time::timeout(CASE_MAX, case).await.expect("the case ends") });
}

/// Makes one `#[test]` for each case of the suite: `conformance!(MyStore)`. A store that outlives its handles
/// adds `durable`, and one that several handles may hold at once adds `shared`: `conformance!(MyStore, durable, shared)`;
/// one whose handles share nothing but signals adds `shared_signals`; a [`Damageable`] one adds `damaged`.
#[macro_export]
macro_rules! conformance {
    ($store:ty $(, $more:ident)*) => {
        $crate::conformance!(@tests $store, appends: every_field_comes_back_byte_for_byte,
            a_large_payload_comes_back, positions_and_versions_have_no_gaps, a_batch_without_events_takes_no_position,
            batches_submitted_in_order_are_decided_in_order, many_tasks_append_at_once);
        $crate::conformance!(@tests $store, conditions: a_condition_holds_or_conflicts,
            a_batch_may_check_streams_that_it_does_not_write, the_first_conflict_is_named, a_conflict_writes_nothing,
            pipelined_conditions_rely_on_earlier_batches, a_broken_chain_writes_nothing_more, a_condition_upon_a_broken_chain_fails, racing_conditions_let_one_through,
            optimistic_writers_lose_nothing);
        $crate::conformance!(@tests $store, keys: a_claimed_key_gives_its_outcome_again,
            another_digest_is_a_reuse, a_key_wins_over_conditions_and_rows, a_key_is_unique_within_its_scope,
            a_key_is_seen_within_one_group, a_refused_batch_leaves_its_key_free);
        $crate::conformance!(@tests $store, rows: a_row_is_compared_and_set, a_row_is_deleted_and_begins_again,
            a_row_conflict_writes_nothing, a_row_changes_often_within_one_group, rows_are_read_by_prefix);
        $crate::conformance!(@tests $store, indexes: an_index_is_put_overwritten_and_deleted,
            an_index_changes_often_within_one_group, prefixes_and_cursors_follow_byte_order, indexes_are_apart);
        $crate::conformance!(@tests $store, reading: a_stream_is_read_in_pages, the_log_is_read_in_pages,
            news_between_two_positions, news_of_named_streams, the_head_rises_with_every_event,
            an_empty_store_answers_everything);
        $crate::conformance!(@tests $store, feeds: the_feed_has_everything_once_and_in_order,
            the_feed_has_whole_groups, a_dropped_feed_stops_nothing, a_tailing_reader_never_sees_a_hole);
        $crate::conformance!(@tests $store, usage: a_charge_is_counted_with_its_batch,
            what_is_freed_is_taken_off, charges_add_up_within_one_group,
            a_refused_batch_charges_nothing);
        $crate::conformance!(@tests $store, random: a_store_does_what_the_model_does);
        $crate::conformance!(@tests $store, signals: numbers_rise_by_one_from_the_clock,
            a_signal_comes_back_as_it_was, signals_arrive_in_the_order_of_their_numbers,
            past_its_limits_a_signal_is_refused, a_question_is_answered_by_a_process_alone,
            a_subscriber_that_lags_loses_signals_and_blocks_nobody,
            a_subscriber_that_lags_holds_few_octets, a_topic_has_one_subscription,
            closed_signals_end, a_subscription_ends_with_the_last_handle, numbers_go_on_rising_after_a_restart);
        $($crate::conformance!(@more $store, $more);)*
    };
    (@more $store:ty, durable) => {
        $crate::conformance!(@tests $store, durable: a_reopened_store_has_everything,
            a_reopened_store_goes_on_counting, a_reopened_store_has_the_same_use, what_was_queued_before_the_drop_is_kept);
    };
    (@more $store:ty, damaged) => {
        $crate::conformance!(@tests $store, damage: a_damaged_event_fails_its_stream_alone,
            a_reader_of_the_log_gets_past_damage, a_damaged_index_row_is_not_served,
            a_damaged_record_fails_its_batch_alone);
    };
    (@more $store:ty, shared) => {
        $crate::conformance!(@tests $store, shared: a_second_handle_sees_what_the_first_wrote,
            two_handles_lose_no_update, keys_and_rows_hold_across_handles, charges_add_up_across_handles, both_feeds_have_everything_in_order,
            a_reader_tails_the_writes_of_another_handle, a_late_feed_begins_at_the_head);
        $crate::conformance!(@more $store, shared_signals);
    };
    (@more $store:ty, shared_signals) => {
        $crate::conformance!(@tests $store, shared_signals: a_signal_reaches_both_handles,
            both_handles_get_signals_in_the_order_of_their_numbers, a_question_is_answered_by_both,
            an_answer_comes_whole_or_not_at_all, a_process_that_does_not_answer_is_not_waited_for_twice,
            a_process_that_goes_is_not_waited_for);
    };
    (@tests $store:ty, $part:ident: $($case:ident),*) => {
        mod $part {
            #[allow(unused_imports, reason = "the store may be named by a path from the root")]
            use super::*;
            $(#[test]
            fn $case() {
                if <$store as $crate::conformance::Store>::at_hand() {
                    $crate::conformance::run($crate::conformance::$part::$case::<$store>());
                }
            })*
        }
    };
}
