//! The pages: sign-in and consent. Plain HTML without scripts; the client's own descriptions are text in it.
//! Must not know: permissions to consent.

use std::{borrow::Cow, fmt::Write as _, sync::LazyLock};

use axum::{body::Body, response::Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue, StatusCode};
use plenary_kernel::{AgentHandle, json::digest};
use url::form_urlencoded::byte_serialize;

use crate::{
    client::Client,
    consent::{Back, Denial},
};

const STYLE: &str = "body{font:17px/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;\
color:#1a1c1e;background:#fbfbfa}h1{font-size:1.3rem}code{overflow-wrap:anywhere}button,select,input{font:inherit;\
padding:.55rem .8rem;margin:.2rem .3rem .6rem 0;border-radius:6px;border:1px solid #888}label{display:block}\
input,select{width:100%;box-sizing:border-box}.who{padding:.75rem;background:#f0f0ee;border-radius:6px}\
@media(prefers-color-scheme:dark){body{color:#e8e8e6;background:#17181a}.who{background:#232528}}";

static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(digest(STYLE.as_bytes()))));

/// The content of a page.
pub(crate) enum Page<'a> {
    /// The person is not signed in. With `at_once` the browser repeats the request by itself: it sends no cookie with a request
    /// that another site started.
    SignIn {
        query: &'a str,
        at_once: bool,
        failed: bool,
        /// The issuers with which a person can sign in: name and title.
        issuers: Vec<(&'a str, &'a str)>,
    },
    Consent(&'a Question<'a>),
    /// The request ends here, for this reason.
    Stop(&'a str),
    /// The client's request is refused; a link takes the refusal back to the client.
    Denied(&'a Back, &'a Denial),
}

/// A question for consent.
pub(crate) struct Question<'a> {
    pub(crate) client: &'a Client,
    pub(crate) back: &'a Back,
    pub(crate) query: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) agents: &'a [AgentHandle],
    /// The owner for which a new agent can be made.
    pub(crate) owner: Option<&'a str>,
    /// The scopes that can be granted, the widest first.
    pub(crate) scopes: &'a [String],
}

pub(crate) fn answer(status: StatusCode, page: &Page<'_>) -> Response {
    let mut response = Response::new(Body::from(html(page)));
    *response.status_mut() = status;
    let leads_to = match page {
        Page::Consent(question) => question.back.source(),
        Page::SignIn { .. } | Page::Stop(_) | Page::Denied(..) => String::new(),
    };
    let policy = format!(
        "default-src 'none'; style-src {}; form-action 'self' {leads_to}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_SOURCE
    );
    let head = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        head.insert(http::header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // Forms of this page must send their origin.
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        head.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn html(page: &Page<'_>) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>Plenary</title>",
    );
    if let Page::SignIn { query, at_once: true, .. } = page {
        let _ = write!(
            html,
            "<meta http-equiv=refresh content=\"0;url=/oauth/authorize?{}&amp;again=1\">",
            escaped(query)
        );
    }
    let _ = write!(html, "<style>{STYLE}</style><main>");
    match page {
        Page::SignIn { query, failed, issuers, .. } => sign_in(&mut html, query, *failed, issuers),
        Page::Consent(question) => consent(&mut html, question),
        Page::Stop(why) => {
            let _ = write!(html, "<h1>This cannot be done</h1><p>{}</p>", escaped(why));
        }
        Page::Denied(back, denial) => {
            let _ = write!(
                html,
                "<h1>This cannot be done</h1><p>The application's request is not valid: {}.</p><p>This link leads to <b>{}</b>. \
                 Follow it only if you have just begun this there.</p><p><a rel=noreferrer href=\"{}\">Go on</a></p>",
                escaped(denial.1),
                escaped(&back.destination()),
                escaped(&back.with_error(denial))
            );
        }
    }
    html.push_str("</main></html>");
    html
}

fn sign_in(html: &mut String, query: &str, failed: bool, issuers: &[(&str, &str)]) {
    if failed {
        html.push_str("<p><b>This link is used, expired or unknown. Print another one.</b></p>");
    }
    html.push_str("<h1>Sign in</h1><p>An application wants to speak as one of your agents.</p>");
    for (name, title) in issuers {
        let request = byte_serialize(query.as_bytes()).collect::<String>();
        let _ = write!(
            html,
            "<p><a href=\"/console/sign-in/{name}?request={request}\">Sign in with {}</a></p>",
            escaped(title)
        );
    }
    let _ = write!(
        html,
        "<p>Run <code>plenary console</code> and \
         paste the link that it prints.</p><form method=post action=\"/oauth/sign-in\"><label>Link <input name=link \
         autocomplete=off required></label><input type=hidden name=request value=\"{}\"><button>Sign in</button></form>",
        escaped(query)
    );
}

fn consent(html: &mut String, question: &Question<'_>) {
    let name = if question.client.name.is_empty() { "An application" } else { &question.client.name };
    let vouched = match &question.client.host {
        Some(host) => format!("It is vouched for by {}.", escaped(host)),
        None => "The application chose this name itself; nobody has checked it.".to_owned(),
    };
    let _ = write!(
        html,
        "<h1>{} wants to speak as one of your agents</h1><p class=who>{vouched} You go on to <b>{}</b>. Allow it \
         only if you have just begun this there.</p><form method=post action=\"/oauth/authorize\">\
         <input type=hidden name=request value=\"{}\"><input type=hidden name=csrf value=\"{}\">",
        escaped(name),
        escaped(&question.back.destination()),
        escaped(question.query),
        escaped(question.csrf)
    );
    html.push_str("<label>Agent <select name=agent>");
    for agent in question.agents {
        let agent = escaped(agent.as_str());
        let _ = write!(html, "<option value=\"{agent}\">{agent}</option>");
    }
    html.push_str("</select></label>");
    if let Some(owner) = question.owner {
        let _ = write!(
            html,
            "<label>or a new agent of @{}: its name <input name=new_agent autocomplete=off maxlength=64></label>",
            escaped(owner)
        );
    }
    html.push_str("<label>It may <select name=scope>");
    for scope in question.scopes {
        let text = describe_scope(scope);
        let _ = write!(html, "<option value=\"{}\">{}</option>", escaped(scope), escaped(&text));
    }
    html.push_str(
        "</select></label><label>For <select name=days><option value=1>a day</option><option value=7>a week</option>\
         <option value=30 selected>30 days</option><option value=90>90 days</option><option value=365>a year</option>\
         </select></label><button name=decision value=allow>Allow</button>\
         <button name=decision value=deny formnovalidate>Deny</button></form>",
    );
}

/// A description of a scope; a scope of several words is shown unchanged.
fn describe_scope(scope: &str) -> Cow<'_, str> {
    match (scope, scope.rsplit_once(':')) {
        ("write", _) => "read and write everything of the agent".into(),
        ("read", _) => "read everything of the agent, and change nothing".into(),
        (_, Some((room, "write"))) if !scope.contains(' ') => format!("read and write only: {room}").into(),
        (_, Some((room, "read"))) if !scope.contains(' ') => format!("read only: {room}").into(),
        _ => scope.into(),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sends_is_escaped() {
        let issuers = vec![("acme", "<script>")];
        let page = html(&Page::SignIn { query: "a=\"><script>", at_once: true, failed: false, issuers });
        assert!(!page.contains("<script") && page.contains("a=&quot;&gt;&lt;script&gt;"));
        assert!(!html(&Page::Stop("<b>")).contains("<p><b>"));
    }
}
