//! `echo`: an HTTP server that takes a POST and answers at once.
//! Must not know: a disk.

use std::convert::Infallible;

use anyhow::Result;
use http_body_util::{BodyExt as _, Empty};
use hyper::{Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Answers every request.
pub(super) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Empty<bytes::Bytes>>, Infallible> {
    let status = match request.into_body().collect().await {
        Ok(_) => StatusCode::CREATED,
        Err(_) => StatusCode::BAD_REQUEST,
    };
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    Ok(response)
}
