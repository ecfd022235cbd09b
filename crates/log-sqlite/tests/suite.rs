//! The backend passes the suite of the log, with indexes that follow late and with indexes that follow often.

mod directory;

use std::sync::Mutex;

use directory::Directory;
use plenary_log::{Opened, conformance::Store};
use plenary_log_sqlite::{Closing, Options};

struct Sqlite<const INDEX_EVERY: usize> {
    directory: Directory,
    closing: Mutex<Option<Closing>>,
}

impl<const INDEX_EVERY: usize> Store for Sqlite<INDEX_EVERY> {
    async fn fresh() -> Self {
        Self { directory: Directory::new(), closing: Mutex::new(None) }
    }
    async fn open(&self) -> Opened {
        let options = Options { index_every: INDEX_EVERY, ..Options::default() };
        let directory::Store { log, feed, closing } = self.directory.open(options).expect("the store opens");
        *self.closing.lock().expect("no panic held it") = Some(closing);
        Opened { log, feed }
    }
    async fn closed(&self) {
        let closing = self.closing.lock().expect("no panic held it").take();
        if let Some(closing) = closing {
            closing.wait().await;
        }
    }
}

mod late {
    use super::Sqlite;
    plenary_log::conformance!(Sqlite<16_384>, durable);
}

mod often {
    use super::Sqlite;
    plenary_log::conformance!(Sqlite<3>, durable);
}
