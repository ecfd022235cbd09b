//! The backend passes the log's suite on a real server.

mod server;

use plenary_log::{
    OpenedLog,
    conformance::{self, damage::Damage},
};

struct Postgres(server::TestStore);

impl conformance::Store for Postgres {
    fn at_hand() -> bool {
        server::at_hand()
    }
    async fn fresh() -> Self {
        Self(server::TestStore::new())
    }
    async fn open(&self) -> OpenedLog {
        self.0.open().await
    }
}

impl conformance::Damageable for Postgres {
    async fn damage(&self, damage: Damage<'_>) {
        let one = match damage {
            Damage::Envelope(position) => format!(
                "UPDATE events SET envelope = set_byte(envelope, 0, get_byte(envelope, 0) # 1) WHERE position = {position}"
            ),
            Damage::Kind(position) => {
                format!("UPDATE events SET kind = 'Happenee' WHERE position = {position}")
            }
            Damage::Index { name, key } => {
                format!("UPDATE idx SET value = '?' WHERE name = '{name}' AND key = '{key}'")
            }
            Damage::Row(name) => format!("UPDATE rows SET value = '?' WHERE name = '{name}'"),
            Damage::Key(key) => format!("UPDATE keys SET outcome = '?' WHERE key = '{key}'"),
        };
        self.0.damage(&one).await;
    }
}

plenary_log::conformance!(Postgres, durable, shared, damaged);
