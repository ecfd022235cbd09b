//! The key that signs cards: created at its first use, one for all processes of a store.
//! Must not know: the signed content.

use plenary_log::{Batch, Fault, RowOp};
use serde_json::Value;

use crate::{A2a, failure::Failure, signature::CardKey};

/// The path of the public key.
pub(crate) const SET_PATH: &str = "/.well-known/jwks.json";
/// The row of the key, PKCS #8.
const ROW: &str = "a2a/card-key";

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl A2a {
    pub(crate) async fn card_key(&self) -> Result<&CardKey, Failure> {
        self.0.card_key.get_or_try_init(|| self.stored_key()).await.map_err(|fault| {
            tracing::warn!(%fault, "the key that signs cards cannot be read");
            Failure::stopping()
        })
    }

    async fn stored_key(&self) -> Result<CardKey, Fault> {
        if let Some(row) = self.0.log.read_row(ROW).await? {
            return CardKey::read(&row.value).ok_or_else(broken);
        }
        let new_key = CardKey::generate().map_err(|_| Fault::Corrupt("no key can be made".into()))?;
        // Another process may have been faster: then its key is used.
        let row = RowOp { name: ROW.into(), expected: Some(0), value: Some(new_key.into()) };
        self.0.log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
        let row = self.0.log.read_row(ROW).await?.ok_or_else(broken)?;
        CardKey::read(&row.value).ok_or_else(broken)
    }

    /// A card with its signature; `base_url` is the URL under which clients reach the server.
    pub(crate) async fn signed(&self, card: Value, base_url: &str) -> Result<Value, Failure> {
        let signed = self.card_key().await?.sign(card, &format!("{base_url}{SET_PATH}"));
        signed.map_err(|_| Failure::stopping())
    }
}
