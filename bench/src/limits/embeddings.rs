//! `embeddings`: a server of the OpenAI form that answers at once, with vectors that follow from the texts and mean
//! nothing. Must not know: a model.

use std::fmt::Write as _;

use anyhow::Result;
use axum::{Json, Router, http::header, response::IntoResponse, routing::post};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::load::Drawn;

/// Components of a vector: those of all-MiniLM-L6-v2.
const COMPONENTS: usize = 384;
/// Topics that texts have.
const TOPICS: u64 = 4_096;
/// Largest question that is read.
const QUESTION_BYTES_MAX: usize = 16 << 20;

pub(super) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    let topics: &'static [Vec<i64>] = (0..TOPICS).map(topic).collect::<Vec<_>>().leak();
    let answer = move |Json(question): Json<Value>| async move {
        let texts = question["input"].as_array().map_or(&[][..], Vec::as_slice);
        let one = |(nth, text): (usize, &Value)| {
            let at = text
                .as_str()
                .unwrap_or_default()
                .bytes()
                .fold(7_u64, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
            let topic = usize::try_from(at % TOPICS).ok().and_then(|at| topics.get(at));
            format!("{{\"index\":{nth},\"embedding\":{}}}", vector(topic.map_or(&[], Vec::as_slice), at))
        };
        let data: Vec<_> = texts.iter().enumerate().map(one).collect();
        let body = format!("{{\"object\":\"list\",\"data\":[{}]}}", data.join(","));
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let limit = axum::extract::DefaultBodyLimit::max(QUESTION_BYTES_MAX);
    Ok(axum::serve(listener, Router::new().route("/v1/embeddings", post(answer)).layer(limit)).await?)
}

/// Components between -9 and 9, so that reading them costs little.
fn topic(nth: u64) -> Vec<i64> {
    let mut drawn = Drawn::of(nth);
    (0..COMPONENTS).map(|_| drawn.below(19).cast_signed() - 9).collect()
}

/// A vector of a topic: about as far from others of it as two texts on one topic are.
fn vector(topic: &[i64], nth: u64) -> String {
    let mut drawn = Drawn::of(nth);
    let mut text = String::with_capacity(4 * COMPONENTS);
    for part in topic {
        text.push(if text.is_empty() { '[' } else { ',' });
        let _infallible = write!(text, "{}", part + drawn.below(11).cast_signed() - 5);
    }
    text.push(']');
    text
}
