//! Pipelined statements, sent without waiting for answers. The order on the wire is the order of `send`:
//! no statement may overtake the lock at the front or be overtaken by the commit at the end.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use tokio_postgres::{Error, Row};

type Answer = Result<Vec<Row>, Error>;

enum Reply<'a> {
    Waiting(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
    Answered(Answer),
}

/// The statements that were sent, in order.
#[derive(Default)]
pub(crate) struct Burst<'a>(Vec<Reply<'a>>);

impl<'a> Burst<'a> {
    /// Sends a statement: its first poll puts it on the connection's queue.
    pub(crate) async fn send(&mut self, statement: impl Future<Output = Answer> + Send + 'a) {
        let mut waiting: Pin<Box<dyn Future<Output = Answer> + Send + 'a>> = Box::pin(statement);
        let sent = poll_fn(|cx| {
            Poll::Ready(match waiting.as_mut().poll(cx) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => None,
            })
        });
        self.0.push(match sent.await {
            Some(answer) => Reply::Answered(answer),
            None => Reply::Waiting(waiting),
        });
    }

    /// All answers, in order.
    pub(crate) async fn answers(self) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(self.0.len());
        for sent in self.0 {
            answers.push(match sent {
                Reply::Waiting(waiting) => waiting.await,
                Reply::Answered(answer) => answer,
            });
        }
        answers
    }
}
