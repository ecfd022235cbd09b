//! The Agent Protocol as the real server speaks it: raw JSON over HTTP and server-sent events, agents that are real
//! programs. Expected values come from the document and from the decisions on it; requirement ids (SC-n) stand in the
//! names of tests. Must not know: how the server keeps or hosts any of it.

mod access;
mod acp;
mod agentic;
mod cluster;
mod configure;
mod connected;
mod demo;
mod describe;
mod desk;
mod discovery;
mod enlisted;
mod exec;
mod hostile;
mod hosting;
mod inbox;
mod input;
mod listing;
mod openai;
mod polling;
mod remote;
mod requests;
mod restart;
mod shares;
mod speak;
mod sse;
mod streaming;
mod threads;
mod trust;
mod waiting;
