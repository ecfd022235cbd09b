//! Checks bodies: each invalid member has its own code.
//! Must not know: the caller.

use plenary_kernel::{AgentHandle, Refusal, Stamp, SubscriptionId, TimestampMs, text};
use plenary_requests::Kind;

use crate::{
    AGENTS_MAX, DIGEST_MINUTES_MAX, URL_BYTES_MAX, WORD_CHARS_MAX, hours,
    mail::mailbox,
    push::Browser,
    sender::{Sender, topic},
    signature::Secret,
    subscription::event::Subscription,
    wire::{Event, NewSubscription, Quiet, SubscriptionChange, Target},
};

fn bad(code: &'static str, text: impl Into<String>) -> Refusal {
    Refusal::malformed(code, text.into())
}

/// A word without spaces or invisible characters.
fn check_visible(name: &str, value: &str) -> Result<(), Refusal> {
    let fits =
        !value.is_empty() && value.len() <= WORD_CHARS_MAX && value.bytes().all(|b| b.is_ascii_graphic());
    if fits {
        return Ok(());
    }
    Err(bad(
        "invalid_target",
        format!("`target.{name}` must have 1 to {WORD_CHARS_MAX} visible ASCII characters."),
    ))
}

fn url(sender: &Sender, name: &str, value: &str) -> Result<(), Refusal> {
    if value.len() > URL_BYTES_MAX {
        return Err(bad("invalid_target", format!("`target.{name}` may have {URL_BYTES_MAX} bytes.")));
    }
    let checked = sender.guard().url(value);
    checked.map(drop).map_err(|why| bad("invalid_target", format!("`target.{name}` {why}.")))
}

fn target(sender: &Sender, target: &Target) -> Result<(), Refusal> {
    match target {
        Target::Webhook { url: to } | Target::Slack { url: to } => url(sender, "url", to),
        Target::Ntfy { url: to, token } => {
            url(sender, "url", to)?;
            topic(to).ok_or_else(|| bad("invalid_target", "`target.url` must end with a topic."))?;
            token.iter().try_for_each(|token| check_visible("token", token))
        }
        Target::Telegram { bot_token, chat_id, url: api } => {
            check_visible("bot_token", bot_token)?;
            if bot_token.contains(['/', '?', '#', '%']) {
                return Err(bad("invalid_target", "`target.bot_token` is not the token of a bot."));
            }
            check_visible("chat_id", chat_id)?;
            api.iter().try_for_each(|api| url(sender, "url", api))
        }
        Target::Email { to } => {
            if !sender.has_mail() {
                return Err(Refusal::conflict(
                    "no_mail",
                    "This server sends no mail: `notify.smtp_url` is not set.",
                ));
            }
            check_visible("to", to)?;
            mailbox(to).map(drop).ok_or_else(|| bad("invalid_target", "`target.to` must be an address."))
        }
        Target::WebPush { endpoint, p256dh, auth } => {
            url(sender, "endpoint", endpoint)?;
            let keys = Browser::read(p256dh, auth);
            keys.map(drop).ok_or_else(|| {
                bad("invalid_target", "`target.p256dh` and `target.auth` are not the keys of a browser.")
            })
        }
    }
}

fn name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.chars().count() > WORD_CHARS_MAX {
        return Err(bad("invalid_name", format!("`name` must have 1 to {WORD_CHARS_MAX} characters.")));
    }
    text::check_line(name).map_err(|wrong| bad("invalid_name", format!("`name` {wrong}.")))
}

fn filters(events: Option<&[Event]>, kinds: &[Kind], agents: &[AgentHandle]) -> Result<(), Refusal> {
    if events.is_some_and(|events| events.is_empty() || events.len() > 4) {
        return Err(bad("invalid_filter", "`events` must name one to four events."));
    }
    if kinds.len() > Kind::ALL.len() || agents.len() > AGENTS_MAX {
        let text = format!("`kinds` may name each kind once, and `agents` {AGENTS_MAX} agents.");
        return Err(bad("invalid_filter", text));
    }
    Ok(())
}

fn quiet(quiet: Option<&Quiet>) -> Result<(), Refusal> {
    quiet.map_or(Ok(()), |quiet| hours::check(quiet).map_err(|why| bad("invalid_quiet", why)))
}

fn digest(minutes: Option<u32>) -> Result<(), Refusal> {
    match minutes {
        Some(minutes) if !(1..=DIGEST_MINUTES_MAX).contains(&minutes) => {
            Err(bad("invalid_digest", format!("`digest_minutes` must be 1 to {DIGEST_MINUTES_MAX}.")))
        }
        Some(_) | None => Ok(()),
    }
}

impl NewSubscription {
    /// The checked subscription; its id is assigned later.
    pub(crate) fn checked(self, sender: &Sender) -> Result<Subscription, Refusal> {
        target(sender, &self.target)?;
        self.name.as_deref().map_or(Ok(()), name)?;
        filters(Some(&self.events), &self.kinds, &self.agents)?;
        quiet(self.quiet.as_ref())?;
        digest(self.digest_minutes)?;
        Ok(Subscription {
            id: SubscriptionId::mint(&Stamp::new(TimestampMs(0), [0; 10]), 0),
            target: self.target,
            secret: Secret::random(),
            name: self.name,
            events: self.events,
            kinds: self.kinds,
            agents: self.agents,
            person: self.person,
            min_urgency: self.min_urgency,
            quiet: self.quiet,
            digest_minutes: self.digest_minutes,
            enabled: self.enabled,
            gone: false,
            through: None,
        })
    }
}

impl SubscriptionChange {
    /// Checks the change.
    pub(crate) fn check(&self, sender: &Sender) -> Result<(), Refusal> {
        self.target.as_ref().map_or(Ok(()), |one| target(sender, one))?;
        self.name.as_ref().and_then(Option::as_deref).map_or(Ok(()), name)?;
        let (kinds, agents) = (self.kinds.as_deref().unwrap_or(&[]), self.agents.as_deref().unwrap_or(&[]));
        filters(self.events.as_deref(), kinds, agents)?;
        quiet(self.quiet.as_ref().and_then(Option::as_ref))?;
        digest(self.digest_minutes.flatten())
    }
}
