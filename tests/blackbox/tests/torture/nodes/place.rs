//! Three machines as far as the network goes: namespaces on one bridge, between which packets can be lost.
//! Must not know: what runs in them.

use std::process::{Command, Stdio};

/// So many machines.
pub(super) const COUNT: usize = 3;

/// The namespaces, removed when dropped.
#[derive(Debug)]
pub(super) struct Place {
    /// What the names of its devices begin with.
    tag: String,
    /// The first three parts of its addresses.
    net: String,
}

/// Runs a command of the system; whether it went well.
fn ran(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[track_caller]
fn must(line: &str) {
    assert!(ran(line), "this failed: {line}");
}

impl Place {
    /// Makes it; `None` where this process may not.
    pub(super) fn make() -> Option<Self> {
        let number = std::process::id() % 250;
        let place = Self { tag: format!("plt{number}"), net: format!("10.77.{number}") };
        let (tag, net) = (&place.tag, &place.net);
        must("nft --version");
        if !ran(&format!("ip netns add {tag}n0")) {
            return None;
        }
        must(&format!("ip link add {tag}b type bridge"));
        must(&format!("ip addr add {net}.254/24 dev {tag}b"));
        must(&format!("ip link set {tag}b up"));
        for nth in 0..COUNT {
            let (inside, device) = (place.namespace(nth), format!("{tag}v{nth}"));
            if nth > 0 {
                must(&format!("ip netns add {inside}"));
            }
            must(&format!("ip link add {device} type veth peer name eth0 netns {inside}"));
            must(&format!("ip link set {device} master {tag}b up"));
            must(&format!("ip -n {inside} addr add {}/24 dev eth0", place.address(nth)));
            must(&format!("ip -n {inside} link set eth0 up"));
            must(&format!("ip -n {inside} link set lo up"));
            must(&format!("ip netns exec {inside} nft add table ip cuts"));
            let chain = "add chain ip cuts in { type filter hook input priority 0 ; }";
            must(&format!("ip netns exec {inside} nft {chain}"));
        }
        Some(place)
    }

    fn namespace(&self, nth: usize) -> String {
        format!("{}n{nth}", self.tag)
    }

    pub(super) fn address(&self, nth: usize) -> String {
        format!("{}.{}", self.net, nth + 1)
    }

    /// A command that runs on that machine. It shares everything but the network, so that no namespace of its own holds a
    /// disk whose power was cut.
    pub(super) fn on(&self, nth: usize, program: &std::path::Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(nth))).arg(program).stdin(Stdio::null());
        command
    }

    /// Nothing that one machine sends reaches the other.
    pub(super) fn cut(&self, from: usize, to: usize) {
        self.rule(from, to, "drop");
    }

    /// What machines send to each other is lost past so many kilobytes a second on each link.
    pub(super) fn lossy(&self, kilobytes: usize) {
        for from in 0..COUNT {
            for to in (0..COUNT).filter(|to| *to != from) {
                self.rule(from, to, &format!("limit rate over {kilobytes} kbytes/second drop"));
            }
        }
    }

    /// What a machine sends past so many kilobits a second waits in a queue, for up to most of a second.
    pub(super) fn slow(&self, kilobits: usize) {
        for nth in 0..COUNT {
            let shape = format!("tbf rate {kilobits}kbit burst 16kb latency 800ms");
            must(&format!("tc -n {} qdisc add dev eth0 root {shape}", self.namespace(nth)));
        }
    }

    fn rule(&self, from: usize, to: usize, what: &str) {
        let (inside, source) = (self.namespace(to), self.address(from));
        must(&format!("ip netns exec {inside} nft add rule ip cuts in ip saddr {source} {what}"));
    }

    /// Everything is heard again.
    pub(super) fn heal(&self) {
        for nth in 0..COUNT {
            must(&format!("ip netns exec {} nft flush chain ip cuts in", self.namespace(nth)));
            // It fails where nothing was slow.
            ran(&format!("tc -n {} qdisc del dev eth0 root", self.namespace(nth)));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for nth in 0..COUNT {
            ran(&format!("ip netns del {}", self.namespace(nth)));
        }
        ran(&format!("ip link del {}b", self.tag));
    }
}
