//! A disk for each machine that can lose its power: a file system in a file, whose unwritten pages are thrown away.
//! Must not know: what is kept on it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::statvfs;

/// The size of a disk.
const BYTES: u64 = 1 << 30;
/// `EXT4_IOC_SHUTDOWN` without a flush of the journal, for the interpreter that is there anyway.
const POWER_CUT: &str = "import fcntl,os,struct,sys\n\
    fd = os.open(sys.argv[1], os.O_RDONLY)\n\
    fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))";

/// A mounted disk, removed when dropped; or a plain directory, where none can be mounted.
#[derive(Debug)]
pub(super) struct Disk {
    image: PathBuf,
    at: PathBuf,
    is_mounted: bool,
}

fn ran(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

impl Disk {
    /// Makes it and mounts it.
    pub(super) fn make(dir: &Path, nth: usize) -> Self {
        let (image, at) = (dir.join(format!("disk-{nth}.img")), dir.join(format!("machine-{nth}")));
        fs::create_dir_all(&at).expect("a directory can be made");
        File::create(&image).and_then(|file| file.set_len(BYTES)).expect("an image can be made");
        let is_made = ran(Command::new("mkfs.ext4").arg("-q").arg("-F").arg(&image));
        let mut disk = Self { image, at, is_mounted: false };
        disk.is_mounted = is_made && disk.mounted();
        disk
    }

    fn mounted(&self) -> bool {
        ran(Command::new("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.at))
    }

    /// Where its files are.
    pub(super) fn at(&self) -> &Path {
        &self.at
    }

    /// What is not yet written is lost, and nothing more can be. Whether it works here.
    pub(super) fn cut_power(&self) -> bool {
        self.is_mounted && ran(Command::new("python3").args(["-c", POWER_CUT]).arg(&self.at))
    }

    /// The power is back. Nothing may have a file open.
    pub(super) fn power_is_back(&self) {
        assert!(ran(Command::new("umount").arg(&self.at)), "the disk can be unmounted");
        assert!(self.mounted(), "the disk can be mounted again");
    }

    /// Fills it to the last block: most of it with blocks that are only reserved, as to write a disk full takes long.
    pub(super) fn fill(&self) -> bool {
        let Ok(found) = statvfs(&self.at) else { return false };
        let free = (found.f_bavail * found.f_frsize).saturating_sub(4 << 20).to_string();
        let reserved = self.at.join("filled");
        if !self.is_mounted || !ran(Command::new("fallocate").args(["-l", &free]).arg(&reserved)) {
            return false;
        }
        let into = format!("of={}", self.at.join("filled-up").display());
        // It ends with the error that is wanted.
        !ran(Command::new("dd").args(["if=/dev/zero", "bs=4k"]).arg(into))
    }

    /// There is room again.
    pub(super) fn clear(&self) {
        for name in ["filled", "filled-up"] {
            fs::remove_file(self.at.join(name)).expect("what fills the disk can be removed");
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_mounted {
            ran(Command::new("umount").arg("-l").arg(&self.at));
        }
    }
}
