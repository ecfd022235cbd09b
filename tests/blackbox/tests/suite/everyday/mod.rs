//! The everyday words of the command line, and people who take part in sessions with the token of their owner.

mod arguments;
mod launch;
mod people;
mod who;
mod words;
