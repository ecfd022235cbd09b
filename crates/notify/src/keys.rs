//! The key that identifies this server to push services: created at its first use, one for all processes of a store.
//! Must not know: the messages.

use plenary_log::Fault;

use crate::{Notify, push::Vapid};

/// The row that stores the key, PKCS #8.
const ROW: &str = "notify/vapid";

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl Notify {
    /// The key.
    pub(crate) async fn vapid(&self) -> Result<&Vapid, Fault> {
        self.0.vapid.get_or_try_init(|| self.stored_key()).await
    }

    async fn stored_key(&self) -> Result<Vapid, Fault> {
        let make = || {
            Vapid::generate().map(Into::into).map_err(|_| Fault::Corrupt("no key can be generated".into()))
        };
        Vapid::read(&self.log().row_created_once(ROW, make).await?).ok_or_else(broken)
    }
}
