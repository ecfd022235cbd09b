//! The console: the page, signing in and out, what a cookie opens, and the one stream of everything.
//! Must not know: how sessions are kept.

mod deciding;
mod ephemeral;
mod passkeys;
mod people;
mod signing_in;
mod traces;
mod watching;
mod writing;

use blackbox::{Caller, Response, Server, Stream};
use serde_json::{Value, json};

/// A browser with a session: its cookie, its secret for writes, and where its pages are from.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    caller: Caller,
    cookie: String,
    csrf: String,
    origin: String,
    session: Value,
}

/// The secret of a link that was made with this caller's token.
async fn link(caller: &Caller, body: Value) -> String {
    let made = caller.post("/console/links", body).await.ok(201);
    assert_eq!(made["expires_in"], 300);
    let url = made["url"].as_str().expect("a URL");
    url.split_once("/#link=").expect("the secret stands in the fragment").1.to_owned()
}

async fn use_link(server: &Server, link: &str) -> Response {
    use_link_from(server, &server.url(), link).await
}

/// Uses a link on a page of this origin.
async fn use_link_from(server: &Server, origin: &str, link: &str) -> Response {
    let stranger = server.stranger();
    stranger.call("POST", "/console/sessions", &[("Origin", origin)], Some(&json!({"link": link}))).await
}

pub(crate) async fn sign_in(server: &Server, caller: &Caller, body: Value) -> Browser {
    sign_in_from(server, &server.url(), caller, body).await
}

/// Signs a browser in on a page of this origin.
async fn sign_in_from(server: &Server, origin: &str, caller: &Caller, body: Value) -> Browser {
    let answer = use_link_from(server, origin, &link(caller, body).await).await;
    let session = answer.ok(201);
    let set = answer.header("set-cookie").expect("a cookie");
    let cookie = set.split(';').next().expect("a pair").to_owned();
    let csrf = session["csrf"].as_str().expect("a secret for writes").to_owned();
    Browser { caller: server.stranger(), cookie, csrf, origin: origin.to_owned(), session }
}

impl Browser {
    /// The same browser at a server that was started again, at another port.
    fn at(&self, server: &Server) -> Self {
        Self { caller: server.stranger(), origin: server.url(), ..self.clone() }
    }

    fn id(&self) -> &str {
        self.session["session_id"].as_str().expect("an id")
    }

    async fn call(&self, method: &str, path: &str, more: &[(&str, &str)], body: Option<Value>) -> Response {
        let mut headers =
            vec![("Cookie", &*self.cookie), ("Origin", &*self.origin), ("X-Plenary-CSRF", &*self.csrf)];
        headers.extend_from_slice(more);
        self.caller.call(method, path, &headers, body.as_ref()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.caller.call("GET", path, &[("Cookie", &*self.cookie)], None).await
    }

    async fn get_as(&self, agent: &str, path: &str) -> Response {
        self.caller.call("GET", path, &[("Cookie", &*self.cookie), ("X-ASP-Agent", agent)], None).await
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        self.call("POST", path, &[], Some(body)).await
    }

    async fn post_as(&self, agent: &str, path: &str, body: Value) -> Response {
        self.call("POST", path, &[("X-ASP-Agent", agent)], Some(body)).await
    }

    async fn delete(&self, path: &str) -> Response {
        self.call("DELETE", path, &[], None).await
    }

    /// The stream of everything.
    async fn watch(&self, query: &str) -> Stream {
        let headers = [("Cookie", &*self.cookie), ("Accept", "text/event-stream")];
        let request = self.caller.request("GET", &format!("/watch{query}"), &headers, None);
        let opened = Stream::open(self.caller.address().place(), &request).await.expect("a connection");
        opened.unwrap_or_else(|refused| panic!("no stream: {refused}"))
    }
}

/// The next event that tells of something: how far the log is tells of nothing.
async fn next_event(stream: &mut Stream) -> Value {
    loop {
        let event = stream.event().await;
        if event.frame["kind"] == "hello" || event.frame["kind"] == "head" {
            continue;
        }
        assert_eq!(event.frame["cursor"], event.id.to_string(), "the id is the cursor");
        return event.frame;
    }
}
