//! Operations that a page of any site may call (CORS): a client in a browser needs them before it has a
//! token. None of them uses cookies, and the browser is told to send none.
//! Must not know: the list of these operations.

use axum::{
    middleware::map_response,
    response::{IntoResponse, Response},
    routing::MethodRouter,
};
use http::{HeaderValue, StatusCode, header};

use crate::{OperationDoc, Origin, RefusalForm, measured::MeasuredHandler, metrics::Metrics};

/// How long a browser caches the permission, in seconds.
const REMEMBERED_S: &str = "600";

impl Origin {
    /// Sets the paths of the operations that pages of any site may call.
    pub fn opened_to_pages<'a>(mut self, docs: impl IntoIterator<Item = &'a OperationDoc>) -> Self {
        self.open = docs.into_iter().filter(|doc| doc.for_pages).map(|doc| doc.path).collect();
        self
    }

    /// Sets the forms of refusals before the router, from the protocols of the operations.
    pub fn refusing_as<'a>(mut self, docs: impl IntoIterator<Item = &'a OperationDoc>) -> Self {
        let forms = docs.into_iter().filter_map(|doc| Some((first_segment(doc.path), doc.refused_as?)));
        self.forms = forms.collect();
        self.forms.sort_by_key(|(path, _)| *path);
        self.forms.dedup_by_key(|(path, _)| *path);
        self
    }

    pub(crate) fn form_at(&self, path: &str) -> Option<RefusalForm> {
        let first = first_segment(path);
        self.forms.iter().find(|(path, _)| *path == first).map(|(_, form)| *form)
    }
}

/// `/agent` of `/agent/{name}/run`; `/` of `/`.
fn first_segment(path: &str) -> &str {
    let end = path.char_indices().skip(1).find(|(_, c)| *c == '/').map_or(path.len(), |(at, _)| at);
    &path[..end]
}

/// The route of such an operation: any page may read its responses, and a preflight request is answered.
pub(crate) fn opened<S>(route: MethodRouter<S>, metrics: &Metrics) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let preflight_handler = MeasuredHandler::new(preflight, metrics.operation("preflight", None));
    route.options(preflight_handler).layer(map_response(readable))
}

async fn readable(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    answer
}

async fn preflight() -> impl IntoResponse {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        // The asterisk covers every header except this one.
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, Authorization"),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED_S),
    ];
    (StatusCode::NO_CONTENT, headers)
}
