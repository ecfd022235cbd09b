//! The client: its server, its token, and the common path of all operations.
//! Must not know: any operation; those are in `accounts`, `attach`, `sessions`, `frames`, `channels`, `context`,
//! `runs`, `transfer`, `me`, `mcp`, `contacts`, `health`, `inbox`, `live`.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_kernel::{AgentHandle, OwnerName};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    BaseUrl, Error, IdempotencyKey, RawReply, Reply, Result, Retry, Roots, Token,
    exchange::{Http, Pieces},
    net::{Connector, ServerProof},
    query::Query,
};

/// The header by which a client names the agent its token must belong to (wire.md D.1).
pub(crate) const AGENT_HEADER: HeaderName = HeaderName::from_static("x-asp-agent");
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The characters that need no encoding inside a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// Settings of a client, each with a default.
#[derive(Debug, Clone)]
pub struct Builder {
    base: BaseUrl,
    roots: Roots,
    connect_timeout: Duration,
    request_timeout: Duration,
    reply_bytes_max: usize,
    retry: Retry,
    proving: Option<Token>,
}

impl Builder {
    /// Which certificate authorities to trust; default: the system's.
    pub fn roots(mut self, roots: Roots) -> Self {
        self.roots = roots;
        self
    }

    /// Time limit of connecting, including TLS; default 5 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Time limit from a request to the end of its reply; default 30 s.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// Largest reply that is read, in bytes; default 64 MiB.
    pub fn reply_bytes_max(mut self, limit: usize) -> Self {
        self.reply_bytes_max = limit;
        self
    }

    /// How calls with an idempotency key are repeated; default: five attempts.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// For a server on this machine without TLS: every connection first makes the server prove that it knows this token,
    /// because any user may listen on a port. For other servers, the certificate is the only proof.
    pub fn proving(mut self, token: Token) -> Self {
        self.proving = Some(token);
        self
    }

    /// Builds the client, without connecting.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the URL is `https` and the certificate authorities cannot be read.
    pub fn build(self) -> Result<Client> {
        let tls = if self.base.is_secure() { Some(self.roots.client_config()?) } else { None };
        let proving = self.proving.filter(|_| self.base.is_loopback() && !self.base.is_secure());
        let proving = proving.map(|token| ServerProof::new(&self.base, token));
        let connector = Connector::new(tls, self.connect_timeout, proving);
        let http = Http::new(connector.clone(), self.request_timeout, self.reply_bytes_max);
        let shared = ClientInner { base: self.base, http, connector, retry: self.retry };
        Ok(Client { shared: Arc::new(shared), token: None, agent: None, channel_key: None, peer: None })
    }
}

struct ClientInner {
    base: BaseUrl,
    http: Http,
    connector: Connector,
    retry: Retry,
}

/// A client of one server; clones share its connections. Must be used inside a tokio runtime.
///
/// Every call fails as [`Error`] says; the documentation of a method names only the refusals that are particular to it.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientInner>,
    token: Option<Token>,
    agent: Option<AgentHandle>,
    channel_key: Option<Arc<str>>,
    peer: Option<OwnerName>,
}

impl Client {
    /// Starts building a client of this server.
    pub fn builder(base: BaseUrl) -> Builder {
        Builder {
            base,
            roots: Roots::default(),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
            reply_bytes_max: 64 << 20,
            retry: Retry::default(),
            proving: None,
        }
    }

    /// A client with default settings.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new(base: BaseUrl) -> Result<Self> {
        Self::builder(base).build()
    }

    /// The same client with this token.
    pub fn with_token(&self, token: Token) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    /// The same client, with this key of a channel's link in every channel request.
    pub fn with_channel_key(&self, key: &str) -> Self {
        Self { channel_key: Some(key.into()), ..self.clone() }
    }

    /// The same client for channels, projects and runs of a linked network, by its local name: the server forwards the
    /// requests.
    pub fn at_peer(&self, peer: OwnerName) -> Self {
        Self { peer: Some(peer), ..self.clone() }
    }

    /// The URL of a path at the server, or at the peer.
    pub(crate) fn target(&self, path: &str) -> Result<Uri> {
        match &self.peer {
            Some(peer) => self.base().http(&format!("/peers/{peer}{path}")),
            None => self.base().http(path),
        }
    }

    pub(crate) fn channel_key(&self) -> Option<&str> {
        self.channel_key.as_deref()
    }

    /// The same client, naming in every request the agent that its token must belong to: otherwise the server
    /// answers 401 (wire.md D.1).
    pub fn expecting(&self, agent: AgentHandle) -> Self {
        Self { agent: Some(agent), ..self.clone() }
    }

    /// The URL of the server.
    pub fn base(&self) -> &BaseUrl {
        &self.shared.base
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.shared.connector
    }

    pub(crate) fn retry(&self) -> Retry {
        self.shared.retry
    }

    /// The headers with the token and the expected agent.
    pub(crate) fn credentials(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let mut headers = Vec::with_capacity(2);
        if let Some(token) = &self.token {
            headers.push((header::AUTHORIZATION, token.header()?));
        }
        if let Some(agent) = &self.agent {
            let value = HeaderValue::from_str(agent.as_str())
                .map_err(|_| Error::Invalid("the handle is not valid in a header".into()))?;
            headers.push((AGENT_HEADER, value));
        }
        Ok(headers)
    }

    /// Sends one request and returns the answer whatever its status: for tests, demonstrations and operations
    /// this client has no method for. `path` begins with `/` and is percent-encoded; `body` is JSON.
    ///
    /// # Errors
    /// Every [`Error`] but [`Error::Refused`].
    pub async fn raw(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<RawReply> {
        self.raw_with(method, path, &[], body).await
    }

    /// Sends one request with additional headers, and returns the answer whatever its status.
    pub(crate) async fn raw_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<Bytes>,
    ) -> Result<RawReply> {
        self.exchange(method, path, headers, body.map(|body| ("application/json", body))).await
    }

    /// A PUT request with a body of bytes.
    pub(crate) async fn put_bytes(&self, path: &str, body: Bytes) -> Result<RawReply> {
        self.exchange(Method::PUT, path, &[], Some(("application/octet-stream", body))).await
    }

    /// A POST request with a form.
    pub(crate) async fn post_form(&self, path: &str, body: Bytes) -> Result<RawReply> {
        self.exchange(Method::POST, path, &[], Some(("application/x-www-form-urlencoded", body))).await
    }

    /// A request of this caller, with additional headers.
    pub(crate) fn prepare(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<http::request::Builder> {
        let mut request = Request::builder().method(method).uri(self.target(path)?);
        for (name, value) in self.credentials()?.iter().chain(headers) {
            request = request.header(name, value);
        }
        Ok(request)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<(&str, Bytes)>,
    ) -> Result<RawReply> {
        let mut request = self.prepare(method, path, headers)?;
        if let Some((kind, _)) = &body {
            request = request.header(header::CONTENT_TYPE, *kind);
        }
        let body = body.map(|(_, bytes)| bytes).unwrap_or_default();
        let request = request
            .header(header::ACCEPT, "application/json")
            .body(Full::new(body))
            .map_err(|e| Error::Invalid(e.to_string()))?;
        self.shared.http.exchange(self.base(), request).await
    }

    /// A GET request with a streaming reply, which is returned once its head has arrived with a success status.
    pub(crate) async fn open(
        &self,
        path: &str,
        accept: &str,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Response<Incoming>> {
        let request = self.prepare(Method::GET, path, headers)?.header(header::ACCEPT, accept);
        let request = request.body(Full::default()).map_err(|e| Error::Invalid(e.to_string()))?;
        self.shared.http.open(self.base(), request).await
    }

    /// The HTTP side.
    pub(crate) fn http(&self) -> &Http {
        &self.shared.http
    }

    /// Posts a body that is produced while it is sent, and returns the answer whatever its status.
    pub(crate) async fn upload(
        &self,
        path: &str,
        media_type: &str,
        headers: &[(HeaderName, HeaderValue)],
        pieces: Pieces,
    ) -> Result<RawReply> {
        let request = self
            .prepare(Method::POST, path, headers)?
            .header(header::CONTENT_TYPE, media_type)
            .header(header::ACCEPT, "application/json")
            .body(pieces)
            .map_err(|e| Error::Invalid(e.to_string()))?;
        self.shared.http.upload(self.base(), request).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Reply<T>> {
        Reply::read(self.raw(method, path, body).await?.into_success()?)
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Reply<T>> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<Reply<T>> {
        self.call(Method::DELETE, path, None).await
    }

    /// A POST without a body, as for `join`, `leave` and `end` (ASP-65).
    pub(crate) async fn post_empty<T: DeserializeOwned>(&self, path: &str) -> Result<Reply<T>> {
        self.call(Method::POST, path, None).await
    }

    pub(crate) async fn post<B: Serialize + Sync, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<Reply<T>> {
        self.call(Method::POST, path, Some(json(body)?)).await
    }

    pub(crate) async fn patch<B: Serialize + Sync, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<Reply<T>> {
        self.call(Method::PATCH, path, Some(json(body)?)).await
    }

    pub(crate) async fn put<B: Serialize + Sync, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<Reply<T>> {
        self.call(Method::PUT, path, Some(json(body)?)).await
    }

    /// A POST that is retried on transient failures: `body` must contain an idempotency key (ASP-35).
    pub(crate) async fn post_keyed<B: Serialize + Sync, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<Reply<T>> {
        let body = json(body)?;
        self.retry().run(|| self.call(Method::POST, path, Some(body.clone()))).await
    }

    /// A POST with an `Idempotency-Key` header, retried on transient failures.
    pub(crate) async fn post_once(
        &self,
        path: &str,
        body: Option<Bytes>,
        key: &IdempotencyKey,
    ) -> Result<RawReply> {
        let key = HeaderValue::from_str(key.as_str())
            .map_err(|_| Error::Invalid("the idempotency key is not valid in a header".into()))?;
        let headers = [(IDEMPOTENCY_KEY, key)];
        self.retry()
            .run(|| async { self.raw_with(Method::POST, path, &headers, body.clone()).await?.into_success() })
            .await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.base)
            .field("token", &self.token)
            .field("agent", &self.agent)
            .finish()
    }
}

pub(crate) fn json<B: Serialize>(body: &B) -> Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|e| Error::Invalid(format!("not JSON: {e}")))
}

/// One segment of a path, percent-encoded.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A list's path, at the page of a `next_cursor`.
pub(crate) fn page(path: &str, cursor: Option<&str>) -> String {
    Query::of(path).with("cursor", cursor).path()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_never_leaves_its_place_in_the_path() {
        assert_eq!(segment("@nick.cc-laptop_1"), "@nick.cc-laptop_1");
        assert_eq!(segment("@nick.*"), "@nick.%2A");
        assert_eq!(segment("../x?y#z %\n"), "..%2Fx%3Fy%23z%20%25%0A");
    }
}
