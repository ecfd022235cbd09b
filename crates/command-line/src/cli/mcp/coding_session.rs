//! The coding session that calls the tools: the one whose hooks run in the parent program of this process.
//! Must not know: the calls.

use std::path::PathBuf;

use crate::cli::{
    context::Context,
    hook::{Program, calling_program, session_in, state_file_of},
};

/// The program, and the file in which its hooks record its session.
#[derive(Clone)]
pub(super) struct CodingSession {
    state_file: PathBuf,
    program: Program,
}

impl CodingSession {
    /// The session of the parent program, if that program has a known agent.
    pub(super) fn of_context(context: &Context) -> Option<Self> {
        let handle = context.used()?.0?.handle;
        let state_file = state_file_of(&context.environment, &handle)?;
        Some(Self { state_file, program: calling_program(&context.environment)? })
    }

    /// Its current session; a coding agent may start another at any time.
    pub(super) fn session(&self) -> Option<String> {
        session_in(&self.state_file, self.program.pid)
    }
}
