//! The content hash of a package: SHA-256 of its canonical JSON without null members (AP-36, AP-37, AP-93 to AP-98).
//! Must not know: where a package comes from.

use plenary_kernel::json::{Nulls, canonical, digest};
use serde_json::Value;

use crate::{Error, RawReply, Result};

/// A package's additional member with its hash.
const CONTENT_HASH: &str = "content_hash";

/// The hash of a package, `sha256:<hex>`, computed without its member `content_hash`.
pub fn content_hash(package: &Value) -> String {
    let mut package = package.clone();
    if let Some(members) = package.as_object_mut() {
        members.remove(CONTENT_HASH);
    }
    format!("sha256:{}", hex::encode(digest(&canonical(&package, Nulls::Drop))))
}

/// Checks that a received package matches its hash, whatever lies between the server and the client (section 9.3).
pub(super) fn verified(reply: RawReply) -> Result<RawReply> {
    let Some(stated) = reply.header("x-content-hash") else { return Ok(reply) };
    let package: Value = serde_json::from_slice(&reply.body)
        .map_err(|error| Error::Unreadable(format!("the package is not JSON ({error})")))?;
    let computed = content_hash(&package);
    if computed == stated {
        return Ok(reply);
    }
    Err(Error::Unreadable(format!("the hash of the package is {computed}, but the server states {stated}")))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;
    use serde_json::json;

    use super::*;

    fn reply(body: &'static str, hash: &str) -> RawReply {
        let mut headers = HeaderMap::new();
        headers.insert("x-content-hash", hash.parse().unwrap());
        RawReply { status: 200, headers, body: Bytes::from_static(body.as_bytes()) }
    }

    #[test]
    fn ap_37_ap_95_nulls_and_the_hash_itself_do_not_count() {
        // `printf '{"a":1}' | sha256sum`
        let hash = "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        assert_eq!(content_hash(&json!({"a": 1, "b": null, "content_hash": "x"})), hash);
        assert!(verified(reply(r#"{"a":1,"content_hash":"…"}"#, hash)).is_ok());
        assert!(verified(reply(r#"{"a":2}"#, hash)).unwrap_err().to_string().contains(hash));
    }
}
