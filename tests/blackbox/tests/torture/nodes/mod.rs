//! Three nodes with three NATS servers, each pair on a machine of its own as far as the network goes: everything that may
//! break is broken while agents write, read and block each other. What was acknowledged is there once, in order, on every
//! node; no acknowledged block is outrun; a reader that follows sees no hole.
//! Must not know: how the nodes agree.
#![allow(clippy::print_stdout, reason = "each round says what it did, and a skipped test why")]

mod disks;
mod faults;
mod machines;
mod place;
mod scene;

use std::{env, fs, time::Instant};

use blackbox::rounds;
use serde_json::json;

use self::{faults::FAULTS, machines::Machines, scene::Scene};

/// How many rounds; each fault has its turn.
const ROUNDS: &str = "PLENARY_TORTURE_ROUNDS";
/// Where the figures of each round go, one JSON object a line.
const FIGURES: &str = "PLENARY_TORTURE_FIGURES";
/// The number of the first round, so that a run can go on with the faults behind it.
const FIRST: &str = "PLENARY_TORTURE_FIRST";

/// Rounds of the short form: a kill of the node that writes, and a cut of its machine. They take less than a minute.
const SHORT: usize = 2;

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_lose_nothing_whatever_breaks() {
    let count = number(ROUNDS).unwrap_or_else(|| rounds(SHORT, 1));
    let Some(mut machines) = Machines::start().await else { return };
    let mut scene = Scene::set(&machines).await;
    let first = number(FIRST).unwrap_or(0);
    for round in first..first + count {
        let fault = FAULTS[round % FAULTS.len()];
        let begun = Instant::now();
        let figures = scene.round(&mut machines, round, fault).await;
        let took = begun.elapsed().as_secs_f64();
        let line = json!({
            "round": round,
            "fault": fault.to_string(),
            "acknowledged": figures.acknowledged,
            "unanswered": figures.unanswered,
            "longest_pause_s": figures.longest_pause.as_secs_f64(),
            "blocks": figures.blocks,
            "events": figures.events,
            "took_s": took,
        });
        println!("{line}");
        if let Ok(path) = env::var(FIGURES) {
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, format!("{before}{line}\n")).expect("the figures can be written");
        }
    }
}
