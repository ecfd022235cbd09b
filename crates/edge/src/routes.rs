//! The router, built only from operations, so that no route exists without its description.
//! Must not know: the list of operations.

use std::{collections::HashSet, sync::Arc};

use axum::{
    Router,
    response::Response,
    routing::{MethodFilter, any},
};
use http::Method;
use plenary_kernel::{Class, Refusal};

use crate::{
    error::refusal_response,
    measured::MeasuredHandler,
    metrics::Metrics,
    operation::{Operation, OperationDoc},
    pages::opened,
    strict::Shape,
};

/// A registry that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// Two operations have one id.
    #[error("the operation {0} is defined twice")]
    IdTwice(&'static str),
    /// Two operations have one method and path.
    #[error("{0} {1} is served by two operations")]
    RouteTwice(Method, &'static str),
    /// An operation's method is not one that is routed.
    #[error("the operation {0} has a method that is not routed")]
    Method(&'static str),
    /// A described path parameter is not in the path.
    #[error("the operation {0} describes the parameter {1}, which its path does not have")]
    PathParameter(&'static str, &'static str),
}

/// The routes of one room, each counted under its operation's id. Mount them with `merge`, and close the whole
/// with [`with_fallbacks`].
///
/// # Errors
/// When the operations contradict each other.
pub fn routes<S>(operations: Vec<Operation<S>>, metrics: &Metrics) -> Result<Router<S>, RegistryFault>
where
    S: Clone + Send + Sync + 'static,
{
    consistent(operations.iter().map(Operation::doc))?;
    let mut router = Router::new();
    for Operation { doc, mount } in operations {
        let method = MethodFilter::try_from(doc.method).map_err(|_| RegistryFault::Method(doc.id))?;
        let shape = doc.request.map(|request| Arc::new(Shape::of(request)));
        let route = mount(method, metrics.operation(doc.id, Some(doc.path)), shape);
        router = router.route(doc.path, if doc.for_pages { opened(route, metrics) } else { route });
    }
    Ok(router)
}

/// Checks that all operations together are consistent: ids and routes are unique.
///
/// # Errors
/// The first contradiction.
pub fn consistent<'a>(docs: impl Iterator<Item = &'a OperationDoc>) -> Result<(), RegistryFault> {
    let (mut ids, mut served) = (HashSet::new(), HashSet::new());
    for doc in docs {
        if !ids.insert(doc.id) {
            return Err(RegistryFault::IdTwice(doc.id));
        }
        if !served.insert((doc.method.clone(), doc.path)) {
            return Err(RegistryFault::RouteTwice(doc.method.clone(), doc.path));
        }
        let unknown =
            doc.path_parameters.iter().find(|parameter| doc.path_names().all(|name| name != parameter.name));
        if let Some(parameter) = unknown {
            return Err(RegistryFault::PathParameter(doc.id, parameter.name));
        }
    }
    Ok(())
}

/// The whole router with an answer in the common form for unknown paths and methods: 404, and 405 with
/// `Allow`.
pub fn with_fallbacks<S>(router: Router<S>, metrics: &Metrics) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let unmatched = metrics.operation("unmatched", None);
    router
        .method_not_allowed_fallback(MeasuredHandler::new(method_not_allowed, unmatched.clone()))
        .fallback(MeasuredHandler::new(not_found, unmatched))
}

/// The routes of a room with its own form of refusal for an unsupported method.
pub fn with_method_refusals<S>(
    router: Router<S>,
    metrics: &Metrics,
    form: fn(Refusal) -> Response,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let unmatched = metrics.operation("unmatched", None);
    let refuse = move || std::future::ready(form(wrong_method()));
    router.method_not_allowed_fallback(MeasuredHandler::new(refuse, unmatched))
}

/// The routes of a room with its own form of refusal for these paths, if no operation has them.
pub fn with_path_refusals<S>(
    router: Router<S>,
    metrics: &Metrics,
    paths: &[&str],
    form: fn(Refusal) -> Response,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let unmatched = metrics.operation("unmatched", None);
    let refuse = move || std::future::ready(form(Refusal::not_found()));
    paths
        .iter()
        .fold(router, |router, path| router.route(path, any(MeasuredHandler::new(refuse, unmatched.clone()))))
}

async fn not_found() -> Response {
    refusal_response(&Refusal::not_found())
}

async fn method_not_allowed() -> Response {
    refusal_response(&wrong_method())
}

fn wrong_method() -> Refusal {
    let text = "This path does not support the method; see the Allow header.";
    Refusal::new(Class::MethodNotAllowed, "method_not_allowed", text)
}
