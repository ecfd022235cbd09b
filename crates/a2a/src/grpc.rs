//! The gRPC binding (section 10): the service `lf.a2a.v1.A2AService`, at the root of the server. gRPC has no paths
//! for agents, so `tenant` names the agent, as in its card. Messages are converted from and to JSON by the schema.
//! Must not know: what a call does.

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{BoxStream, once},
};
use http::{Version, header, request::Parts};
use http_body_util::BodyExt as _;
use plenary_a2a_schema::{JsonCodec, SERVICE};
use plenary_edge::{CountedBody, LiveStream, body_refusal};
use plenary_kernel::limits::BODY_BYTES_MAX;
use serde_json::Value;
use tonic::{Status, server::Grpc};
use tower::service_fn;

use crate::{
    A2a,
    access::version,
    calls::{Call, CallResult},
    failure::Failure,
};

pub(crate) const PATH: &str = "/lf.a2a.v1.A2AService/{method}";

/// The messages of a response: one, or the updates of a live task.
type Messages = BoxStream<'static, Result<Value, Status>>;

pub(crate) async fn call(State(a2a): State<A2a>, Path(method): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let is_grpc = is_grpc(&parts);
    // Checked first: without a token a client learns nothing else, and its body is not read.
    if let Err(failure) = a2a.principal(&parts).await {
        return if is_grpc { failure.grpc().into_http() } else { failure.rest_response() };
    }
    if !is_grpc {
        return Failure::not_grpc().rest_response();
    }
    let Some(method) = SERVICE.methods().find(|known| known.name() == method) else {
        return Failure::method("There is no such method.").grpc().into_http();
    };
    let (room, head, name) = (&a2a, &parts, method.name());
    let ask = service_fn(move |sent: tonic::Request<Value>| async move {
        let reply = room.ask_by_grpc(head, name, sent.into_inner()).await;
        reply.map(tonic::Response::new).map_err(|failure| failure.grpc())
    });
    // A single response has the wire form of a stream with one message.
    let mut grpc = Grpc::new(JsonCodec::of(&method)).max_decoding_message_size(BODY_BYTES_MAX);
    let body = CountedBody::new(&parts, body).map_err(|error| Failure::from(body_refusal(&error)).grpc());
    let mut response = grpc.server_streaming(ask, http::Request::from_parts(parts.clone(), body)).await;
    if method.is_server_streaming() && !response.headers().contains_key(Status::GRPC_STATUS) {
        response.extensions_mut().insert(LiveStream);
    }
    response.map(Body::new)
}

fn is_grpc(parts: &Parts) -> bool {
    let kind = parts.headers.get(header::CONTENT_TYPE).map(header::HeaderValue::as_bytes);
    parts.version == Version::HTTP_2 && matches!(kind, Some(b"application/grpc" | b"application/grpc+proto"))
}

impl A2a {
    async fn ask_by_grpc(&self, parts: &Parts, method: &str, mut params: Value) -> Result<Messages, Failure> {
        let tenant = params.as_object_mut().and_then(|params| params.remove("tenant"));
        let named = tenant.as_ref().and_then(Value::as_str);
        let agent = named.or(self.0.settings.agent.as_ref().map(|agent| agent.as_str()));
        let agent = agent.ok_or_else(|| {
            Failure::params("`tenant` must name the agent, `owner.name`, as its card does.")
        })?;
        let access = self.access(parts, agent).await?;
        version(&parts.headers, &parts.uri)?;
        Ok(match access.carry_out(Call::read(method, params)?).await? {
            CallResult::Value(value) => once(async { Ok(value) }).boxed(),
            CallResult::Follow(follow) => follow.into_stream().map_err(|failure| failure.grpc()).boxed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_card_has_only_members_of_the_schema() {
        use crate::{access::VisibleAgent, card};
        let seen = VisibleAgent {
            handle: "@nick.coder".parse().unwrap(),
            descriptor: json!({"purpose": "Codes.", "operations": [{"name": "lint", "description": "Lints."}]}),
            profile: json!({}),
        };
        let mut shown = card::card(&seen, "https://h", card::Extent::Extended);
        shown["signatures"] = json!([{"protected": "e30", "signature": "AA"}]);
        assert_eq!(plenary_a2a_schema::sent("AgentCard", shown).unwrap()["skills"][1]["id"], "lint");
    }
}
