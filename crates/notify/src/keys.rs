//! The key that identifies this server to push services: created at its first use, one for all processes of a store.
//! Must not know: the messages.

use plenary_log::{Batch, Fault, RowOp};

use crate::{Notify, push::Vapid};

/// The row that stores the key, PKCS #8.
const ROW: &str = "notify/vapid";

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl Notify {
    /// The key.
    pub(crate) async fn vapid(&self) -> Result<&Vapid, Fault> {
        self.0.vapid.get_or_try_init(|| self.kept_key()).await
    }

    async fn kept_key(&self) -> Result<Vapid, Fault> {
        if let Some(row) = self.log().read_row(ROW).await? {
            return Vapid::read(&row.value).ok_or_else(broken);
        }
        let made = Vapid::generate().map_err(|_| Fault::Corrupt("no key can be made".into()))?;
        // Another process may have been faster: then its key is used.
        let row = RowOp { name: ROW.into(), expected: Some(0), value: Some(made.into()) };
        self.log().append(Batch { rows: vec![row], ..Batch::default() }).await?;
        let row = self.log().read_row(ROW).await?.ok_or_else(broken)?;
        Vapid::read(&row.value).ok_or_else(broken)
    }
}
