//! Links between networks of different operators: two real servers make an accord, revoke it over partitions and kills, and a
//! network that this suite plays, which signs by itself, tries what no peer should.
//! Must not know: how anything of it is kept.

mod ceremony;
mod commands;
mod files;
mod files_of_guests;
mod frames;
mod guests;
mod played;
mod quota;
mod restored;
mod revoking;
mod sessions;
mod sessions_faults;
mod sessions_refused;
mod sessions_retried;
mod signatures;
mod strangers;

use blackbox::{Relay, Response, Server};
use serde_json::{Value, json};

/// Networks on this machine are at addresses that are not public.
const CONFIG: &str = "[links]\nprivate_addresses = true\n";

/// A real server at a URL that stays, over restarts and partitions.
struct Network {
    server: Server,
    relay: Relay,
}

impl Network {
    async fn start() -> Self {
        Self::with(CONFIG).await
    }

    async fn with(config: &str) -> Self {
        let relay = Relay::cut_off().await;
        let server = Server::builder().config(config).arg("--public-url").arg(&relay.url()).start().await;
        relay.point_at(&server);
        Self { server, relay }
    }

    fn url(&self) -> String {
        self.relay.url()
    }

    /// SIGKILL, and a new start on the same data.
    async fn crash(&mut self) {
        self.server.crash().await;
        self.relay.point_at(&self.server);
    }

    async fn peers(&self) -> Vec<Value> {
        let list = self.server.operator().get("/_admin/peers").await.ok(200);
        list["peers"].as_array().expect("a list").clone()
    }

    async fn peer(&self, name: &str) -> Value {
        let peers = self.peers().await;
        peers.into_iter().find(|peer| peer["peer"] == name).unwrap_or_else(|| panic!("there is {name}"))
    }

    /// Invites a network; the code.
    async fn invite(&self, url: &str, peer: &str) -> String {
        let body = json!({"network": url, "peer": peer});
        let made = self.server.operator().post("/_admin/peers", body).await.ok(201);
        made["code"].as_str().expect("a code").to_owned()
    }

    async fn accept(&self, url: &str, peer: &str, code: &str) -> Response {
        let body = json!({"network": url, "peer": peer, "code": code});
        self.server.operator().post("/_admin/peers/accept", body).await
    }

    async fn revoke(&self, peer: &str) {
        self.server.operator().delete(&format!("/_admin/peers/{peer}")).await.ok(204);
    }

    /// Whether the peer says that the accord holds.
    async fn is_alive(&self, peer: &str) -> bool {
        let checked = self.server.operator().post_empty(&format!("/_admin/peers/{peer}/check")).await;
        checked.ok(200)["alive"] == true
    }
}

/// Two networks with an accord: each is the other's peer by the name here.
async fn linked() -> (Network, Network) {
    let (acme, rose) = (Network::start().await, Network::start().await);
    let code = acme.invite(&rose.url(), "rose").await;
    rose.accept(&acme.url(), "acme", &code).await.ok(201);
    (acme, rose)
}
