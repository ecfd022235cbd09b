//! Passkeys, with an authenticator of our own: what is signed, by whom, for which site, and how often.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blackbox::{Caller, Cli, Response, Server, ShiftedClock};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use super::{Browser, link, sign_in_from, use_link_from};

const ORIGIN: &str = "https://agents.example";
const HOST: &str = "agents.example";

/// An authenticator with one key, which verifies its user.
struct Authenticator {
    key: Ed25519KeyPair,
    id: Vec<u8>,
    counter: u32,
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn client_data(kind: &str, origin: &str, challenge: &str) -> Vec<u8> {
    json!({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false})
        .to_string()
        .into_bytes()
}

impl Authenticator {
    fn new(id: &[u8]) -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("the key");
        Self { key, id: id.to_vec(), counter: 0 }
    }

    fn data(&self, host: &str, flags: u8, rest: &[u8]) -> Vec<u8> {
        let host = digest(&SHA256, host.as_bytes());
        [host.as_ref(), &[flags], &self.counter.to_be_bytes(), rest].concat()
    }

    /// What `POST /console/passkeys` takes.
    fn made(&self, name: &str, challenge: &str) -> Value {
        let length = u16::try_from(self.id.len()).expect("a short id").to_be_bytes();
        let head = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
        let rest = [&[0; 16][..], &length, &self.id, &head, self.key.public_key().as_ref()].concat();
        json!({
            "name": name,
            "client_data": text(&client_data("webauthn.create", ORIGIN, challenge)),
            "authenticator_data": text(&self.data(HOST, 0x45, &rest)),
        })
    }

    /// What `POST /console/sessions` takes.
    fn signed(&self, origin: &str, host: &str, flags: u8, challenge: &str) -> Value {
        let (client, data) = (client_data("webauthn.get", origin, challenge), self.data(host, flags, &[]));
        let message = [&data[..], digest(&SHA256, &client).as_ref()].concat();
        json!({"passkey": {
            "credential_id": text(&self.id),
            "client_data": text(&client),
            "authenticator_data": text(&data),
            "signature": text(self.key.sign(&message).as_ref()),
        }})
    }

    async fn sign_in(&self, server: &Server) -> Response {
        let signed = self.signed(ORIGIN, HOST, 5, &challenge(&server.stranger()).await);
        present(server, signed).await
    }
}

async fn challenge(caller: &Caller) -> String {
    let made = caller.post_empty("/console/passkeys/challenges").await.ok(201);
    assert_eq!((&made["rp_id"], &made["expires_in"]), (&json!(HOST), &json!(180)));
    made["challenge"].as_str().expect("a challenge").to_owned()
}

async fn present(server: &Server, body: Value) -> Response {
    server.stranger().post("/console/sessions", body).await
}

async fn started() -> Server {
    Server::builder().env("PLENARY_PUBLIC_URL", ORIGIN).start().await
}

async fn added(browser: &Browser, authenticator: &Authenticator) -> Value {
    let made = authenticator.made("Phone", &challenge(&browser.caller).await);
    browser.post("/console/passkeys", made).await.ok(201)
}

/// A passkey is its person: its sessions have the role of the session that added it, over a kill; and it is used as it is
/// found, for this site, with the user verified, each challenge once.
#[tokio::test]
async fn a_passkey_signs_its_person_in() {
    let mut server = started().await;
    let owner = server.owner("nick").await;
    let browser = sign_in_from(&server, ORIGIN, &owner, json!({})).await;
    let mut own = Authenticator::new(b"own");
    let one = added(&browser, &own).await;
    assert_eq!(
        (&one["person"], &one["role"], &one["usable"]),
        (&json!("@nick.nick"), &json!("owner"), &json!(true))
    );
    server.crash().await;
    own.counter = 3;
    let answer = own.sign_in(&server).await;
    let session = answer.ok(201);
    assert_eq!((&session["owner"], &session["person"]), (&json!("nick"), &json!("@nick.nick")));
    let set = answer.header("set-cookie").expect("a cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Secure"), "{set}");

    let again = own.sign_in(&server).await;
    again.assert_refused(401, "passkey_invalid");
    own.counter = 4;
    let challenge = challenge(&server.stranger()).await;
    let stranger = Authenticator::new(b"own");
    for (wrong, why) in [
        (own.signed("https://evil.example", HOST, 5, &challenge), "another origin"),
        (own.signed(ORIGIN, "evil.example", 5, &challenge), "another site"),
        (own.signed(ORIGIN, HOST, 1, &challenge), "its user was not verified"),
        (own.signed(ORIGIN, HOST, 5, "AAAA"), "a challenge that nobody made"),
        (stranger.signed(ORIGIN, HOST, 5, &challenge), "another key"),
        (Authenticator::new(b"other").signed(ORIGIN, HOST, 5, &challenge), "another credential"),
        (
            json!({"passkey": {"credential_id": "", "client_data": "", "authenticator_data": "", "signature": ""}}),
            "nothing",
        ),
    ] {
        let refused = present(&server, wrong).await;
        refused.assert_refused(401, "passkey_invalid");
        assert_eq!(refused.body, again.body, "{why}");
    }
    present(&server, own.signed(ORIGIN, HOST, 5, &challenge)).await.ok(201);
    own.counter = 5;
    present(&server, own.signed(ORIGIN, HOST, 5, &challenge)).await.assert_refused(401, "passkey_invalid");
    present(&server, json!({})).await.assert_refused(400, "invalid_body");
}

/// Passkeys are added in a session that writes, each once, and seen and removed by nobody else.
#[tokio::test]
async fn passkeys_are_added_listed_and_removed() {
    let server = started().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let browser = sign_in_from(&server, ORIGIN, &nick, json!({})).await;
    let viewer = sign_in_from(&server, ORIGIN, &nick, json!({"role": "viewer"})).await;
    let own = Authenticator::new(b"own");
    let body = own.made("Phone", &challenge(&nick).await);
    nick.post("/console/passkeys", body.clone()).await.assert_refused(403, "session_required");
    viewer.post("/console/passkeys", body.clone()).await.assert_refused(403, "read_only");
    let headers = [("Cookie", &*browser.cookie)];
    server
        .stranger()
        .call("POST", "/console/passkeys", &headers, Some(&body))
        .await
        .assert_refused(403, "csrf");
    browser
        .post("/console/passkeys", own.made("", &challenge(&nick).await))
        .await
        .assert_refused(400, "invalid_name");
    browser.post("/console/passkeys", own.made("Phone", "AAAA")).await.assert_refused(400, "invalid_passkey");
    let id = browser.post("/console/passkeys", body.clone()).await.ok(201)["passkey_id"].clone();
    browser.post("/console/passkeys", body).await.assert_refused(401, "passkey_invalid");
    let again = own.made("Phone", &challenge(&nick).await);
    browser.post("/console/passkeys", again).await.assert_refused(409, "passkey_exists");

    // Whoever claims the id of another's passkey takes nothing from it.
    let thief = sign_in_from(&server, ORIGIN, &acme, json!({})).await;
    added(&thief, &Authenticator::new(b"own")).await;
    assert_eq!(own.sign_in(&server).await.ok(201)["owner"], "nick");

    let ids = |list: Value| {
        list["passkeys"]
            .as_array()
            .expect("passkeys")
            .iter()
            .map(|one| one["passkey_id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(nick.get("/console/passkeys").await.ok(200)), std::slice::from_ref(&id));
    assert_eq!(ids(viewer.get("/console/passkeys").await.ok(200)), std::slice::from_ref(&id));
    assert_eq!(
        ids(server.operator().get("/console/passkeys?owner=nick").await.ok(200)),
        std::slice::from_ref(&id)
    );
    assert!(ids(server.operator().get("/console/passkeys").await.ok(200)).is_empty());
    let path = format!("/console/passkeys/{}", id.as_str().expect("an id"));
    acme.delete(&path).await.assert_refused(404, "not_found");
    viewer.delete(&path).await.assert_refused(403, "read_only");
    let answer = own.sign_in(&server).await;
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", nick.token())]);
    assert!(cli.run_ok(&["console", "passkeys", "--owner", "nick"]).await.contains("Phone"));
    cli.run_ok(&["console", "passkeys", "--owner", "nick", "--remove", id.as_str().expect("an id")]).await;
    server.stranger().call("GET", "/console/session", &[("Cookie", &cookie)], None).await.refusal_code(401);
    browser.get("/console/session").await.ok(200);
    own.sign_in(&server).await.assert_refused(401, "passkey_invalid");
    assert!(ids(nick.get("/console/passkeys").await.ok(200)).is_empty());
    nick.delete(&path).await.assert_refused(404, "not_found");
}

/// A passkey ends with the token behind the session that added it; whose link made it lives on with that one's token.
#[tokio::test]
async fn a_passkey_ends_with_the_token_behind_it() {
    let server = started().await;
    let owner = server.owner("nick").await;
    let (of_owner, of_operator) = (Authenticator::new(b"owner"), Authenticator::new(b"operator"));
    added(&sign_in_from(&server, ORIGIN, &owner, json!({})).await, &of_owner).await;
    added(&sign_in_from(&server, ORIGIN, &server.operator(), json!({"owner": "nick"})).await, &of_operator)
        .await;
    of_owner.sign_in(&server).await.ok(201);
    owner.post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    of_owner.sign_in(&server).await.assert_refused(401, "passkey_invalid");
    of_operator.sign_in(&server).await.ok(201);
    let listed = server.operator().get("/console/passkeys?owner=nick").await.ok(200);
    let usable: Vec<&Value> =
        listed["passkeys"].as_array().expect("passkeys").iter().map(|one| &one["usable"]).collect();
    assert_eq!(usable, [&json!(false), &json!(true)]);
}

#[tokio::test]
async fn a_passkey_ends_with_its_person() {
    let server = started().await;
    let owner = server.owner("nick").await;
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    let own = Authenticator::new(b"mara");
    added(&sign_in_from(&server, ORIGIN, &owner, json!({"person": "@nick.mara"})).await, &own).await;
    own.sign_in(&server).await.ok(201);
    owner.delete("/_admin/agents/@nick.mara").await.ok(204);
    own.sign_in(&server).await.assert_refused(401, "passkey_invalid");
    let listed = owner.get("/console/passkeys").await.ok(200);
    assert_eq!(listed["passkeys"][0]["usable"], false);
}

/// Challenges last three minutes, over a restart too.
#[tokio::test]
async fn a_challenge_expires() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = started().await;
    let owner = server.owner("nick").await;
    let own = Authenticator::new(b"own");
    added(&sign_in_from(&server, ORIGIN, &owner, json!({})).await, &own).await;
    let (early, late) = (challenge(&owner).await, challenge(&owner).await);
    for (seconds, challenge, status) in [(150, early, 201), (185, late, 401)] {
        server.stop().await;
        clock.set_ahead(&mut server, seconds);
        server.restart().await;
        assert_eq!(present(&server, own.signed(ORIGIN, HOST, 5, &challenge)).await.status, status);
    }
}

/// Whoever fails too often waits; a link works meanwhile. Without a host name there are no passkeys.
#[tokio::test]
async fn attempts_have_a_limit_and_addresses_have_no_passkeys() {
    let server = started().await;
    let owner = server.owner("nick").await;
    let nothing = json!({"passkey": {"credential_id": "", "client_data": "", "authenticator_data": "", "signature": ""}});
    let mut limited = None;
    // The minute may end meanwhile, and the count begins again.
    for _ in 0..1_000 {
        let answer = present(&server, nothing.clone()).await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
        answer.assert_refused(401, "passkey_invalid");
    }
    let limited = limited.expect("a limit");
    limited.assert_refused(429, "too_many_attempts");
    assert!(
        limited.header("retry-after").is_some_and(|after| (1..=60).contains(&after.parse().unwrap_or(0)))
    );
    use_link_from(&server, ORIGIN, &link(&owner, json!({})).await).await.ok(201);

    let server = Server::start().await;
    let owner = server.owner("nick").await;
    owner.post_empty("/console/passkeys/challenges").await.assert_refused(409, "passkeys_unavailable");
    present(&server, nothing).await.assert_refused(409, "passkeys_unavailable");
    assert_eq!(owner.get("/console/passkeys").await.ok(200), json!({"passkeys": [], "available": false}));
}
