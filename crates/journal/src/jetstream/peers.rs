//! Messages between nodes over plain subjects of NATS: one subject for all nodes, and one for each node.
//! Must not know: the content of a message.

use async_nats::{Client, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{Nats, unavailable};
use crate::{
    ANSWER_MAX, Answer, ReadError,
    peers::{Address, Messages, NodeId, Peers, message_channel},
};

/// The subjects of a network's nodes.
#[derive(Debug, Clone)]
pub struct Subjects {
    client: Client,
    all: String,
}

impl Nats {
    /// The channel between the nodes that use the journal of a name.
    pub fn peers(&self, name: &str) -> Subjects {
        let all = format!("plenary.{}.{name}.nodes", self.options.network);
        Subjects { client: self.client.clone(), all }
    }
}

impl Subjects {
    fn subject(&self, to: Address) -> String {
        match to {
            Address::All => self.all.clone(),
            Address::One(node) => format!("{}.{node}", self.all),
        }
    }

    async fn subscribed(&self, to: Address) -> Result<Subscriber, ReadError> {
        self.client.subscribe(self.subject(to)).await.map_err(unavailable)
    }

    async fn listened(&self, node: NodeId) -> Result<Messages, ReadError> {
        let subscribing = async {
            let both = (self.subscribed(Address::All).await?, self.subscribed(Address::One(node)).await?);
            // Every message that is sent after this arrives.
            self.client.flush().await.map_err(unavailable)?;
            Ok(both)
        };
        let (mut to_all, mut to_one) = timeout(ANSWER_MAX, subscribing).await.map_err(unavailable)??;
        let (to, messages) = message_channel();
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = to_one.next() => message,
                    message = to_all.next() => message,
                    () = to.closed() => return,
                };
                let Some(message) = message else { return };
                if !to.send(message.payload) {
                    return;
                }
            }
        });
        Ok(messages)
    }
}

impl Peers for Subjects {
    fn send(&self, to: Address, body: Bytes) -> Answer<'_, ()> {
        Box::pin(async move {
            // A message that can't be sent in time is lost, as it might be in transit.
            let _ = timeout(ANSWER_MAX, self.client.publish(self.subject(to), body)).await;
        })
    }
    fn listen(&self, node: NodeId) -> Answer<'_, Result<Messages, ReadError>> {
        Box::pin(self.listened(node))
    }
}
