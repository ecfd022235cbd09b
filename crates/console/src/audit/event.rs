//! The events of the audit, and their stored form, which is frozen. Pure.

use plenary_kernel::{AgentHandle, TimestampMs};
use serde::{Deserialize, Serialize};

/// A person wrote in the name of an agent, decided on a request, or changed agents or tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WriteMade {
    /// A ULID.
    pub(crate) id: String,
    /// When the write began.
    pub(crate) at: TimestampMs,
    /// The person, `@owner.name`; or the operator or the owner of the session if no person was signed in.
    pub(crate) person: String,
    /// The console session; absent if the person used a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The agent in whose name the write was made; absent if it was the person's own.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentHandle>,
    /// The id of the operation.
    pub(crate) operation: String,
    /// The path of the request.
    pub(crate) path: String,
    /// The status of the response; 0 before it is known. The last event with an id counts.
    pub(crate) status: u16,
}

plenary_engine::stored_forms!(WriteMade = "WriteMade");

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        assert_frozen::<WriteMade>(&[
            (
                "WriteMade",
                r#"{"id":"01","at":7,"person":"@nick.nick","session":"02","as":"@nick.bot","operation":"session.send","path":"/sessions/s/messages","status":201}"#,
            ),
            (
                "WriteMade",
                r#"{"id":"01","at":7,"person":"@nick.nick","operation":"session.send","path":"/sessions/s/messages","status":201}"#,
            ),
        ]);
    }
}
