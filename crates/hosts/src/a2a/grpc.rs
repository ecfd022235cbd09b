//! Calls a foreign agent over gRPC (section 10). The messages are the JSON of the other bindings, converted by the
//! schema.
//! Must not know: what a call does.

use http::{HeaderValue, Request, Uri, uri::PathAndQuery};
use plenary_a2a_schema::{JsonCodec, SERVICE};
use serde_json::Value;
use tonic::{Status, Streaming, body::Body, client::Grpc, metadata::MetadataValue};
use tower::service_fn;

use super::{
    Http2,
    client::{ANSWER_BYTES_MAX, VERSION},
};

/// Whether a method of the service returns a stream.
pub(super) fn is_stream(method: &str) -> bool {
    SERVICE.methods().any(|candidate| candidate.name() == method && candidate.is_server_streaming())
}

/// Calls a method of an interface; returns one message or a stream.
pub(super) async fn open(
    http2: &Http2,
    interface: &Uri,
    method: &str,
    params: Value,
    token: Option<&HeaderValue>,
) -> Result<Streaming<Value>, Status> {
    let unknown = || Status::unimplemented("The service has no such method.");
    let descriptor = SERVICE.methods().find(|candidate| candidate.name() == method).ok_or_else(unknown)?;
    let path: PathAndQuery = format!("/{}/{method}", SERVICE.full_name()).parse().map_err(|_| unknown())?;
    let send = service_fn(|request: Request<Body>| http2.send(request));
    let mut grpc = Grpc::with_origin(send, interface.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
    let mut request = tonic::Request::new(params);
    request.metadata_mut().insert("a2a-version", MetadataValue::from_static(VERSION));
    if let Some(token) = token {
        let token = MetadataValue::try_from(token.as_bytes());
        let token = token.map_err(|_| Status::invalid_argument("The token is not valid in metadata."))?;
        request.metadata_mut().insert("authorization", token);
    }
    let answer = grpc.server_streaming(request, path, JsonCodec::of_client(&descriptor)).await?;
    Ok(answer.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_follow_a_task_are_streams() {
        for (method, is) in [
            ("SendStreamingMessage", true),
            ("SubscribeToTask", true),
            ("SendMessage", false),
            ("GetTask", false),
            ("Nothing", false),
        ] {
            assert_eq!(is_stream(method), is, "{method}");
        }
    }
}
