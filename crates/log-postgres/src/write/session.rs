//! The writer's connection, with its prepared statements.

use std::collections::HashMap;

use plenary_kernel::Position;
use tokio_postgres::{Client, Statement};

use super::lock::{NAMED, STATEMENTS};
use crate::{
    last::{END, KnownEnd},
    target::{ANSWER_MS_MAX, OpenError, Purpose, Session, Target, within},
    trouble::Trouble,
};

pub(crate) struct WriteSession {
    session: Session,
    /// The writing statements, by the tables that they write to; prepared when first needed.
    shapes: HashMap<u16, Statement>,
}

impl WriteSession {
    /// Connects; also returns the current head.
    pub(crate) async fn connect(target: &Target) -> Result<(Self, Position), OpenError> {
        let (session, head) = target.session(Purpose::Writing, STATEMENTS).await?;
        within(ANSWER_MS_MAX, session.client.batch_execute(NAMED)).await?;
        Ok((Self { session, shapes: HashMap::new() }, head))
    }
    /// Nothing may be written on top of a log that lacks the known event.
    pub(crate) async fn check_end(&self, known: &KnownEnd) -> Result<(), Trouble> {
        let end = within(ANSWER_MS_MAX, self.client().query_one(END, &[&known.position()])).await?;
        known.checked(&end).map(|_| ())
    }
    pub(crate) fn client(&self) -> &Client {
        &self.session.client
    }
    /// The id of the process on the server.
    pub(crate) fn pid(&self) -> i32 {
        self.session.pid
    }
    pub(crate) fn statement(&self, nth: usize) -> &Statement {
        &self.session.statements[nth]
    }
    /// The statement for a set of tables.
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
