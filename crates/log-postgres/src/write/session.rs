//! The writer's connection, with its prepared statements.

use std::collections::HashMap;

use plenary_kernel::Position;
use tokio_postgres::{Client, Statement};

use super::lock::{NAMED, STATEMENTS};
use crate::{
    target::{ANSWER_MS_MAX, OpenError, Purpose, Session, Target, within},
    trouble::Trouble,
};

/// A session that writes.
pub(crate) struct WriteSession {
    session: Session,
    /// The statements that write, by which tables they write to; made when first needed.
    shapes: HashMap<u16, Statement>,
}

impl WriteSession {
    /// Connects; the position is where the log ends now.
    pub(crate) async fn connect(target: &Target) -> Result<(Self, Position), OpenError> {
        let (session, head) = target.session(Purpose::Writing, STATEMENTS).await?;
        within(ANSWER_MS_MAX, session.client.batch_execute(NAMED)).await?;
        Ok((Self { session, shapes: HashMap::new() }, head))
    }
    pub(crate) fn client(&self) -> &Client {
        &self.session.client
    }
    /// The process on the server.
    pub(crate) fn pid(&self) -> i32 {
        self.session.pid
    }
    /// One of [`STATEMENTS`].
    pub(crate) fn statement(&self, nth: usize) -> &Statement {
        &self.session.statements[nth]
    }
    /// The statement of a shape.
    pub(crate) async fn shape(
        &mut self,
        shape: u16,
        sql: impl FnOnce() -> String,
    ) -> Result<Statement, Trouble> {
        if let Some(statement) = self.shapes.get(&shape) {
            return Ok(statement.clone());
        }
        let statement = within(ANSWER_MS_MAX, self.session.client.prepare(&sql())).await?;
        self.shapes.insert(shape, statement.clone());
        Ok(statement)
    }
}
