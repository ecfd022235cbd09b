//! A call beyond the scope of a client's token: its answer becomes 403 with the sufficient scope, so that the client
//! can request it from the person.
//! Must not know: the scope; the accounts compute it.

use std::time::Duration;

use axum::{body::Body, response::Response};
use bytes::BytesMut;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use plenary_accounts::MissingScope;
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;

use super::{
    envelope::{REFUSED, refusal},
    metadata::step_up,
};

/// How long the head of an answer waits for the first message, which may change it to 403; after that the answer is sent
/// unchanged.
const FIRST_MESSAGE_WITHIN: Duration = Duration::from_secs(2);
/// Largest first message of a refusal in bytes, including what a stream puts before it.
const FIRST_MESSAGE_BYTES_MAX: usize = 64 << 10;

/// The answer, or 403 if its first message refuses for lack of scope. Any other answer is unchanged.
pub(super) async fn stepped_up(
    answer: Response,
    id: Option<&RawValue>,
    base: &str,
    missing: &MissingScope,
) -> Response {
    if !answer.status().is_success() {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let (mut text, mut chunks, mut rest) = (BytesMut::new(), Vec::new(), body.into_data_stream());
    let first = async {
        while text.len() < FIRST_MESSAGE_BYTES_MAX && message(&text).is_none() {
            let Some(chunk) = rest.next().await else { break };
            if let Ok(chunk) = &chunk {
                text.extend_from_slice(chunk);
            }
            chunks.push(chunk);
        }
    };
    let _late = timeout(FIRST_MESSAGE_WITHIN, first).await;
    let is_refused = message(&text).is_some_and(|message| message["result"]["isError"] == true);
    let scope = missing.take().filter(|_| is_refused);
    let challenge = scope.as_deref().and_then(|scope| HeaderValue::from_str(&step_up(base, scope)).ok());
    let (Some(scope), Some(challenge)) = (scope, challenge) else {
        return Response::from_parts(parts, Body::from_stream(stream::iter(chunks).chain(rest)));
    };
    let text = format!("The token's scope does not admit this; it takes {scope}.");
    let mut answer = refusal(StatusCode::FORBIDDEN, id, REFUSED, &text);
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    answer
}

/// The first message of an answer, which is JSON or a stream of events.
fn message(text: &[u8]) -> Option<Value> {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let line = line.strip_prefix(b"data: ").unwrap_or(line);
        serde_json::from_slice(line).ok().filter(Value::is_object)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_once_it_is_whole() {
        let stream = b"data: \nid: 0/0\nretry: 3000\n\ndata: {\"id\":2}\nid: 1/0\n\n";
        assert_eq!(message(stream).unwrap()["id"], 2);
        assert_eq!(message(b"{\"id\":3}").unwrap()["id"], 3);
        for part in [&b""[..], b"data: \n", b"data: {\"id\"", b"{\"id\":3"] {
            assert_eq!(message(part), None);
        }
    }
}
