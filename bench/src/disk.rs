//! Whether flushes really reach the disk: the kernel's own count for the device that a directory is on.
//! Must not know: who flushes.

use std::{
    fs,
    io::{Seek as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

/// Where the kernel counts.
const STATISTICS: &str = "/proc/diskstats";
/// In its lines, counted from 0: flushes that completed.
const FLUSHES_FIELD: usize = 18;

/// The disk under a directory.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    /// `major` and `minor` as the statistics write them; absent where the kernel does not count.
    device: Option<(String, String)>,
}

impl Disk {
    /// The disk under this directory.
    pub(crate) fn of(directory: &Path) -> Result<Self> {
        let device = fs::metadata(directory).context("the scratch directory is not there")?.dev();
        let name = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let device = whole(&name).and_then(|name| {
            let (major, minor) = name.split_once(':')?;
            Some((major.to_owned(), minor.to_owned()))
        });
        let disk = Self { device };
        Ok(if disk.flushes().is_some() { disk } else { Self { device: None } })
    }

    /// Flushes that the device has completed since it was found; `None` where that is not counted.
    pub(crate) fn flushes(&self) -> Option<u64> {
        let (major, minor) = self.device.as_ref()?;
        let text = fs::read_to_string(STATISTICS).ok()?;
        let line = text.lines().find(|line| {
            let mut fields = line.split_whitespace();
            fields.next() == Some(major) && fields.next() == Some(minor)
        })?;
        line.split_whitespace().nth(FLUSHES_FIELD)?.parse().ok()
    }
}

/// Flushes are counted for the whole device, not for a part of it.
fn whole(name: &str) -> Option<String> {
    let device = fs::canonicalize(format!("/sys/dev/block/{name}")).ok()?;
    let device = if device.join("partition").exists() { device.parent()?.to_owned() } else { device };
    Some(fs::read_to_string(device.join("dev")).ok()?.trim().to_owned())
}

/// `fdatasync` alone, a second: what a store at one writer can never beat.
pub(crate) fn fdatasync_rate(directory: &Path, window: Duration) -> Result<f64> {
    let path = directory.join("fdatasync");
    let mut file = fs::File::create(&path)?;
    file.write_all(&[0; 1 << 20])?;
    file.sync_all()?;
    let (begin, mut count) = (Instant::now(), 0_u32);
    while begin.elapsed() < window {
        file.seek(std::io::SeekFrom::Start(u64::from(count % 256) * 4_096))?;
        file.write_all(&[1; 4_096])?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(rate)
}
