//! Sends mail through the operator's mail server.
//! Must not know: the content.

use std::{net::IpAddr, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Uri;
use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::{
        Mailbox,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters},
};
use plenary_outward::TlsFault;

use crate::{SEND_TIME_MAX, Smtp};

/// The longest part of a subject in one encoded word, in bytes: with the name of the header, a line has at most 78 characters
/// (RFC 5322, 2.1.1).
const ENCODED_WORD_BYTES_MAX: usize = 42;

/// The connection to the mail server.
pub(crate) struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// How the connection is encrypted; `None` if not at all. A password leaves the machine only encrypted, unless the operator
/// says otherwise.
fn encryption(uri: &Uri, host: &str) -> Option<fn(TlsParameters) -> Tls> {
    let has = |option: &str| uri.query().is_some_and(|query| query.split('&').any(|one| one == option));
    let has_password = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    let is_here = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("smtps") => Some(Tls::Wrapper),
        _ if has("tls=none") => None,
        _ if has("tls=required") => Some(Tls::Required),
        _ if has("tls=opportunistic") || !has_password || is_here => Some(Tls::Opportunistic),
        _ => Some(Tls::Required),
    }
}

/// Parses an address as a mailbox.
pub(crate) fn mailbox(text: &str) -> Option<Mailbox> {
    text.parse().ok()
}

/// The header of a subject. The library encodes only words with other characters than ASCII, so a text that has the form of an
/// encoded word (RFC 2047) is encoded here: a mail program would decode it and show another text.
fn subject_header(subject: String) -> HeaderValue {
    const NAME: HeaderName = HeaderName::new_from_ascii_str("Subject");
    if !subject.contains("=?") {
        return HeaderValue::new(NAME, subject);
    }
    let (mut words, mut rest) = (Vec::new(), subject.as_str());
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(ENCODED_WORD_BYTES_MAX));
        words.push(format!("=?utf-8?b?{}?=", STANDARD.encode(word)));
        rest = after;
    }
    HeaderValue::dangerous_new_pre_encoded(NAME, subject, words.join("\r\n "))
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
        // The library does not know `tls=none`, and encrypts nothing without a query.
        let url = smtp.url.trim_end_matches("?tls=none");
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
            .map_err(|_| bad())?
            .timeout(Some(SEND_TIME_MAX));
        if let Some(wraps) = encryption(&uri, host) {
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
            .raw_header(subject_header(subject))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject as a mail program shows it, and the length of its longest line.
    fn shown(subject: &str) -> (String, usize) {
        let message = Message::builder()
            .from(mailbox("a@example.org").unwrap())
            .to(mailbox("b@example.org").unwrap())
            .raw_header(subject_header(subject.to_owned()));
        let text = String::from_utf8(message.body(String::new()).unwrap().formatted()).unwrap();
        let rest: Vec<&str> = text.split("\r\n").skip_while(|line| !line.starts_with("Subject: ")).collect();
        let lines = &rest[..=rest[1..].iter().take_while(|line| line.starts_with(' ')).count()];
        let value = lines.concat().split_off("Subject: ".len());
        let decoded = |word: &str| {
            let base64 = word.strip_prefix("=?utf-8?b?")?.strip_suffix("?=")?;
            Some(String::from_utf8(STANDARD.decode(base64).ok()?).unwrap())
        };
        let longest = lines.iter().map(|line| line.len()).max().unwrap();
        (value.split(' ').map(decoded).collect::<Option<String>>().unwrap_or(value), longest)
    }

    #[test]
    fn a_subject_that_looks_like_an_encoded_word_is_shown_as_it_was_written() {
        let long = "=?utf-8?q?Paid?= für alle ".repeat(12).trim_end().to_owned();
        for subject in ["=?utf-8?q?Paid?=", "a =?UTF-8?B?UGFpZA==?= b", "=?", "1 request waits", &long] {
            let (text, longest) = shown(subject);
            assert_eq!(text, *subject);
            assert!(longest <= 78, "{longest}: {subject}");
        }
    }

    #[test]
    fn a_password_leaves_the_machine_only_encrypted_unless_the_operator_says_otherwise() {
        let kind = |url: &str| {
            let uri: Uri = url.parse().unwrap();
            let wraps = encryption(&uri, uri.host().unwrap())?;
            Some(match wraps(TlsParameters::builder("h".to_owned()).build().unwrap()) {
                Tls::Wrapper(_) => "wrapper",
                Tls::Required(_) => "required",
                Tls::Opportunistic(_) => "opportunistic",
                Tls::None => "none",
            })
        };
        for (url, expected) in [
            ("smtps://me:pw@mail.example", Some("wrapper")),
            ("smtp://me:pw@mail.example:587", Some("required")),
            ("smtp://me:pw@mail.example:587?tls=required", Some("required")),
            ("smtp://me:pw@mail.example:587?tls=opportunistic", Some("opportunistic")),
            ("smtp://me:pw@mail.example:587?tls=none", None),
            ("smtp://mail.example", Some("opportunistic")),
            ("smtp://mail.example?tls=required", Some("required")),
            ("smtp://me:pw@127.0.0.1:1025", Some("opportunistic")),
            ("smtp://me:pw@[::1]:1025", Some("opportunistic")),
            ("smtp://localhost:1025", Some("opportunistic")),
        ] {
            assert_eq!(kind(url), expected, "{url}");
        }
    }
}
