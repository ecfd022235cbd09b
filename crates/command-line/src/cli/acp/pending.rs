//! The editor's requests without an answer, which it may cancel one by one.
//! Must not know: the requests.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_hosts::acp::wire::ErrorCode;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::fault::{Answer, Fault};

/// The requests, by the JSON of their ids.
#[derive(Default)]
pub(super) struct PendingRequests(Mutex<HashMap<String, CancellationToken>>);

/// A request without an answer. Dropping it ends that.
pub(super) struct PendingRequest {
    all: Arc<PendingRequests>,
    id: String,
    /// Cancels the request.
    pub(super) canceling: CancellationToken,
}

impl PendingRequests {
    /// Registers a request.
    pub(super) fn begin(all: &Arc<Self>, id: &Value) -> PendingRequest {
        let (id, canceling) = (id.to_string(), CancellationToken::new());
        all.0.lock().insert(id.clone(), canceling.clone());
        PendingRequest { all: all.clone(), id, canceling }
    }

    /// Cancels the request with this id, if it has no answer yet.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(canceling) = self.0.lock().get(&id.to_string()) {
            canceling.cancel();
        }
    }
}

impl PendingRequest {
    /// The answer of the work, which a cancellation stops.
    pub(super) async fn unless_canceled(&self, work: impl Future<Output = Answer>) -> Answer {
        let canceled = || Err(Fault::new(ErrorCode::Canceled, "the request was canceled"));
        self.canceling.run_until_cancelled(work).await.unwrap_or_else(canceled)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_request_is_canceled_by_its_id_and_no_other() {
        let all = Arc::new(PendingRequests::default());
        let (number, text) =
            (PendingRequests::begin(&all, &json!(1)), PendingRequests::begin(&all, &json!("1")));
        all.cancel(&json!(2));
        all.cancel(&json!(1));
        assert!(number.canceling.is_cancelled() && !text.canceling.is_cancelled());
        let fault = number.unless_canceled(pending()).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::Canceled);
        assert_eq!(text.unless_canceled(async { Ok(json!({})) }).await, Ok(json!({})));
        drop((number, text));
        assert!(all.0.lock().is_empty());
    }
}
