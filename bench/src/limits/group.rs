//! What the durable limits share: an HTTP server that hands each body to one writer and answers when the writer
//! says that it is on disk. Must not know: what the writer is.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::{Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

/// Most messages that wait for the writer.
const WAITING_MAX: usize = 4_096;
/// Most messages of one commit.
pub(super) const COMMIT_MAX: usize = 512;

/// A message, and who waits for it.
pub(super) struct Job {
    pub(super) body: Bytes,
    pub(super) done: oneshot::Sender<()>,
}

/// The queue to the writer.
pub(super) fn queue() -> (mpsc::Sender<Job>, mpsc::Receiver<Job>) {
    mpsc::channel(WAITING_MAX)
}

/// Takes messages.
pub(super) async fn accept(listener: TcpListener, jobs: mpsc::Sender<Job>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let jobs = jobs.clone();
        let service = service_fn(move |request| take(request, jobs.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn take(
    request: Request<Incoming>,
    jobs: mpsc::Sender<Job>,
) -> Result<Response<Empty<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let (done, committed) = oneshot::channel();
    let mut response = Response::new(Empty::new());
    let sent = jobs.send(Job { body, done }).await.is_ok();
    let is_stored = sent && committed.await.is_ok();
    *response.status_mut() = if is_stored { StatusCode::CREATED } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(response)
}
