//! The error of a failed request: a code of JSON-RPC, and a text for the person at the editor.
//! Must not know: the request.

use plenary_client::{Error, FaultKind};
use plenary_hosts::acp::wire::ErrorCode;
use serde_json::Value;

/// The answer to a request.
pub(super) type Answer = Result<Value, Fault>;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: ErrorCode,
    pub(super) text: String,
}

impl Fault {
    pub(super) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// A fault for wrong parameters of the request.
    pub(super) fn params(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, text)
    }

    /// A fault for a session that does not exist or is not the caller's.
    pub(super) fn no_session(id: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("there is no session `{id}` with this agent"))
    }

    /// A fault for an agent that failed or cannot be reached.
    pub(super) fn internal(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, text)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match &error {
            Error::Network(fault) if matches!(fault.kind, FaultKind::Refused | FaultKind::Unreachable) => {
                Self::internal(format!("{error}; is the server running? `plenary serve` starts it"))
            }
            Error::Refused(refused) if refused.status == 401 => {
                let text = format!(
                    "the server does not accept the token: {}; `plenary token list` shows the saved ones",
                    refused.message.trim_end_matches('.')
                );
                Self::new(ErrorCode::AuthRequired, text)
            }
            Error::Refused(refused) if refused.message.is_empty() => Self::internal(refused.code.clone()),
            Error::Refused(refused) => Self::internal(refused.message.clone()),
            Error::Network(_) | Error::Unreadable(_) | Error::Invalid(_) => Self::internal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_client::{NetworkFault, ServerRefusal};

    use super::*;

    #[test]
    fn a_person_reads_what_to_do() {
        let server = "http://127.0.0.1:7420".to_owned();
        let unreachable =
            NetworkFault { kind: FaultKind::Refused, server, detail: String::new(), is_safe: false };
        assert!(Fault::from(Error::from(unreachable)).text.contains("`plenary serve` starts it"));
        let refused = |status: u16, message: &str| {
            let (code, message) = ("a_code".to_owned(), message.to_owned());
            Fault::from(Error::from(ServerRefusal { status, code, field: None, message, retry_after: None }))
        };
        assert_eq!(refused(401, "no").code, ErrorCode::AuthRequired);
        assert!(refused(401, "It is unknown.").text.contains("It is unknown; `plenary token list`"));
        assert_eq!(refused(409, "the agent is stopped"), Fault::internal("the agent is stopped"));
        assert_eq!(refused(500, ""), Fault::internal("a_code"));
    }
}
