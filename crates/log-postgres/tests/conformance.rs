//! The backend passes the log's suite on a real server.

mod server;

use plenary_log::{Opened, conformance};

struct Postgres(server::Place);

impl conformance::Store for Postgres {
    fn at_hand() -> bool {
        server::at_hand()
    }
    async fn fresh() -> Self {
        Self(server::Place::new())
    }
    async fn open(&self) -> Opened {
        self.0.open().await
    }
}

plenary_log::conformance!(Postgres, durable, shared);
