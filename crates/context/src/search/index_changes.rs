//! The changes of the indexes that the events of packages cause.
//! Must not know: how the log is followed.

use plenary_indexing::Source;
use plenary_log::{Fault, StoredEvent};
use plenary_retrieval::Change;
use plenary_room::async_trait;

use super::documents::document;
use crate::{Context, lifecycle::Status, package::event::Standing};

impl Context {
    /// Keeps each index of packages up to date with the log until it is closed.
    pub async fn index(&self) {
        let meaning = async {
            if let Some(meaning) = self.meaning() {
                meaning.search.keep_up(self.log(), self).await;
            }
        };
        tokio::join!(self.search().keep_up(self.log(), self), meaning);
    }
}

#[async_trait]
impl Source for Context {
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        let id = event.stream.id();
        let Standing { from, status, created_at } = match Standing::read(event) {
            Ok(standing) => standing,
            Err(fault) => {
                tracing::error!(%fault, "the event of a package cannot be read and is not indexed");
                return Ok(None);
            }
        };
        Ok(match from {
            None => Some(Change::Put(document(id, &event.payload, status, created_at))),
            // The index has no other state than whether a package is a draft.
            Some(Status::Draft) => {
                let stored_package = self.sound_package(id).await?;
                stored_package.map(|stored_package| {
                    let at = stored_package.present.created_at;
                    Change::Put(document(
                        id,
                        stored_package.text.as_bytes(),
                        stored_package.present.status,
                        at,
                    ))
                })
            }
            Some(_) => None,
        })
    }
}
