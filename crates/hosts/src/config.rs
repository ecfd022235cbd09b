//! The tables of a configuration, read strictly.
//! Must not know: any kind.

use serde::de::DeserializeOwned;

/// Why an agent can't be made of its table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// There is no such kind.
    #[error("there is no kind `{0}`")]
    UnknownKind(String),
    /// The table has a member that the kind does not know, lacks one, or has one of another type.
    #[error("{0}")]
    Table(String),
    /// A member has a value that can't be.
    #[error("`{member}` {wrong}")]
    Member {
        /// Which.
        member: &'static str,
        /// What is wrong with it.
        wrong: String,
    },
}

impl ConfigFault {
    pub(crate) fn member(member: &'static str, wrong: impl Into<String>) -> Self {
        Self::Member { member, wrong: wrong.into() }
    }
}

/// A table as a kind's own type, which refuses what it does not know.
pub(crate) fn read<T: DeserializeOwned>(table: toml::Table) -> Result<T, ConfigFault> {
    table.try_into().map_err(|error: toml::de::Error| ConfigFault::Table(error.message().to_owned()))
}
