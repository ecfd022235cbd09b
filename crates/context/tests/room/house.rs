//! A running room with accounts beside it, and what tests ask of it.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_blobs::Blobs;
use plenary_context::{Config, Context};
use plenary_edge::{Metrics, with_fallbacks};
use plenary_engine::SystemClock;
use plenary_hub::{Observer, Presence, dispatch};
use plenary_kernel::Clock;
use plenary_log::{Log, open_memory};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt as _;

pub(crate) const OPERATOR: &str = "plo_test";
/// A stream that says nothing for this long has said what it begins with.
const AT_ONCE: Duration = Duration::from_millis(300);

/// The room of one process, with two agents of `nick` and one of `acme`.
pub(crate) struct House {
    pub(crate) log: Log,
    router: Router,
    /// The token of `@nick.a`.
    pub(crate) nick: String,
    /// The token of `~nick`.
    pub(crate) owner: String,
    /// The token of `@acme.w`.
    pub(crate) acme: String,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// Whether it refuses so, in the one form; `-` is no field.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str, field: &str) {
        let body = self.ok(status);
        assert_eq!(body["error"]["code"], code, "{self:?}");
        assert_eq!(body["error"]["field"].as_str().unwrap_or("-"), field, "{self:?}");
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(body.as_object().unwrap().len(), 1);
        assert_eq!(self.headers[http::header::CONTENT_TYPE], "application/json", "AP-69");
        if status == 401 {
            assert_eq!(self.headers[http::header::WWW_AUTHENTICATE], "Bearer");
        }
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::build(true).await
    }

    /// Whose rooms hear of nothing that is committed, as at the moment after a commit.
    pub(crate) async fn unheard() -> Self {
        Self::build(false).await
    }

    async fn build(hears: bool) -> Self {
        let opened = open_memory();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(opened.log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let index = plenary_retrieval_sqlite::open_memory().unwrap();
        let blobs = Some(Blobs::in_memory());
        let context =
            Context::new(opened.log.clone(), clock, accounts.clone(), index, blobs, Config::default());
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone()), Arc::new(context.clone())];
        if hears {
            tokio::spawn(dispatch(opened.feed, Arc::new(Presence::default()), observers));
        }
        let indexing = context.clone();
        tokio::spawn(async move { indexing.index().await });
        let metrics = Metrics::new();
        let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
            .unwrap()
            .with_state(accounts)
            .merge(plenary_context::routes(context, &metrics).unwrap());
        let router = with_fallbacks(router, &metrics);
        let mut house =
            Self { log: opened.log, router, nick: String::new(), owner: String::new(), acme: String::new() };
        let made = house.post(OPERATOR, "/_admin/owners", &json!({"owner": "nick"})).await;
        house.owner = made.ok(201)["token"].as_str().unwrap().to_owned();
        house.nick = house.agent("@nick.a").await;
        house.acme = house.agent("@acme.w").await;
        house
    }

    /// Makes an agent; its token.
    pub(crate) async fn agent(&self, handle: &str) -> String {
        let made = self.post(OPERATOR, "/_admin/agents", &json!({"handle": handle})).await;
        made.ok(201)["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn send(&self, token: &str, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let request = request.body(body.into()).unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// What a stream of events says at once.
    pub(crate) async fn begins(&self, token: &str, path: &str) -> String {
        let request = Request::get(path).header("Authorization", format!("Bearer {token}"));
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let (mut body, mut said) = (response.into_body(), String::new());
        while let Ok(Some(Ok(frame))) = timeout(AT_ONCE, body.frame()).await {
            said.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
        said
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.send(token, "GET", path, Body::empty()).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.send(token, "POST", path, body.to_string()).await
    }

    /// Deposits as `@nick.a`.
    pub(crate) async fn deposit(&self, package: &Value) -> Answer {
        let path = format!("/v1/projects/{}/packages", package["project_id"].as_str().unwrap());
        self.post(&self.nick, &path, package).await
    }

    /// The ids of a list of packages.
    pub(crate) async fn ids(&self, token: &str, path: &str) -> Vec<String> {
        let list = self.get(token, path).await.ok(200);
        let packages = list["packages"].as_array().unwrap();
        packages.iter().map(|package| package["package_id"].as_str().unwrap().to_owned()).collect()
    }
}

/// A package of the project `p`, made so many seconds after a fixed moment, with further members.
pub(crate) fn package(id: &str, second: usize, further: &Value) -> Value {
    let mut package = json!({
        "package_id": id,
        "project_id": "p",
        "relay_version": "0.1",
        "title": format!("Package {id}"),
        "status": "complete",
        "package_type": "standard",
        "review_type": "none",
        "created_at": format!("2026-04-18T20:{:02}:{:02}Z", second / 60, second % 60),
        "created_by": {"id": "@nick.a", "type": "agent"},
    });
    for (name, value) in further.as_object().unwrap() {
        package[name] = value.clone();
    }
    package
}
