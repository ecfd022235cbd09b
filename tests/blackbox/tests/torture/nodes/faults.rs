//! What breaks in a round, and how it is mended.
//! Must not know: who uses the nodes meanwhile.

use std::{fmt, time::Duration};

use blackbox::strike_after;
use rustix::process::Signal;

use super::{
    chance::Chance,
    damage::{Harm, Part},
    machines::{Machines, Program},
    place::COUNT,
};

/// How long the network is broken: longer than the pen is missed for, and than most elections take.
const CUT: Duration = Duration::from_secs(9);
/// How long a node is paused: past its replacement.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a NATS server is paused: past the election.
const LONG_PAUSE: Duration = Duration::from_secs(12);
/// What passes a lossy link in a second.
const LOSSY_KILOBYTES: usize = 150;
/// What passes a slow link in a second; the rest waits.
const SLOW_KILOBITS: usize = 1_500;
/// How far the clocks of nodes are ahead.
const CLOCKS_S: [i64; COUNT] = [0, 300, -300];

/// Who is hit: the node that writes, the NATS server that leads, both, or everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Pen,
    Leader,
    Both,
    All,
}

/// Which direction of a machine's network is cut: both, from it, to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Either,
    From,
    To,
}

/// What breaks. The pen is the node that writes, the leader the NATS server that leads the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// `kill -9`.
    Kill(Who),
    /// SIGSTOP past the election, and SIGCONT.
    Pause(Who),
    /// The machine of somebody; with `All` each machine is alone.
    Cut(Who, Way),
    /// The link between two machines, both ways or one.
    CutPair(Way),
    Lossy,
    Slow,
    /// What was not flushed is gone.
    Power(Who),
    /// Files of a machine whose programs were killed.
    Damage(Part, Harm),
    /// No room on the disk of somebody's machine.
    Full(Who),
    /// A machine comes back with an empty disk.
    LostDisk,
    /// Each node is started again with another clock, up to ten minutes before or after its last.
    Clocks,
    /// Each node is stopped and started with another copy of the program, one after another.
    Upgrade,
    /// Each NATS server is stopped and started, one after another.
    UpgradeNats,
}

/// All of them. The short form takes the first.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Kill(Who::Pen),
    Fault::Cut(Who::Pen, Way::Either),
    Fault::Power(Who::Pen),
    Fault::Damage(Part::Replica, Harm::Flip),
    Fault::Upgrade,
    Fault::Kill(Who::Leader),
    Fault::Kill(Who::Both),
    Fault::Kill(Who::All),
    Fault::Pause(Who::Pen),
    Fault::Pause(Who::Leader),
    Fault::Pause(Who::Both),
    Fault::Cut(Who::Leader, Way::Either),
    Fault::Cut(Who::Pen, Way::From),
    Fault::Cut(Who::Pen, Way::To),
    Fault::Cut(Who::Leader, Way::From),
    Fault::Cut(Who::Leader, Way::To),
    Fault::Cut(Who::Both, Way::Either),
    Fault::Cut(Who::All, Way::Either),
    Fault::CutPair(Way::Either),
    Fault::CutPair(Way::From),
    Fault::Lossy,
    Fault::Slow,
    Fault::Power(Who::Leader),
    Fault::Power(Who::Both),
    Fault::Power(Who::All),
    Fault::Damage(Part::Replica, Harm::Shorten),
    Fault::Damage(Part::WriteAheadLog, Harm::Flip),
    Fault::Damage(Part::WriteAheadLog, Harm::Shorten),
    Fault::Damage(Part::Index, Harm::Flip),
    Fault::Damage(Part::Index, Harm::Shorten),
    Fault::Damage(Part::Marks, Harm::Flip),
    Fault::Damage(Part::Marks, Harm::Shorten),
    Fault::Damage(Part::Blocks, Harm::Flip),
    Fault::Damage(Part::Blocks, Harm::Shorten),
    Fault::Damage(Part::Consensus, Harm::Flip),
    Fault::Damage(Part::Consensus, Harm::Shorten),
    Fault::Damage(Part::State, Harm::Flip),
    Fault::Damage(Part::State, Harm::Shorten),
    Fault::Damage(Part::Machine, Harm::Flip),
    Fault::Damage(Part::Machine, Harm::Shorten),
    Fault::Full(Who::Pen),
    Fault::Full(Who::Leader),
    Fault::LostDisk,
    Fault::Clocks,
    Fault::UpgradeNats,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Fault {
    /// Whether it damages files.
    pub(super) fn damages(self) -> bool {
        matches!(self, Self::Damage(..))
    }

    /// Whether it damages files of nodes, which then may answer that they are damaged.
    pub(super) fn damages_nodes(self) -> bool {
        matches!(self, Self::Damage(part, _) if part.is_of_node())
    }

    /// Breaks it, and mends it; everything runs again then. What was hit, where chance chose it.
    pub(super) async fn strike(self, machines: &mut Machines, chance: &mut Chance) -> Vec<String> {
        let mut hit = Vec::new();
        match self {
            Self::Kill(who) => {
                for (program, nth) in whose(machines, who).await {
                    machines.kill(program, nth);
                }
                // Where everything is gone nobody waits for anybody.
                if who != Who::All {
                    strike_after(if who == Who::Pen { PAUSE } else { CUT }).await;
                }
            }
            Self::Pause(who) => {
                let paused = whose(machines, who).await;
                paused.iter().for_each(|(program, nth)| machines.signal(*program, *nth, Signal::STOP));
                strike_after(if who == Who::Pen { PAUSE } else { LONG_PAUSE }).await;
                paused.iter().for_each(|(program, nth)| machines.signal(*program, *nth, Signal::CONT));
            }
            Self::Cut(who, way) => {
                for nth in machines_of(machines, who).await {
                    cut(machines, nth, way);
                }
                strike_after(CUT).await;
            }
            Self::CutPair(way) => hit.push(cut_pair(machines, way, chance).await),
            Self::Lossy => {
                machines.place.lossy(LOSSY_KILOBYTES);
                strike_after(CUT).await;
            }
            Self::Slow => {
                machines.place.slow(SLOW_KILOBITS);
                strike_after(CUT).await;
            }
            Self::Power(who) => power_cut(machines, who).await,
            Self::Damage(part, harm) => hit = damage(machines, part, harm, chance).await,
            Self::Full(who) => full(machines, who).await,
            Self::LostDisk => {
                let nth = anywhere(chance);
                hit.push(format!("machine {nth}"));
                machines.kill(Program::Node, nth);
                machines.kill(Program::Nats, nth);
                strike_after(PAUSE).await;
                machines.empty(Program::Node, nth);
                machines.empty(Program::Nats, nth);
            }
            Self::Clocks => clocks(machines, chance).await,
            Self::Upgrade => upgrade(machines, Program::Node, chance).await,
            Self::UpgradeNats => upgrade(machines, Program::Nats, chance).await,
        }
        machines.mend().await;
        hit
    }
}

fn anywhere(chance: &mut Chance) -> usize {
    *chance.pick(&[0, 1, 2])
}

/// The programs of somebody.
async fn whose(machines: &Machines, who: Who) -> Vec<(Program, usize)> {
    match who {
        Who::Pen => vec![(Program::Node, machines.pen().await)],
        Who::Leader => vec![(Program::Nats, machines.leader().await)],
        Who::Both => {
            vec![(Program::Node, machines.pen().await), (Program::Nats, machines.leader().await)]
        }
        Who::All => (0..COUNT).flat_map(|nth| [(Program::Node, nth), (Program::Nats, nth)]).collect(),
    }
}

/// The machines of somebody, each once.
async fn machines_of(machines: &Machines, who: Who) -> Vec<usize> {
    let mut of: Vec<_> = whose(machines, who).await.into_iter().map(|(_, nth)| nth).collect();
    of.sort_unstable();
    of.dedup();
    of
}

/// Nothing comes from a machine, or nothing to it, or neither.
fn cut(machines: &Machines, nth: usize, way: Way) {
    for other in (0..COUNT).filter(|other| *other != nth) {
        if way != Way::To {
            machines.place.cut(nth, other);
        }
        if way != Way::From {
            machines.place.cut(other, nth);
        }
    }
}

async fn cut_pair(machines: &Machines, way: Way, chance: &mut Chance) -> String {
    let one = anywhere(chance);
    let other = (one + *chance.pick(&[1, 2])) % COUNT;
    machines.place.cut(one, other);
    if way == Way::Either {
        machines.place.cut(other, one);
    }
    strike_after(CUT).await;
    format!("{one} to {other}")
}

/// The power of machines goes, and comes back.
async fn power_cut(machines: &mut Machines, who: Who) {
    let of = machines_of(machines, who).await;
    for nth in &of {
        assert!(machines.disks[*nth].cut_power(), "the disk of machine {nth} can be shut down");
    }
    for nth in &of {
        machines.kill(Program::Node, *nth);
        machines.kill(Program::Nats, *nth);
        machines.disks[*nth].power_is_back();
    }
    strike_after(PAUSE).await;
}

/// One file of a kind on any machine; of a whole machine all of them.
async fn damage(machines: &mut Machines, part: Part, harm: Harm, chance: &mut Chance) -> Vec<String> {
    let nth = anywhere(chance);
    if part.is_of_node() {
        machines.kill(Program::Node, nth);
    }
    if part.is_of_nats() {
        machines.kill(Program::Nats, nth);
        machines.harmed = Some(nth);
    }
    let disk = machines.disks[nth].at().to_owned();
    let mut files = part.files(&disk);
    assert!(!files.is_empty(), "machine {nth} has a file of this kind");
    if part != Part::Machine {
        files = vec![chance.pick(&files).clone()];
    }
    let hit = files.iter().map(|path| harm.strike(&disk, path, chance)).collect();
    machines.run(Program::Nats, nth);
    machines.run(Program::Node, nth);
    strike_after(PAUSE).await;
    hit
}

async fn full(machines: &mut Machines, who: Who) {
    let of = machines_of(machines, who).await;
    for nth in &of {
        assert!(machines.disks[*nth].fill(), "the disk of machine {nth} can be filled");
    }
    strike_after(CUT).await;
    for nth in &of {
        machines.disks[*nth].clear();
        // A NATS server whose disk was full serves no stream until it is started again.
        machines.kill(Program::Nats, *nth);
    }
}

async fn clocks(machines: &mut Machines, chance: &mut Chance) {
    let turn = 1 + usize::try_from(chance.below(2)).expect("small");
    for nth in 0..COUNT {
        machines.stop(Program::Node, nth).await;
        let at = CLOCKS_S.iter().position(|ahead| *ahead == machines.ahead_s[nth]).expect("one of these");
        machines.ahead_s[nth] = CLOCKS_S[(at + turn) % COUNT];
        machines.run(Program::Node, nth);
        machines.serves(nth).await;
    }
}

/// As an operator does it: one after another, each when the one before it is back.
async fn upgrade(machines: &mut Machines, program: Program, chance: &mut Chance) {
    for nth in 0..COUNT {
        if program == Program::Node && chance.below(2) == 0 {
            machines.drain(nth).await;
        }
        machines.stop(program, nth).await;
        if program == Program::Node {
            machines.change_binary(nth);
        }
        machines.run(program, nth);
        machines.serves(nth).await;
        machines.is_well().await;
    }
}
