//! The files of the page.
//! Must not know: their content.

use axum::{
    extract::{Path, rejection::PathRejection},
    response::Response,
};
use http::{HeaderMap, Method, StatusCode};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal};

use super::ConsoleRefusal;
use crate::{assets::asset, console::ConsoleState, page::answer};

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new(
        "console.file",
        Method::GET,
        "/console/{*path}",
        "Get a file of the console's page",
    )
    .auth(Auth::None)
    .no_tool("for browsers")
    .path_parameter::<String>("path", "The file")
    .reply_type("text/javascript")
    .or_reply_type("text/css")
    .or_reply_type("text/html")
    .or_reply_type("image/svg+xml")
    .or_empty(StatusCode::NOT_MODIFIED)
    .has_etag()
    .errors(Class::NotFound, &["not_found"]);
    vec![doc.handled_by(file)]
}

async fn file(
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ConsoleRefusal> {
    let Path(path) = path.map_err(|_| Refusal::not_found())?;
    let asset = asset(&path).ok_or_else(Refusal::not_found)?;
    Ok(answer(asset, &headers))
}
