//! The release that a store was last used with. An earlier release may not know the events of a later one: it would call them
//! damaged, or leave out what it does not know. So it does not start on such a store.
//! Must not know: the forms of events, or of tables.

use anyhow::bail;
use plenary_kernel::Position;
use plenary_log::{Batch, Log, Outcome, RowOp};

const ROW: &str = "store/release";
/// This program's release.
const OWN: &str = env!("CARGO_PKG_VERSION");
/// How often the release is noted while other processes note theirs.
const TRIES_MAX: usize = 8;

/// Major version, minor version, patch.
type Release = [u64; 3];

/// Pure: the numbers of a release.
fn numbers(release: &str) -> Option<Release> {
    let (numbers, _) = release.split_once(['-', '+']).unwrap_or((release, ""));
    let numbers: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// Pure: whether a store of release `stored` may have events that release `own` does not know. A patch adds none.
fn is_later(stored: Release, own: Release) -> bool {
    stored[..2] > own[..2]
}

/// Refuses a store that a later release has used, and notes this release.
pub(super) async fn check(log: &Log) -> anyhow::Result<()> {
    check_as(log, OWN).await
}

async fn check_as(log: &Log, own: &str) -> anyhow::Result<()> {
    for _ in 0..TRIES_MAX {
        if is_checked(log, own).await? {
            return Ok(());
        }
    }
    bail!("other processes that start note their releases all the time")
}

/// False if another process that has just started noted its release first, which must be looked at.
async fn is_checked(log: &Log, own: &str) -> anyhow::Result<bool> {
    let row = log.read_row(ROW).await?;
    if row.is_none() && log.head().await? == Position::ZERO {
        tracing::info!(
            "the store is empty, and a new network begins; if you expected one, check the path and its mount"
        );
    }
    let stored = row.as_ref().map(|row| String::from_utf8_lossy(&row.value).into_owned());
    if let (Some(text), Some(own_numbers)) = (&stored, numbers(own)) {
        let stored = numbers(text);
        // Only a release to come writes another form.
        if stored.is_none_or(|stored| is_later(stored, own_numbers)) {
            bail!(
                "the store was used by Plenary {text}, and this is Plenary {own}, which may not know its events: start {text} or \
                 a later release"
            );
        }
        if stored >= Some(own_numbers) {
            return Ok(true);
        }
    }
    let expected = Some(row.map_or(0, |row| row.revision));
    let row = RowOp { name: ROW.to_owned(), expected, value: Some(own.to_owned().into()) };
    match log.append(Batch { rows: vec![row], ..Batch::default() }).await {
        Ok(Outcome::Appended(_)) => Ok(true),
        Ok(Outcome::RowConflict { .. }) => Ok(false),
        Ok(other) => bail!("the release cannot be noted: {other:?}"),
        // The store may be full, or wait for another node; reads still work.
        Err(fault) => {
            tracing::warn!(%fault, "it is not recorded yet which release uses the store");
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_of_a_later_release_is_refused_and_one_of_a_patch_is_not() {
        let plenary_log::OpenedLog { log, feed: _feed } = plenary_log::open_memory();
        for own in ["0.9.3", "0.9.3", "0.10.0", "0.10.2", "0.10.1", "1.0.0-rc.1"] {
            check_as(&log, own).await.unwrap();
        }
        let refused = check_as(&log, "0.10.2").await.unwrap_err().to_string();
        assert!(refused.contains("used by Plenary 1.0.0-rc.1, and this is Plenary 0.10.2"), "{refused}");
        check_as(&log, "1.0.0").await.unwrap();
    }

    #[tokio::test]
    async fn of_processes_that_start_at_once_the_later_release_counts() {
        for [first, second] in [["0.9.3", "0.10.0"], ["0.10.0", "0.9.3"]] {
            let log = plenary_log::open_memory().log;
            let (first, second) = tokio::join!(check_as(&log, first), check_as(&log, second));
            assert!(first.is_ok() || second.is_ok());
            let refused = check_as(&log, "0.9.3").await.unwrap_err().to_string();
            assert!(refused.contains("used by Plenary 0.10.0"), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_store_of_a_release_without_numbers_is_refused() {
        let log = plenary_log::open_memory().log;
        let row = RowOp { name: ROW.to_owned(), expected: None, value: Some("2027a".into()) };
        log.append(Batch { rows: vec![row], ..Batch::default() }).await.unwrap();
        let refused = check_as(&log, "0.10.0").await.unwrap_err().to_string();
        assert!(refused.contains("used by Plenary 2027a"), "{refused}");
    }

    #[test]
    fn this_release_has_numbers() {
        assert!(numbers(OWN).is_some());
        assert_eq!(numbers("1.2.3+build"), Some([1, 2, 3]));
        assert_eq!(numbers("1.2"), None);
    }
}
