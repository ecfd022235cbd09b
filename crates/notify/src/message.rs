//! The form of a notification for each kind of receiver. Pure.
//! Must not know: how it is sent.

use plenary_kernel::{TimestampMs, rfc3339::Utc, text::is_hidden};
use serde_json::{Value, json};

use crate::{
    DIGEST_ITEMS_MAX,
    wire::{Event, Notice, Urgency},
};

/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 150;
/// Longest text for a phone, in characters.
const SHORT_CHARS_MAX: usize = 800;
/// The last line of a digest that is cut; the number has at most this many digits.
const MORE: &str = "And 000 more: see the list of requests.";
/// Most bytes of a text for ntfy: a text of 4096 bytes or more becomes an attachment, which most servers refuse.
const NTFY_TEXT_BYTES_MAX: usize = 3_800;
/// Most bytes of a message to ntfy.
const NTFY_BYTES_MAX: usize = 8_000;
/// Longest text of a section for Slack, whose limit is 3,000.
const SLACK_UNITS_MAX: usize = 2_900;
/// Longest text for Telegram, whose limit is 4,096.
const TELEGRAM_UNITS_MAX: usize = 4_000;
/// Most bytes of a message to a browser: encrypted, it fits into the 4096 that push services accept.
const PUSH_BYTES_MAX: usize = 3_500;

/// One event of a notification, with the one-tap link if the request is open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) notice: Notice,
    pub(crate) link: Option<String>,
}

/// The content of a notification.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Announcement {
    /// One event.
    One(Box<Item>),
    /// Several, oldest first.
    Digest(Vec<Item>),
    Sample,
}

/// A notification before it is formatted; the same for each attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Note {
    /// When its first event was noticed.
    pub(crate) at: TimestampMs,
    pub(crate) announcement: Announcement,
}

/// One line of text without invisible characters.
fn line(text: &str, chars_max: usize) -> String {
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).take(chars_max).collect()
}

/// Text of several lines without invisible characters.
fn plain(text: &str, chars_max: usize) -> String {
    text.chars().map(|c| if is_hidden(c) && c != '\n' { ' ' } else { c }).take(chars_max).collect()
}

fn heading(notice: &Notice) -> String {
    let about = &notice.request;
    match notice.event {
        // A request that the server made by itself already names the agents in its title.
        Event::Created if !about.kind.is_asked_by_agents() => about.title.clone(),
        Event::Created => format!("{} asks: {}", about.from, about.title),
        Event::Answered => {
            let how = about.answer.map_or("answered", |answer| answer.as_str());
            format!("Answered ({how}): {}", about.title)
        }
        Event::Withdrawn => format!("Withdrawn: {}", about.title),
        Event::Expired => format!("Deadline passed: {}", about.title),
    }
}

/// The text below the heading.
fn details(notice: &Notice) -> String {
    let about = &notice.request;
    let mut lines = vec![format!("{} of {}", about.kind, about.from)];
    if let Some(action) = &about.action {
        lines.push(match &about.directory {
            Some(directory) => format!("{} in {directory}", line(action, SHORT_CHARS_MAX)),
            None => line(action, SHORT_CHARS_MAX),
        });
    }
    lines.extend(about.excerpt.as_ref().map(|text| plain(text, SHORT_CHARS_MAX)));
    lines.extend((!about.choices.is_empty()).then(|| format!("Choices: {}", about.choices.join(", "))));
    lines.extend(about.deadline_at.map(|deadline_at| format!("Until {}", Utc(TimestampMs(deadline_at)))));
    lines.extend(about.answered_by.as_ref().map(|by| format!("By {by}")));
    plain(&lines.join("\n"), SHORT_CHARS_MAX)
}

/// The longest beginning of a text that fits.
fn beginning(text: &str, max: usize, size: fn(&str) -> usize) -> String {
    let mut room = max;
    let fitting = text.chars().take_while(|c| {
        let units = size(c.encode_utf8(&mut [0; 4]));
        let fits = units <= room;
        room = room.saturating_sub(units);
        fits
    });
    fitting.collect()
}

/// The last line of a complete digest: beyond the limit of items there may be more requests.
fn digest_end(mut text: String, items: usize) -> String {
    if items >= DIGEST_ITEMS_MAX {
        text.push_str("And perhaps more: see the list of requests.");
    }
    text.truncate(text.trim_end().len());
    text
}

/// The unit in which Slack and Telegram count.
fn utf16_units(text: &str) -> usize {
    text.encode_utf16().count()
}

impl Note {
    fn items(&self) -> &[Item] {
        match &self.announcement {
            Announcement::One(item) => std::slice::from_ref(item),
            Announcement::Digest(items) => items,
            Announcement::Sample => &[],
        }
    }

    /// The one-tap link, if the notification is about one request.
    pub(crate) fn link(&self) -> Option<&str> {
        match &self.announcement {
            Announcement::One(item) => item.link.as_deref(),
            Announcement::Digest(_) | Announcement::Sample => None,
        }
    }

    pub(crate) fn urgency(&self) -> Urgency {
        self.items().iter().map(|item| item.notice.request.urgency).max().unwrap_or_default()
    }

    pub(crate) fn title(&self) -> String {
        let title = match &self.announcement {
            Announcement::One(item) => heading(&item.notice),
            Announcement::Digest(items) => match items.len() {
                1 => "1 request while you were away".to_owned(),
                many => format!("{many} requests while you were away"),
            },
            Announcement::Sample => "Plenary: this is a test".to_owned(),
        };
        line(&title, TITLE_CHARS_MAX)
    }

    /// The whole content as text, with links if `linked`.
    pub(crate) fn text(&self, linked: bool) -> String {
        self.text_within(linked, usize::MAX, str::len)
    }

    /// The content cut to `max`, measured by `size`: for one request the beginning, for a digest whole items and the
    /// number of the others.
    fn text_within(&self, linked: bool, max: usize, size: fn(&str) -> usize) -> String {
        let link = |item: &Item| item.link.as_ref().filter(|_| linked).map(|url| format!("\nAnswer: {url}"));
        match &self.announcement {
            Announcement::One(item) => {
                let link = link(item).unwrap_or_default();
                let text = beginning(&details(&item.notice), max.saturating_sub(size(&link)), size);
                format!("{text}{link}")
            }
            Announcement::Digest(items) => {
                let lines = items.iter().map(|item| {
                    let heading = line(&heading(&item.notice), TITLE_CHARS_MAX);
                    format!("- {heading}{}\n", link(item).unwrap_or_default())
                });
                let lines: Vec<_> = lines.collect();
                let all = lines.concat();
                if size(&all) <= max {
                    return digest_end(all, items.len());
                }
                let (mut text, mut unlisted) = (String::new(), lines.len());
                for line in lines {
                    if size(&text) + size(&line) + size(MORE) > max {
                        break;
                    }
                    text.push_str(&line);
                    unlisted -= 1;
                }
                format!("{text}And {unlisted} more: see the list of requests.")
            }
            Announcement::Sample => "Notifications of requests arrive here.".to_owned(),
        }
    }

    /// The body of a webhook.
    pub(crate) fn webhook(&self) -> Value {
        let to_json = |item: &Item| {
            let Notice { event, at, request } = &item.notice;
            let mut data = json!({"request": request});
            if let Some(link) = &item.link {
                data["link"] = link.as_str().into();
            }
            json!({"type": event, "timestamp": Utc(TimestampMs(*at)).to_string(), "data": data})
        };
        let timestamp = Utc(self.at).to_string();
        match &self.announcement {
            Announcement::One(item) => to_json(item),
            Announcement::Digest(items) => {
                let items: Vec<_> = items.iter().map(to_json).collect();
                json!({"type": "request.digest", "timestamp": timestamp, "data": {"items": items}})
            }
            Announcement::Sample => json!({"type": "request.test", "timestamp": timestamp, "data": {}}),
        }
    }

    /// The body for ntfy, for a POST to the root of its server.
    pub(crate) fn ntfy(&self, topic: &str) -> Value {
        let mut max = NTFY_TEXT_BYTES_MAX;
        loop {
            let body = self.ntfy_within(topic, max);
            if max == 0 || body.to_string().len() <= NTFY_BYTES_MAX {
                return body;
            }
            max /= 2;
        }
    }

    fn ntfy_within(&self, topic: &str, text_bytes_max: usize) -> Value {
        let priority = match self.urgency() {
            Urgency::Low => 2,
            Urgency::Normal => 3,
            Urgency::High => 5,
        };
        let mut body = json!({
            "topic": topic,
            "title": self.title(),
            // For one request the buttons contain the link.
            "message": self.text_within(self.link().is_none(), text_bytes_max, str::len),
            "priority": priority,
            "tags": ["question"],
        });
        let (Announcement::One(item), Some(link)) = (&self.announcement, self.link()) else { return body };
        body["click"] = link.into();
        let allow = item.notice.request.allow;
        let post = |label: &str, answer: &str| {
            json!({
                "action": "http", "label": label, "url": link, "method": "POST", "clear": true,
                "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": format!("answer={answer}"),
            })
        };
        let mut actions = vec![json!({"action": "view", "label": "Open", "url": link})];
        actions.extend(allow.accept.then(|| post("Accept", "accept")));
        actions.extend(allow.ignore.then(|| post("Ignore", "ignore")));
        body["actions"] = actions.into();
        body
    }

    /// The body for Slack. Text of agents is not interpreted as markup.
    pub(crate) fn slack(&self) -> Value {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let section = |text: String| json!({"type": "section", "text": {"type": "plain_text", "text": text}});
        // For one request the button contains the link.
        let text = self.text_within(self.link().is_none(), SLACK_UNITS_MAX, utf16_units);
        let mut blocks = vec![
            json!({"type": "header", "text": {"type": "plain_text", "text": self.title()}}),
            section(text),
        ];
        if let Some(link) = self.link() {
            let text = json!({"type": "plain_text", "text": "Answer"});
            blocks.push(
                json!({"type": "actions", "elements": [{"type": "button", "text": text, "url": link}]}),
            );
        }
        json!({"text": escaped(&self.title()), "blocks": blocks})
    }

    /// The body of `sendMessage` of Telegram's Bot API: plain text.
    pub(crate) fn telegram(&self, chat_id: &str) -> Value {
        let title = format!("{}\n\n", self.title());
        let max = TELEGRAM_UNITS_MAX - utf16_units(&title);
        let text = format!("{title}{}", self.text_within(self.link().is_none(), max, utf16_units));
        let mut body =
            json!({"chat_id": chat_id, "text": text, "link_preview_options": {"is_disabled": true}});
        if let Some(link) = self.link() {
            body["reply_markup"] = json!({"inline_keyboard": [[{"text": "Answer", "url": link}]]});
        }
        body
    }

    /// The message for the service worker of a browser.
    pub(crate) fn push(&self) -> Vec<u8> {
        let mut max = SHORT_CHARS_MAX;
        loop {
            let text = self.text_within(false, max, |text| text.chars().count());
            let mut body = json!({"title": self.title(), "body": text, "urgency": self.urgency()});
            if let Announcement::One(item) = &self.announcement {
                body["request_id"] = item.notice.request.request_id.as_str().into();
            }
            if let Some(link) = self.link() {
                body["url"] = link.into();
            }
            let body = body.to_string().into_bytes();
            if body.len() <= PUSH_BYTES_MAX || max == 0 {
                return body;
            }
            max /= 2;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use plenary_kernel::AskId;
    use plenary_requests::{Allow, Kind};

    use super::*;
    use crate::wire::RequestSummary;

    pub(crate) fn notice(event: Event) -> Notice {
        Notice {
            event,
            at: 7,
            request: RequestSummary {
                request_id: AskId::of_source("x"),
                kind: Kind::Permission,
                urgency: Urgency::Normal,
                title: "Run <b>it</b>\u{202e} & go".into(),
                from: "@ann.cc".parse().unwrap(),
                to: None,
                action: Some("Bash".into()),
                directory: Some("/src".into()),
                excerpt: Some("cargo\u{1b}test".into()),
                allow: Allow::default(),
                choices: Vec::new(),
                created_at: 7,
                deadline_at: None,
                answer: None,
                answered_by: None,
            },
        }
    }

    fn note() -> Note {
        let item = Item { notice: notice(Event::Created), link: Some("https://p/tap/s".into()) };
        Note { at: TimestampMs(7), announcement: Announcement::One(Box::new(item)) }
    }

    #[test]
    fn text_of_an_agent_is_plain_text_everywhere() {
        let note = note();
        assert_eq!(note.title(), "@ann.cc asks: Run <b>it</b>  & go");
        assert_eq!(note.slack()["text"], "@ann.cc asks: Run &lt;b&gt;it&lt;/b&gt;  &amp; go");
        assert_eq!(note.slack()["blocks"][0]["text"]["type"], "plain_text");
        assert!(note.telegram("1").get("parse_mode").is_none());
        assert!(!note.text(true).contains('\u{1b}'));
    }

    #[test]
    fn ntfy_answers_from_the_notification_itself() {
        let body = note().ntfy("t");
        assert_eq!((&body["click"], &body["priority"]), (&json!("https://p/tap/s"), &json!(3)));
        assert_eq!(body["actions"].as_array().map(Vec::len), Some(3));
        assert_eq!(body["actions"][1]["body"], "answer=accept");
    }

    #[test]
    fn a_digest_has_a_line_for_each() {
        let item = Item { notice: notice(Event::Expired), link: None };
        let note = Note { at: TimestampMs(7), announcement: Announcement::Digest(vec![item; 2]) };
        assert_eq!(note.title(), "2 requests while you were away");
        assert_eq!(note.text(true).lines().count(), 2);
        assert_eq!(note.webhook()["data"]["items"][1]["type"], "request.expired");
    }

    #[test]
    fn a_message_for_a_browser_fits_into_one_record() {
        let mut notice = notice(Event::Created);
        notice.request.excerpt = Some("\u{1f600}".repeat(5_000));
        let item = Item { notice, link: None };
        let note = Note { at: TimestampMs(7), announcement: Announcement::One(Box::new(item)) };
        assert!(note.push().len() <= PUSH_BYTES_MAX);
    }

    fn digest_of(count: usize, title: &str) -> Note {
        let mut notice = notice(Event::Created);
        notice.request.title = title.to_owned();
        let link = |nth| (nth < 20).then(|| format!("https://plenary.example.org/tap/{nth:064}"));
        let items = (0..count).map(|nth| Item { notice: notice.clone(), link: link(nth) }).collect();
        Note { at: TimestampMs(7), announcement: Announcement::Digest(items) }
    }

    #[test]
    fn a_digest_fits_into_the_limit_of_ntfy_in_any_script() {
        for title in ["\u{436}".repeat(60), "\u{8bf7}".repeat(60), "\"\\".repeat(60)] {
            let body = digest_of(60, &title).ntfy("t");
            let text = body["message"].as_str().unwrap();
            assert!(text.len() < 4_096, "{}", text.len());
            assert!(body.to_string().len() <= NTFY_BYTES_MAX);
            assert!(text.contains("\nAnswer: https://plenary.example.org/tap/"), "{text}");
            assert!(text.lines().last().unwrap().contains(" more: see the list of requests."), "{text}");
        }
    }

    #[test]
    fn no_receiver_gets_part_of_a_link_or_misses_items_silently() {
        let note = digest_of(40, &"t".repeat(60));
        let (slack, telegram) = (note.slack(), note.telegram("1"));
        for text in [slack["blocks"][1]["text"]["text"].as_str(), telegram["text"].as_str()] {
            let text = text.unwrap();
            assert!(utf16_units(text) <= TELEGRAM_UNITS_MAX);
            let links: Vec<_> = text.lines().filter(|line| line.starts_with("Answer: ")).collect();
            assert!(!links.is_empty() && links.iter().all(|link| link.len() == links[0].len()), "{text}");
            let listed = text.lines().filter(|line| line.starts_with("- ")).count();
            assert!(
                text.ends_with(&format!("And {} more: see the list of requests.", 40 - listed)),
                "{text}"
            );
        }
        assert!(
            note.slack()["blocks"][1]["text"]["text"].as_str().unwrap().chars().count() <= SLACK_UNITS_MAX
        );
    }

    #[test]
    fn a_digest_for_a_browser_has_whole_lines() {
        let body: Value = serde_json::from_slice(&digest_of(60, &"\u{8bf7}".repeat(60)).push()).unwrap();
        let text = body["body"].as_str().unwrap();
        assert!(
            text.lines().filter(|line| line.starts_with("- ")).all(|line| line.ends_with('\u{8bf7}')),
            "{text}"
        );
        assert!(text.lines().last().unwrap().contains(" more: "), "{text}");
    }
}
