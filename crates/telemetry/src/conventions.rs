//! The names of attributes, in one place: OpenTelemetry's names for generative AI are in development,
//! and may change.
//! Must not know: the spans that have them.

/// An agent, `@owner.name`.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// The name of an agent.
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The session, thread or channel of the span.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The session, thread or channel of the span, for OpenInference and Langfuse.
pub const SESSION_ID: &str = "session.id";
/// The owner on whose behalf the work is done.
pub const USER_ID: &str = "user.id";
/// The kind of operation: [`INVOKE_AGENT`], [`EXECUTE_TOOL`].
pub const OPERATION_NAME: &str = "gen_ai.operation.name";
/// An agent runs.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// A tool runs.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// The provider: [`PROVIDER`].
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// This server.
pub const PROVIDER: &str = "plenary";
/// The tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The kind of span for OpenInference: `AGENT`, `TOOL`.
pub const SPAN_KIND: &str = "openinference.span.kind";
/// The span's node in the graph of agents; [`GRAPH_PARENT`] is the node before it.
pub const GRAPH_NODE: &str = "graph.node.id";
/// See [`GRAPH_NODE`].
pub const GRAPH_PARENT: &str = "graph.node.parent_id";
/// The method of the Model Context Protocol.
pub const MCP_METHOD: &str = "mcp.method.name";
/// The method of Agent2Agent.
pub const A2A_METHOD: &str = "a2a.method.name";
/// Its protocol version.
pub const A2A_VERSION: &str = "a2a.protocol.version";
/// The task of the request.
pub const A2A_TASK: &str = "a2a.task.id";
/// The kind of failure.
pub const ERROR_TYPE: &str = "error.type";
