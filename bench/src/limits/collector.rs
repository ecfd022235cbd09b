//! `collector`: takes spans as an OpenTelemetry Collector does, over HTTP, and forgets them.
//! Must not know: what a span is.

use anyhow::Result;
use axum::{Router, body::Bytes, http::header, response::IntoResponse, routing::post};
use tokio::net::TcpListener;

/// Largest export that is taken.
const EXPORT_BYTES_MAX: usize = 64 << 20;

pub(super) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    let take = |_: Bytes| async { ([(header::CONTENT_TYPE, "application/x-protobuf")], "").into_response() };
    let limit = axum::extract::DefaultBodyLimit::max(EXPORT_BYTES_MAX);
    Ok(axum::serve(listener, Router::new().route("/v1/traces", post(take)).layer(limit)).await?)
}
