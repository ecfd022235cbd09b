//! The caller (wire.md D.8: a token is required).
//! Must not know: the operation.

use axum::extract::FromRequestParts;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, header, request::Parts};
use plenary_accounts::{Actor, Authority, Credentials, GuestIdentity, HostedIdentity, Principal, identify};

use crate::{Runs, command::Caller, refusals::RunRefusal, registry::Agent};

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller(pub(crate) Principal, Option<u32>);

/// The caller of a stream that a browser opens by itself: `?ticket=` replaces the header that the browser cannot set.
#[derive(Debug, Clone)]
pub(crate) struct StreamCaller(pub(crate) RequestCaller);

impl RequestCaller {
    /// Authenticates a request.
    pub(crate) async fn identify(parts: &Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        let other = with_password(parts);
        let parts = other.as_ref().unwrap_or(parts);
        let principal = identify(parts, runs.accounts(), Credentials::Header).await?;
        let here = parts.extensions.get().map(HostedIdentity::hops);
        Ok(Self(principal, here.or_else(|| parts.extensions.get().and_then(GuestIdentity::hops))))
    }

    /// The caller as part of a command on an agent's threads.
    pub(crate) fn for_agent(&self, agent: &Agent) -> Caller {
        Caller {
            authority: self.0.clone().into(),
            agent: agent.name().into(),
            owner: agent.owner(),
            gate: agent.gate(),
            on_behalf_of: None,
        }
    }

    /// The least depth of its requests in the chain of callers: one deeper than the run of the calling agent.
    pub(crate) fn depth_min(&self) -> u32 {
        self.1.map_or(0, |hops| hops.saturating_add(1))
    }

    /// The actor of the caller.
    pub(crate) fn actor(&self) -> Actor {
        Authority::from(self.0.clone()).by
    }
}

/// The caller of an operation for the dashboards of agentic-framework. Pages of any site may send it, so cookies do
/// not count.
#[derive(Debug, Clone)]
pub(crate) struct DashboardCaller(pub(crate) RequestCaller);

impl FromRequestParts<Runs> for DashboardCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        let mut parts = with_password(parts).unwrap_or_else(|| parts.clone());
        parts.headers.remove(header::COOKIE);
        Ok(Self(RequestCaller::identify(&parts, runs).await?))
    }
}

/// Treats a password of HTTP basic authentication as a bearer token, for programs that cannot send one otherwise. A
/// browser sends such a password also for pages of other sites, so a browser's requests are excluded.
fn with_password(parts: &Parts) -> Option<Parts> {
    let is_browser = [header::ORIGIN, header::REFERER].iter().any(|name| parts.headers.contains_key(name))
        || parts.headers.contains_key("sec-fetch-site");
    let token = password(&parts.headers).filter(|_| !is_browser)?;
    let mut parts = parts.clone();
    parts.headers.insert(header::AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).ok()?);
    Some(parts)
}

/// The password of the request's only `Authorization: Basic` header.
pub(crate) fn password(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, encoded) =
        values.next().filter(|_| values.next().is_none())?.to_str().ok()?.split_once(' ')?;
    let decoded = STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let text = String::from_utf8(decoded).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}

impl FromRequestParts<Runs> for RequestCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        Self::identify(parts, runs).await
    }
}

impl FromRequestParts<Runs> for StreamCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        let other = with_password(parts);
        let parts = other.as_ref().unwrap_or(parts);
        Ok(Self(RequestCaller(identify(parts, runs.accounts(), Credentials::HeaderOrTicket).await?, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::new(());
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        request.into_parts().0
    }

    #[test]
    fn a_password_is_a_token_but_not_of_a_browser() {
        // `x:pla_1`
        let basic = ("authorization", "Basic eDpwbGFfMQ==");
        let bearer = with_password(&request(&[basic])).unwrap();
        assert_eq!(bearer.headers[header::AUTHORIZATION], "Bearer pla_1");
        for (name, value) in
            [("origin", "http://127.0.0.1:1"), ("referer", "http://x/"), ("sec-fetch-site", "none"), basic]
        {
            assert!(with_password(&request(&[basic, (name, value)])).is_none(), "{name}");
        }
        for other in ["Bearer pla_1", "Basic", "Basic ?", "Basic eA=="] {
            assert!(with_password(&request(&[("authorization", other)])).is_none(), "{other}");
        }
    }
}
