//! What a stranger's repository and a stranger at a port can't do: run, send or redirect anything.

mod command_line;
mod directory;
mod kept;
mod port;
mod streams;
