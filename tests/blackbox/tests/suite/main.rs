//! The Agent Session Protocol as the real server speaks it: raw JSON over HTTP and WebSocket, one server a test.
//!
//! Expected values come from the protocol's document and from the decisions on the wire; requirement ids (ASP-n) stand
//! at the tests that hold them. "Nothing came" is always shown by a fence: a later event that must come, with nothing
//! before it.

mod blocks;
mod channels;
mod channels_cli;
mod confirmation;
mod connect;
mod contacts;
mod content;
mod context;
mod context_cli;
mod create;
mod damage;
mod delivery;
mod edge;
mod ending;
mod files;
mod formerly;
mod frames;
mod frames_cli;
mod framing;
mod health;
mod hidden;
mod hook;
mod hostile;
mod idempotency;
mod identity;
mod inbox;
mod json;
mod logs;
mod matrix;
mod mcp;
mod mcp_tools;
mod membership;
mod not_found;
mod once;
mod order;
mod owners;
mod paging;
mod participation;
mod phoenix;
mod presence;
mod profiles;
mod provisioning;
mod reopen;
mod runs;
mod runs_cli;
mod search;
mod seed;
mod selfservice;
mod setback;
mod shapes;
mod shutdown;
mod spans;
mod spansettings;
mod spantrouble;
mod sse;
mod stored;
mod strict;
mod tls;
mod tokens;
mod trust;
mod visibility;
mod wslimits;
