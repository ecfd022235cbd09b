//! Clients as they come, each from its first 401 to a call of a tool: how they register, where they are called back, what they
//! name as scope and resource, and which revision they speak.
//! Must not know: how anything of it is kept.

use std::collections::BTreeMap;

use blackbox::{Caller, Response, Server};
use serde_json::{Value, json};

use super::{
    ALLOW, Browser, VERIFIER, clients::documented, decide, encoded, no, part, query, request, token,
};

/// What a client asks for, once it knows the challenge and the metadata.
#[derive(Clone, Copy)]
enum Scope {
    OfTheChallenge,
    AllThatIsSupported,
    Unnamed,
}

/// One kind of client.
struct Kind {
    name: &'static str,
    /// Its registration, or its document.
    metadata: Value,
    has_document: bool,
    /// What a person enters there, behind the server's URL.
    entered: &'static str,
    /// Where it is called back, at one time or another.
    called_at: &'static [&'static str],
    scope: Scope,
    names_resource: bool,
    /// The page that it runs in.
    page: Option<&'static str>,
    revision: &'static str,
    tool: (&'static str, Value),
}

const CLAUDE: [&str; 2] =
    ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"];

fn claude_ai() -> Kind {
    Kind {
        name: "claude.ai",
        metadata: json!({
            "client_name": "Claude", "redirect_uris": CLAUDE, "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"], "token_endpoint_auth_method": "none", "scope": "read write",
        }),
        has_document: false,
        entered: "/mcp",
        called_at: &CLAUDE,
        scope: Scope::AllThatIsSupported,
        names_resource: true,
        page: None,
        revision: "2025-06-18",
        tool: ("whoami", json!({})),
    }
}

fn chatgpt() -> Kind {
    Kind {
        name: "ChatGPT",
        metadata: json!({
            "client_name": "ChatGPT", "client_uri": "https://chatgpt.com", "application_type": "web",
            "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
            "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
        }),
        has_document: true,
        entered: "/mcp?toolsets=core,assistant",
        called_at: &["https://chatgpt.com/connector_platform_oauth_redirect"],
        scope: Scope::AllThatIsSupported,
        names_resource: true,
        page: None,
        revision: "2025-11-25",
        tool: ("search", json!({"query": "nothing"})),
    }
}

fn claude_code() -> Kind {
    Kind {
        name: "Claude Code",
        metadata: json!({
            "client_name": "Claude Code (plenary)", "redirect_uris": ["http://localhost:3118/callback"],
            "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
        }),
        called_at: &["http://localhost:3118/callback", "http://localhost:51812/callback"],
        scope: Scope::OfTheChallenge,
        ..claude_ai()
    }
}

fn codex() -> Kind {
    Kind {
        name: "Codex",
        metadata: json!({"client_name": "Codex", "redirect_uris": ["http://127.0.0.1:1455/callback"]}),
        called_at: &["http://127.0.0.1:40117/callback"],
        scope: Scope::Unnamed,
        names_resource: false,
        revision: "2025-03-26",
        ..claude_ai()
    }
}

fn vs_code() -> Kind {
    Kind {
        name: "VS Code",
        metadata: json!({
            "client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com", "application_type": "native",
            "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
            "response_types": ["code"], "token_endpoint_auth_method": "none",
            "redirect_uris": [
                "https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://127.0.0.1/",
                "http://127.0.0.1:33418/",
            ],
        }),
        called_at: &["http://127.0.0.1:33418/", "http://127.0.0.1:61022/", "https://vscode.dev/redirect"],
        scope: Scope::OfTheChallenge,
        revision: "2025-11-25",
        ..claude_ai()
    }
}

fn cursor() -> Kind {
    Kind {
        name: "Cursor",
        metadata: json!({
            "client_name": "Cursor", "redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback"],
            "token_endpoint_auth_method": "none",
        }),
        called_at: &["cursor://anysphere.cursor-mcp/oauth/callback"],
        scope: Scope::OfTheChallenge,
        ..claude_ai()
    }
}

fn inspector() -> Kind {
    Kind {
        name: "MCP Inspector",
        metadata: json!({
            "client_name": "MCP Inspector", "client_uri": "https://github.com/modelcontextprotocol/inspector",
            "redirect_uris": ["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
            "token_endpoint_auth_method": "none", "scope": "read write",
        }),
        called_at: &["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
        scope: Scope::AllThatIsSupported,
        page: Some("http://localhost:6274"),
        revision: "2025-11-25",
        ..claude_ai()
    }
}

/// A client at work.
struct Client<'a> {
    kind: Kind,
    server: &'a Server,
    browser: &'a Browser,
}

impl Client<'_> {
    /// What it learns before anybody is asked: the scope, and the metadata of the authorization server.
    async fn discovers(&self) -> (String, Value) {
        let hello = message(1, "initialize", &hello(self.kind.revision));
        let refused = self.says(&self.server.stranger(), None, &hello).await;
        assert_eq!(refused.status, 401, "{}: {refused}", self.kind.name);
        let challenge = challenge(refused.header("www-authenticate").expect("a challenge"));
        let resource = self.reads(&challenge["resource_metadata"]).await;
        let base = self.server.url();
        assert_eq!(resource["resource"], format!("{base}/mcp"), "a prefix of what the person has entered");
        let issuer = resource["authorization_servers"][0].as_str().expect("a server").to_owned();
        let found = self.reads(&format!("{issuer}/.well-known/oauth-authorization-server")).await;
        assert_eq!(found["issuer"], issuer);
        let scope = match self.kind.scope {
            Scope::OfTheChallenge => challenge["scope"].clone(),
            Scope::AllThatIsSupported => {
                let all = resource["scopes_supported"].as_array().expect("scopes").iter();
                all.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            Scope::Unnamed => String::new(),
        };
        (scope, found)
    }

    async fn reads(&self, url: &str) -> Value {
        let path = url.strip_prefix(&self.server.url()).unwrap_or_else(|| panic!("{url} is elsewhere"));
        let answer = self.server.stranger().call("GET", path, &self.origin(), None).await;
        if self.kind.page.is_some() {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{answer}");
        }
        answer.ok(200)
    }

    fn origin(&self) -> Vec<(&'static str, &'static str)> {
        self.kind.page.map(|page| ("Origin", page)).into_iter().collect()
    }

    /// Its id: where it registers, or the URL of its document.
    async fn is_known(&self, found: &Value) -> String {
        if self.kind.has_document {
            assert_eq!(found["client_id_metadata_document_supported"], true, "{found}");
            let methods = found["token_endpoint_auth_methods_supported"].as_array().expect("methods");
            assert!(methods.contains(&json!("none")), "{found}");
            return documented(self.kind.metadata.clone()).await.0;
        }
        let endpoint = found["registration_endpoint"].as_str().expect("an endpoint");
        let path = endpoint.strip_prefix(&self.server.url()).expect("here");
        let made = self.server.stranger().call("POST", path, &self.origin(), Some(&self.kind.metadata)).await;
        let made = made.ok(201);
        assert_eq!(made["redirect_uris"], self.kind.metadata["redirect_uris"], "{made}");
        assert!(made["client_id_issued_at"].is_u64(), "{made}");
        part(&made, "client_id")
    }

    /// Asks the person, who allows it, and takes up the code; its tokens.
    async fn is_let_in(&self, client: &str, scope: &str, redirect: &str) -> Value {
        let entered = format!("{}{}", self.server.url(), self.kind.entered);
        let resource = if self.kind.names_resource { entered.as_str() } else { "" };
        let others = [("redirect_uri", redirect), ("scope", scope), ("resource", resource)];
        let answer = decide(self.browser, &request(client, &others), ALLOW).await;
        assert_eq!(answer.status, 303, "{}: {answer}", self.kind.name);
        let back = answer.header("location").expect("a place");
        assert!(back.starts_with(&format!("{redirect}?")), "{}: {back}", self.kind.name);
        let told = query(back);
        assert_eq!((&*told["state"], &told["iss"]), ("s t&x", &self.server.url()), "{back}");
        let pairs = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", &*told["code"]),
            ("code_verifier", VERIFIER),
            ("redirect_uri", redirect),
            ("resource", resource),
        ];
        let tokens = token(self.server, &pairs).await.ok(200);
        assert!(tokens["expires_in"].is_u64() && tokens["refresh_token"].is_string(), "{tokens}");
        assert_eq!(tokens["scope"], "write");
        tokens
    }

    /// Speaks the protocol with its token, up to the answer of a tool.
    async fn calls(&self, access: &str) {
        let caller = self.server.bearer(access);
        let begun = self.says(&caller, None, &message(1, "initialize", &hello(self.kind.revision))).await;
        assert_eq!(result(&begun)["protocolVersion"], self.kind.revision, "{begun}");
        let session = begun.header("mcp-session-id").map(str::to_owned);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.says(&caller, session.as_deref(), &ready).await.status, 202);
        let listed = self.says(&caller, session.as_deref(), &message(2, "tools/list", &json!({}))).await;
        let (name, arguments) = &self.kind.tool;
        let listed = result(&listed)["tools"].as_array().expect("tools").clone();
        assert!(listed.iter().any(|tool| tool["name"] == *name), "{}: {name}", self.kind.name);
        let call = message(3, "tools/call", &json!({"name": name, "arguments": arguments}));
        let answer = self.says(&caller, session.as_deref(), &call).await;
        assert_ne!(result(&answer)["isError"], true, "{}: {answer}", self.kind.name);
    }

    async fn says(&self, caller: &Caller, session: Option<&str>, message: &Value) -> Response {
        let mut headers = vec![("Accept", "application/json, text/event-stream")];
        if let Some(session) = session {
            headers.extend([("Mcp-Session-Id", session), ("MCP-Protocol-Version", self.kind.revision)]);
        }
        headers.extend(self.origin());
        caller.call("POST", self.kind.entered, &headers, Some(message)).await
    }
}

fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn hello(revision: &str) -> Value {
    json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}})
}

/// The parameters of a challenge of the scheme `Bearer`.
fn challenge(text: &str) -> BTreeMap<String, String> {
    let parameters = text.strip_prefix("Bearer ").expect("the scheme").split(", ");
    let pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

/// The result of a message, whether it came alone or in a stream.
#[track_caller]
fn result(answer: &Response) -> Value {
    assert_eq!(answer.status, 200, "{answer}");
    let text = answer.text();
    let mut data =
        text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    let message: Value = serde_json::from_str(data.next_back().unwrap_or(&text)).expect("a message is JSON");
    assert!(message["result"].is_object(), "a result: {message}");
    message["result"].clone()
}

async fn reached() -> (Server, Browser) {
    let server = Server::builder().config("[oauth]\nprivate_clients = true\n").start().await;
    server.agent("@nick.bot").await;
    let owner = server.owner("nick").await;
    let browser = Browser::signed_in(&server, &owner, "owner").await;
    (server, browser)
}

/// Every kind of client, with its own manners, gets from its first 401 to the answer of a tool.
#[tokio::test]
async fn every_kind_of_client_comes_from_a_401_to_a_tool() {
    for kind in [claude_ai(), chatgpt(), claude_code(), codex(), vs_code(), cursor(), inspector()] {
        let (server, browser) = reached().await;
        let client = Client { kind, server: &server, browser: &browser };
        let (scope, found) = client.discovers().await;
        let id = client.is_known(&found).await;
        for redirect in client.kind.called_at {
            let tokens = client.is_let_in(&id, &scope, redirect).await;
            client.calls(&part(&tokens, "access_token")).await;
            let refresh = part(&tokens, "refresh_token");
            let pairs = [("grant_type", "refresh_token"), ("client_id", &*id), ("refresh_token", &*refresh)];
            let renewed = token(&server, &pairs).await.ok(200);
            client.calls(&part(&renewed, "access_token")).await;
        }
    }
}

/// claude.ai keeps the id of its registration for years. A server that does not know it any more says `invalid_client` with a
/// 401, and the client registers again; any other answer would leave it at the end.
#[tokio::test]
async fn a_client_that_is_not_known_any_more_registers_again() {
    let (server, browser) = reached().await;
    let client = Client { kind: claude_ai(), server: &server, browser: &browser };
    let (scope, found) = client.discovers().await;
    let gone = "an-id-of-another-server";
    for pairs in [
        [("grant_type", "refresh_token"), ("client_id", gone), ("refresh_token", "plr_gone")],
        [("grant_type", "authorization_code"), ("client_id", gone), ("code", "plx_gone")],
    ] {
        let refused = token(&server, &pairs).await;
        no(&refused, 401, "invalid_client");
        assert!(refused.header("www-authenticate").is_some(), "{refused}");
    }
    // Nobody is sent back to whoever the client is not.
    let asked = request(gone, &[("redirect_uri", CLAUDE[0])]);
    let page = browser.get(&format!("/oauth/authorize?{asked}")).await;
    assert_eq!((page.status, page.header("location")), (400, None), "{page}");
    let id = client.is_known(&found).await;
    let tokens = client.is_let_in(&id, &scope, CLAUDE[1]).await;
    client.calls(&part(&tokens, "access_token")).await;
}

/// A page of any site finds the server, registers and gets tokens. Its browser is told so in advance, and sends no cookie.
#[tokio::test]
async fn a_client_in_a_browser_reaches_what_it_needs_and_no_more() {
    let server = Server::start().await;
    let stranger = server.stranger();
    let page = ("Origin", "https://client.example");
    let asks =
        [page, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")];
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/register",
        "/oauth/token",
        "/oauth/revoke",
    ] {
        let told = stranger.call("OPTIONS", path, &asks, None).await;
        assert_eq!((told.status, told.header("access-control-allow-origin")), (204, Some("*")), "{told}");
        assert_eq!(told.header("access-control-allow-methods"), Some("GET, POST"), "{told}");
        assert!(
            told.header("access-control-allow-headers").is_some_and(|all| all.starts_with('*')),
            "{told}"
        );
        assert_eq!(told.header("access-control-allow-credentials"), None, "{told}");
    }
    for path in
        ["/mcp", "/oauth/authorize", "/oauth/sign-in", "/sessions", "/_admin/agents", "/console/links"]
    {
        let refused = stranger.call("OPTIONS", path, &asks, None).await;
        refused.assert_refused(403, "foreign_origin");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{refused}");
    }
    let found = stranger.call("GET", "/.well-known/oauth-authorization-server", &[page], None).await;
    assert_eq!((found.status, found.header("access-control-allow-origin")), (200, Some("*")), "{found}");
    let registration = json!({"client_name": "Page", "redirect_uris": ["https://client.example/cb"]});
    let made = stranger.call("POST", "/oauth/register", &[page], Some(&registration)).await;
    assert_eq!((made.status, made.header("access-control-allow-origin")), (201, Some("*")), "{made}");
    // What it is refused, it may read too.
    let body = encoded(&[("grant_type", "refresh_token"), ("client_id", "x"), ("refresh_token", "y")]);
    let headers = [page, ("Content-Type", "application/x-www-form-urlencoded")];
    let refused =
        stranger.bytes(&stranger.request("POST", "/oauth/token", &headers, Some(body.as_bytes()))).await;
    no(&refused, 401, "invalid_client");
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"), "{refused}");
    // A name that is made to point here stays foreign.
    let evil = b"GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n";
    stranger.bytes(evil).await.assert_refused(403, "foreign_host");
}

/// Clients compare the URL that a person has entered with what the server says of itself (RFC 9728, 3.3; RFC 8414, 3.3).
#[tokio::test]
async fn who_enters_localhost_is_answered_with_localhost() {
    let (server, _) = reached().await;
    let stranger = server.stranger();
    let url = server.url();
    let (_, port) = url.rsplit_once(':').expect("a port");
    for name in ["localhost", "127.0.0.1"] {
        let base = format!("http://{name}:{port}");
        let ask = async |path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n");
            stranger.bytes(request.as_bytes()).await
        };
        let resource = ask("/.well-known/oauth-protected-resource/mcp").await.ok(200);
        assert_eq!(resource["resource"], format!("{base}/mcp"), "{resource}");
        assert_eq!(resource["authorization_servers"], json!([base]), "{resource}");
        let issuer = ask("/.well-known/oauth-authorization-server").await.ok(200);
        assert_eq!(issuer["issuer"], base, "{issuer}");
        assert_eq!(issuer["token_endpoint"], format!("{base}/oauth/token"), "{issuer}");
        let asked = challenge(ask("/mcp").await.header("www-authenticate").expect("a challenge"));
        assert!(asked["resource_metadata"].starts_with(&format!("{base}/")), "{asked:?}");
    }
}

/// A person grants as little as it likes of what a client asks for, and never more.
#[tokio::test]
async fn a_person_grants_any_part_of_what_is_asked() {
    let (server, browser) = reached().await;
    let client = Client { kind: claude_ai(), server: &server, browser: &browser };
    let (_, found) = client.discovers().await;
    let id = client.is_known(&found).await;
    for (asked, offered, not_offered) in [
        ("", &["write", "read", "sessions:write", "sessions:read", "inbox:read"][..], &["sources:read"][..]),
        ("read", &["read", "sessions:read", "runs:read"], &["write", "sessions:write"]),
        ("sessions:write", &["sessions:write", "sessions:read"], &["read", "inbox:read"]),
        ("read session:01A", &["read session:01A"], &["read", "sessions:read"]),
    ] {
        let asked = request(&id, &[("redirect_uri", CLAUDE[0]), ("scope", asked)]);
        let page = browser.get(&format!("/oauth/authorize?{asked}")).await;
        let has = |scope: &str| page.text().contains(&format!("<option value=\"{scope}\">"));
        assert!(offered.iter().all(|scope| has(scope)), "{page}");
        assert!(!not_offered.iter().any(|scope| has(scope)), "{page}");
    }
    let asked = request(&id, &[("redirect_uri", CLAUDE[0])]);
    let mut choices = ALLOW.to_vec();
    choices[1] = ("scope", "sessions:read");
    let answer = decide(&browser, &asked, &choices).await;
    let code = query(answer.header("location").expect("a place"))["code"].clone();
    let pairs = [
        ("grant_type", "authorization_code"),
        ("client_id", &*id),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", CLAUDE[0]),
    ];
    let tokens = token(&server, &pairs).await.ok(200);
    assert_eq!(tokens["scope"], "sessions:read");
    let caller = server.bearer(&part(&tokens, "access_token"));
    caller.get("/sessions").await.ok(200);
    caller.get("/inbox").await.assert_refused(403, "insufficient_scope");
}
