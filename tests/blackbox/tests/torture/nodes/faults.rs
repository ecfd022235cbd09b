//! What breaks in a round, and how it is mended.
//! Must not know: who uses the nodes meanwhile.

use std::{
    fmt,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use blackbox::strike_after;
use rustix::process::Signal;

use super::{
    machines::{Machines, Program},
    place::COUNT,
};

/// How long the network is broken: longer than the pen is missed for, and than most elections take.
const CUT: Duration = Duration::from_secs(9);
/// How long a node is paused: past its replacement.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a NATS server is paused: past the election.
const LONG_PAUSE: Duration = Duration::from_secs(12);
/// How slow a slow link is.
const SLOW_KILOBYTES: usize = 150;

/// What breaks. The pen is the node that writes, the leader the NATS server that leads the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    KillPen,
    PausePen,
    CutPen,
    KillLeader,
    PauseLeader,
    CutLeader,
    KillBoth,
    KillAll,
    CutFromPen,
    CutToPen,
    CutPair,
    CutPairOneWay,
    Slow,
    PowerOfPen,
    PowerOfAll,
    FlipReplica,
    ShortenReplica,
    FlipJournal,
    ShortenJournal,
    FullDisk,
}

/// All of them, the most likely first.
pub(super) const FAULTS: &[Fault] = &[
    Fault::KillPen,
    Fault::CutPen,
    Fault::PausePen,
    Fault::KillLeader,
    Fault::PauseLeader,
    Fault::CutLeader,
    Fault::KillBoth,
    Fault::KillAll,
    Fault::CutFromPen,
    Fault::CutToPen,
    Fault::CutPair,
    Fault::CutPairOneWay,
    Fault::Slow,
    Fault::PowerOfPen,
    Fault::PowerOfAll,
    Fault::FlipReplica,
    Fault::ShortenReplica,
    Fault::FlipJournal,
    Fault::ShortenJournal,
    Fault::FullDisk,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Fault {
    /// Breaks it, and mends it; everything runs again then.
    pub(super) async fn strike(self, machines: &mut Machines, round: usize) {
        let other = |nth: usize| (nth + 1 + round % (COUNT - 1)) % COUNT;
        match self {
            Self::KillPen => {
                let pen = machines.pen().await;
                machines.kill(Program::Node, pen);
                strike_after(PAUSE).await;
            }
            Self::PausePen => pause(machines, Program::Node, machines.pen().await, PAUSE).await,
            Self::PauseLeader => pause(machines, Program::Nats, machines.leader().await, LONG_PAUSE).await,
            Self::CutPen => cut(machines, machines.pen().await, true, true).await,
            Self::CutLeader => cut(machines, machines.leader().await, true, true).await,
            Self::CutFromPen => cut(machines, machines.pen().await, true, false).await,
            Self::CutToPen => cut(machines, machines.pen().await, false, true).await,
            Self::CutPair | Self::CutPairOneWay => {
                let pen = machines.pen().await;
                machines.place.cut(pen, other(pen));
                if self == Self::CutPair {
                    machines.place.cut(other(pen), pen);
                }
                strike_after(CUT).await;
            }
            Self::KillLeader => {
                let leader = machines.leader().await;
                machines.kill(Program::Nats, leader);
                strike_after(CUT).await;
            }
            Self::KillBoth => {
                let (pen, leader) = (machines.pen().await, machines.leader().await);
                machines.kill(Program::Node, pen);
                machines.kill(Program::Nats, leader);
                strike_after(CUT).await;
            }
            Self::KillAll => kill_all(machines),
            Self::Slow => slow(machines).await,
            Self::PowerOfPen => {
                let pen = machines.pen().await;
                power_cut(machines, &[pen]).await;
            }
            Self::PowerOfAll => power_cut(machines, &[0, 1, 2]).await,
            Self::FlipReplica | Self::ShortenReplica => {
                let node = other(machines.pen().await);
                machines.kill(Program::Node, node);
                damage(&[machines.data(node).join("plenary.db")], self == Self::FlipReplica);
                machines.run(Program::Node, node);
                strike_after(PAUSE).await;
            }
            Self::FlipJournal | Self::ShortenJournal => {
                let leader = machines.leader().await;
                machines.kill(Program::Nats, leader);
                damage(&blocks(&machines.store(leader)), self == Self::FlipJournal);
                machines.run(Program::Nats, leader);
                strike_after(PAUSE).await;
            }
            Self::FullDisk => {
                let pen = machines.pen().await;
                machines.disks[pen].fill();
                strike_after(CUT).await;
                machines.disks[pen].clear();
                // A NATS server whose disk was full serves no stream until it is started again.
                machines.kill(Program::Nats, pen);
            }
        }
        mend(machines).await;
    }
}

async fn pause(machines: &Machines, program: Program, nth: usize, time: Duration) {
    machines.signal(program, nth, Signal::STOP);
    strike_after(time).await;
    machines.signal(program, nth, Signal::CONT);
}

/// Nothing comes from a machine, or nothing to it, or neither.
async fn cut(machines: &Machines, nth: usize, from: bool, to: bool) {
    for other in (0..COUNT).filter(|other| *other != nth) {
        if from {
            machines.place.cut(nth, other);
        }
        if to {
            machines.place.cut(other, nth);
        }
    }
    strike_after(CUT).await;
}

/// All links are slow.
async fn slow(machines: &Machines) {
    for from in 0..COUNT {
        for to in (0..COUNT).filter(|to| *to != from) {
            machines.place.slow(from, to, SLOW_KILOBYTES);
        }
    }
    strike_after(CUT).await;
}

fn kill_all(machines: &mut Machines) {
    for nth in 0..COUNT {
        machines.kill(Program::Node, nth);
        machines.kill(Program::Nats, nth);
    }
}

/// The power of machines goes, and comes back.
async fn power_cut(machines: &mut Machines, of: &[usize]) {
    let cut: Vec<bool> = of.iter().map(|nth| machines.disks[*nth].cut_power()).collect();
    for (nth, was_cut) in of.iter().zip(cut) {
        machines.kill(Program::Node, *nth);
        machines.kill(Program::Nats, *nth);
        if was_cut {
            machines.disks[*nth].power_is_back();
        }
    }
    strike_after(PAUSE).await;
}

/// Files below a directory whose names end like those of a stream's blocks.
fn blocks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(blocks(&path));
        } else if path.extension().is_some_and(|end| end == "blk") {
            found.push(path);
        }
    }
    found
}

/// One bit of the largest of these files is another, or its last part is gone.
fn damage(files: &[PathBuf], is_flip: bool) {
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
    let Some(path) = files.iter().max_by_key(|path| size(path)) else { return };
    let mut file = File::options().read(true).write(true).open(path).expect("the file opens");
    let octets = size(path);
    if is_flip {
        let (at, mut octet) = (octets / 2 + octets / 4, [0]);
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut octet)).expect("it is read");
        octet[0] ^= 0x10;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&octet)).expect("it is written");
    } else {
        file.set_len(octets - octets / 4).expect("it is cut");
    }
}

/// Everything runs, and everything is heard.
async fn mend(machines: &mut Machines) {
    machines.place.heal();
    for nth in 0..COUNT {
        for program in [Program::Nats, Program::Node] {
            machines.has_ended(program, nth);
            machines.run(program, nth);
        }
    }
    for nth in 0..COUNT {
        // One that ends by itself, as it found its file damaged, is started again as a supervisor would.
        while tokio::time::timeout(Duration::from_secs(15), machines.serves(nth)).await.is_err() {
            let has_ended = machines.has_ended(Program::Node, nth);
            assert!(has_ended || machines.runs(nth), "{}", machines.logged(nth));
            machines.run(Program::Node, nth);
        }
    }
}
