//! `embeddings`: a server of the OpenAI form that answers at once, with vectors that follow from the texts and mean
//! nothing. Must not know: a model.

use anyhow::Result;
use axum::{Json, Router, http::header, response::IntoResponse, routing::post};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::load::Drawn;

/// Components of a vector: those of all-MiniLM-L6-v2.
const COMPONENTS: usize = 384;
/// Different vectors.
const VECTORS: u64 = 4_096;
/// Largest question that is read.
const QUESTION_OCTETS_MAX: usize = 16 << 20;

pub(super) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    let vectors: &'static [String] = (0..VECTORS).map(vector).collect::<Vec<_>>().leak();
    let answer = move |Json(question): Json<Value>| async move {
        let texts = question["input"].as_array().map_or(&[][..], Vec::as_slice);
        let one = |(nth, text): (usize, &Value)| {
            let at = text
                .as_str()
                .unwrap_or_default()
                .bytes()
                .fold(7_u64, |hash, octet| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(octet));
            let vector = usize::try_from(at % VECTORS).ok().and_then(|at| vectors.get(at));
            format!("{{\"index\":{nth},\"embedding\":{}}}", vector.map_or("[]", String::as_str))
        };
        let data: Vec<_> = texts.iter().enumerate().map(one).collect();
        let body = format!("{{\"object\":\"list\",\"data\":[{}]}}", data.join(","));
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let limit = axum::extract::DefaultBodyLimit::max(QUESTION_OCTETS_MAX);
    Ok(axum::serve(listener, Router::new().route("/v1/embeddings", post(answer)).layer(limit)).await?)
}

/// Components between -9 and 9, so that reading them costs little.
fn vector(nth: u64) -> String {
    let mut drawn = Drawn::of(nth);
    let parts: Vec<_> =
        (0..COMPONENTS).map(|_| drawn.below(19).cast_signed() - 9).map(|part| part.to_string()).collect();
    format!("[{}]", parts.join(","))
}
