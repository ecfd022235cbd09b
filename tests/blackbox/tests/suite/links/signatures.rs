//! A signed request is good once, now, at one network, for what was signed; and a peer asks so much and no more.

use serde_json::{Value, json};

use super::{
    Network,
    played::{Played, Signed, Signing},
};

#[tokio::test]
async fn a_request_that_was_made_is_refused_when_it_comes_again_also_after_a_crash() {
    let (mut acme, played) = (Network::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    let signed = played.sign(&Played::signing(&acme, "GET", &accord, &Value::Null));
    signed.send(&acme.server).await.ok(200);
    signed.send(&acme.server).await.assert_refused(409, "signature_used");
    acme.crash().await;
    signed.send(&acme.server).await.assert_refused(409, "signature_used");
    // A nonce is a key's own for its signature's life, not for ever.
    let mut signing = Played::signing(&acme, "GET", &accord, &Value::Null);
    signing.nonce = "n".repeat(16);
    played.sign(&signing).send(&acme.server).await.ok(200);
    signing.lasts = 61;
    played.sign(&signing).send(&acme.server).await.ok(200);
}

#[tokio::test]
async fn of_many_that_come_at_once_one_is_first() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    let signed = played.sign(&Played::signing(&acme, "GET", &accord, &Value::Null));
    let sent = (0..6).map(|_| signed.send(&acme.server));
    let answers = futures_util::future::join_all(sent).await;
    let first = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(first, 1, "{answers:?}");
}

#[tokio::test]
async fn a_signature_is_good_now() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    for (created, lasts, is_good) in [
        (-50, 60, true),
        (20, 60, true),
        (-61, 60, false),
        (-3_600, 60, false),
        (3_600, 60, false),
        (0, 121, false),
        (0, -1, false),
    ] {
        let mut signing = Played::signing(&acme, "GET", &accord, &Value::Null);
        (signing.created, signing.lasts) = (created, lasts);
        let answer = played.sign(&signing).send(&acme.server).await;
        if is_good {
            answer.ok(200);
        } else {
            answer.assert_refused(401, "signature_expired");
        }
    }
}

#[tokio::test]
async fn what_was_not_signed_so_is_answered_as_to_a_stranger() {
    let (acme, rose, played) = (Network::start().await, Network::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    let revoke = format!("{accord}/revoke");
    let good = || Played::signing(&acme, "POST", &revoke, &json!({"a": 1}));
    let mut wrong = Vec::new();
    let signed = played.sign(&good());
    let changes: [fn(&mut Signed); 9] = [
        |signed| signed.body = "{\"a\": 2}".into(),
        |signed| signed.body.clear(),
        |signed| signed.path.push_str("?x=1"),
        |signed| drop(signed.headers.remove(0)),
        |signed| drop(signed.headers.remove(1)),
        |signed| drop(signed.headers.remove(2)),
        |signed| signed.headers[2].1 = "sig=:AAAA:".into(),
        |signed| {
            let text = &mut signed.headers[1].1;
            *text = text.replace("expires=", "expires=9");
        },
        |signed| signed.headers.push(signed.headers[1].clone()),
    ];
    for change in changes {
        let mut changed = signed.clone();
        change(&mut changed);
        wrong.push(changed);
    }
    // For another network, another purpose, or with another key.
    wrong.push(played.sign(&Signing { at: rose.url(), ..good() }));
    wrong.push(played.sign(&Signing { tag: "other", ..good() }));
    wrong.push(played.sign(&Signing { nonce: "short".into(), ..good() }));
    wrong.push(played.sign(&Signing { nonce: "no/path/in/a/nonce/".into(), ..good() }));
    wrong.push(Played::sign_as_nobody(&good()));
    let absent = acme.server.stranger().get("/link/v1/nothing").await;
    for signed in wrong {
        let answer = signed.send(&acme.server).await;
        assert_eq!(answer.status, 404, "{answer}");
        assert_eq!(answer.text(), absent.text());
    }
    assert_eq!(acme.peer("played").await["standing"], "active");
    signed.send(&acme.server).await.ok(204);
}

#[tokio::test]
async fn a_peer_asks_so_often_a_minute_and_others_are_not_held_up() {
    let (acme, played, other) = (Network::start().await, Played::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    let others = other.link(&acme, "other").await;
    let mut answer = played.call(&acme, "GET", &accord, &Value::Null).await;
    let mut asked = 1;
    while answer.status == 200 && asked < 2_000 {
        answer = played.call(&acme, "GET", &accord, &Value::Null).await;
        asked += 1;
    }
    answer.assert_refused(429, "too_many_requests");
    let seconds: u64 = answer.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds");
    assert!((1..=60).contains(&seconds), "{seconds}");
    // Some of the 600 of this minute went into the ceremony.
    assert!((590..=600).contains(&asked), "{asked}");
    other.call(&acme, "GET", &others, &Value::Null).await.ok(200);
    // It may still say that it is over.
    played.call(&acme, "POST", &format!("{accord}/revoke"), &Value::Null).await.ok(204);
    assert_eq!(acme.peer("played").await["revoked_by"], "peer");
}
