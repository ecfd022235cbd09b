//! The command line: every command that talks to a server as a client, its output, and what it knows of this machine.
//! Must not know: how a server works.

pub mod browser;
pub mod cli;
pub mod duration;
pub mod guide;
pub mod interrupts;
pub mod listen_address;
pub mod out;
pub mod paths;
pub mod program;
pub mod secrets;
