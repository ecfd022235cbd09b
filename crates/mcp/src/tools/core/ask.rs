//! A question to other agents, and their answers until a deadline. Two agents that would wait for each other get an
//! error.
//! Must not know: the question.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use plenary_kernel::AgentHandle;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{
    inbox,
    me::{Me, handle},
    person,
    session::{self, EVENTS, Message},
};
use crate::tools::{
    asking::{Answer, Refusal, ToolCaller},
    bounds,
};

pub(super) const SAYS: &str = "Ask agents and wait for one answer from each: their next message in that session. Refused if they already wait for you. `@OWNER` alone asks your person.";

/// The default wait for answers.
const WAIT_S_DEFAULT: u64 = 60;
/// The longest wait: clients give calls up after about two minutes.
const WAIT_S_MAX: u64 = 110;
/// Longest wait of the inbox, in seconds.
const INBOX_WAIT_S_MAX: u64 = 60;
/// The pause between two reads of the session if the inbox accepts no further wait: the agent's other waits use all slots.
const PAUSE: Duration = Duration::from_secs(1);
/// The query for messages in the inbox; waiting for an answer marks none of them.
const MESSAGES: [(&str, &str); 2] = [("kinds", "session.message"), ("limit", "100")];
/// Maximum size of the text of an answer that is cut, in tokens.
const TEXT_TOKENS_MAX: usize = 1_200;
/// Maximum number of agents in one question.
const ASKED_MAX: usize = 20;

/// The agents in this process that wait for each other.
#[derive(Clone, Default)]
pub(super) struct Asks(Arc<Mutex<OpenAsks>>);

#[derive(Default)]
struct OpenAsks {
    last: u64,
    asks: HashMap<u64, OpenAsk>,
    /// The number of the question that a message answers, by the message's sequence; as long as a question of this asker is
    /// open in this session.
    answers: HashMap<AskedSession, HashMap<u64, u64>>,
}

/// An asker and the id of the session of its question.
type AskedSession = (AgentHandle, String);

/// A question that waits for answers.
struct OpenAsk {
    asker: AgentHandle,
    /// The agents that have not answered.
    missing: Vec<AgentHandle>,
    /// The session of the question and its sequence, once it is sent.
    sent: Option<(AskedSession, u64)>,
}

/// A pending question; dropping it ends it.
struct UnderWay {
    asks: Asks,
    number: u64,
}

impl Asks {
    /// Registers a question. Fails if an asked agent waits for the asker, directly or through others.
    fn begin(&self, asker: &AgentHandle, asked: &[AgentHandle]) -> Result<UnderWay, Refusal> {
        let mut waiting = self.0.lock();
        if let Some(closing) = asked.iter().find(|agent| waiting.leads(agent, asker)) {
            return Err(Refusal::new(
                "would_deadlock",
                format!("{closing} waits for your answer: answer its question with send first, then ask."),
            ));
        }
        waiting.last += 1;
        let number = waiting.last;
        let (asker, missing) = (asker.clone(), asked.to_vec());
        waiting.asks.insert(number, OpenAsk { asker, missing, sent: None });
        Ok(UnderWay { asks: self.clone(), number })
    }
}

impl OpenAsks {
    /// Whether one agent waits for the other, directly or through others.
    fn leads(&self, from: &AgentHandle, to: &AgentHandle) -> bool {
        let (mut seen, mut next) = (HashSet::new(), vec![from]);
        while let Some(agent) = next.pop() {
            if !seen.insert(agent) {
                continue;
            }
            for ask in self.asks.values().filter(|ask| ask.asker == *agent) {
                if ask.missing.contains(to) {
                    return true;
                }
                next.extend(&ask.missing);
            }
        }
        false
    }
}

impl UnderWay {
    /// Notes where the question was sent.
    fn was_sent(&self, session: &str, sequence: u64) {
        if let Some(ask) = self.asks.0.lock().asks.get_mut(&self.number) {
            ask.sent = Some(((ask.asker.clone(), session.to_owned()), sequence));
        }
    }

    /// Whether a message answers this question: a message answers the first question of the asker in its session that
    /// waits for its sender.
    fn takes(&self, from: &AgentHandle, sequence: u64) -> bool {
        let mut open = self.asks.0.lock();
        let OpenAsks { asks, answers, .. } = &mut *open;
        let Some((session, _)) = asks.get(&self.number).and_then(|own| own.sent.clone()) else {
            return false;
        };
        let answers = answers.entry(session.clone()).or_default();
        if let Some(answered) = answers.get(&sequence) {
            return *answered == self.number;
        }
        let waiting = asks.iter_mut().filter_map(|(number, ask)| {
            let (of, asked_at) = ask.sent.as_ref()?;
            let waits = *of == session && *asked_at < sequence && ask.missing.contains(from);
            waits.then_some((*asked_at, *number, ask))
        });
        let Some((_, number, ask)) = waiting.min_by_key(|(asked_at, number, _)| (*asked_at, *number)) else {
            return false;
        };
        ask.missing.retain(|agent| agent != from);
        answers.insert(sequence, number);
        number == self.number
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut open = self.asks.0.lock();
        let sent = open.asks.remove(&self.number).and_then(|ask| ask.sent);
        let Some((session, _)) = sent else { return };
        let is_open = |ask: &OpenAsk| ask.sent.as_ref().is_some_and(|(of, _)| *of == session);
        if !open.asks.values().any(is_open) {
            open.answers.remove(&session);
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Handles
    to: Vec<String>,
    text: String,
    topic: Option<String>,
    /// 60 if absent, at most 110
    timeout_s: Option<u64>,
}

pub(super) async fn ask(asks: Asks, asking: ToolCaller, wanted: Question) -> Answer {
    let seconds = wanted.timeout_s.unwrap_or(WAIT_S_DEFAULT);
    if let [only] = wanted.to.as_slice()
        && is_owner(only)
        && seconds <= WAIT_S_MAX
    {
        return person::ask_owner(&asking, only, &wanted.text, seconds).await;
    }
    let me = Me::of(&asking).await?;
    let mut to = wanted.to.iter().map(|text| handle(text)).collect::<Result<Vec<_>, _>>()?;
    to.sort_unstable();
    to.dedup();
    if to.is_empty() || to.len() > ASKED_MAX || to.contains(&me.handle) {
        let text = format!("`to` must be 1 to {ASKED_MAX} agents other than yourself.");
        return Err(Refusal::arguments(text));
    }
    if seconds > WAIT_S_MAX {
        let text = format!(
            "`timeout_s` is at most {WAIT_S_MAX}. For a longer wait use send: the answer comes to your inbox."
        );
        return Err(Refusal::arguments(text));
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let under_way = asks.begin(&me.handle, &to)?;
    let message = Message { content: wanted.text.into(), topic: wanted.topic.as_deref(), key: None };
    let sent = session::send_to(&asking, &me.handle, &to, &message).await?;
    let (id, at) = (sent["session_id"].as_str().unwrap_or_default(), sent["sequence"].as_u64());
    under_way.was_sent(id, at.unwrap_or_default());
    let answers = collect(&asking, &under_way, &sent, to, until).await?;
    let shown = shown(&sent, answers);
    let told = shown["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A cut answer stays unread: `read` or a hook shows it whole.
    let whole = told.iter().filter(|answer| answer["truncated"] != true);
    for at in whole.filter_map(|answer| answer["sequence"].as_u64()) {
        session::seen(&asking, id, at - 1, at).await;
    }
    Ok(shown)
}

/// Whether the recipient is an owner's people, `@owner`, and not an agent.
fn is_owner(to: &str) -> bool {
    to.strip_prefix('@').is_some_and(|owner| owner.parse::<plenary_kernel::OwnerName>().is_ok())
}

/// The first message of each agent, and the agents without one at the deadline or when the server stops.
async fn collect(
    asking: &ToolCaller,
    under_way: &UnderWay,
    sent: &Value,
    mut missing: Vec<AgentHandle>,
    until: Instant,
) -> Result<(Vec<Value>, Vec<AgentHandle>), Refusal> {
    let id = sent["session_id"].as_str().unwrap_or_default();
    let mut after = sent["sequence"].as_u64().unwrap_or_default();
    let mut answers = Vec::new();
    // Taken before the first read, so that no later message is missed.
    let mut news = News::until_now(asking).await;
    loop {
        let page = asking.read(&EVENTS, &[id], &[("after_sequence", &after.to_string())]).await?;
        let events = page["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        for event in events {
            after = event["sequence"].as_u64().unwrap_or(after);
            let from = |agent: &AgentHandle| event["sender"] == agent.as_str();
            if event["type"] == "session.message"
                && let Some(nth) = missing.iter().position(from)
                && under_way.takes(&missing[nth], after)
            {
                missing.swap_remove(nth);
                answers.push(session::summarize(event));
            }
        }
        let is_over = missing.is_empty() || Instant::now() >= until;
        // After a page with events, reads the next one at once.
        if is_over || (events.is_empty() && !news.of_session(asking, id, until).await) {
            missing.sort_unstable();
            return Ok((answers, missing));
        }
    }
}

/// The messages to the agent after a cursor of its inbox, which wakes waiting calls.
struct News {
    after: Option<String>,
}

impl News {
    /// From the end of the inbox, or, if much is unread, from some point before it.
    async fn until_now(asking: &ToolCaller) -> Self {
        let page = asking.read(&inbox::LIST, &[], &MESSAGES).await.unwrap_or_default();
        Self { after: cursor(&page) }
    }

    /// Waits until there may be news in a session, or until the deadline; false when the server stops.
    async fn of_session(&mut self, asking: &ToolCaller, id: &str, until: Instant) -> bool {
        while Instant::now() < until {
            let left = until - Instant::now();
            let seconds = left.as_secs().saturating_add(1).min(INBOX_WAIT_S_MAX).to_string();
            let mut query = MESSAGES.to_vec();
            query.push(("timeout_s", &seconds));
            query.extend(self.after.as_deref().map(|after| ("after", after)));
            let page = match timeout_at(until, asking.read(&inbox::WAIT, &[], &query)).await {
                Ok(Ok(page)) => page,
                Ok(Err(refused)) if refused.code == "stopping" => return false,
                Ok(Err(_)) => {
                    sleep_until(until.min(Instant::now() + PAUSE)).await;
                    return true;
                }
                Err(_) => return true,
            };
            let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            let is_here = items.iter().any(|item| item["ref"]["session_id"] == id);
            self.after = cursor(&page).or(self.after.take());
            if is_here {
                return true;
            }
        }
        true
    }
}

fn cursor(page: &Value) -> Option<String> {
    page["cursor"].as_str().map(str::to_owned)
}

fn shown(sent: &Value, (mut answers, missing): (Vec<Value>, Vec<AgentHandle>)) -> Value {
    let fitting = match bounds::fitting(&answers) {
        0 => {
            if let Some(first) = answers.first_mut() {
                cut(first, &sent["session_id"]);
            }
            1
        }
        fitting => fitting,
    };
    let mut shown = json!({
        "session_id": sent["session_id"],
        "sequence": sent["sequence"],
        "timed_out": !missing.is_empty(),
    });
    if !missing.is_empty() {
        shown["unanswered"] = missing.iter().map(|agent| agent.as_str()).collect();
    }
    if answers.len() > fitting {
        let left = answers.split_off(fitting);
        shown["next"] = json!({
            "tool": "read", "session_id": sent["session_id"], "after_sequence": sent["sequence"], "left": left.len(),
        });
    }
    shown["answers"] = answers.into();
    shown
}

/// Cuts an answer that is too long for a result, and adds how to read the whole.
fn cut(answer: &mut Value, session: &Value) {
    let text = answer["text"].as_str().unwrap_or_default();
    let (short, _) = bounds::shortened(text, TEXT_TOKENS_MAX);
    let (short, characters) = (short.to_owned(), text.chars().count());
    let before = answer["sequence"].as_u64().unwrap_or_default().saturating_sub(1);
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("parts");
        answer.insert("text".into(), short.into());
        answer.insert("truncated".into(), true.into());
        answer.insert("characters".into(), characters.into());
        let next = json!({"tool": "read", "session_id": session, "after_sequence": before, "limit": 1});
        answer.insert("next".into(), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentHandle {
        format!("@o.{name}").parse().unwrap()
    }

    #[test]
    fn a_circle_of_questions_is_refused_until_one_is_answered() {
        let asks = Asks::default();
        let (a, b, c) = (agent("a"), agent("b"), agent("c"));
        let first = asks.begin(&a, std::slice::from_ref(&b)).unwrap();
        let second = asks.begin(&b, std::slice::from_ref(&c)).unwrap();
        let refused = |asker: &AgentHandle, asked: &AgentHandle| {
            asks.begin(asker, std::slice::from_ref(asked)).err().map(|refusal| refusal.code)
        };
        assert_eq!(refused(&b, &a).as_deref(), Some("would_deadlock"));
        assert_eq!(refused(&c, &a).as_deref(), Some("would_deadlock"));
        assert_eq!(refused(&a, &c), None, "two may ask the same one");
        first.was_sent("s", 1);
        assert!(first.takes(&b, 2));
        assert_eq!(refused(&b, &a), None, "the answered asker waits no more");
        drop((first, second));
        let open = asks.0.lock();
        assert!(open.asks.is_empty() && open.answers.is_empty());
    }

    #[test]
    fn each_message_answers_one_question() {
        let asks = Asks::default();
        let (a, b) = (agent("a"), agent("b"));
        let ask = |sequence| {
            let ask = asks.begin(&a, std::slice::from_ref(&b)).unwrap();
            ask.was_sent("s", sequence);
            ask
        };
        let (second, first) = (ask(6), ask(5));
        assert!(!second.takes(&b, 7), "the first question waits for it, and has not read it");
        assert!(second.takes(&b, 8));
        assert!(first.takes(&b, 7) && !first.takes(&b, 8));
        drop(first);
        let third = ask(6);
        assert!(!third.takes(&b, 7) && !third.takes(&b, 8) && third.takes(&b, 9));
    }
}
