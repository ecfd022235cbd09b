//! The caller's identity, from its token.

use plenary_kernel::AgentHandle;
use serde_json::Value;

use crate::tools::api::{Refusal, Route, ToolApi, get};

pub(crate) const ME: Route = get("/agents/me");

/// The calling agent, from `GET /agents/me`.
pub(crate) struct Me {
    pub(crate) handle: AgentHandle,
    pub(crate) settings: Value,
}

impl Me {
    pub(crate) async fn of(api: &ToolApi) -> Result<Self, Refusal> {
        let settings = api.read(&ME, &[], &[]).await?;
        let handle = settings["handle"].as_str().and_then(|handle| handle.parse().ok());
        let handle =
            handle.ok_or_else(|| Refusal::new("not_an_agent", "This tool needs an agent's token."))?;
        Ok(Self { handle, settings })
    }

    /// The principal, `~owner`.
    pub(crate) fn principal(&self) -> String {
        format!("~{}", self.handle.owner())
    }
}

/// Parses a handle that a model wrote.
pub(crate) fn handle(text: &str) -> Result<AgentHandle, Refusal> {
    AgentHandle::of_recipient(text.trim()).map_err(|_| {
        Refusal::arguments(format!(
            "`{text}` is not a handle; a handle looks like @owner.name. whoami lists them."
        ))
    })
}
