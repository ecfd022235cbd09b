//! Sends a group of signals and answers as one statement, which is its own transaction. It locks the
//! counters' rows in the order of their names until its commit, so numbers have the order of commits, in
//! which notifications arrive; and no process can stall between the two.
//! Must not know: the recovery of a lost connection.

use std::{collections::BTreeMap, sync::Arc};

use plenary_log::{
    Fault,
    signals::{ProcessId, PublicationReceipt},
};
use tokio_postgres::{Client, Row, Statement, types::ToSql};

use super::{Item, parts};
use crate::{
    target::{Target, unsigned, within},
    trouble::Trouble,
};

/// Longest wait for a group to be sent.
const SEND_MS_MAX: u64 = 5_000;
/// Microseconds in a millisecond.
const US_PER_MS: u64 = 1_000;

/// Numbers and sends in one statement. `$1` to `$3`: the counters in order, how many numbers each
/// assigns, and where it begins if it is new. `$4` to `$6`: for each number that is sent, the part, the
/// counter and its index among the counter's numbers, from 1. `$7` to `$9`: the parts.
pub(super) const SEND: &str = "\
WITH given AS (
    INSERT INTO signal_counters AS known (name, last, taken)
    SELECT name, start + taken - 1, taken FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS c (name, taken, start)
    ON CONFLICT (name) DO UPDATE SET last = known.last + excluded.taken, taken = excluded.taken
    RETURNING name, last - taken AS before
), befores AS MATERIALIZED (
    SELECT array_agg(before ORDER BY name) AS before FROM given
), numbered AS MATERIALIZED (
    SELECT part, string_agg((before[counter] + nth)::text, ',' ORDER BY place) AS numbers
    FROM unnest($4::bigint[], $5::int[], $6::bigint[]) WITH ORDINALITY AS n (part, counter, nth, place), befores
    GROUP BY part
), told AS MATERIALIZED (
    SELECT pg_notify(channel, head || coalesce(numbers, '') || tail) FROM (
        SELECT channel, head, numbers, tail
        FROM unnest($7::text[], $8::text[], $9::text[]) WITH ORDINALITY AS p (channel, head, tail, part)
        LEFT JOIN numbered USING (part) ORDER BY part
    ) AS parts
)
SELECT (SELECT before FROM befores), (SELECT count(*) FROM told),
    (SELECT array_agg(id) FROM signal_processes WHERE alive_until > clock_timestamp())";

/// The parameters of the statement for one group.
#[derive(Default)]
struct Group {
    counters: BTreeMap<Arc<str>, Counter>,
    /// For each number: its part, its counter and its index among the counter's numbers, from 1.
    numbers: Vec<(i64, Arc<str>, u64)>,
    channels: Vec<String>,
    heads: Vec<String>,
    tails: Vec<String>,
}

struct Counter {
    count: u64,
    start: u64,
}

/// The serial numbers of this process's messages.
#[derive(Default)]
pub(super) struct Serial(u64);

impl Serial {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// Sends a group and answers its publishers. The returned trouble says whether the connection is lost.
pub(super) async fn send(
    client: &Client,
    statement: &Statement,
    target: &Target,
    (from, serial): (ProcessId, &mut Serial),
    items: Vec<Item>,
) -> Result<(), Trouble> {
    let mut group = Group::default();
    let mut waiting = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Answer { to, question, answer } => {
                let parts = parts::answer(from, serial.next(), question, answer.as_ref());
                group.add_parts(&target.private_channel(to.0), &[], parts);
            }
            Item::Publish { outgoing, reply } => {
                let named = outgoing.publication.counters.clone();
                let start = outgoing.publication.at.0.saturating_mul(US_PER_MS);
                let nths = group.take_numbers(&named, start);
                let parts = parts::signal(from, serial.next(), &outgoing);
                let numbers: Vec<_> = named.into_iter().zip(nths).collect();
                group.add_parts(&target.signal_channel(), &numbers, parts);
                waiting.push((numbers, reply));
            }
        }
    }
    match group.run(client, statement).await {
        Ok((first, alive)) => {
            for (numbers, reply) in waiting {
                let number = |(name, nth): &(Arc<str>, u64)| first.get(name).map_or(0, |before| before + nth);
                let carried = PublicationReceipt {
                    numbers: numbers.iter().map(number).collect(),
                    alive: alive.clone(),
                };
                let _ = reply.send(Ok(carried));
            }
            Ok(())
        }
        Err(trouble) => {
            let fault = match &trouble {
                Trouble::Lost(text) => Fault::OutcomeUnknown(text.clone()),
                Trouble::Busy(_) | Trouble::Full(_) | Trouble::Refused(_) | Trouble::Broken(_) => {
                    trouble.clone().fault()
                }
            };
            for (_, reply) in waiting {
                let _ = reply.send(Err(fault.clone()));
            }
            Err(trouble)
        }
    }
}

impl Group {
    /// Takes the next numbers of these counters, as indexes within this group.
    fn take_numbers(&mut self, counters: &[Arc<str>], start: u64) -> Vec<u64> {
        let take = |name: &Arc<str>| {
            let counter = self.counters.entry(name.clone()).or_insert(Counter { count: 0, start });
            counter.count += 1;
            counter.count
        };
        counters.iter().map(take).collect()
    }

    fn add_parts(&mut self, channel: &str, numbers: &[(Arc<str>, u64)], parts: Vec<parts::Part>) {
        for part in parts {
            // The ordinality of the statement counts from 1.
            let ordinal = i64::try_from(self.heads.len() + 1).unwrap_or(i64::MAX);
            self.numbers
                .extend(numbers[part.counters].iter().map(|(name, nth)| (ordinal, name.clone(), *nth)));
            self.channels.push(channel.to_owned());
            self.heads.push(part.head);
            self.tails.push(part.tail);
        }
    }

    /// Runs the statement; returns each counter's number before its first new one, and the living
    /// processes.
    async fn run(
        &self,
        client: &Client,
        statement: &Statement,
    ) -> Result<(BTreeMap<Arc<str>, u64>, Vec<ProcessId>), Trouble> {
        let names: Vec<&str> = self.counters.keys().map(AsRef::as_ref).collect();
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let counts: Vec<i64> = self.counters.values().map(|counter| signed(counter.count)).collect();
        let starts: Vec<i64> = self.counters.values().map(|counter| signed(counter.start)).collect();
        let ordinals: BTreeMap<_, i32> = self.counters.keys().zip(1..).collect();
        let of_part: Vec<i64> = self.numbers.iter().map(|(part, ..)| *part).collect();
        let of_counter: Vec<i32> =
            self.numbers.iter().map(|(_, name, _)| ordinals.get(name).copied().unwrap_or_default()).collect();
        let nths: Vec<i64> = self.numbers.iter().map(|(.., nth)| signed(*nth)).collect();
        let Self { channels, heads, tails, .. } = self;
        let params: [&(dyn ToSql + Sync); 9] =
            [&names, &counts, &starts, &of_part, &of_counter, &nths, channels, heads, tails];
        let row: Row = within(SEND_MS_MAX, client.query_one(statement, &params)).await?;
        let befores: Option<Vec<i64>> = row.try_get(0)?;
        let befores: Vec<u64> = befores.into_iter().flatten().map(unsigned).collect::<Result<_, _>>()?;
        if befores.len() != names.len() {
            return Err(Trouble::Broken(format!("{} counters gave {} numbers", names.len(), befores.len())));
        }
        let alive: Option<Vec<i64>> = row.try_get(2)?;
        let alive =
            alive.into_iter().flatten().map(|id| unsigned(id).map(ProcessId)).collect::<Result<_, _>>()?;
        Ok((self.counters.keys().cloned().zip(befores).collect(), alive))
    }
}
