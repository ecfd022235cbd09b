//! The page of a one-tap link, and the secret at the link's end. Everything that an agent wrote is plain text on it.
//! Must not know: HTTP.

use std::fmt::Write as _;

use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_edge::Origin;
use plenary_engine::{ExecuteError, Room as _};
use plenary_kernel::{AskId, TimestampMs, Version, limits::READ_ROWS_MAX, text::is_hidden};
use plenary_log::{Fault, Order};

use crate::{
    Requests, TAP_MS_MAX,
    command::{HandleRequest, Handling},
    event::RequestEvent,
    reading::RequestReading,
    room::{LINKS, RequestRoom},
    wire::{Phase, RequestView},
};

/// What a link ends with: 256 random bits.
pub(crate) struct Secret(String);

impl Secret {
    /// A new one; the same one for a request that is repeated.
    pub(crate) fn random() -> Self {
        let random = || {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).expect("the system has randomness");
            bytes
        };
        Self(hex::encode(plenary_engine::secret_of_request().unwrap_or_else(random)))
    }

    /// One that a caller keeps.
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(hex::encode(bytes))
    }

    pub(crate) fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }
}

impl Requests {
    /// By which URL clients reach the server.
    pub(crate) fn set_origin(&self, origin: &Origin) {
        let _known = self.0.origin.set(origin.clone());
    }

    /// The link of a secret.
    pub(crate) fn tap_url(&self, secret: &Secret) -> String {
        let nobody = std::net::SocketAddr::from(([0; 4], 0));
        let base = self.0.origin.get().map(|origin| origin.base_url(nobody, &http::HeaderMap::new()));
        format!("{}/tap/{}", base.unwrap_or_default(), secret.0)
    }

    /// A one-tap link of a secret that another part of the server keeps: the same secret is the same link. `None` where the
    /// request waits no more, or has as many changes as it may.
    ///
    /// # Errors
    /// The store failed.
    pub async fn link_of(&self, id: &AskId, secret: [u8; 32]) -> Result<Option<String>, Fault> {
        let secret = Secret::of(secret);
        // A link that is over is made once more.
        if self.linked(&secret.0).await?.is_none() {
            let digest = secret.digest();
            let until = TimestampMs(self.now().0.saturating_add(TAP_MS_MAX));
            let authority = Authority { by: Actor::Operator, token: None };
            let command = HandleRequest { authority, handling: Handling::Link(digest, until) };
            match self.handle(id, command).await {
                Ok(_) => {}
                Err(ExecuteError::Fault(fault)) => return Err(fault),
                Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused | ExecuteError::OverQuota(_)) => {
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.tap_url(&secret)))
    }

    /// The request that a link is for, as long as the link may be used.
    pub(crate) async fn linked(&self, secret: &str) -> Result<Option<RequestReading>, Fault> {
        let digest = TokenDigest::of(secret);
        let rows = self.log().read_index(LINKS, &digest.hex(), None, 1, Order::Ascending).await?;
        let Some(id) = rows.first().and_then(|row| std::str::from_utf8(&row.value).ok()) else {
            return Ok(None);
        };
        let Ok(id) = id.parse::<AskId>() else { return Ok(None) };
        let stream = RequestRoom::stream(id.as_str());
        let now = self.now();
        for stored in self.log().read_stream(&stream, Version::ZERO, READ_ROWS_MAX).await? {
            if let RequestEvent::LinkMade(made) = RequestEvent::decode(&stored)?
                && made.digest.matches(&digest)
                && is_open(now, made.until)
            {
                return self.seen(&id).await;
            }
        }
        Ok(None)
    }
}

fn is_open(now: TimestampMs, until: TimestampMs) -> bool {
    now < until
}

/// What the page shows.
pub(crate) enum Page<'a> {
    /// The request, with a form where it waits.
    Request(&'a RequestView),
    /// The form was not filled in.
    Wrong,
    /// No link ends so.
    Unknown,
}

const STYLE: &str = "body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:1.5rem auto;padding:0 1rem;\
color:#1a1c1e;background:#fbfbfa}h1{font-size:1.25rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;\
background:#f0f0ee;padding:.75rem;border-radius:6px}button{font:inherit;padding:.7rem 1.2rem;margin:.3rem .3rem .3rem 0;\
border-radius:6px;border:1px solid #888}textarea{font:inherit;width:100%;box-sizing:border-box}\
@media(prefers-color-scheme:dark){body{color:#e8e8e6;background:#17181a}pre{background:#232528}}";

/// The page as HTML.
pub(crate) fn page(page: &Page<'_>) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>Plenary</title><style>{STYLE}</style><main>"
    );
    match page {
        Page::Request(view) => request(&mut html, view),
        Page::Wrong => {
            html.push_str("<h1>Choose an answer</h1><p>Go back and choose an answer; a reply needs text.</p>")
        }
        Page::Unknown => html.push_str("<h1>Not found</h1><p>This link is no longer valid.</p>"),
    }
    html.push_str("</main></html>");
    html
}

fn request(html: &mut String, view: &RequestView) {
    let _ = write!(html, "<h1>{}</h1><p>{} asks", escaped(&view.title), escaped(view.from.as_str()));
    if let Some(directory) = &view.directory {
        let _ = write!(html, " in {}", escaped(directory));
    }
    html.push_str(".</p>");
    if let Some(action) = &view.action {
        let args = serde_json::to_string_pretty(&action.args).unwrap_or_default();
        let _ = write!(html, "<p>Tool: <b>{}</b></p><pre>{}</pre>", escaped(&action.name), escaped(&args));
    }
    let detail = view.detail.clone().unwrap_or_default();
    for part in [detail.text, detail.command, detail.document, detail.diff].into_iter().flatten() {
        let _ = write!(html, "<pre>{}</pre>", escaped(&part));
    }
    match view.state {
        Phase::Open | Phase::Snoozed => form(html, view),
        Phase::Answered => {
            let how = view.answer.as_ref().map_or("", |answer| answer.answer.as_str());
            let _ = write!(html, "<p><b>Answered: {how}.</b></p>");
        }
        Phase::Withdrawn => html.push_str("<p><b>The request was withdrawn.</b></p>"),
        Phase::Expired => html.push_str("<p><b>The deadline has passed.</b></p>"),
    }
}

fn form(html: &mut String, view: &RequestView) {
    html.push_str("<form method=post>");
    if view.allow.accept {
        html.push_str("<button name=answer value=accept>Accept</button>");
    }
    if view.allow.ignore {
        html.push_str("<button name=answer value=ignore>Ignore</button>");
    }
    html.push_str("</form>");
    if view.form.is_some() {
        html.push_str("<p>It asks for values: answer it in the console.</p>");
    }
    if view.allow.respond {
        html.push_str("<form method=post><input type=hidden name=answer value=respond>");
        for choice in &view.choices {
            let choice = escaped(choice);
            let _ = write!(html, "<button name=text value=\"{choice}\">{choice}</button>");
        }
        html.push_str("</form><form method=post><input type=hidden name=answer value=respond>");
        html.push_str("<p><textarea name=text rows=3 required aria-label=Reply></textarea></p><button>Reply</button></form>");
    }
}

/// As text in HTML; what nobody sees is shown by its number.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if is_hidden(c) => {
                let _ = write!(escaped, "[U+{:04X}]", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_is_text() {
        assert_eq!(
            escaped("<script>\"'&\u{202e}\u{1b}\n"),
            "&lt;script&gt;&quot;&#39;&amp;[U+202E][U+001B]\n"
        );
    }
}
