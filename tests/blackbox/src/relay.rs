//! A port in front of several servers, as a load balancer is: each new connection goes where it points now.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::Server;

/// The relay. Dropping it closes its port.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    task: JoinHandle<()>,
}

impl Relay {
    /// A relay that points at this server.
    pub async fn to(server: &Server) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let target = Arc::new(Mutex::new(server.address().get()));
        let task = tokio::spawn(relay(listener, Arc::clone(&target)));
        Self { address, target, task }
    }

    /// From now on it points at another server; connections that stand stay where they are.
    pub fn point_at(&self, server: &Server) {
        *self.target.lock().expect("nobody panics with it") = server.address().get();
    }

    /// The URL of its port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn relay(listener: TcpListener, target: Arc<Mutex<SocketAddr>>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let target = *target.lock().expect("nobody panics with it");
        tokio::spawn(async move {
            // A server that is away, or goes, is a connection that ends.
            let Ok(mut server) = TcpStream::connect(target).await else { return };
            let copied = copy_bidirectional(&mut client, &mut server).await;
            drop(copied);
        });
    }
}
