//! People sign in at the provider: who comes in as whom, that only the browser that left comes back, and that it ends.

use serde_json::{Value, json};

use super::{Jar, Provider, configured, get, sent};
use blackbox::{Collector, Response, Server};

/// A browser that signs in.
struct Browser {
    jar: Jar,
    server: String,
}

impl Browser {
    fn new(server: &Server) -> Self {
        Self { jar: Jar::default(), server: server.url() }
    }

    async fn get(&mut self, url: &str) -> Response {
        let url = if url.starts_with('/') { format!("{}{url}", self.server) } else { url.to_owned() };
        let line = self.jar.line();
        let answer = get(&url, (!line.is_empty()).then_some(&*line)).await;
        self.jar.keep(&answer);
        answer
    }

    /// Leaves for the provider, and is sent back: where to.
    async fn leave(&mut self, path: &str) -> String {
        let mut answer = self.get(path).await;
        let host_of = |url: &str| url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let mut host = if path.starts_with('/') { String::new() } else { host_of(path) };
        for _ in 0..8 {
            assert!((300..400).contains(&answer.status), "{answer}");
            let next = answer.header("location").expect("a place").to_owned();
            if next.starts_with(&format!("{}/console/signed-in/", self.server)) || next.starts_with("/#") {
                return next;
            }
            // The provider names places of its own without its host.
            let next = if next.starts_with('/') { format!("{host}{next}") } else { next };
            host = host_of(&next);
            answer = self.get(&next).await;
        }
        panic!("it goes round and round: {answer}");
    }

    async fn sign_in(&mut self) -> Response {
        let back = self.leave("/console/sign-in/acme").await;
        self.get(&back).await
    }

    async fn session(&mut self) -> Response {
        self.get("/console/session").await
    }

    async fn post(&mut self, path: &str, body: &Value) -> Response {
        let csrf = self.session().await.ok(200)["csrf"].as_str().expect("a secret for writes").to_owned();
        let headers = [
            ("Cookie", self.jar.line()),
            ("Origin", self.server.clone()),
            ("X-Plenary-CSRF", csrf),
            ("Content-Type", "application/json".to_owned()),
        ];
        sent("POST", &format!("{}{path}", self.server), &headers, &body.to_string()).await
    }
}

/// Starts the server again with rules that admit people of another domain.
async fn without_its_rule(server: &mut Server) {
    let path = server.data().parent().expect("a directory").join("plenary.toml");
    let config = std::fs::read_to_string(&path).expect("the configuration");
    server.stop().await;
    std::fs::write(&path, config.replace("*@acme.example", "*@other.example")).expect("it can be written");
    server.restart().await;
}

fn place(answer: &Response) -> &str {
    assert_eq!(answer.status, 303, "{answer}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer}");
    answer.header("location").expect("a place")
}

#[tokio::test]
async fn a_person_signs_in_with_the_role_of_the_rule() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let listed = server.stranger().get("/console/issuers").await.ok(200);
    assert_eq!(listed, json!({"issuers": [{"name": "acme", "title": "Acme <SSO>"}]}));
    for (who, role, owner, person) in [
        ("ida", "owner", json!("nick"), json!("@nick.nick")),
        ("vera", "viewer", json!("nick"), json!("@nick.nick")),
        ("olga", "operator", json!(null), json!(null)),
    ] {
        provider.test(&format!("as/{who}")).await;
        let mut browser = Browser::new(&server);
        let answer = browser.sign_in().await;
        assert_eq!(place(&answer), "/", "{who}");
        let set: Vec<_> =
            answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")).collect();
        let session = set.iter().find(|(_, value)| value.starts_with("plenary_console=")).expect("a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(session.1.contains(part), "{session:?}");
        }
        assert!(set.iter().any(|(_, value)| value.starts_with("plenary_sign_in=;")), "the attempt is over");
        let session = browser.session().await.ok(200);
        assert_eq!((&session["role"], &session["owner"]), (&json!(role), &owner), "{session}");
        assert_eq!(session["person"], person, "{session}");
    }
}

#[tokio::test]
async fn a_session_is_listed_told_and_ended_and_hands_nothing_on() {
    let Some(provider) = Provider::start().await else { return };
    let mut server = provider.server("").await;
    let owner = server.operator();
    let mut browser = Browser::new(&server);
    browser.sign_in().await;
    let own = browser.session().await.ok(200);
    let listed = owner.get("/console/sessions?owner=nick").await.ok(200);
    let one = &listed["sessions"][0];
    assert_eq!(
        (&one["issuer"], &one["issuer_subject"]),
        (&json!("acme"), &json!("ida@acme.example")),
        "{one}"
    );
    let lasts = one["expires_at"].as_u64().expect("a time") - one["created_at"].as_u64().expect("a time");
    assert_eq!(lasts, 12 * 60 * 60 * 1_000);
    let mut watch = owner.stream("/watch?kinds=console.signed_in&after=0").await;
    let told = loop {
        let event = watch.event().await.frame;
        if event["kind"] == "console.signed_in" {
            break event;
        }
    };
    assert_eq!(told["data"]["session_id"], own["session_id"], "{told}");
    for path in ["/console/links", "/_admin/owners/nick/rotate-token"] {
        browser.post(path, &json!({})).await.assert_refused(403, "signed_in_at_issuer");
    }
    // It writes as other sessions of its role do.
    browser.post("/_admin/people", &json!({"handle": "@nick.mara"})).await.ok(201);
    server.stop().await;
    server.restart().await;
    browser.server = server.url();
    browser.session().await.ok(200);
    let id = own["session_id"].as_str().expect("an id");
    server.operator().delete(&format!("/console/sessions/{id}?owner=nick")).await.ok(204);
    assert_eq!(browser.session().await.status, 401);
}

#[tokio::test]
async fn a_session_ends_with_the_rule_that_admitted_it() {
    let Some(provider) = Provider::start().await else { return };
    let mut server = provider.server("").await;
    let mut browser = Browser::new(&server);
    browser.sign_in().await;
    browser.session().await.ok(200);
    let path = server.data().parent().expect("a directory").join("plenary.toml");
    let config = std::fs::read_to_string(&path).expect("the configuration");
    for (changed, status) in
        [(config.replace("*@acme.example", "*@other.example"), 401), (config.clone(), 200)]
    {
        server.stop().await;
        std::fs::write(&path, changed).expect("the configuration can be written");
        server.restart().await;
        browser.server = server.url();
        assert_eq!(browser.session().await.status, status);
    }
}

#[tokio::test]
async fn what_a_session_makes_ends_with_the_rule_that_admitted_it() {
    let Some(provider) = Provider::start().await else { return };
    let mut server = provider.server("[notify]\nprivate_addresses = true\n").await;
    let bot = server.agent("@nick.bot").await;
    let (theirs, owners) = (Collector::start().await, Collector::start().await);
    let hook = |receiver: &Collector| json!({"target": {"kind": "webhook", "url": receiver.url()}});
    server.operator().post("/notifications?owner=nick", hook(&owners)).await.ok(201);
    let mut browser = Browser::new(&server);
    browser.sign_in().await;

    let created = browser.post("/_admin/agents", &json!({"handle": "@nick.new"})).await.ok(201);
    let rotated = browser.post("/_admin/agents/@nick.ci/rotate-token", &json!({})).await.ok(200);
    let scoped = browser.post("/_admin/agents/@nick.bot/tokens", &json!({"scope": "read"})).await.ok(201);
    let token = |made: &Value| made["token"].as_str().expect("a token").to_owned();
    let mut tokens = vec![token(&created), token(&rotated), token(&scoped)];
    let below = server.bearer(&tokens[0]).post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
    tokens.push(token(&below));
    let (client, granted) = crate::oauth::granted(&server, &browser.jar.line()).await;
    tokens.push(granted["access_token"].as_str().expect("a token").to_owned());
    browser.post("/notifications", &hook(&theirs)).await.ok(201);
    let ask = json!({"kind": "permission", "title": "Run it", "action": {"name": "Bash"}});
    let asked = bot.post("/requests", ask.clone()).await.ok(201);
    let told = crate::notify::taken(&theirs, 1).await.remove(0);
    let link = crate::notify::json_of(&told)["data"]["link"].as_str().expect("a link").to_owned();
    let path = format!("/requests/{}/link", asked["request_id"].as_str().expect("an id"));
    let made = browser.post(&path, &json!({})).await.ok(201);
    let links = [link, made["url"].as_str().expect("a URL").to_owned()];
    let links = links.map(|link| link[server.url().len()..].to_owned());
    for token in &tokens {
        server.bearer(token).get("/agents/me").await.ok(200);
    }
    for link in &links {
        assert_eq!(server.stranger().get(link).await.status, 200, "{link}");
    }

    without_its_rule(&mut server).await;
    for token in &tokens {
        assert_eq!(server.bearer(token).get("/agents/me").await.status, 401, "{token}");
    }
    let refresh = granted["refresh_token"].as_str().expect("a token");
    assert_eq!(crate::oauth::renewed(&server, &client, refresh).await.status, 400);
    for link in &links {
        assert_eq!(server.stranger().get(link).await.status, 404, "{link}");
    }
    server.bearer(bot.token()).post("/requests", ask).await.ok(201);
    crate::notify::taken(&owners, 2).await;
    assert_eq!(theirs.exports().len(), 1, "nothing is sent to a person who is no longer admitted");
    // The owner's own changes last.
    let rotated = server.operator().post("/_admin/agents/@nick.ci/rotate-token", json!({})).await.ok(200);
    server.bearer(&token(&rotated)).get("/agents/me").await.ok(200);
}

#[tokio::test]
async fn who_is_not_admitted_stays_outside_and_is_told() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    // Her address is not verified, and it is all that would admit her.
    for (who, code) in [("mallory", "not_admitted"), ("stranger", "not_admitted"), ("nobody", "denied")] {
        provider.test(&format!("as/{who}")).await;
        let mut browser = Browser::new(&server);
        let answer = browser.sign_in().await;
        assert_eq!(place(&answer), format!("/#trouble={code}"), "{who}");
        assert!(!browser.jar.line().contains("plenary_console"), "{who}");
    }
    let unknown = server.stranger().get("/console/sign-in/other").await;
    unknown.assert_refused(404, "not_found");
    server.stranger().get("/console/signed-in/other?code=x&state=y").await.assert_refused(404, "not_found");
    // Without its owner nobody comes in.
    let bare = configured(&provider.table(super::RULES)).start().await;
    provider.test("as/ida").await;
    assert_eq!(place(&Browser::new(&bare).sign_in().await), "/#trouble=not_admitted");
}

#[tokio::test]
async fn only_the_browser_that_left_comes_back_once() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let failed = "/#trouble=sign_in_failed";
    let mut victim = Browser::new(&server);
    let mut attacker = Browser::new(&server);
    let stolen = attacker.leave("/console/sign-in/acme").await;
    // A link with the attacker's code, opened by somebody else: with no attempt, and with one of her own.
    assert_eq!(place(&victim.get(&stolen).await), failed);
    victim.leave("/console/sign-in/acme").await;
    assert_eq!(place(&victim.get(&stolen).await), failed);
    assert!(!victim.jar.line().contains("plenary_console"));
    // With the victim's own state and the attacker's code: the code is another challenge's.
    let code =
        stolen.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code").to_owned();
    let own = victim.leave("/console/sign-in/acme").await;
    let own_code = own.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code");
    assert_eq!(place(&victim.get(&own.replace(own_code, &code)).await), failed);
    let mut other = Browser::new(&server);
    let back = other.leave("/console/sign-in/acme").await;
    let attempt = other.jar.line();
    for wrong in [
        back.replace("state=", "state=x"),
        back.replace("iss=http", "iss=https"),
        back.replace("code=", "c="),
    ] {
        let headers = [("Cookie", attempt.clone()), ("Accept", "text/html".to_owned())];
        assert_eq!(place(&sent("GET", &wrong, &headers, "").await), failed, "{wrong}");
    }
    assert_eq!(place(&other.get(&back).await), "/");
    other.session().await.ok(200);
    let headers = [("Cookie", attempt), ("Accept", "text/html".to_owned())];
    assert_eq!(place(&sent("GET", &back, &headers, "").await), failed, "the code is used");
}

#[tokio::test]
async fn what_one_issuer_learns_of_an_attempt_is_good_for_nothing_at_another() {
    let (Some(dishonest), Some(other)) = (Provider::start().await, Provider::start().await) else { return };
    let table = other.table(super::RULES).replace("issuers.acme", "issuers.other");
    let config = format!("{}{table}", dishonest.table(super::RULES));
    let server = configured(&config).env("PLENARY_ISSUER_OTHER_SECRET", super::SECRET).start().await;
    server.agent("@nick.ci").await;
    let mut victim = Browser::new(&server);
    let asked = victim.get("/console/sign-in/acme").await;
    // Whom the browser asks signs in as somebody at the other issuer, with what the browser brought.
    let there =
        place(&asked).replace(&dishonest.url, &other.url).replace("signed-in%2Facme", "signed-in%2Fother");
    assert!(there.starts_with(&other.url) && there.contains("signed-in%2Fother"), "{there}");
    let back = Browser::new(&server).leave(&there).await;
    assert!(back.contains("/console/signed-in/other?code="), "{back}");
    assert_eq!(place(&victim.get(&back).await), "/#trouble=sign_in_failed");
    assert!(!victim.jar.line().contains("plenary_console"));
    let honest = victim.leave("/console/sign-in/other").await;
    assert_eq!(place(&victim.get(&honest).await), "/");
}

#[tokio::test]
async fn attempts_that_fail_are_few_and_an_issuer_that_is_away_is_said() {
    const ATTEMPTS_UNKNOWN_MAX: usize = 300;
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let stranger = server.stranger();
    let mut last = String::new();
    // A minute may turn once.
    for _ in 0..2 * ATTEMPTS_UNKNOWN_MAX + 2 {
        let answer = stranger.get("/console/signed-in/acme?code=x&state=y").await;
        last = place(&answer).to_owned();
        if last.ends_with("too_many_attempts") {
            break;
        }
    }
    assert_eq!(last, "/#trouble=too_many_attempts");
    drop(provider);
    let table = "[issuers.acme]\nurl = \"http://127.0.0.1:9\"\nprivate_addresses = true\nclient_id = \"x\"\n\
                 [[issuers.acme.people]]\nclaims = { sub = \"x\" }\nowner = \"nick\"\nrole = \"owner\"\n";
    let cold = configured(table).start().await;
    assert_eq!(
        place(&Browser::new(&cold).get("/console/sign-in/acme").await),
        "/#trouble=issuer_unavailable"
    );
}

#[tokio::test]
async fn a_person_whom_an_application_waits_for_signs_in_at_the_issuer() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let mut browser = Browser::new(&server);
    let page = browser.get("/oauth/authorize?client_id=a&state=b%26c").await;
    let text = page.text();
    assert!(text.contains("Sign in with Acme &lt;SSO&gt;"), "{text}");
    let link =
        text.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a link").to_owned();
    let back = browser.leave(&link).await;
    assert_eq!(place(&browser.get(&back).await), "/oauth/authorize?client_id=a&state=b%26c");
    browser.session().await.ok(200);
    let long = format!("/console/sign-in/acme?request={}", "x".repeat(2_561));
    server.stranger().get(&long).await.assert_refused(400, "invalid_query");
}
