//! The backend passes the suite of the log, with indexes that follow late and with indexes that follow often.

mod directory;

use std::sync::Mutex;

use directory::Directory;
use plenary_log::{
    OpenedLog,
    conformance::{Damageable, Store, damage::Damage},
};
use plenary_log_sqlite::{Options, StoreClose};

struct Sqlite<const INDEX_EVERY: usize> {
    directory: Directory,
    closing: Mutex<Option<StoreClose>>,
}

impl<const INDEX_EVERY: usize> Store for Sqlite<INDEX_EVERY> {
    async fn fresh() -> Self {
        Self { directory: Directory::new(), closing: Mutex::new(None) }
    }
    async fn open(&self) -> OpenedLog {
        let options = Options { index_every: INDEX_EVERY, ..Options::default() };
        let directory::Store { log, feed, closing } = self.directory.open(options).expect("the store opens");
        *self.closing.lock().expect("no panic held it") = Some(closing);
        OpenedLog { log, feed }
    }
    async fn closed(&self) {
        let closing = self.closing.lock().expect("no panic held it").take();
        if let Some(closing) = closing {
            closing.wait().await;
        }
    }
}

impl<const INDEX_EVERY: usize> Damageable for Sqlite<INDEX_EVERY> {
    async fn damage(&self, damage: Damage<'_>) {
        let connection = self.directory.connection();
        let changed = match damage {
            Damage::Envelope(position) => connection.execute(
                "UPDATE events SET envelope = CAST('?' || substr(CAST(envelope AS TEXT), 2) AS BLOB) WHERE position = ?1",
                [position.cast_signed()],
            ),
            Damage::Kind(position) => connection
                .execute("UPDATE events SET kind = 'Happenee' WHERE position = ?1", [position.cast_signed()]),
            Damage::Index { name, key } => connection
                .execute("UPDATE idx SET value = CAST('?' AS BLOB) WHERE name = ?1 AND key = ?2", [name, key]),
            Damage::Row(name) => {
                connection.execute("UPDATE rows SET value = CAST('onf' AS BLOB) WHERE name = ?1", [name])
            }
            Damage::Key(key) => {
                connection.execute("UPDATE keys SET outcome = CAST('donf' AS BLOB) WHERE key = ?1", [key])
            }
        };
        assert_eq!(changed.expect("the file can be changed"), 1, "{damage:?}");
    }
}

mod late {
    use super::Sqlite;
    plenary_log::conformance!(Sqlite<16_384>, durable, damaged);
}

mod often {
    use super::Sqlite;
    plenary_log::conformance!(Sqlite<3>, durable, damaged);
}
