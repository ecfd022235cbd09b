//! Names of attributes, in one place: those of OpenTelemetry for generative AI are in development, and still move.
//! Must not know: what has them.

/// An agent, `@owner.name`.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// What an agent is called.
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The session, thread or channel that it belongs to.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The same for OpenInference and Langfuse.
pub const SESSION_ID: &str = "session.id";
/// The owner in whose name it is done.
pub const USER_ID: &str = "user.id";
/// What is done: [`INVOKE_AGENT`], [`EXECUTE_TOOL`].
pub const OPERATION_NAME: &str = "gen_ai.operation.name";
/// An agent works.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// A tool is called.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Who provides it: [`PROVIDER`].
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// This server.
pub const PROVIDER: &str = "plenary";
/// The tool that is called.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// How OpenInference shows it: `AGENT`, `TOOL`.
pub const SPAN_KIND: &str = "openinference.span.kind";
/// Its node in the graph of agents, and the node that it came from.
pub const GRAPH_NODE: &str = "graph.node.id";
/// See [`GRAPH_NODE`].
pub const GRAPH_PARENT: &str = "graph.node.parent_id";
/// The method of the Model Context Protocol.
pub const MCP_METHOD: &str = "mcp.method.name";
/// The method of Agent2Agent.
pub const A2A_METHOD: &str = "a2a.method.name";
/// Its version.
pub const A2A_VERSION: &str = "a2a.protocol.version";
/// The task that it is about.
pub const A2A_TASK: &str = "a2a.task.id";
/// How it failed.
pub const ERROR_TYPE: &str = "error.type";
