//! The key of this network, which is generated on first use and shared by all processes of a store.
//! Must not know: the signed content.

use plenary_log::{Batch, Fault, RowOp};

use crate::{Links, key::NetworkKey};

/// The row with the key, in PKCS #8.
const ROW: &str = "links/key";

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl Links {
    /// The key, generated if there is none yet.
    pub(crate) async fn key(&self) -> Result<&NetworkKey, Fault> {
        self.0.key.get_or_try_init(|| self.stored_key()).await
    }

    async fn stored_key(&self) -> Result<NetworkKey, Fault> {
        if let Some(row) = self.log().read_row(ROW).await? {
            return NetworkKey::read(&row.value).ok_or_else(broken);
        }
        let key = NetworkKey::generate().map_err(|_| Fault::Corrupt("no key can be made".into()))?;
        // If another process was faster, its row stays and is read below.
        let row = RowOp { name: ROW.into(), expected: Some(0), value: Some(key.into()) };
        self.log().append(Batch { rows: vec![row], ..Batch::default() }).await?;
        let row = self.log().read_row(ROW).await?.ok_or_else(broken)?;
        NetworkKey::read(&row.value).ok_or_else(broken)
    }
}
