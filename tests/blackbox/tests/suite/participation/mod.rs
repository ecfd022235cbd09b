//! Agents that the server runs take part in sessions: raw JSON against the real server, with the built-in agent, a
//! scripted program and a scripted model. Must not know: how the server reacts to what is said.

mod again;
mod asking;
mod cluster;
mod joining;
mod loops;
mod speak;
mod switch;
mod tools;
mod traced;
