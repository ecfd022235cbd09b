//! The server's proof that it knows the token, on a new connection and before any other request.
//! Must not know: the use of the connection.

use std::{io, net::SocketAddr};

use plenary_kernel::proof::{Challenge, NONCE_DIGITS};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::ConnectFault;
use crate::{BaseUrl, FaultKind, Token};

/// Largest answer to a challenge, head and body.
const ANSWER_BYTES_MAX: usize = 16 << 10;
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// The challenge that a server must answer.
pub(crate) struct ServerProof {
    token: Token,
    authority: String,
    prefix: String,
}

/// The needed members of the answer.
#[derive(Debug, Deserialize)]
struct Health {
    proof: Option<String>,
}

impl ServerProof {
    pub(crate) fn new(base: &BaseUrl, token: Token) -> Self {
        Self { token, authority: base.authority(), prefix: base.prefix().to_owned() }
    }

    /// Sends the challenge for the address that was reached, and fails unless the server proves it. The connection can be used for requests afterwards.
    pub(super) async fn require_proof<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        address: SocketAddr,
    ) -> Result<(), ConnectFault> {
        let fault = |kind, detail: String| ConnectFault { kind, detail };
        let lost = |error: io::Error| fault(FaultKind::Lost, error.to_string());
        let mut nonce = [0; NONCE_DIGITS / 2];
        getrandom::fill(&mut nonce).map_err(|error| fault(FaultKind::Unproved, error.to_string()))?;
        let challenge = Challenge::of(self.token.reveal(), nonce, address);
        stream.write_all(self.question(&challenge).as_bytes()).await.map_err(lost)?;
        let no = |why: &str| fault(FaultKind::Unproved, why.to_owned());
        let body = match answer(stream).await.map_err(lost)? {
            Answer::Body(body) => body,
            Answer::Busy => return Err(fault(FaultKind::Busy, String::new())),
            Answer::Tls => {
                return Err(fault(FaultKind::NotHttp, "it answers with an alert of TLS".to_owned()));
            }
            Answer::Other => return Err(no("it is not a Plenary server, or an older version")),
        };
        let health: Health = serde_json::from_slice(&body)
            .map_err(|_| no("it is not a Plenary server, or an older version"))?;
        match health.proof {
            Some(proof) if challenge.is_answered_by(self.token.reveal(), &proof) => Ok(()),
            Some(_) => Err(no("its proof is wrong")),
            None => Err(no("it does not know the token, or it listens on another address")),
        }
    }

    fn question(&self, challenge: &Challenge) -> String {
        let Challenge { nonce, key, address } = challenge;
        format!(
            "GET {}/healthz?challenge={nonce}&key={key}&address={address} HTTP/1.1\r\nhost: {}\r\naccept: \
             application/json\r\n\r\n",
            self.prefix, self.authority
        )
    }
}

/// The answer to a challenge.
enum Answer {
    /// The body of a 200 with a length.
    Body(Vec<u8>),
    /// A 503: the server accepts no more connections, or cannot tell whether it knows the token.
    Busy,
    /// An alert of TLS.
    Tls,
    Other,
}

/// The first bytes of a server that is too busy, and of a TLS alert.
const BUSY: &[u8] = b"HTTP/1.1 503 ";
const TLS_ALERT: &[u8] = &[21, 3];

async fn answer<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let body = body(stream, &mut bytes).await?;
    Ok(match body {
        Some(body) => Answer::Body(body),
        None if bytes.starts_with(BUSY) => Answer::Busy,
        None if bytes.starts_with(TLS_ALERT) => Answer::Tls,
        None => Answer::Other,
    })
}

/// The body of the single answer; `None` unless it is a 200 with a length.
async fn body<S: AsyncRead + Unpin>(stream: &mut S, bytes: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let head = loop {
        if let Some(head_end) = bytes.windows(END.len()).position(|window| window == END) {
            break head_end + END.len();
        }
        if bytes.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    };
    let Some(length) = length(&bytes[..head]).filter(|length| head + length <= ANSWER_BYTES_MAX) else {
        return Ok(None);
    };
    while bytes.len() < head + length {
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
    // One request was sent, so one answer is expected.
    Ok((bytes.len() == head + length).then(|| bytes.split_off(head)))
}

/// The length of the body, if the answer is a success that keeps the connection open.
fn length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    if !lines.next()?.starts_with("HTTP/1.1 200 ") {
        return None;
    }
    let mut length = None;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok();
        } else if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
            return None;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use plenary_kernel::json::digest;
    use tokio::io::duplex;

    use super::*;

    const TOKEN: &str = "pla_0000000000000000";
    const OWN: &str = "127.0.0.1:7420";

    fn proving() -> ServerProof {
        ServerProof::new(&"http://127.0.0.1:7420/x".parse().unwrap(), Token::new(TOKEN).unwrap())
    }

    /// What becomes of it when the server makes this of the request's first line.
    async fn prove_against(server: impl FnOnce(&str) -> String) -> Result<(), ConnectFault> {
        let (mut near, mut far) = duplex(1 << 16);
        let serving = async {
            let mut request = Vec::new();
            while !request.ends_with(END) {
                far.read_buf(&mut request).await.unwrap();
            }
            let request = String::from_utf8(request).unwrap();
            assert!(!request.contains(TOKEN), "{request}");
            far.write_all(server(&request).as_bytes()).await.unwrap();
            drop(far);
        };
        let proving = proving();
        tokio::join!(proving.require_proof(&mut near, OWN.parse().unwrap()), serving).0
    }

    fn json(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    fn honest(question: &str, address: &str) -> String {
        let part = |name: &str| {
            let rest = question.split_once(name).unwrap().1;
            rest[..rest.find(['&', ' ']).unwrap()].to_owned()
        };
        let challenge =
            Challenge { nonce: part("challenge="), key: part("key="), address: address.parse().unwrap() };
        assert!(question.starts_with("GET /x/healthz?") && challenge.is_well_formed());
        json(&format!("{{\"ok\":true,\"proof\":\"{}\"}}", challenge.answer(&digest(TOKEN.as_bytes()))))
    }

    #[tokio::test]
    async fn a_server_that_knows_the_token_is_taken_and_no_other() {
        prove_against(|question| honest(question, OWN)).await.unwrap();
        for answer in [
            json("{\"ok\":true}"),
            json("{\"proof\":\"00\"}"),
            json("<html>"),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\n\r\n{}".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n".to_owned(),
            "nonsense".to_owned(),
            "x".repeat(ANSWER_BYTES_MAX + 1),
        ] {
            let fault = prove_against(|_| answer.clone()).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unproved, "{answer:.40} {fault}");
        }
    }

    #[tokio::test]
    async fn a_server_without_a_free_connection_and_one_that_speaks_tls_are_told_apart() {
        let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
        for (answer, kind) in [(busy, FaultKind::Busy), ("\u{15}\u{3}\u{1}\0\u{2}\u{2}2", FaultKind::NotHttp)]
        {
            assert_eq!(prove_against(|_| answer.to_owned()).await.unwrap_err().kind, kind);
        }
    }

    #[tokio::test]
    async fn a_proof_for_another_address_is_none() {
        for other in ["127.0.0.1:7421", "[::1]:7420"] {
            let fault = prove_against(|question| honest(question, other)).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unproved, "{other}");
        }
    }
}
