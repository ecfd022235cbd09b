//! The two ends of a copy as the command line names them, and the backends behind them.
//! Must not know: the order of a copy.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use plenary_log::{
    Audit,
    copy::{CopyDestination, CopySource},
};

use crate::server::index_in;

/// A store, or the location for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// A data directory.
    Directory(PathBuf),
    /// The URL of a database, which may contain a password.
    Postgres(String),
}

impl Location {
    /// Parses what the command line says.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text.to_owned())),
            Some(("nats" | "tls", _)) => anyhow::bail!(
                "a cluster is begun with `plenary cluster begin`; its log is copied from the directory of a node"
            ),
            Some((scheme, _)) => {
                anyhow::bail!("{scheme}://… is no place for a store: name a directory, or postgres://…")
            }
            None => Ok(Self::Directory(PathBuf::from(text))),
        }
    }

    /// Whether this directory is below another: each copy of that one would contain it.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        // A destination need not exist.
        let real = |path: &Path| {
            let path = std::path::absolute(path).ok()?;
            path.ancestors()
                .find_map(|known| Some(known.canonicalize().ok()?.join(path.strip_prefix(known).ok()?)))
        };
        let (Self::Directory(own), Self::Directory(other)) = (self, other) else { return false };
        real(own).zip(real(other)).is_some_and(|(own, other)| own != other && own.starts_with(other))
    }

    /// The place for people: without a password, and without options, which may contain one.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Directory(directory) => directory.display().to_string(),
            Self::Postgres(url) => {
                let address = url.split_once("://").map_or("", |(_, address)| address);
                let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
                let address = address.split_once('?').map_or(address, |(address, _)| address);
                format!("postgres://{address}")
            }
        }
    }

    /// Opens the store for reading; a server may use it. One to follow ends with its servers, which a replica does not.
    pub(super) async fn source(&self, follow: bool) -> anyhow::Result<Box<dyn CopySource>> {
        let opened: anyhow::Result<Box<dyn CopySource>> = async {
            Ok(match self {
                Self::Directory(directory) => {
                    let source = plenary_log_sqlite::Source::open(directory)?;
                    if follow && source.is_replica() {
                        anyhow::bail!(
                            "it is a replica of a cluster's log, which other nodes may continue: stop all nodes, and copy it \
                             without --follow"
                        );
                    }
                    Box::new(source) as _
                }
                Self::Postgres(url) => {
                    let options = plenary_log_postgres::Options::default();
                    Box::new(plenary_log_postgres::Source::open(url, &options).await?) as _
                }
            })
        }
        .await;
        opened.with_context(|| format!("opening the store in {}", self.shown()))
    }

    /// Takes an empty place, or an unfinished copy.
    pub(super) async fn destination(&self) -> anyhow::Result<Box<dyn CopyDestination>> {
        let opened: anyhow::Result<Box<dyn CopyDestination>> = async {
            Ok(match self {
                Self::Directory(directory) => {
                    refuse_index(directory)?;
                    Box::new(plenary_log_sqlite::Destination::new(directory)?) as _
                }
                Self::Postgres(url) => {
                    let options = plenary_log_postgres::Options::default();
                    Box::new(plenary_log_postgres::Destination::new(url, &options).await?) as _
                }
            })
        }
        .await;
        opened.with_context(|| format!("making a copy in {}", self.shown()))
    }

    /// Checks a whole store; a server may use it.
    pub(super) async fn audit(&self) -> anyhow::Result<Audit> {
        let audit = match self {
            Self::Directory(directory) => {
                let directory = directory.clone();
                let audit = tokio::task::spawn_blocking(move || plenary_log_sqlite::audit(&directory)).await;
                audit?.map_err(anyhow::Error::from)
            }
            Self::Postgres(url) => {
                let options = plenary_log_postgres::Options::default();
                let audit = plenary_log_postgres::audit(url, &options, false).await;
                audit.map(|(audit, _)| audit).map_err(anyhow::Error::from)
            }
        };
        audit.with_context(|| format!("checking the copy in {}", self.shown()))
    }
}

/// An index of another log would answer searches with that log's contents.
pub(super) fn refuse_index(directory: &Path) -> anyhow::Result<()> {
    // Of a store, the refusal says more.
    let is_store = directory.join(plenary_log_sqlite::DATABASE_FILE).exists();
    match index_in(directory).filter(|_| !is_store) {
        Some(index) => anyhow::bail!(
            "{} is a search index of another store; remove it, it is made again from the log",
            index.display()
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_directory_or_a_postgres_url() {
        assert_eq!(Location::parse("a/b").unwrap(), Location::Directory("a/b".into()));
        assert!(matches!(Location::parse("postgres://h/d").unwrap(), Location::Postgres(_)));
        assert!(matches!(Location::parse("postgresql://h/d").unwrap(), Location::Postgres(_)));
        for wrong in ["nats://a,nats://b", "mysql://h/d", "://"] {
            assert!(Location::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_location_inside_another_is_found_before_it_exists() {
        let root = tempfile::tempdir().unwrap();
        let location = |name: &str| Location::Directory(root.path().join(name));
        std::fs::create_dir(root.path().join("a")).unwrap();
        for (own, other, is_inside) in [
            ("a/b/c", "a", true),
            ("a", "a", false),
            ("ab", "a", false),
            ("b", "a", false),
            ("a", "a/b", false),
        ] {
            assert_eq!(location(own).is_inside(&location(other)), is_inside, "{own} in {other}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        for url in [
            "postgres://me:s3cret@host:1/d",
            "postgres://me:s3cret@host:1/d?sslmode=disable&password=s3cret",
            "postgresql://me:s3/cret?s3cret@s3cret@host:1/d",
            "postgres://host:1/d?password=s3cret",
        ] {
            assert_eq!(Location::parse(url).unwrap().shown(), "postgres://host:1/d", "{url}");
        }
    }
}
