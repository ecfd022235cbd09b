//! A bucket with the S3 protocol, over the server's own HTTP client and TLS. Address, region and keys come from the
//! usual variables of S3 tools: `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, ….
//! Must not know: the content of the bucket.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::{
    ClientOptions, ObjectStore, RetryConfig,
    aws::AmazonS3Builder,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use plenary_outward::{Pool, client_config};
use tokio::time::timeout;

use crate::OpenFault;

/// The minimal size of every part except the last.
pub(crate) const PART_BYTES: usize = 5 << 20;
/// How long a bucket may take to begin its response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The total time for retries of one operation.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Most retries of one operation.
const RETRIES_MAX: usize = 3;

/// Opens a bucket by name.
pub(crate) fn bucket(
    name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Arc<dyn ObjectStore>, OpenFault> {
    let retry =
        RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::from_env();
    // The environment may no longer contain these two.
    if let Some(key) = variable("AWS_SECRET_ACCESS_KEY") {
        builder = builder.with_secret_access_key(key);
    }
    if let Some(token) = variable("AWS_SESSION_TOKEN") {
        builder = builder.with_token(token);
    }
    let store = builder
        .with_bucket_name(name)
        .with_http_connector(Connector)
        .with_retry(retry)
        .build()
        .map_err(|error| OpenFault(format!("the bucket {name}: {error}")))?;
    Ok(Arc::new(store))
}

#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |source| object_store::Error::Generic { store: "S3", source };
        let tls = client_config(true, None, "in SSL_CERT_FILE").or_else(|_| client_config(false, None, ""));
        let tls = tls.map_err(|fault| failed(Box::new(fault)))?;
        // The store checks the address for plain HTTP (`AWS_ALLOW_HTTP`).
        Ok(HttpClient::new(Wire(Pool::new(tls))))
    }
}

#[derive(Debug)]
struct Wire(Pool<HttpRequestBody>);

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = match timeout(ANSWER_TIMEOUT, self.0.send(request)).await {
            Ok(answered) => answered,
            Err(late) => return Err(HttpError::new(HttpErrorKind::Timeout, late)),
        };
        let (head, body) = answered
            .map_err(|error| {
                let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
                HttpError::new(kind, error)
            })?
            .into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}
