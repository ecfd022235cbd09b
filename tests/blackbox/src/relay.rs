//! A port in front of a server that others reach it at: each new connection goes where it points now, as behind a load balancer,
//! and nowhere while it is cut.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Server;

/// The relay. Dropping it closes its port.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<Option<SocketAddr>>>,
    /// Connections that stand end when this changes.
    cuts: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Relay {
    /// A relay that points at nothing yet.
    pub async fn cut_off() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let target = Arc::new(Mutex::new(None));
        let cuts = watch::Sender::new(());
        let task = tokio::spawn(relay(listener, Arc::clone(&target), cuts.clone()));
        Self { address, target, cuts, task }
    }

    /// A relay that points at this server.
    pub async fn to(server: &Server) -> Self {
        let relay = Self::cut_off().await;
        relay.point_at(server);
        relay
    }

    /// From now on it points at another server; connections that stand stay where they are.
    pub fn point_at(&self, server: &Server) {
        *self.target.lock().expect("nobody panics with it") = Some(server.address().get());
    }

    /// Ends every connection, and lets none through.
    pub fn cut(&self) {
        *self.target.lock().expect("nobody panics with it") = None;
        self.cuts.send_replace(());
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

async fn relay(listener: TcpListener, target: Arc<Mutex<Option<SocketAddr>>>, cuts: watch::Sender<()>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let mut cut = cuts.subscribe();
        let Some(target) = *target.lock().expect("nobody panics with it") else { continue };
        tokio::spawn(async move {
            // A server that is away, or goes, is a connection that ends.
            let Ok(mut server) = TcpStream::connect(target).await else { return };
            tokio::select! {
                copied = copy_bidirectional(&mut client, &mut server) => drop(copied),
                changed = cut.changed() => drop(changed),
            }
        });
    }
}
