//! Incoming NOTIFY messages: signals are given to the exchange, answers to the process's questions. A commit of another
//! process only makes the tail read sooner.
//! Must not know: how messages are sent.

use std::{future::poll_fn, sync::Arc};

use plenary_kernel::Position;
use plenary_log::signals::{IncomingSignal, ProcessId, Responder, Signal};
use tokio_postgres::{AsyncMessage, Notification};

use super::{
    Item, SignalState,
    parts::{Joiner, Message},
};
use crate::{
    target::Wire,
    trouble::{Trouble, described},
};

/// Drives the connection until it is lost.
pub(super) async fn receive(shared: &Arc<SignalState>, mut wire: Wire) -> Trouble {
    let mut joiner = Joiner::default();
    loop {
        match poll_fn(|cx| wire.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                if notification.channel() == shared.store.channel() {
                    hear_commit(shared, &notification);
                } else if let Some((from, message)) = joiner.take(notification.payload()) {
                    take(shared, from, message);
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Trouble::Lost(described(&error)),
            None => return Trouble::Lost("the connection was closed".into()),
        }
    }
}

fn hear_commit(shared: &SignalState, notification: &Notification) {
    // Own commits reach the feed directly.
    if notification.process_id() != shared.store.writer()
        && let Ok(position) = notification.payload().parse()
    {
        shared.store.committed_until(Position(position));
    }
}

fn take(shared: &Arc<SignalState>, from: ProcessId, message: Message) {
    match message {
        Message::Answer { question, answer } => shared.exchange.answered(question, from, answer),
        Message::Signal { topic, numbers, question, body } => {
            let here = ProcessId(shared.process());
            let own = from == here;
            let responder = question.map(|question| responder(shared, from, here, question));
            shared.exchange.hand(IncomingSignal {
                from,
                topic: &topic,
                signal: Signal { numbers, body, own, responder },
            });
        }
    }
}

/// An answer to this process itself is not sent.
fn responder(shared: &Arc<SignalState>, to: ProcessId, here: ProcessId, question: u64) -> Responder {
    if to == here {
        let exchange = shared.exchange.clone();
        return Responder::new(move |answer| exchange.answered(question, here, answer));
    }
    let queue = shared.queue.clone();
    Responder::new(move |answer| {
        let Some(queue) = queue.upgrade() else { return };
        if queue.try_send(Item::Answer { to, question, answer }).is_err() {
            tracing::warn!("too much is waiting for PostgreSQL: an answer to another process is dropped");
        }
    })
}
