//! The reasons why spans cannot be exported at all.
//! Must not know: the reaction.

/// Why the export cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// TLS cannot be set up, or its file of authorities cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The settings do not result in an exporter.
    #[error("{0}")]
    Exporter(String),
}
