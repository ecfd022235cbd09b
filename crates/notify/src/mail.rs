//! Sends mail through the operator's mail server.
//! Must not know: the content.

use std::path::Path;

use http::Uri;
use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::Mailbox,
    transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters},
};
use plenary_outward::TlsFault;

use crate::{SEND_TIME_MAX, Smtp};

/// The connection to the mail server.
pub(crate) struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// Parses an address as a mailbox.
pub(crate) fn mailbox(text: &str) -> Option<Mailbox> {
    text.parse().ok()
}

impl Mail {
    /// The mail server of the configuration.
    pub(crate) fn new(smtp: &Smtp, ca_file: Option<&Path>) -> Result<Self, TlsFault> {
        let bad =
            || TlsFault::new("`notify.smtp_url` must be smtps://USER:PASSWORD@HOST or smtp://HOST:PORT");
        let from =
            mailbox(&smtp.from).ok_or_else(|| TlsFault::new("`notify.smtp_from` must be an address"))?;
        let uri: Uri = smtp.url.parse().map_err(|_| bad())?;
        let host = uri.host().ok_or_else(bad)?;
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(&smtp.url)
            .map_err(|_| bad())?
            .timeout(Some(SEND_TIME_MAX));
        let wanted = uri.query().unwrap_or_default();
        let wraps: Option<fn(TlsParameters) -> Tls> = match uri.scheme_str() {
            Some("smtps") => Some(Tls::Wrapper),
            _ if wanted.contains("tls=required") => Some(Tls::Required),
            _ if wanted.contains("tls=opportunistic") => Some(Tls::Opportunistic),
            _ => None,
        };
        if let Some(wraps) = wraps {
            let mut tls = TlsParameters::builder(host.to_owned());
            if let Some(path) = ca_file {
                let bad = || TlsFault::new(format!("the CA file {} cannot be used", path.display()));
                let pem = std::fs::read(path).map_err(|_| bad())?;
                let certificate = Certificate::from_pem(&pem).map_err(|_| bad())?;
                tls = tls.certificate_store(CertificateStore::None).add_root_certificate(certificate);
            }
            let tls = tls.build().map_err(|error| TlsFault::new(format!("TLS for mail: {error}")))?;
            builder = builder.tls(wraps(tls));
        }
        Ok(Self { transport: builder.build(), from })
    }

    /// Sends a mail. The id is the message id, so that a repeated mail can be recognized.
    pub(crate) async fn send(&self, id: &str, to: &str, subject: String, text: String) -> Result<(), String> {
        let to = mailbox(to).ok_or("the address is none")?;
        let id = format!("<{id}@{}>", self.from.email.domain());
        let message = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(subject)
            .message_id(Some(id))
            .body(text)
            .map_err(|error| error.to_string())?;
        let sent = self.transport.send(message).await;
        sent.map(drop).map_err(|error| match error.status() {
            Some(code) => format!("the mail server answered {code}"),
            None => format!("the mail server: {}", plenary_outward::deepest(&error)),
        })
    }
}
