//! Three nodes with three NATS servers, each pair on a machine of its own as far as the network goes: everything that may
//! break is broken while agents write, read and block each other. What was acknowledged is there once, in order, on every
//! node; no acknowledged block is outrun; a reader that follows sees no hole.
//! Must not know: how the nodes agree.
#![allow(clippy::print_stdout, reason = "each round says what it did, and a skipped test why")]

mod chance;
mod damage;
mod disks;
mod faults;
mod machines;
mod operator;
mod oracle;
mod place;
mod scene;

use std::{env, fs, time::Instant};

use blackbox::{epoch_ms, rounds};
use serde_json::json;

use self::{
    chance::Chance,
    faults::{FAULTS, Fault},
    machines::Machines,
    scene::Scene,
};

/// How many rounds: first each fault in turn, then faults by chance.
const ROUNDS: &str = "PLENARY_TORTURE_ROUNDS";
/// Where the figures of each round go, one JSON object a line.
const FIGURES: &str = "PLENARY_TORTURE_FIGURES";
/// The number of the first round, so that a run can go on with the faults behind it.
const FIRST: &str = "PLENARY_TORTURE_FIRST";
/// Words, apart by semicolons: only the faults whose names begin with one of them have their turn.
const ONLY: &str = "PLENARY_TORTURE_ONLY";
/// The seed of chance: what is hit, and which fault comes after the last one in turn.
const SEED: &str = "PLENARY_TEST_SEED";

/// Rounds of the short form, which the test command runs: a kill of the node that writes, a cut of its machine's network and
/// of its power, and damage to a replica.
const SHORT: usize = 4;

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

/// The faults that may strike.
fn faults() -> Vec<Fault> {
    let only = env::var(ONLY).unwrap_or_default();
    let only: Vec<&str> = only.split(';').filter(|word| !word.is_empty()).collect();
    let is_meant =
        |fault: &&Fault| only.is_empty() || only.iter().any(|word| fault.to_string().starts_with(word));
    let faults: Vec<Fault> = FAULTS.iter().filter(is_meant).copied().collect();
    assert!(!faults.is_empty(), "{ONLY} names a fault");
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_lose_nothing_whatever_breaks() {
    let count = number(ROUNDS).unwrap_or_else(|| rounds(SHORT, 1));
    let Some(mut machines) = Machines::start().await else { return };
    let (faults, first) = (faults(), number(FIRST).unwrap_or(0));
    let seed = number(SEED).map_or_else(|| epoch_ms().unsigned_abs(), |seed| seed as u64);
    println!("{SEED}={seed} repeats what chance chooses");
    let mut scene = Scene::set(&machines).await;
    for round in first..first + count {
        let mut chance = Chance::new(seed, round);
        let fault = faults.get(round).copied().unwrap_or_else(|| *chance.pick(&faults));
        println!("round {round}: {fault}");
        let begun = Instant::now();
        let figures = scene.round(&mut machines, (round, fault), chance).await;
        let line = json!({
            "round": round,
            "fault": fault.to_string(),
            "hit": figures.hit,
            "acknowledged": figures.acknowledged,
            "unanswered": figures.unanswered,
            "damaged": figures.damaged,
            "replaced": figures.replaced,
            "longest_pause_s": figures.longest_pause.as_secs_f64(),
            "blocks": figures.blocks,
            "events": figures.events,
            "took_s": begun.elapsed().as_secs_f64(),
        });
        println!("{line}");
        if let Ok(path) = env::var(FIGURES) {
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, format!("{before}{line}\n")).expect("the figures can be written");
        }
        scene.assert_clocks(&machines).await;
    }
    scene.check_all(&mut machines).await;
}
