//! What the operator of the machines asks and does: who writes, who leads, whether all is well; what ends is started again,
//! and damaged stores are replaced.
//! Must not know: what broke.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use blackbox::{binary, eventually_within, strike_after};
use serde_json::Value;

use super::{
    machines::{BACK_MAX, Machines, Program},
    place::COUNT,
};

/// So often a node that ends by itself is started again, as a supervisor would.
const STARTS_MAX: usize = 8;
/// The pause between two looks at a node that does not serve.
const LOOK_EVERY: Duration = Duration::from_millis(300);

impl Machines {
    /// What `plenary` answers to the operator, who is on none of the machines.
    fn asked(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.dir.path()).env("PLENARY_CLUSTER", self.urls(0));
        let output = command.args(args).output().expect("the binary starts");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// The state of the journal of the log, once there is one with a leader and a node with the pen.
    async fn status(&self) -> Value {
        eventually_within(BACK_MAX, "somebody leads and somebody writes", async || {
            let (_, out, _) = self.asked(&["cluster", "status", "--json"]);
            let status: Value = serde_json::from_str(out.lines().next()?).ok()?;
            let has_pen = status["nodes"].as_array()?.iter().any(|node| node["pen"] == true);
            (status["leader"].is_string() && has_pen).then_some(status)
        })
        .await
    }

    /// The node that has the pen.
    pub(super) async fn pen(&self) -> usize {
        let status = self.status().await;
        let nodes = status["nodes"].as_array().expect("a list");
        let mut with_pen = nodes.iter().filter(|node| node["pen"] == true);
        nth(with_pen.next().expect("one has it")["node"].as_str())
    }

    /// The NATS server that leads the journal of the log.
    pub(super) async fn leader(&self) -> usize {
        nth(self.status().await["leader"].as_str())
    }

    /// Waits until the status says that every server follows and no node is alone.
    pub(super) async fn is_well(&self) {
        let begun = Instant::now();
        loop {
            let (code, out, err) = self.asked(&["cluster", "status"]);
            if code == 0 {
                return;
            }
            assert!(begun.elapsed() < BACK_MAX, "the cluster never gets well: {out}{err}");
            strike_after(LOOK_EVERY).await;
        }
    }

    /// Has a node hand over the pen, if it has it.
    pub(super) async fn drain(&self, nth: usize) {
        let name = format!("n{nth}");
        eventually_within(BACK_MAX, &format!("{name} is drained"), async || {
            (self.asked(&["cluster", "drain", "--node", &name]).0 == 0).then_some(())
        })
        .await;
    }

    /// Waits until a replica has every record of the journal, with its hash.
    pub(super) async fn is_the_journal(&self, nth: usize) {
        let data = self.data(nth).display().to_string();
        eventually_within(BACK_MAX, &format!("replica {nth} is the journal"), async || {
            let (code, out, err) = self.asked(&["cluster", "verify", "--data", &data, "--json"]);
            assert!(code != 1, "node {nth}: {out}{err}");
            let verified: Value = serde_json::from_str(&out).ok()?;
            (code == 0 && verified["records"] == verified["replicated"]).then_some(())
        })
        .await;
    }

    /// Everything is heard and runs, and all nodes serve.
    pub(super) async fn mend(&mut self) {
        self.place.heal();
        for nth in 0..COUNT {
            for program in [Program::Nats, Program::Node] {
                self.has_ended(program, nth);
                self.run(program, nth);
            }
        }
        for nth in 0..COUNT {
            self.comes_back(nth).await;
        }
        // A server with a damaged store may never follow; the operator replaces it when everything was looked at.
        if self.harmed.is_none() {
            self.is_well().await;
        }
    }

    /// Waits until a node serves. If it ends by itself, as it found its file damaged, a supervisor starts it again.
    pub(super) async fn comes_back(&mut self, nth: usize) {
        let (begun, mut starts) = (Instant::now(), 0);
        while !self.is_ready(nth).await {
            if self.has_ended(Program::Node, nth) {
                starts += 1;
                assert!(starts < STARTS_MAX, "node {nth} does not start: {}", self.logged(nth));
                self.run(Program::Node, nth);
            }
            assert!(begun.elapsed() < BACK_MAX, "node {nth} does not serve: {}", self.logged(nth));
            strike_after(LOOK_EVERY).await;
        }
    }

    /// What a machine was damaged in is replaced: a store of NATS follows the others from nothing, and a replica that
    /// does not pass its checks is built again from the journal. What was replaced.
    pub(super) async fn replaces_damaged(&mut self) -> Vec<String> {
        let mut replaced = Vec::new();
        if let Some(nth) = self.harmed.take() {
            self.kill(Program::Nats, nth);
            self.empty(Program::Nats, nth);
            self.run(Program::Nats, nth);
            replaced.push(format!("the store of NATS server {nth}"));
            self.is_well().await;
        }
        for nth in 0..COUNT {
            let data = self.data(nth).display().to_string();
            let checks = [&["fsck", "--data", &data][..], &["cluster", "verify", "--data", &data]];
            if checks.iter().any(|check| self.asked(check).0 == 1) {
                self.kill(Program::Node, nth);
                self.empty(Program::Node, nth);
                self.run(Program::Node, nth);
                self.comes_back(nth).await;
                replaced.push(format!("replica {nth}"));
            }
        }
        self.is_well().await;
        replaced
    }
}

fn nth(name: Option<&str>) -> usize {
    let number = name.and_then(|name| name.strip_prefix('n')).and_then(|number| number.parse().ok());
    number.expect("the name of a machine")
}
