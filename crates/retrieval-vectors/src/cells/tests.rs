//! What the cells find, against a comparison with everything.
//! Must not know: documents.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::*;

/// Numbers that look drawn; the same each time.
pub(crate) struct Drawn(u64);

impl Drawn {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end
    }

    /// About normal, between -3 and 3.
    pub(crate) fn normal(&mut self) -> f32 {
        let sum: f32 = (0..12).map(|_| self.below(1 << 16) as f32 / 65_536.0).sum();
        (sum - 6.0) / 2.0
    }

    pub(crate) fn direction(&mut self, dimension: usize) -> Vec<f32> {
        unit((0..dimension).map(|_| self.normal()).collect())
    }

    /// A direction near another one.
    pub(crate) fn near(&mut self, other: &[f32], noise: f32) -> Vec<f32> {
        let aside = self.direction(other.len());
        unit(other.iter().zip(aside).map(|(one, other)| one + noise * other).collect())
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    plenary_embeddings::normalise(&mut vector);
    vector
}

/// Cells, and where each code is by its owner's number.
struct Filled {
    cells: Cells,
    locations: HashMap<u32, CodeLocation>,
}

impl Filled {
    fn new(dimension: usize, sizes: Sizes) -> Self {
        Self { cells: Cells::new(dimension, sizes), locations: HashMap::new() }
    }

    fn add(&mut self, document: u32, vector: &[f32]) {
        let locations = &mut self.locations;
        self.cells.add(&Code::of(vector), Owner { document, part: 0 }, &mut |owner, location| {
            locations.insert(owner.document, location);
        });
    }

    fn remove(&mut self, document: u32) {
        let location = self.locations.remove(&document).unwrap();
        let locations = &mut self.locations;
        self.cells.remove(location, &mut |owner, location| {
            locations.insert(owner.document, location);
        });
    }

    fn found(&self, probe: &Probe, cells: &[usize], limit: usize) -> Vec<u32> {
        let mut compared = self.cells.compare_cells(probe, cells);
        compared.sort_unstable_by(nearer);
        compared.into_iter().take(limit).map(|compared| compared.owner.document).collect()
    }

    fn everywhere(&self, probe: &Probe, limit: usize) -> Vec<u32> {
        self.found(probe, &(0..self.cells.cells.len()).collect::<Vec<_>>(), limit)
    }

    /// How many of the ten nearest a search finds, and which part of all codes it compares.
    fn recall(&self, queries: &[Vec<f32>]) -> (f64, f64) {
        let (mut found, mut total, mut compared) = (0, 0, 0);
        for query in queries {
            let probe = Probe::of(query);
            let (near, count) = self.cells.near(&probe, self.cells.count());
            let exact = self.everywhere(&probe, 10);
            let these = self.found(&probe, &near, 10);
            found += exact.iter().filter(|document| these.contains(document)).count();
            total += exact.len();
            compared += count;
        }
        let all = self.cells.count() * queries.len();
        (found as f64 / total as f64, compared as f64 / all as f64)
    }
}

/// Texts of some topics: vectors near centres, with questions near some of them.
fn topics(seed: u64, (count, dimension): (usize, usize)) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let mut drawn = Drawn::of(seed);
    let centres: Vec<_> = (0..count.div_ceil(100)).map(|_| drawn.direction(dimension)).collect();
    let vectors: Vec<_> = (0..count)
        .map(|_| {
            let centre = drawn.below(centres.len());
            drawn.near(&centres[centre], 0.7)
        })
        .collect();
    let queries = (0..60).map(|_| {
        let nth = drawn.below(vectors.len());
        drawn.near(&vectors[nth], 0.5)
    });
    let queries = queries.collect();
    (vectors, queries)
}

const SMALL: Sizes = Sizes { exact: 2_000, cell: 50, share: 8 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn the_nearest_cells_have_nearly_all_that_is_nearest(seed in 1_u64..1_000) {
        let (vectors, queries) = topics(seed, (16_000, 48));
        let mut filled = Filled::new(48, SMALL);
        for (document, vector) in (0..).zip(&vectors) {
            filled.add(document, vector);
        }
        let (recall, compared) = filled.recall(&queries);
        prop_assert!(recall >= 0.98, "{recall} of the ten nearest, by {compared} of all codes");
        prop_assert!(compared < 0.2, "{compared}");
    }
}

#[test]
fn up_to_a_number_of_codes_a_search_compares_all_of_them() {
    let (vectors, queries) = topics(3, (SMALL.exact, 16));
    let mut filled = Filled::new(16, SMALL);
    for (document, vector) in (0..).zip(&vectors) {
        filled.add(document, vector);
    }
    assert!(filled.cells.cells.len() > 8, "cells are there before they are needed");
    assert_eq!(filled.recall(&queries), (1.0, 1.0));
    filled.add(9_999, &vectors[0]);
    assert!(filled.recall(&queries).1 < 1.0 + 1e-9);
    let probe = Probe::of(&queries[0]);
    let of_few = filled.cells.near(&probe, SMALL.exact / 100).1;
    assert!(of_few >= filled.cells.near(&probe, SMALL.exact).1, "few hits are looked for farther away");
}

#[test]
fn the_same_codes_in_the_same_order_make_the_same_cells() {
    let (vectors, _) = topics(5, (5_000, 24));
    let fill = || {
        let mut filled = Filled::new(24, SMALL);
        (0..).zip(&vectors).for_each(|(document, vector)| filled.add(document, vector));
        filled.locations.into_iter().collect::<BTreeMap<_, _>>()
    };
    assert_eq!(fill(), fill());
}

#[test]
fn every_code_is_at_its_reported_location_after_removals() {
    let (vectors, _) = topics(7, (3_000, 24));
    let mut filled = Filled::new(24, SMALL);
    for (document, vector) in (0_u32..).zip(&vectors) {
        filled.add(document, vector);
        if document % 3 == 2 {
            filled.remove(document - 1);
        }
    }
    assert_eq!(filled.cells.count(), 2_000);
    for (document, location) in &filled.locations {
        let vector = &vectors[usize::try_from(*document).unwrap()];
        assert_eq!(filled.cells.code(*location), Some(Code::of(vector)));
    }
    assert!(filled.cells.cells.iter().all(|cell| cell.scales.len() <= SMALL.cell));
    let few = filled.locations.keys().copied().collect::<Vec<_>>();
    few.into_iter().for_each(|document| filled.remove(document));
    assert_eq!(filled.cells.count(), 0);
    assert!(filled.everywhere(&Probe::of(&vectors[0]), 9).is_empty());
}

#[test]
fn copies_of_one_text_are_divided_evenly() {
    let mut filled = Filled::new(8, SMALL);
    let vector = Drawn::of(1).direction(8);
    (0..1_000).for_each(|document| filled.add(document, &vector));
    assert!(filled.cells.cells.iter().all(|cell| (20..=SMALL.cell).contains(&cell.scales.len())));
}
