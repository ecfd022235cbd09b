//! Connections to other servers, kept for the next request: HTTP/1.1, with TLS if the URL is `https`.
//! Must not know: the requests.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{CertificateError, ClientConfig};

/// How long an unused connection is kept.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(30);

/// A pool of connections for requests with a body of one type. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pool<B = Full<Bytes>>(Client<HttpsConnector<HttpConnector>, B>);

impl<B> Pool<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// A pool with a TLS configuration of [`crate::client_config`].
    pub fn new(tls: ClientConfig) -> Self {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIME)
            .build(connector);
        Self(client)
    }

    /// Sends a request; returns the head of the response, with its body still to be read. No time limit
    /// of its own.
    ///
    /// # Errors
    /// If there is no response; [`deepest`] has the cause.
    pub async fn send(
        &self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        self.0.request(request).await
    }
}

/// Reads a whole body of at most `bytes_max` bytes.
///
/// # Errors
/// If it is interrupted or longer, for people.
pub async fn within<B>(body: B, bytes_max: usize) -> Result<Bytes, String>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let describe = |error: Box<dyn Error + Send + Sync>| {
        if error.is::<LengthLimitError>() {
            format!("the answer is longer than {} KiB", bytes_max >> 10)
        } else {
            deepest(&*error)
        }
    };
    Ok(Limited::new(body, bytes_max).collect().await.map_err(describe)?.to_bytes())
}

/// The pause that the server asks for, in whole seconds. A date is ignored.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

/// The innermost cause of an error, such as "Connection refused".
pub fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let inner = deepest.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let tls = inner.and_then(|inner| inner.downcast_ref()).or_else(|| deepest.downcast_ref());
    if let Some(text) = tls.and_then(of_certificate) {
        return text;
    }
    let text = deepest.to_string();
    // The number of the error says the same as its words.
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// What is wrong with a certificate; `None` for a text of rustls that people can read.
fn of_certificate(error: &rustls::Error) -> Option<String> {
    let rustls::Error::InvalidCertificate(wrong) = error else { return None };
    if *wrong == CertificateError::UnknownIssuer {
        return Some("no trusted authority issued its certificate".to_owned());
    }
    let CertificateError::NotValidForNameContext { presented, .. } = wrong else { return None };
    let quoted = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    let names: Vec<String> = presented.iter().map(quoted).collect();
    Some(format!("its certificate is for {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_cause_is_described() {
        let refused = std::io::Error::from_raw_os_error(111);
        assert_eq!(deepest(&refused), "Connection refused");
        let tls = |wrong| {
            std::io::Error::new(std::io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(wrong))
        };
        let unknown = tls(CertificateError::UnknownIssuer);
        assert_eq!(deepest(&unknown), "no trusted authority issued its certificate");
        let other = tls(CertificateError::NotValidForNameContext {
            expected: rustls_pki_types::ServerName::try_from("a.example").unwrap().to_owned(),
            presented: vec!["DnsName(\"localhost\")".to_owned()],
        });
        assert_eq!(deepest(&other), "its certificate is for localhost");
    }

    #[test]
    fn a_pause_is_whole_seconds() {
        let mut headers = HeaderMap::new();
        assert_eq!(retry_after(&headers), None);
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(3)));
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("Wed, 21 Oct 2026 07:28:00 GMT"));
        assert_eq!(retry_after(&headers), None);
    }
}
