//! Sign-in of a person with an issuer (OpenID Connect Core, 3.1): the redirect of the browser, and the exchange of
//! the code. The browser's attempt derives from one secret that only the browser keeps, so nothing is stored.
//! Must not know: the session of an admitted person.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use plenary_kernel::{TimestampMs, json::digest};
use serde::Deserialize;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::{
    flaw::Flaw,
    issuer::{Client, Issuer},
    limits::DOCUMENT_BYTES_MAX,
    verify::Proven,
};

/// One sign-in attempt of one browser at one issuer.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInAttempt(String);

impl SignInAttempt {
    /// An attempt at the issuer of this name, from a secret of at least 128 random bits as text that only the browser keeps.
    /// Values that one issuer sees are useless at another.
    pub fn of(issuer: &str, secret: &str) -> Self {
        Self(format!("{issuer}\0{secret}"))
    }

    fn derived(&self, purpose: &str) -> String {
        let text = format!("{purpose} of a sign-in\0{}", self.0);
        URL_SAFE_NO_PAD.encode(digest(text.as_bytes()))
    }

    /// The `state` that the browser returns with.
    pub fn state(&self) -> String {
        self.derived("the state")
    }
    fn nonce(&self) -> String {
        self.derived("the nonce")
    }
    fn verifier(&self) -> String {
        self.derived("the verifier")
    }
    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(self.verifier().as_bytes()))
    }
}

#[derive(Deserialize)]
struct Redeemed {
    id_token: String,
}

impl Issuer {
    /// The URL to which a browser is sent to sign in; it returns to `redirect_uri`.
    ///
    /// # Errors
    /// `Unavailable` if the issuer is unreachable or people do not sign in with it.
    pub async fn sign_in_url(
        &self,
        attempt: &SignInAttempt,
        redirect_uri: &str,
        now: TimestampMs,
    ) -> Result<String, Flaw> {
        let client = self.client().ok_or(Flaw::Unavailable)?;
        let known = self.discovery().known(None, now).await?;
        let endpoint = known.document.authorization_endpoint.as_deref().ok_or(Flaw::Unavailable)?;
        // The browser follows this URL, so `javascript:` is refused.
        self.discovery().permitted_url(endpoint).map_err(|why| self.unavailable(&why))?;
        let mut url = Url::parse(endpoint).map_err(|_| Flaw::Unavailable)?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &client.scope)
            .append_pair("state", &attempt.state())
            .append_pair("nonce", &attempt.nonce())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    /// Redeems the code that a browser returned with.
    ///
    /// # Errors
    /// The reason why the person is not signed in.
    pub async fn redeem(
        &self,
        attempt: &SignInAttempt,
        code: &str,
        redirect_uri: &str,
        now: TimestampMs,
    ) -> Result<Proven, Flaw> {
        let client = self.client().ok_or(Flaw::Unavailable)?;
        let _turn = self.redeeming().try_acquire().map_err(|_| Flaw::Unavailable)?;
        let known = self.discovery().known(None, now).await?;
        let request = self.redemption(client, attempt, code, redirect_uri, &known.document)?;
        let (status, body) =
            self.discovery().sent(request, DOCUMENT_BYTES_MAX).await.map_err(|why| self.unavailable(&why))?;
        match status {
            StatusCode::OK => {}
            _ if status.is_client_error() => {
                tracing::warn!(issuer = self.name(), %status, "an issuer did not accept a code");
                return Err(Flaw::Code);
            }
            _ => return Err(self.unavailable(&format!("the token endpoint answers {}", status.as_u16()))),
        }
        let Redeemed { id_token } =
            serde_json::from_slice(&body).map_err(|_| self.unavailable("no ID token came for a code"))?;
        let audiences = [client.id.clone()];
        let proven = self.verified(&id_token, &audiences, true, now).await?;
        if proven.claims.get("nonce").and_then(Value::as_str) != Some(&attempt.nonce()) {
            return Err(Flaw::Nonce);
        }
        Ok(proven)
    }

    fn redemption(
        &self,
        client: &Client,
        attempt: &SignInAttempt,
        code: &str,
        redirect_uri: &str,
        document: &crate::discovery::Document,
    ) -> Result<Request<Full<Bytes>>, Flaw> {
        let endpoint = document.token_endpoint.as_deref().ok_or(Flaw::Unavailable)?;
        let uri = self.discovery().permitted_url(endpoint).map_err(|why| self.unavailable(&why))?;
        let methods = document.token_endpoint_auth_methods_supported.as_deref();
        // The default is the header (OpenID Connect Discovery, 3).
        let in_header = methods.is_none_or(|methods| methods.iter().any(|one| one == "client_secret_basic"));
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", &attempt.verifier());
        let basic = client.secret.as_deref().filter(|_| in_header).map(|secret| basic(&client.id, secret));
        if basic.is_none() {
            form.append_pair("client_id", &client.id);
            if let Some(secret) = &client.secret {
                form.append_pair("client_secret", secret);
            }
        }
        let mut request = Request::new(Full::new(Bytes::from(form.finish())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let head = request.headers_mut();
        head.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        head.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(basic) = basic {
            let mut value = HeaderValue::try_from(basic).map_err(|_| Flaw::Unavailable)?;
            value.set_sensitive(true);
            head.insert(header::AUTHORIZATION, value);
        }
        Ok(request)
    }
}

/// The client's credentials for the header, each half form-encoded (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_values_of_an_attempt_differ_and_do_not_reveal_its_secret() {
        let attempt = SignInAttempt::of("acme", "secret");
        let values = [attempt.state(), attempt.nonce(), attempt.verifier(), attempt.challenge()];
        for (nth, one) in values.iter().enumerate() {
            assert!(one.len() == 43 && !values[..nth].contains(one), "RFC 7636 wants 43 characters or more");
        }
        for other in [SignInAttempt::of("acme", "other"), SignInAttempt::of("other", "secret")] {
            assert_ne!(attempt.state(), other.state());
            assert_ne!(attempt.nonce(), other.nonce());
            assert_ne!(attempt.challenge(), other.challenge());
        }
    }

    #[test]
    fn a_client_shows_itself_as_in_a_form() {
        assert_eq!(basic("a:b", "c d"), format!("Basic {}", STANDARD.encode("a%3Ab:c+d")));
    }
}
