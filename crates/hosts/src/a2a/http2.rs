//! Requests over HTTP/2 to a foreign agent, each over a connection of its own, as gRPC needs them.
//! Must not know: the requests.

use std::{error::Error, future::poll_fn, sync::Arc};

use http::{Request, Response, Uri};
use hyper::{
    body::{Body, Incoming},
    client::conn::http2,
    rt::Executor as _,
};
use hyper_rustls::HttpsConnector;
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioExecutor};
use plenary_outward::deepest;
use rustls::ClientConfig;
use tower::Service;

/// Connects to servers with HTTP/2 from the first byte. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Http2(HttpsConnector<HttpConnector>);

impl Http2 {
    /// With the TLS settings of [`plenary_outward::client_config`].
    pub(crate) fn new(mut tls: ClientConfig) -> Self {
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        Self(HttpsConnector::from((http, Arc::new(tls))))
    }

    /// Sends a request; returns the head of the response, with its body still to be read. Has no time limit of its
    /// own.
    ///
    /// # Errors
    /// If there is no response; the error is text for people.
    pub(super) async fn send<B>(&self, request: Request<B>) -> Result<Response<Incoming>, String>
    where
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        let mut connector = self.0.clone();
        let describe = |error: Box<dyn Error + Send + Sync>| deepest(&*error);
        poll_fn(|context| Service::<Uri>::poll_ready(&mut connector, context)).await.map_err(describe)?;
        let stream = connector.call(request.uri().clone()).await.map_err(describe)?;
        let shaken = http2::handshake(TokioExecutor::new(), stream).await;
        let (mut sender, connection) = shaken.map_err(|error| deepest(&error))?;
        // The connection ends with the response's body, which also reports its errors.
        TokioExecutor::new().execute(async move { drop(connection.await) });
        sender.send_request(request).await.map_err(|error| deepest(&error))
    }
}
