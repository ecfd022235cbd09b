//! Clients: what they are told, how they register, and the documents of those that do not.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use blackbox::Server;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{ALLOW, Browser, REDIRECT, decide, no, part, query, redeemed, request, scene};

/// The metadata names what there is, at the URL of the server itself.
#[tokio::test]
async fn a_client_finds_everything_from_the_metadata() {
    let server = Server::start().await;
    let base = server.url();
    let found = server.stranger().get("/.well-known/oauth-authorization-server").await.ok(200);
    assert_eq!(found["issuer"], base);
    for (name, path) in [
        ("authorization_endpoint", "authorize"),
        ("token_endpoint", "token"),
        ("registration_endpoint", "register"),
        ("revocation_endpoint", "revoke"),
    ] {
        assert_eq!(found[name], format!("{base}/oauth/{path}"));
    }
    assert_eq!(found["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(found["token_endpoint_auth_methods_supported"], json!(["none"]));
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    assert_eq!(found["grant_types_supported"], json!(["authorization_code", "refresh_token", exchange]));
    for name in ["authorization_response_iss_parameter_supported", "client_id_metadata_document_supported"] {
        assert_eq!(found[name], true, "{name}");
    }
}

/// Anybody registers; what leads astray is refused, and so is what is too much.
#[tokio::test]
async fn a_client_registers() {
    let server = Server::start().await;
    let register = async |body: Value| server.stranger().post("/oauth/register", body).await;
    let made = register(
        json!({"client_name": "Claude", "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
        "grant_types": ["authorization_code"], "token_endpoint_auth_method": "client_secret_post", "scope": "x"}),
    );
    let made = made.await.ok(201);
    assert_eq!(made["token_endpoint_auth_method"], "none");
    assert!(made["client_id_issued_at"].is_u64() && made["client_secret"].is_null(), "{made}");
    for redirect in ["http://example.org/cb", "javascript:alert(1)", "https://a.example/#f", "", "cb"] {
        no(&register(json!({"redirect_uris": [redirect]})).await, 400, "invalid_redirect_uri");
    }
    no(&register(json!({"redirect_uris": []})).await, 400, "invalid_redirect_uri");
    no(&register(json!({"redirect_uris": vec!["https://a.example/"; 9]})).await, 400, "invalid_redirect_uri");
    no(&register(json!({"redirect_uris": "https://a.example/"})).await, 400, "invalid_client_metadata");
    let large = json!({"redirect_uris": ["https://a.example/"], "x": "x".repeat(16 << 10)});
    no(&register(large).await, 413, "invalid_request");
}

/// A server with one client's document; how often it was asked.
pub(super) async fn documented(mut document: Value) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/client.json", listener.local_addr().expect("an address"));
    let asked = Arc::new(AtomicUsize::new(0));
    document["client_id"] = url.clone().into();
    let document = document.to_string();
    let counted = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut read = [0; 4096];
            let _head = stream.read(&mut read).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                document.len()
            );
            let _sent = stream.write_all(format!("{head}{document}").as_bytes()).await;
        }
    });
    (url, asked)
}

/// Servers that do not answer hold back the clients of one owner alone.
#[tokio::test]
async fn one_owner_leaves_places_for_the_documents_of_others() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let place = silent.local_addr().expect("an address");
    let server = Server::builder().config("[oauth]\nprivate_clients = true\n").start().await;
    let (eve, nick) = (server.owner("eve").await, server.owner("nick").await);
    let greedy = Browser::signed_in(&server, &eve, "owner").await;
    let ask = |n: usize| format!("/oauth/authorize?{}", request(&format!("http://{place}/{n}.json"), &[]));
    let held: Vec<_> = (0..2)
        .map(|n| {
            let (greedy, path) = (greedy.clone(), ask(n));
            tokio::spawn(async move { greedy.get(&path).await })
        })
        .collect();
    let _connections = [silent.accept().await.expect("one"), silent.accept().await.expect("another")];
    let refused = greedy.get(&ask(2)).await;
    assert!(refused.status == 400 && refused.text().contains("Too many applications"), "{refused}");
    let (url, _) = documented(json!({"client_name": "Documented", "redirect_uris": [REDIRECT]})).await;
    let page = Browser::signed_in(&server, &nick, "owner")
        .await
        .get(&format!("/oauth/authorize?{}", request(&url, &[])))
        .await;
    assert!(page.status == 200 && page.text().contains("Documented"), "{page}");
    for one in held {
        one.abort();
    }
}

/// A private address is asked by nobody's order, unless the operator says so; then the document is fetched for a person
/// alone, once, and the page names the host that vouches for the client.
#[tokio::test]
async fn a_document_is_fetched_for_a_person_and_from_public_addresses() {
    let (url, asked) = documented(json!({"client_name": "Documented", "redirect_uris": [REDIRECT]})).await;
    let (_server, _, browser, _) = scene().await;
    let answer = browser.get(&format!("/oauth/authorize?{}", request(&url, &[]))).await;
    assert_eq!((answer.status, asked.load(Ordering::SeqCst)), (400, 0), "{answer}");
    let named = url.replace("http://127.0.0.1", "https://localhost");
    let answer = browser.get(&format!("/oauth/authorize?{}", request(&named, &[]))).await;
    assert_eq!((answer.status, asked.load(Ordering::SeqCst)), (400, 0), "{answer}");
    assert!(answer.text().contains("no public address"), "{answer}");

    let server = Server::builder().config("[oauth]\nprivate_clients = true\n").start().await;
    server.agent("@nick.bot").await;
    let owner = server.owner("nick").await;
    let stranger = Browser::new(&server);
    assert_eq!(stranger.get(&format!("/oauth/authorize?{}", request(&url, &[]))).await.status, 200);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody is signed in");
    let browser = Browser::signed_in(&server, &owner, "owner").await;
    let page = browser.get(&format!("/oauth/authorize?{}", request(&url, &[]))).await;
    assert!(page.text().contains("vouched for by 127.0.0.1") && page.text().contains("Documented"), "{page}");
    let answer = decide(&browser, &request(&url, &[]), ALLOW).await;
    let code = query(answer.header("location").expect("a place"))["code"].clone();
    let tokens = redeemed(&server, &url, &code).await.ok(200);
    server.bearer(&part(&tokens, "access_token")).get("/agents/me").await.ok(200);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "it is kept");
    let moved = url.replace("client.json", "other.json");
    let answer = browser.get(&format!("/oauth/authorize?{}", request(&moved, &[]))).await;
    assert_eq!(answer.status, 400, "it describes another client: {answer}");
}
