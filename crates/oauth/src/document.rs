//! The metadata documents of clients, fetched from the URL in their ids: only from public addresses, with limits on
//! size and time, and cached for a while. Only for signed-in people.
//! Must not know: the use of a client.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use plenary_kernel::{OwnerName, Shares, TimestampMs};
use plenary_outward::{guard::GuardedPool, within};
use quick_cache::sync::Cache;
use tokio::time::timeout;
use url::Url;

use crate::{
    client::{Client, Metadata, document_url},
    limits::{
        DOCUMENT_BYTES_MAX, DOCUMENT_KEPT_MS, DOCUMENT_WITHIN_S, DOCUMENTS_AT_ONCE_MAX, DOCUMENTS_KEPT_MAX,
        DOCUMENTS_OF_OWNER_MAX,
    },
};

/// Fetches and caches documents.
pub(crate) struct Documents {
    pool: Option<GuardedPool>,
    /// Whether plain `http` is allowed, which goes with private addresses.
    plain_too: bool,
    cache: Cache<String, (TimestampMs, Client)>,
    at_once: Shares<Option<OwnerName>>,
}

impl Documents {
    /// Fetches documents through a pool. There is no pool if the system has no certificate authorities; then nothing is
    /// fetched.
    pub(crate) fn new(pool: Option<GuardedPool>, plain_too: bool) -> Self {
        let at_once = Shares::new(DOCUMENTS_AT_ONCE_MAX, DOCUMENTS_OF_OWNER_MAX);
        Self { pool, plain_too, cache: Cache::new(DOCUMENTS_KEPT_MAX), at_once }
    }

    /// The client whose document is at the URL `id`, for a person of an owner.
    ///
    /// # Errors
    /// The reason, for the person.
    pub(crate) async fn client(
        &self,
        id: &str,
        owner: Option<&OwnerName>,
        now: TimestampMs,
    ) -> Result<Client, String> {
        let url = document_url(id, self.plain_too).ok_or("This application is not registered here.")?;
        if let Some((fetched_at, client)) = self.cache.get(id)
            && now.0.abs_diff(fetched_at.0) < DOCUMENT_KEPT_MS
        {
            return Ok(client);
        }
        let turn = self.at_once.take(owner.cloned(), 1);
        let _turn = turn.map_err(|_| "Too many applications ask at once; try again.")?;
        let pool = self.pool.as_ref().ok_or("This server does not fetch descriptions of applications.")?;
        let fetching = fetched(pool, &url);
        let metadata = match timeout(Duration::from_secs(DOCUMENT_WITHIN_S), fetching).await {
            Ok(metadata) => metadata
                .map_err(|why| format!("The description of the application cannot be read: {why}."))?,
            Err(_) => return Err("The description of the application did not come in time.".into()),
        };
        let client =
            Client::documented(&url, metadata).ok_or("The description is that of another application.")?;
        self.cache.insert(id.to_owned(), (now, client.clone()));
        Ok(client)
    }
}

async fn fetched(pool: &GuardedPool, url: &Url) -> Result<Metadata, String> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = url.as_str().parse().map_err(|_| "its URL can't be asked")?;
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let answer = pool.send(request).await?;
    if answer.status() != StatusCode::OK {
        return Err(format!("its server answers {}", answer.status().as_u16()));
    }
    let body = within(answer.into_body(), DOCUMENT_BYTES_MAX).await?;
    serde_json::from_slice(&body).map_err(|_| "it is not the JSON that it should be".into())
}
