//! Middleware for the few requests that it applies to. The others go straight to the handler: every middleware of axum
//! copies the routes below it and boxes a future, for each request.
//! Must not know: any middleware.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::Request,
    response::Response,
    routing::{Route, future::RouteFuture},
};
use futures_util::future::Either;
use tower::{Layer, Service, layer::layer_fn};

/// Adds a middleware to the routes of a router, for the requests that `applies` selects.
pub fn layer_where<L>(router: Router, applies: fn(&Request) -> bool, middleware: L) -> Router
where
    L: Layer<Route> + Clone + Send + Sync + 'static,
    L::Service: Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync + 'static,
    <L::Service as Service<Request>>::Future: Send,
{
    router.layer(layer_fn(move |route: Route| Selective {
        layered: Arc::new(middleware.layer(route.clone())),
        route,
        applies,
    }))
}

struct Selective<S> {
    route: Route,
    layered: Arc<S>,
    applies: fn(&Request) -> bool,
}

impl<S> Clone for Selective<S> {
    fn clone(&self) -> Self {
        Self { route: self.route.clone(), layered: Arc::clone(&self.layered), applies: self.applies }
    }
}

impl<S> Service<Request> for Selective<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<RouteFuture<Infallible>, S::Future>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Routes, and the middlewares of functions around them, are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if (self.applies)(&request) {
            Either::Right(S::clone(&self.layered).call(request))
        } else {
            Either::Left(self.route.call(request))
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        body::Body,
        middleware::{Next, from_fn},
        routing::post,
    };
    use http::{Method, StatusCode};
    use tower::ServiceExt as _;

    use super::*;

    async fn mark(request: Request, next: Next) -> Response {
        let mut answer = next.run(request).await;
        answer.headers_mut().insert("seen", http::HeaderValue::from_static("yes"));
        answer
    }

    #[tokio::test]
    async fn a_middleware_sees_the_selected_requests_alone() {
        let router = Router::new().route("/", post(|| async { "done" }).get(|| async { "read" }));
        let router = layer_where(router, |request| request.method() == Method::POST, from_fn(mark));
        for (method, seen) in [(Method::POST, true), (Method::GET, false)] {
            let request = Request::builder().method(&method).uri("/").body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{method}");
            assert_eq!(answer.headers().contains_key("seen"), seen, "{method}");
        }
    }
}
