//! Notices of changed resources. The inbox wakes its subscribers; other resources are polled. A notice reports a
//! change without its content.
//! Must not know: the request of a subscription.

use std::collections::HashMap;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::{sync::watch, time::sleep};

use super::{
    FOLLOWED_MAX, INBOX_PAGES_MAX, INBOX_PAUSE, INBOX_WAIT_S, LOOK_EVERY,
    resources::{INBOX, find},
};
use crate::operations::{Caller, Operations};

/// The caller of the latest request of a session. A client renews its token meanwhile, and what it follows continues.
pub(super) type Callers = watch::Receiver<Caller>;

/// The caller of a request that stands alone.
pub(super) fn only(caller: Caller) -> Callers {
    watch::channel(caller).1
}

/// Reads resources on behalf of a caller.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) operations: Operations,
    pub(super) callers: Callers,
}

/// The state of a resource before its subscription was acknowledged: every later change is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// The digest of the answer.
    Answer([u8; 32]),
    /// The cursor at the end of the inbox.
    Cursor(Option<String>),
}

/// Why following a resource ended: the caller may not read it, or nobody listens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FollowEnd;

impl Follower {
    /// The marks of resources; a resource that cannot be read has none.
    pub(super) async fn marks(&self, uris: impl IntoIterator<Item = &str>) -> HashMap<String, Mark> {
        let mut marks = HashMap::new();
        for uri in uris.into_iter().take(FOLLOWED_MAX) {
            if let Ok(Some(mark)) = self.mark(uri).await {
                marks.insert(uri.to_owned(), mark);
            }
        }
        marks
    }

    /// The mark of one resource; `None` if it is not available now.
    pub(super) async fn mark(&self, uri: &str) -> Result<Option<Mark>, FollowEnd> {
        let found = find(&self.operations, uri).ok_or(FollowEnd)?;
        if uri != INBOX {
            let body = self.ask(&found.watched).await?;
            return Ok(body.map(|body| Mark::Answer(Sha256::digest(&body).into())));
        }
        let mut cursor = None;
        for _ in 0..INBOX_PAGES_MAX {
            let Some(body) = self.ask(&inbox("/inbox?limit=100", cursor.as_deref())).await? else {
                return Ok(None);
            };
            let page = page(&body);
            cursor = page["cursor"].as_str().map(str::to_owned).or(cursor);
            if page["more"] != true {
                break;
            }
        }
        Ok(Some(Mark::Cursor(cursor)))
    }

    /// Reports each change of a resource after its mark, until nobody listens, or the caller may no longer read it.
    /// `notify` returns whether somebody still listens.
    pub(super) async fn follow<F: Future<Output = bool>>(
        &self,
        uri: &str,
        mark: Mark,
        notify: impl Fn() -> F,
    ) {
        let Some(found) = find(&self.operations, uri) else { return };
        let FollowEnd = match mark {
            Mark::Answer(known) => self.look(&found.watched, known, notify).await,
            Mark::Cursor(after) => self.wait(after, notify).await,
        };
    }

    /// Polls the answer, and reports when it differs.
    async fn look<F: Future<Output = bool>>(
        &self,
        path: &str,
        mut known: [u8; 32],
        notify: impl Fn() -> F,
    ) -> FollowEnd {
        loop {
            match self.ask(path).await {
                Ok(Some(body)) => {
                    let now = Sha256::digest(&body).into();
                    if std::mem::replace(&mut known, now) != now && !notify().await {
                        return FollowEnd;
                    }
                }
                Ok(None) => {}
                Err(over) => return over,
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits for new inbox items. Returns no item to anybody, and marks none.
    async fn wait<F: Future<Output = bool>>(
        &self,
        mut after: Option<String>,
        notify: impl Fn() -> F,
    ) -> FollowEnd {
        let path = format!("/inbox/wait?limit=100&timeout_s={INBOX_WAIT_S}");
        loop {
            match self.ask(&inbox(&path, after.as_deref())).await {
                Ok(Some(body)) => {
                    let page = page(&body);
                    after = page["cursor"].as_str().map(str::to_owned).or(after);
                    let is_news = page["items"].as_array().is_some_and(|items| !items.is_empty());
                    if is_news && !notify().await {
                        return FollowEnd;
                    }
                    // An operation called in process may answer at once, even without news.
                    if page["timed_out"] != true && !is_news {
                        sleep(INBOX_PAUSE).await;
                    }
                }
                Ok(None) => sleep(INBOX_PAUSE).await,
                Err(over) => return over,
            }
        }
    }

    /// The body of an answer; `None` if it is not available now. Once its token has ended, it waits for the session's next
    /// request.
    async fn ask(&self, path: &str) -> Result<Option<Bytes>, FollowEnd> {
        let mut callers = self.callers.clone();
        loop {
            let caller = callers.borrow_and_update().clone();
            let Ok(reply) = self.operations.ask(&caller, Method::GET, path, None).await else {
                return Ok(None);
            };
            match reply.status {
                status if status.is_success() => return Ok(Some(reply.body)),
                StatusCode::UNAUTHORIZED => callers.changed().await.map_err(|_| FollowEnd)?,
                StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => {
                    return Err(FollowEnd);
                }
                _ => return Ok(None),
            }
        }
    }
}

fn page(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// A path of the inbox, after a cursor.
fn inbox(path: &str, after: Option<&str>) -> String {
    let Some(after) = after else { return path.to_owned() };
    format!(
        "{path}&after={}",
        percent_encoding::utf8_percent_encode(after, percent_encoding::NON_ALPHANUMERIC)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use axum::{Router, extract::RawQuery, routing::get};
    use http::{HeaderMap, HeaderName};
    use plenary_edge::OperationDoc;
    use tokio::sync::Notify;

    use super::*;

    fn follower(router: Router, paths: &[&'static str]) -> Follower {
        let doc = |path: &&'static str| OperationDoc::new("a.b", Method::GET, path, "");
        let operations = Operations::new(router, paths.iter().map(doc).collect());
        Follower { operations, callers: only(Caller::default()) }
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_is_reported_once() {
        let state = Arc::new(AtomicUsize::new(0));
        let read = state.clone();
        let router =
            Router::new().route("/sessions", get(async move || read.load(Ordering::SeqCst).to_string()));
        let follower = follower(router, &["/sessions"]);
        let mark = follower.mark("plenary://sessions").await.unwrap().unwrap();
        // Between the mark and the first look nothing is lost.
        state.store(1, Ordering::SeqCst);
        let notices = AtomicUsize::new(0);
        let notify = || async {
            let now = notices.fetch_add(1, Ordering::SeqCst);
            state.fetch_add(1, Ordering::SeqCst);
            now < 2
        };
        follower.follow("plenary://sessions", mark, notify).await;
        assert_eq!(notices.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn inbox_notices_start_at_the_end_of_the_inbox() {
        let news = Arc::new(Notify::new());
        let wait = news.clone();
        let wait_handler = async move |RawQuery(query): RawQuery| {
            wait.notified().await;
            assert!(query.is_some_and(|query| query.contains("after=c2")));
            r#"{"items":[1],"cursor":"c3"}"#
        };
        let pages = async |RawQuery(query): RawQuery| match query.unwrap().contains("after=c1") {
            false => r#"{"items":[1],"cursor":"c1","more":true}"#,
            true => r#"{"items":[1],"cursor":"c2","more":false}"#,
        };
        let router = Router::new().route("/inbox", get(pages)).route("/inbox/wait", get(wait_handler));
        let follower = follower(router, &["/inbox"]);
        let mark = follower.mark(INBOX).await.unwrap().unwrap();
        assert_eq!(mark, Mark::Cursor(Some("c2".to_owned())));
        news.notify_one();
        follower.follow(INBOX, mark, || async { false }).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_followed_goes_on_with_the_next_token_of_the_session() {
        let answer = async |headers: HeaderMap| match headers.contains_key("x-new") {
            true => Ok("other"),
            false => Err(StatusCode::UNAUTHORIZED),
        };
        let follower = follower(Router::new().route("/sessions", get(answer)), &["/sessions"]);
        let (next, callers) = watch::channel(Caller::default());
        let follower = Follower { callers, ..follower };
        let notices = AtomicUsize::new(0);
        let notify = || async {
            notices.fetch_add(1, Ordering::SeqCst);
            false
        };
        let follow = follower.follow("plenary://sessions", Mark::Answer([0; 32]), notify);
        let renew = async {
            tokio::task::yield_now().await;
            next.send_replace(Caller::default().with(HeaderName::from_static("x-new"), "1".parse().unwrap()));
        };
        tokio::join!(follow, renew);
        assert_eq!(notices.load(Ordering::SeqCst), 1);
        drop(next);
        let old = Follower { callers: only(Caller::default()), ..follower };
        assert_eq!(old.mark("plenary://sessions").await, Err(FollowEnd), "nothing comes any more");
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_not_be_read_is_not_followed() {
        let unauthorized = get(async || StatusCode::UNAUTHORIZED);
        let follower = follower(Router::new().route("/sessions", unauthorized), &["/sessions"]);
        assert_eq!(follower.mark("plenary://sessions").await, Err(FollowEnd));
        follower.follow("plenary://sessions", Mark::Answer([0; 32]), || async { true }).await;
        assert!(follower.marks(["plenary://sessions", "plenary://nothing"]).await.is_empty());
    }
}
