//! What no issuer signed, or signed for somebody else, opens nothing; and nobody makes the server ask an issuer without end.

use ring::hmac;
use serde_json::{Value, json};

use super::{Provider, Signer, encoded, exchange, flaw};
use blackbox::{Server, epoch_ms};

async fn refused(server: &Server, token: &str, code: &str) {
    let answer = exchange(server, token, &[]).await;
    let expected = (400, "invalid_request".to_owned(), code.to_owned());
    assert_eq!(flaw(&answer), expected, "{answer}");
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let signer = &provider.signer;
    exchange(&server, &signer.token(&json!({})), &[]).await.ok(200);
    let claims = signer.claims(&json!({}));
    for name in ["none", "None", "nOnE"] {
        let head = json!({"alg": name, "kid": signer.key});
        refused(
            &server,
            &format!("{}.{}.", encoded(head.to_string()), encoded(claims.to_string())),
            "algorithm_refused",
        )
        .await;
    }
    // The public key as a secret: what a verifier falls for that lets the token choose.
    let head = json!({"alg": "HS256", "typ": "JWT", "kid": signer.key});
    let text = format!("{}.{}", encoded(head.to_string()), encoded(claims.to_string()));
    for secret in [signer.public.as_bytes(), signer.public.trim().as_bytes()] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
        refused(&server, &format!("{text}.{}", encoded(tag)), "algorithm_refused").await;
    }
    let good = signer.token(&json!({}));
    let (signed, signature) = good.rsplit_once('.').expect("a signature");
    let (head, _) = signed.split_once('.').expect("a head");
    let changed = encoded(signer.claims(&json!({"sub": "ci", "repository": "acme/other"})).to_string());
    refused(&server, &format!("{head}.{changed}.{signature}"), "signature_invalid").await;
    refused(&server, &format!("{signed}."), "signature_invalid").await;
    let other: Value = provider.test("rotate/other").await;
    let stranger = Signer::read(&provider.url, &other);
    // Under the id of the issuer's key.
    refused(&server, &stranger.sign(&signer.head(), &claims), "signature_invalid").await;
    for bad in ["x", "a.b.c", "..", "eyJ.eyJ.x", &format!("{good}{}", "A".repeat(9_000))] {
        refused(&server, bad, "token_malformed").await;
    }
}

#[tokio::test]
async fn a_token_is_for_this_server_of_this_issuer_and_now() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let (signer, now) = (&provider.signer, epoch_ms() / 1_000);
    for (claims, code) in [
        (json!({"aud": "https://other.example"}), "audience_wrong"),
        (json!({"aud": ["https://other.example", "plenary"]}), "audience_wrong"),
        (json!({"aud": null}), "claims_invalid"),
        (json!({"iss": "https://other.example"}), "issuer_unknown"),
        (json!({"iss": format!("{}/", provider.url)}), "issuer_unknown"),
        (json!({"iss": null}), "claims_invalid"),
        (json!({"exp": now - 61}), "token_expired"),
        (json!({"exp": null}), "claims_invalid"),
        (json!({"nbf": now + 120}), "token_not_yet_valid"),
        (json!({"iat": now + 120}), "token_not_yet_valid"),
        (json!({"cnf": {"jkt": "x"}}), "token_type_wrong"),
        (json!({"sub": null}), "claims_invalid"),
    ] {
        refused(&server, &signer.token(&claims), code).await;
    }
    let logout = json!({"alg": "ES256", "kid": signer.key, "typ": "logout+jwt"});
    refused(&server, &signer.sign(&logout, &signer.claims(&json!({}))), "token_type_wrong").await;
}

#[tokio::test]
async fn new_keys_are_fetched_and_unknown_ones_do_not_make_the_server_ask_without_end() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let first = provider.signer.token(&json!({}));
    exchange(&server, &first, &[]).await.ok(200);
    assert_eq!(provider.test("fetched").await["fetched"], 1, "once for many tokens");
    let rotated = Signer::read(&provider.url, &provider.test("rotate/2").await);
    exchange(&server, &rotated.token(&json!({})), &[]).await.ok(200);
    refused(&server, &first, "key_unknown").await;
    for nth in 0..40 {
        let head = json!({"alg": "ES256", "kid": format!("made up {nth}")});
        refused(&server, &rotated.sign(&head, &rotated.claims(&json!({}))), "key_unknown").await;
    }
    let fetched = provider.test("fetched").await["fetched"].as_u64().expect("a number");
    // Six in a minute, and the test may see the turn of one.
    assert!(fetched <= 12, "fetched {fetched} times");
    exchange(&server, &rotated.token(&json!({})), &[]).await.ok(200);
}
