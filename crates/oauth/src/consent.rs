//! An authorization request: its parsing, and the answer to the client. Pure.
//! Must not know: the person.

use plenary_accounts::{Access, Scope};
use url::Url;

use crate::{client::Client, limits::STATE_BYTES_MAX, parameters::Parameters};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationRequest {
    pub(crate) scope: Scope,
    /// The S256 challenge.
    pub(crate) challenge: String,
    pub(crate) resource: String,
}

/// The destination of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Back {
    redirect: Url,
    /// The redirect URI as the client sent it; it must send the same when it redeems the code.
    pub(crate) sent: String,
    state: Option<String>,
    issuer: String,
}

/// A refusal: a code of RFC 6749, 4.1.2.1, and a description for developers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial(pub(crate) &'static str, pub(crate) &'static str);

impl Back {
    /// The destination of the answer to a request of this client.
    ///
    /// # Errors
    /// The reason, for the person only: the sender may not be the client.
    pub(crate) fn of(client: &Client, sent: &Parameters, issuer: &str) -> Result<Self, &'static str> {
        let redirect = match (sent.get("redirect_uri"), client.redirects.as_slice()) {
            (Some(redirect), _) => redirect,
            (None, [only]) => only.as_str(),
            (None, _) => return Err("The application did not say to which page you return."),
        };
        if !client.may_be_called_at(redirect) {
            return Err("The application is not registered for the page to which you would return.");
        }
        let state = sent.get("state").map(ToOwned::to_owned);
        if state.as_ref().is_some_and(|state| state.len() > STATE_BYTES_MAX) {
            return Err("The application's `state` is too long.");
        }
        let url = Url::parse(redirect).map_err(|_| "The page to which you would return has no valid URL.")?;
        Ok(Self { redirect: url, sent: redirect.to_owned(), state, issuer: issuer.to_owned() })
    }

    /// The redirect with a code.
    pub(crate) fn with_code(&self, code: &str) -> String {
        self.with(&[("code", code)])
    }

    /// The redirect with an error.
    pub(crate) fn with_error(&self, Denial(code, why): &Denial) -> String {
        self.with(&[("error", *code), ("error_description", *why)])
    }

    /// The allowed target of a page's form: the site, or the scheme of an app.
    pub(crate) fn source(&self) -> String {
        match self.redirect.origin() {
            url::Origin::Tuple(..) => self.redirect.origin().ascii_serialization(),
            url::Origin::Opaque(_) => format!("{}:", self.redirect.scheme()),
        }
    }

    /// The destination as text for the person.
    pub(crate) fn destination(&self) -> String {
        match self.redirect.host_str() {
            Some(host) if matches!(self.redirect.scheme(), "http" | "https") => host.to_owned(),
            _ => format!("an app on this device ({}:)", self.redirect.scheme()),
        }
    }

    /// The redirect with these parameters and `iss` (RFC 9207), which tells a client of several servers which one answers.
    fn with(&self, pairs: &[(&str, &str)]) -> String {
        let mut url = self.redirect.clone();
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(pairs);
            if let Some(state) = &self.state {
                query.append_pair("state", state);
            }
            query.append_pair("iss", &self.issuer);
        }
        url.into()
    }
}

impl AuthorizationRequest {
    /// Parses a request to the server with this URL.
    ///
    /// # Errors
    /// The refusal for the client.
    pub(crate) fn of(sent: &Parameters, base: &str) -> Result<Self, Denial> {
        match sent.get("response_type") {
            Some("code") => {}
            Some(_) => return Err(Denial("unsupported_response_type", "response_type must be code")),
            None => return Err(Denial("invalid_request", "response_type is missing")),
        }
        if sent.get("code_challenge_method") != Some("S256") {
            return Err(Denial("invalid_request", "code_challenge_method must be S256"));
        }
        // A challenge is 32 bytes in base64url.
        let is_challenge = |challenge: &&str| {
            challenge.len() == 43
                && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let challenge = sent.get("code_challenge").filter(is_challenge);
        let challenge =
            challenge.ok_or(Denial("invalid_request", "code_challenge is missing or malformed"))?;
        let scope = match sent.get("scope") {
            Some(scope) => requested_scope(scope)?,
            None => None,
        };
        let scope = scope.unwrap_or_else(|| Scope::everywhere(Access::Write));
        let resource = resource_of(sent, base)?;
        Ok(Self { scope, challenge: challenge.to_owned(), resource })
    }
}

/// The scope that a client requests of a person. Unknown words such as `openid` are ignored (RFC 6749, 3.3); if no word is
/// left, the person chooses.
pub(crate) fn requested_scope(text: &str) -> Result<Option<Scope>, Denial> {
    // A word that narrows a scope is never ignored.
    let known = text.split(' ').filter(|word| Scope::is_known(word));
    let known: Vec<&str> = known.collect();
    if known.is_empty() {
        return Ok(None);
    }
    let scope =
        known.join(" ").parse().map_err(|_| Denial("invalid_scope", "scope: see scopes_supported"))?;
    Ok(Some(scope))
}

/// Parses a scope from a client. `offline_access` requests a refresh token, which every client gets.
pub(crate) fn scope_of(text: &str) -> Result<Scope, Denial> {
    let words: Vec<_> = text.split(' ').filter(|word| *word != "offline_access").collect();
    let text = words.join(" ");
    if text.trim().is_empty() {
        return Ok(Scope::everywhere(Access::Write));
    }
    text.parse().map_err(|_| Denial("invalid_scope", "scope: see scopes_supported"))
}

/// The resource for which a client requests a token (RFC 8707): this server, or its `/mcp`, to which the token is then limited.
/// Clients send the URL that they were given, so its query is ignored; without a resource the token is for this server.
pub(crate) fn resource_of(sent: &Parameters, base: &str) -> Result<String, Denial> {
    let own = format!("{base}/mcp");
    let plain = |named: &str| named.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
    let is_own = |named: &str| [base, own.as_str()].contains(&plain(named).as_str());
    if !sent.all("resource").all(is_own) {
        return Err(Denial("invalid_target", "resource must be this server's /mcp"));
    }
    // The narrowest of several resources counts.
    let named: Vec<_> = sent.all("resource").map(plain).collect();
    Ok(if named.contains(&own) { own } else { base.to_owned() })
}

/// Whether a grant for one resource covers the named resource.
pub(crate) fn is_within(named: &str, granted: &str) -> bool {
    named == granted || named.strip_prefix(granted) == Some("/mcp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Metadata;

    const BASE: &str = "https://p.example";

    fn client() -> Client {
        let redirect_uris = vec!["https://c.example/cb?a=b".into(), "app.x:/cb".into()];
        Client::register(Metadata { client_name: None, redirect_uris, client_id: None }).unwrap()
    }

    fn sent(query: &str) -> Parameters {
        Parameters::read(query.as_bytes()).unwrap()
    }

    #[test]
    fn a_resource_is_the_narrowest_that_is_named() {
        let resource = |query: &str| resource_of(&sent(query), BASE);
        assert_eq!(resource("").as_deref(), Ok(BASE));
        assert_eq!(resource("resource=https://p.example/").as_deref(), Ok(BASE));
        let both = "resource=https://p.example&resource=https://p.example/mcp";
        assert_eq!(resource(both).as_deref(), Ok("https://p.example/mcp"));
        assert!(is_within(BASE, BASE) && is_within("https://p.example/mcp", BASE));
        assert!(!is_within(BASE, "https://p.example/mcp") && !is_within("https://p.example/mcpx", BASE));
    }

    #[test]
    fn an_answer_goes_where_the_client_is_registered_with_its_state_and_our_name() {
        let request = sent("redirect_uri=https://c.example/cb?a%3Db&state=x%26y");
        let back = Back::of(&client(), &request, BASE).unwrap();
        assert_eq!(
            back.with_code("c"),
            "https://c.example/cb?a=b&code=c&state=x%26y&iss=https%3A%2F%2Fp.example"
        );
        assert!(back.with_error(&Denial("access_denied", "no")).contains("error=access_denied&"));
        assert_eq!((back.source().as_str(), back.destination().as_str()), ("https://c.example", "c.example"));
        let app = Back::of(&client(), &sent("redirect_uri=app.x:/cb"), BASE).unwrap();
        assert_eq!(app.source(), "app.x:");
        for bad in ["redirect_uri=https://evil.example/cb", ""] {
            assert!(Back::of(&client(), &sent(bad), BASE).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_has_a_challenge_and_names_this_server() {
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let good = format!("response_type=code&code_challenge_method=S256&code_challenge={challenge}");
        let request = AuthorizationRequest::of(&sent(&good), BASE).unwrap();
        assert_eq!((request.scope.to_string().as_str(), request.resource.as_str()), ("write", BASE));
        let more = format!("{good}&scope=read+offline_access&resource=https://p.example/mcp/");
        assert_eq!(AuthorizationRequest::of(&sent(&more), BASE).unwrap().scope.to_string(), "read");
        for (words, granted) in [
            ("read+openid", "read"),
            ("openid+profile", "write"),
            ("mcp:read", "write"),
            ("admin+sessions:read+session:a", "sessions:read session:a"),
        ] {
            let request = AuthorizationRequest::of(&sent(&format!("{good}&scope={words}")), BASE).unwrap();
            assert_eq!(request.scope.to_string(), granted, "{words}");
        }
        let entered = format!("{good}&resource=https://p.example/mcp?toolsets%3Dcore,assistant");
        assert_eq!(
            AuthorizationRequest::of(&sent(&entered), BASE).unwrap().resource,
            "https://p.example/mcp"
        );
        for (query, code) in [
            (String::new(), "invalid_request"),
            (good.replace("=code&", "=token&"), "unsupported_response_type"),
            (good.replace("S256", "plain"), "invalid_request"),
            (good.replace(challenge, "short"), "invalid_request"),
            (format!("{good}&scope=session:a"), "invalid_scope"),
            (format!("{good}&scope=read+project:"), "invalid_scope"),
            (format!("{good}&resource=https://evil.example/mcp?{BASE}/mcp"), "invalid_target"),
            (format!("{good}&resource=https://evil.example/mcp"), "invalid_target"),
            (format!("{good}&resource={BASE}&resource=https://evil.example"), "invalid_target"),
        ] {
            assert_eq!(AuthorizationRequest::of(&sent(&query), BASE).unwrap_err().0, code, "{query}");
        }
    }
}
