//! The requirements on the servers and streams of a journal: a configuration that could lose an
//! acknowledged record is refused. Pure.
//! Must not know: how the servers are reached.

use async_nats::{
    ServerInfo,
    jetstream::stream::{Config, RetentionPolicy, StorageType},
};

use super::{REPLICAS, Retention};
use crate::PAYLOAD_BYTES_MIN;

/// The oldest NATS whose flush of each write is a group commit, and whose sequence check holds.
pub const VERSION_MIN: (u32, u32) = (2, 15);

/// Why a server or stream must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsuitableServers {
    /// The server is too old.
    #[error("NATS {0} is too old: at least 2.15 is needed")]
    Version(String),
    /// The server has no JetStream.
    #[error(
        "the NATS server {0} runs without JetStream, which a full disk stops until the server is restarted; \
         `plenary cluster nats-conf` prints a configuration"
    )]
    NoJetStream(String),
    /// The server's message limit is too low.
    #[error("the NATS server takes messages of {0} bytes; set max_payload to at least {PAYLOAD_BYTES_MIN}")]
    Payload(usize),
    /// The stream has too few replicas.
    #[error(
        "the stream {0} has {1} replicas, and {REPLICAS} are needed; --cluster-dev takes fewer, for trials"
    )]
    Replicas(String, usize),
    /// The stream drops records.
    #[error("the stream {0} forgets records ({1})")]
    Forgets(String, &'static str),
}

/// Checks a server.
pub(super) fn server(server: &ServerInfo) -> Result<(), UnsuitableServers> {
    let ServerInfo { server_name, version, max_payload, jetstream, .. } = server;
    if !jetstream {
        return Err(UnsuitableServers::NoJetStream(server_name.clone()));
    }
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let found = (parts.next().flatten(), parts.next().flatten());
    match found {
        (Some(major), Some(minor)) if (major, minor) >= VERSION_MIN => {}
        _ => return Err(UnsuitableServers::Version(version.clone())),
    }
    if *max_payload < PAYLOAD_BYTES_MIN {
        return Err(UnsuitableServers::Payload(*max_payload));
    }
    Ok(())
}

/// Checks the configuration of an existing stream.
pub(super) fn stream(config: &Config, keeping: Retention, dev: bool) -> Result<(), UnsuitableServers> {
    let name = || config.name.clone();
    if config.num_replicas < REPLICAS && !dev {
        return Err(UnsuitableServers::Replicas(name(), config.num_replicas));
    }
    if keeping == Retention::Shortly {
        return Ok(());
    }
    let forgets = if !config.max_age.is_zero() {
        "max_age"
    } else if config.max_messages > 0 {
        "max_msgs"
    } else if config.max_bytes > 0 {
        "max_bytes"
    } else if config.max_messages_per_subject > 0 {
        "max_msgs_per_subject"
    } else if config.storage != StorageType::File {
        "storage in memory"
    } else if config.retention != RetentionPolicy::Limits {
        "retention"
    } else {
        return Ok(());
    };
    Err(UnsuitableServers::Forgets(name(), forgets))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn old_and_narrow_servers_are_refused() {
        let enough = PAYLOAD_BYTES_MIN;
        let server = |version: &str, max_payload, jetstream| {
            let (server_name, version) = ("n1".to_owned(), version.to_owned());
            server(&ServerInfo { server_name, version, max_payload, jetstream, ..ServerInfo::default() })
        };
        for good in ["2.15.0", "2.15.1", "2.16.0-dev", "3.0.0"] {
            assert_eq!(server(good, enough, true), Ok(()), "{good}");
        }
        for old in ["2.14.9", "2.9.10", "1.99.0", "", "x.y"] {
            assert_eq!(server(old, enough, true), Err(UnsuitableServers::Version(old.to_owned())));
        }
        assert_eq!(server("2.15.1", enough - 1, true), Err(UnsuitableServers::Payload(enough - 1)));
        assert_eq!(server("2.15.1", enough, false), Err(UnsuitableServers::NoJetStream("n1".into())));
    }

    #[test]
    fn streams_that_forget_or_have_few_replicas_are_refused() {
        let good = Config { num_replicas: 3, max_messages: -1, max_bytes: -1, ..Config::default() };
        assert_eq!(stream(&good, Retention::Forever, false), Ok(()));
        let few = Config { num_replicas: 1, ..good.clone() };
        assert!(matches!(stream(&few, Retention::Forever, false), Err(UnsuitableServers::Replicas(_, 1))));
        assert_eq!(stream(&few, Retention::Forever, true), Ok(()));
        let forgetful = [
            Config { max_age: Duration::from_secs(1), ..good.clone() },
            Config { max_messages: 9, ..good.clone() },
            Config { max_bytes: 9, ..good.clone() },
            Config { max_messages_per_subject: 9, ..good.clone() },
            Config { storage: StorageType::Memory, ..good.clone() },
            Config { retention: RetentionPolicy::WorkQueue, ..good },
        ];
        for config in forgetful {
            assert!(
                matches!(stream(&config, Retention::Forever, true), Err(UnsuitableServers::Forgets(..))),
                "{config:?}"
            );
            assert_eq!(stream(&config, Retention::Shortly, true), Ok(()));
        }
    }
}
