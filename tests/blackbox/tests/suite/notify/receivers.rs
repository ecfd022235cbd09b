//! What each kind of receiver gets: ntfy, Slack, Telegram, a mailbox, a browser.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blackbox::{Export, in_time};
use ring::{
    aead, agreement, hkdf,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

use super::{house, json_of};

#[tokio::test]
async fn ntfy_gets_a_message_whose_buttons_answer() {
    let house = house("").await;
    let target =
        json!({"kind": "ntfy", "url": format!("{}/my-topic", house.receiver.url()), "token": "tk_1"});
    house.subscribe(json!({"target": target})).await;
    house.ask("Run the tests").await;
    let call = house.taken(1).await.remove(0);
    assert_eq!((call.target.as_str(), call.headers["authorization"].as_str()), ("/", "Bearer tk_1"));
    let body = json_of(&call);
    assert_eq!((&body["topic"], &body["priority"]), (&json!("my-topic"), &json!(3)));
    assert_eq!(body["title"], "@nick.cc asks: Run the tests");
    let link = body["click"].as_str().expect("a link");
    assert!(link.starts_with(&format!("{}/tap/", house.server.url())), "{link}");
    let actions = body["actions"].as_array().expect("actions");
    assert_eq!(actions.len(), 3);
    assert_eq!((&actions[1]["action"], &actions[1]["method"]), (&json!("http"), &json!("POST")));
    assert_eq!((&actions[1]["url"], &actions[1]["body"]), (&json!(link), &json!("answer=accept")));
}

#[tokio::test]
async fn slack_gets_plain_text_and_a_button() {
    let house = house("").await;
    let target = json!({"kind": "slack", "url": format!("{}/services/T/B/x", house.receiver.url())});
    house.subscribe(json!({"target": target})).await;
    house.ask("Run <!channel> & go").await;
    let call = house.taken(1).await.remove(0);
    assert_eq!(call.target, "/services/T/B/x");
    let body = json_of(&call);
    assert_eq!(body["text"], "@nick.cc asks: Run &lt;!channel&gt; &amp; go");
    let blocks = body["blocks"].as_array().expect("blocks");
    assert!(blocks.iter().all(|block| block["text"]["type"] != "mrkdwn"), "{body}");
    let button = &blocks[2]["elements"][0];
    assert_eq!(
        (&button["type"], button["url"].as_str().map(|url| url.contains("/tap/"))),
        (&json!("button"), Some(true))
    );
}

#[tokio::test]
async fn telegram_gets_a_message_of_its_bot() {
    let house = house("").await;
    let target =
        json!({"kind": "telegram", "bot_token": "123:abc", "chat_id": "42", "url": house.receiver.url()});
    house.subscribe(json!({"target": target})).await;
    house.ask("Run the tests").await;
    let call = house.taken(1).await.remove(0);
    assert_eq!(call.target, "/bot123:abc/sendMessage");
    let body = json_of(&call);
    assert_eq!((&body["chat_id"], body.get("parse_mode")), (&json!("42"), None));
    assert!(
        body["text"].as_str().is_some_and(|text| text.starts_with("@nick.cc asks: Run the tests")),
        "{body}"
    );
    assert!(
        body["reply_markup"]["inline_keyboard"][0][0]["url"]
            .as_str()
            .is_some_and(|url| url.contains("/tap/"))
    );
}

/// A server that takes one mail: its envelope and its text.
async fn one_mail(listener: TcpListener) -> (Vec<String>, String) {
    let (stream, _) = listener.accept().await.expect("a client");
    let (read, mut write) = stream.into_split();
    let (mut lines, mut envelope, mut text) = (BufReader::new(read).lines(), Vec::new(), String::new());
    write.write_all(b"220 mail ESMTP\r\n").await.expect("it listens");
    while let Some(line) = lines.next_line().await.expect("it speaks") {
        let answer = match line.split([' ', ':']).next().unwrap_or_default().to_uppercase().as_str() {
            "EHLO" => "250-mail\r\n250 8BITMIME\r\n",
            "MAIL" | "RCPT" => {
                envelope.push(line);
                "250 ok\r\n"
            }
            "DATA" => {
                write.write_all(b"354 go on\r\n").await.expect("it listens");
                while let Some(line) = lines.next_line().await.expect("it speaks") {
                    if line == "." {
                        break;
                    }
                    text.push_str(&line);
                    text.push('\n');
                }
                write.write_all(b"250 taken\r\n").await.expect("it listens");
                return (envelope, text);
            }
            _ => "250 ok\r\n",
        };
        write.write_all(answer.as_bytes()).await.expect("it listens");
    }
    panic!("no mail came: {envelope:?}");
}

#[tokio::test]
async fn a_mailbox_gets_a_mail_with_the_link() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let url = format!("smtp://{}", listener.local_addr().expect("an address"));
    let house = house(&format!("smtp_url = \"{url}\"\nsmtp_from = \"Plenary <plenary@example.org>\"")).await;
    house.subscribe(json!({"target": {"kind": "email", "to": "nick@example.org"}})).await;
    let mail = tokio::spawn(one_mail(listener));
    house.ask("Run the tests").await;
    let (envelope, text) = in_time("the mail", mail).await.expect("a mail");
    assert!(
        envelope[0].contains("<plenary@example.org>") && envelope[1].contains("<nick@example.org>"),
        "{envelope:?}"
    );
    assert!(text.contains("Subject: @nick.cc asks: Run the tests"), "{text}");
    assert!(text.contains("Message-ID: <ntf_"), "{text}");
    assert!(text.replace("=\n", "").contains("/tap/"), "{text}");
    assert!(text.contains("for the owner nick."), "{text}");
}

/// Nobody is flooded from the operator's mail server: an address gets so many mails of an owner within an hour.
#[tokio::test]
async fn a_mailbox_gets_so_many_mails_of_an_owner_and_no_more() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let url = format!("smtp://{}", listener.local_addr().expect("an address"));
    let house = house(&format!("smtp_url = \"{url}\"\nsmtp_from = \"Plenary <plenary@example.org>\"")).await;
    // Whether it is taken does not matter.
    let hanging_up = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    let (id, _) = house.subscribe(json!({"target": {"kind": "email", "to": "nick@example.org"}})).await;
    let test = format!("/notifications/{id}/test");
    for _ in 0..30 {
        house.owner.post_empty(&test).await.ok(200);
    }
    house.owner.post_empty(&test).await.assert_refused(429, "too_many_tests");
    hanging_up.abort();
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expanded(salt: &[u8], secret: &[u8], info: &[&[u8]], len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    prk.expand(info, Length(len)).and_then(|okm| okm.fill(&mut out)).expect("a key");
    out
}

/// Opens a message as a browser does (RFC 8291).
fn opened(call: &Export, private: agreement::EphemeralPrivateKey, public: &[u8], auth: &[u8]) -> Value {
    let (salt, rest) = call.bytes.split_at(16);
    let (length, sender) = (usize::from(rest[4]), &rest[5..]);
    let (sender, record) = sender.split_at(length);
    let peer = agreement::UnparsedPublicKey::new(&agreement::ECDH_P256, sender);
    let shared = agreement::agree_ephemeral(private, &peer, <[u8]>::to_vec).expect("a secret");
    let both = expanded(auth, &shared, &[b"WebPush: info\0", public, sender], 32);
    let key = expanded(salt, &both, &[b"Content-Encoding: aes128gcm\0"], 16);
    let nonce = expanded(salt, &both, &[b"Content-Encoding: nonce\0"], 12);
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &key).expect("a key"));
    let nonce = aead::Nonce::try_assume_unique_for_key(&nonce).expect("a nonce");
    let mut record = record.to_vec();
    let text = key.open_in_place(nonce, aead::Aad::empty(), &mut record).expect("the browser opens it");
    assert_eq!(text.last(), Some(&2), "it is the last record");
    serde_json::from_slice(&text[..text.len() - 1]).expect("JSON")
}

#[tokio::test]
async fn a_browser_opens_what_it_gets_and_the_push_service_knows_who_sent_it() {
    let house = house("contact = \"mailto:op@example.org\"").await;
    let random = SystemRandom::new();
    let private = agreement::EphemeralPrivateKey::generate(&agreement::ECDH_P256, &random).expect("a key");
    let public = private.compute_public_key().expect("a key").as_ref().to_vec();
    let auth = [9; 16];
    let key = house.owner.get("/notifications/push-key").await.ok(200);
    let key = key["public_key"].as_str().expect("a key").to_owned();
    house
        .subscribe(json!({"target": {
            "kind": "web_push",
            "endpoint": format!("{}/push/1", house.receiver.url()),
            "p256dh": URL_SAFE_NO_PAD.encode(&public),
            "auth": URL_SAFE_NO_PAD.encode(auth),
        }}))
        .await;
    let request = house.ask("Run the tests").await;
    let call = house.taken(1).await.remove(0);
    assert_eq!((call.target.as_str(), call.headers["content-encoding"].as_str()), ("/push/1", "aes128gcm"));
    assert_eq!((call.headers["urgency"].as_str(), call.headers["ttl"].as_str()), ("normal", "86400"));
    assert!(call.bytes.len() <= 4_096);
    let (token, said) = call.headers["authorization"]
        .strip_prefix("vapid t=")
        .and_then(|rest| rest.split_once(", k="))
        .map(|(token, key)| (token.to_owned(), key.to_owned()))
        .expect("the form of RFC 8292");
    assert_eq!(said, key);
    let (signed, signature) = token.rsplit_once('.').expect("a token");
    let public_key = URL_SAFE_NO_PAD.decode(&key).expect("base64url");
    let verified = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).expect("base64url"));
    assert!(verified.is_ok());
    let claims = signed.split_once('.').expect("a token").1;
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).expect("base64url")).expect("JSON");
    assert_eq!(
        (&claims["aud"], &claims["sub"]),
        (&json!(house.receiver.url()), &json!("mailto:op@example.org"))
    );
    let ahead = claims["exp"].as_i64().expect("a time") * 1_000 - blackbox::epoch_ms();
    assert!(ahead <= 24 * 3_600_000, "a day at most");
    let text = opened(&call, private, &public, &auth);
    assert_eq!(
        (&text["title"], &text["request_id"]),
        (&json!("@nick.cc asks: Run the tests"), &json!(request))
    );
    assert!(text["url"].as_str().is_some_and(|url| url.contains("/tap/")), "{text}");
}
