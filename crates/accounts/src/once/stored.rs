//! The stored form of an answer, and the answer from it. Where the answer has a secret of its request, the stored form has a mark:
//! the secret is derived again for whoever repeats the request with the same token.
//! Must not know: what an operation does.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use plenary_engine::IdempotentRequest;
use plenary_kernel::json::digest;
use serde::{Deserialize, Serialize};

use super::REPLAYED;
use crate::limits::ANSWER_STORED_BYTES_MAX;

/// The border of a mark. JSON never has it.
const BORDER: char = '\0';

/// The answers of a request, as they are stored and repeated.
pub(super) struct Answers {
    pub(super) once: Arc<IdempotentRequest>,
    /// For a request whose answer has a secret: what is stored of the sender's secret.
    pub(super) proof: Option<[u8; 32]>,
}

/// What a request with a stored outcome gets.
pub(super) enum Repeated {
    /// The first answer.
    Answer(Response),
    /// A refusal: the first answer is bound to another token.
    OfAnotherToken,
    /// The answer was not stored, so it is made again.
    MadeAgain,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    /// The proof of the sender's secret, in hex, if the body has marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
}

/// What is stored of a sender's secret: whether a repetition has the same one.
pub(super) fn proof(secret: Option<[u8; 32]>) -> [u8; 32] {
    digest(&[b"the same secret\0", &secret.unwrap_or_default()[..]].concat())
}

impl Answers {
    /// The outcome to store. Of an answer with a secret that cannot be marked, only the proof; of another that cannot be
    /// stored, nothing, so that the key still refuses another request.
    pub(super) fn outcome(&self, status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Bytes {
        match &self.proof {
            None => form(status, headers, body, None).unwrap_or_default(),
            Some(proof) => self
                .marked(headers, body)
                .and_then(|body| form(status, headers, &body.into(), Some(hex::encode(proof))))
                .unwrap_or_else(|| Bytes::copy_from_slice(proof)),
        }
    }

    /// What a request with this stored outcome gets.
    pub(super) fn repeated(&self, outcome: &[u8]) -> Repeated {
        let stored = serde_json::from_slice::<StoredAnswer>(outcome).ok();
        if let Some(proof) = &self.proof {
            let is_the_same = match &stored {
                Some(stored) => stored.proof.as_deref() == Some(hex::encode(proof).as_str()),
                None => outcome == proof,
            };
            if !is_the_same {
                return Repeated::OfAnotherToken;
            }
        }
        stored.and_then(|stored| self.replayed(stored)).map_or(Repeated::MadeAgain, Repeated::Answer)
    }

    fn replayed(&self, stored: StoredAnswer) -> Option<Response> {
        let StoredAnswer { status, headers, body, proof } = stored;
        let body = if proof.is_some() { self.unmarked(body)? } else { body };
        let mut answer = Response::new(Body::from(body));
        *answer.status_mut() = StatusCode::from_u16(status).ok()?;
        for (name, value) in headers {
            let (name, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
            answer.headers_mut().insert(name, value);
        }
        answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        Some(answer)
    }

    /// The body with a mark in place of each secret. `None` if a secret is not in it, or if it may have one that the request
    /// did not make, such as a token that the sender chose.
    fn marked(&self, headers: &HeaderMap, body: &Bytes) -> Option<String> {
        let mut text = std::str::from_utf8(body).ok()?.to_owned();
        let made = self.once.secrets_made();
        if made == 0 || text.len() > ANSWER_STORED_BYTES_MAX || text.contains(BORDER) {
            return None;
        }
        for nth in 1..=made {
            let forms = forms(self.once.secret(nth)?);
            let is_in_header = |form: &String| {
                headers.values().any(|value| value.to_str().is_ok_and(|value| value.contains(form)))
            };
            if forms.iter().any(is_in_header) || !forms.iter().any(|form| text.contains(form)) {
                return None;
            }
            for (kind, form) in forms.iter().enumerate() {
                text = text.replace(form, &mark(kind, nth));
            }
        }
        Some(text)
    }

    /// The body with its secrets.
    fn unmarked(&self, mut text: String) -> Option<String> {
        let mut nth = 1;
        while text.contains(BORDER) {
            let before = text.len();
            for (kind, form) in forms(self.once.secret(nth)?).iter().enumerate() {
                text = text.replace(&mark(kind, nth), form);
            }
            // Each secret that was made is in the body.
            if text.len() == before {
                return None;
            }
            nth += 1;
        }
        Some(text)
    }
}

/// The forms in which an answer may have a secret.
fn forms(secret: [u8; 32]) -> [String; 2] {
    [hex::encode(secret), STANDARD.encode(secret)]
}

fn mark(kind: usize, nth: u32) -> String {
    format!("{BORDER}{kind}.{nth}{BORDER}")
}

fn form(status: StatusCode, headers: &HeaderMap, body: &Bytes, proof: Option<String>) -> Option<Bytes> {
    let headers = headers.iter().filter(|(name, _)| **name != header::CONTENT_LENGTH);
    let headers = headers
        .map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect::<Option<_>>()?;
    let body = String::from_utf8(body.to_vec()).ok()?;
    serde_json::to_vec(&StoredAnswer { status: status.as_u16(), headers, body, proof }).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use plenary_engine::{KeyUse, secret_of_request};

    use super::*;

    fn answers(secret: Option<[u8; 32]>, is_secret: bool) -> Answers {
        let key = KeyUse { scope: "s".into(), key: "k".into(), digest: [7; 32] };
        Answers { once: IdempotentRequest::new(key, secret), proof: is_secret.then(|| proof(secret)) }
    }

    async fn text(answer: Response) -> String {
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_stored_answer_is_replayed_unchanged() {
        let headers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"a\""))]);
        let body = Bytes::from_static("{\"a\":\"é\"}".as_bytes());
        let answers = answers(None, false);
        let stored = answers.outcome(StatusCode::CREATED, &headers, &body);
        assert_eq!(
            stored,
            "{\"status\":201,\"headers\":[[\"etag\",\"\\\"a\\\"\"]],\"body\":\"{\\\"a\\\":\\\"é\\\"}\"}"
        );
        let Repeated::Answer(answer) = answers.repeated(&stored) else { panic!("it is stored") };
        assert_eq!(
            (answer.status(), &answer.headers()[header::ETAG]),
            (StatusCode::CREATED, &HeaderValue::from_static("\"a\""))
        );
        assert_eq!(answer.headers()[REPLAYED], "true");
        assert_eq!(text(answer).await, body);
        assert!(matches!(answers.repeated(b""), Repeated::MadeAgain));
    }

    #[tokio::test]
    async fn of_an_answer_with_secrets_everything_else_is_stored() {
        let first = answers(Some([1; 32]), true);
        let make = async || [secret_of_request().unwrap(), secret_of_request().unwrap()];
        let [token, key] = first.once.carry_out(make()).await;
        let body = format!(r#"{{"token":"pla_{}","key":"{}"}}"#, hex::encode(token), STANDARD.encode(key));
        let stored = first.outcome(StatusCode::CREATED, &HeaderMap::new(), &body.clone().into());
        let stored_text = String::from_utf8(stored.to_vec()).unwrap();
        for secret in [token, key] {
            assert!(forms(secret).iter().all(|form| !stored_text.contains(form)), "{stored_text}");
        }
        // A request that is repeated makes no secret before it is answered.
        let again = answers(Some([1; 32]), true).repeated(&stored);
        let Repeated::Answer(answer) = again else { panic!("it is stored") };
        assert_eq!(text(answer).await, body);
        assert!(matches!(answers(Some([2; 32]), true).repeated(&stored), Repeated::OfAnotherToken));
    }

    #[tokio::test]
    async fn an_answer_with_a_secret_of_the_sender_is_made_again() {
        let first = answers(Some([1; 32]), true);
        let body = Bytes::from_static(b"{\"token\":\"mine\"}");
        let stored = first.outcome(StatusCode::CREATED, &HeaderMap::new(), &body);
        assert_eq!(stored, proof(Some([1; 32])).as_slice());
        assert!(matches!(first.repeated(&stored), Repeated::MadeAgain));
        assert!(matches!(answers(Some([2; 32]), true).repeated(&stored), Repeated::OfAnotherToken));
    }
}
