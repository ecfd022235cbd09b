//! Damage to the files of one machine: a few bits are others, or the end is gone. The programs that use them are stopped.
//! Must not know: what is written in a file.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::chance::Chance;

/// Most bits of a file that are flipped.
const BITS_MAX: u64 = 8;

/// The files of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The node's SQLite file.
    Replica,
    /// Its write-ahead log, which a killed node leaves behind.
    WriteAheadLog,
    /// The node's search index.
    Index,
    /// What else is in the node's directory: the lock, the address, the mark of a damaged replica.
    Marks,
    /// The blocks of the journal in the store of the NATS server.
    Blocks,
    /// The log of the consensus between the NATS servers.
    Consensus,
    /// What else is in that store: states, keys, votes, members.
    State,
    /// Every file of the machine.
    Machine,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    Flip,
    Shorten,
}

impl Part {
    /// Whether the node's own files are meant.
    pub(super) fn is_of_node(self) -> bool {
        matches!(self, Self::Replica | Self::WriteAheadLog | Self::Index | Self::Marks | Self::Machine)
    }

    /// Whether files of the NATS server are meant.
    pub(super) fn is_of_nats(self) -> bool {
        matches!(self, Self::Blocks | Self::Consensus | Self::State | Self::Machine)
    }

    /// Whether a path below the machine's disk is of this kind.
    fn has(self, path: &str) -> bool {
        let (is_of_node, is_block) = (path.starts_with("data/"), path.ends_with(".blk"));
        // Replicas that were set aside are nobody's files.
        if path.contains(".aside-") || !(is_of_node || path.starts_with("nats/")) {
            return false;
        }
        let is_index = path.starts_with("data/search");
        let is_consensus = path.contains("/_js_/") && (is_block || path.contains("/snapshots/"));
        match self {
            Self::Replica => path == "data/plenary.db",
            Self::WriteAheadLog => path == "data/plenary.db-wal",
            Self::Index => is_of_node && is_index,
            Self::Marks => is_of_node && !is_index && !path.starts_with("data/plenary.db"),
            Self::Blocks => !is_of_node && path.contains("/streams/") && is_block,
            Self::Consensus => !is_of_node && is_consensus,
            Self::State => !(is_of_node || is_consensus || path.contains("/streams/") && is_block),
            Self::Machine => true,
        }
    }

    /// The files of this kind on a machine's disk that have any content.
    pub(super) fn files(self, disk: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        below(disk, &mut |path| {
            let name = path.strip_prefix(disk).expect("it is below").to_string_lossy().into_owned();
            if self.has(&name) && fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0) {
                found.push(path.to_owned());
            }
        });
        // The order of a directory is no order, and chance must be repeatable.
        found.sort();
        found
    }
}

fn below(dir: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, each);
        } else {
            each(&path);
        }
    }
}

impl Harm {
    /// Does it to a file on a disk; what was done, in words.
    pub(super) fn strike(self, disk: &Path, path: &Path, chance: &mut Chance) -> String {
        let name = path.strip_prefix(disk.parent().unwrap_or(disk)).unwrap_or(path).display();
        let mut file = File::options().read(true).write(true).open(path).expect("the file opens");
        let bytes = file.metadata().expect("it is there").len();
        match self {
            Self::Flip => {
                let bits = 1 + chance.below(BITS_MAX);
                for _ in 0..bits {
                    let (at, bit) = (chance.below(bytes), chance.below(8));
                    let mut byte = [0];
                    file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut byte)).expect("read");
                    byte[0] ^= 1 << bit;
                    file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&byte)).expect("written");
                }
                format!("{name} of {bytes}: {bits} bits")
            }
            Self::Shorten => {
                let left = chance.below(bytes);
                file.set_len(left).expect("it is cut");
                format!("{name} of {bytes}: {left} left")
            }
        }
    }
}
