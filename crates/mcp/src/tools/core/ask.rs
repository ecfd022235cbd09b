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
    WAIT_S_DEFAULT, WAIT_S_MAX, inbox,
    me::{Me, handle},
    person,
    project::listed,
    session::{self, EVENTS, Message},
};
use crate::tools::{
    api::{Answer, Refusal, ToolApi},
    bounds,
};

pub(super) const DESCRIPTION: &str = "Ask agents and wait for one answer from each: their next message in that session. Refused if they already wait for you. `@OWNER` alone asks your person.";

/// Longest wait of the inbox, in seconds.
const INBOX_WAIT_S_MAX: u64 = 60;
/// The pause between two reads of the session if the inbox accepts no further wait: the agent's other waits use all slots.
const PAUSE: Duration = Duration::from_secs(1);
/// The query for messages in the inbox; waiting for an answer marks none of them.
const MESSAGES: [(&str, &str); 2] = [("kinds", "session.message"), ("limit", "100")];
/// Maximum size of the text of an answer that is cut, in tokens.
const TEXT_TOKENS_MAX: usize = 1_200;
/// Maximum number of agents in one question.
const AGENTS_MAX: usize = 20;

/// The agents in this process that wait for each other.
#[derive(Clone, Default)]
pub(super) struct Questions(Arc<Mutex<OpenQuestions>>);

#[derive(Default)]
struct OpenQuestions {
    last: u64,
    questions: HashMap<u64, OpenQuestion>,
    /// The number of the question that a message answers, by the message's sequence; as long as a question of this asker is
    /// open in this session.
    answers: HashMap<QuestionSession, HashMap<u64, u64>>,
}

/// An asker and the id of the session of its question.
type QuestionSession = (AgentHandle, String);

/// A question that waits for answers.
struct OpenQuestion {
    asker: AgentHandle,
    /// The agents that have not answered.
    missing: Vec<AgentHandle>,
    /// The session of the question and its sequence, once it is sent.
    sent: Option<(QuestionSession, u64)>,
}

/// A pending question; dropping it ends it.
struct PendingQuestion {
    questions: Questions,
    number: u64,
}

impl Questions {
    /// Registers a question. Fails if an asked agent waits for the asker, directly or through others.
    fn begin(&self, asker: &AgentHandle, agents: &[AgentHandle]) -> Result<PendingQuestion, Refusal> {
        let mut waiting = self.0.lock();
        if let Some(closing) = agents.iter().find(|agent| waiting.leads(agent, asker)) {
            return Err(Refusal::new(
                "would_deadlock",
                format!("{closing} waits for your answer: answer its question with send first, then ask."),
            ));
        }
        waiting.last += 1;
        let number = waiting.last;
        let (asker, missing) = (asker.clone(), agents.to_vec());
        waiting.questions.insert(number, OpenQuestion { asker, missing, sent: None });
        Ok(PendingQuestion { questions: self.clone(), number })
    }
}

impl OpenQuestions {
    /// Whether one agent waits for the other, directly or through others.
    fn leads(&self, from: &AgentHandle, to: &AgentHandle) -> bool {
        let (mut seen, mut next) = (HashSet::new(), vec![from]);
        while let Some(agent) = next.pop() {
            if !seen.insert(agent) {
                continue;
            }
            for question in self.questions.values().filter(|question| question.asker == *agent) {
                if question.missing.contains(to) {
                    return true;
                }
                next.extend(&question.missing);
            }
        }
        false
    }
}

impl PendingQuestion {
    /// Notes where the question was sent.
    fn set_sent(&self, session: &str, sequence: u64) {
        if let Some(question) = self.questions.0.lock().questions.get_mut(&self.number) {
            question.sent = Some(((question.asker.clone(), session.to_owned()), sequence));
        }
    }

    /// Whether a message answers this question: a message answers the first question of the asker in its session that
    /// waits for its sender.
    fn accepts(&self, from: &AgentHandle, sequence: u64) -> bool {
        let mut open = self.questions.0.lock();
        let OpenQuestions { questions, answers, .. } = &mut *open;
        let Some((session, _)) = questions.get(&self.number).and_then(|own| own.sent.clone()) else {
            return false;
        };
        let answers = answers.entry(session.clone()).or_default();
        if let Some(answered) = answers.get(&sequence) {
            return *answered == self.number;
        }
        let waiting = questions.iter_mut().filter_map(|(number, question)| {
            let (question_session, asked_after) = question.sent.as_ref()?;
            let is_candidate =
                *question_session == session && *asked_after < sequence && question.missing.contains(from);
            is_candidate.then_some((*asked_after, *number, question))
        });
        let Some((_, number, question)) =
            waiting.min_by_key(|(asked_after, number, _)| (*asked_after, *number))
        else {
            return false;
        };
        question.missing.retain(|agent| agent != from);
        answers.insert(sequence, number);
        number == self.number
    }
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        let mut open = self.questions.0.lock();
        let sent = open.questions.remove(&self.number).and_then(|question| question.sent);
        let Some((session, _)) = sent else { return };
        let is_open = |question: &OpenQuestion| {
            question.sent.as_ref().is_some_and(|(question_session, _)| *question_session == session)
        };
        if !open.questions.values().any(is_open) {
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
    /// 50 if absent, at most 110
    timeout_s: Option<u64>,
}

pub(super) async fn ask(questions: Questions, api: ToolApi, arguments: Question) -> Answer {
    let seconds = arguments.timeout_s.unwrap_or(WAIT_S_DEFAULT);
    if let [only] = arguments.to.as_slice()
        && is_owner(only)
        && seconds <= WAIT_S_MAX
    {
        return person::ask_owner(&api, only, &arguments.text, seconds).await;
    }
    let me = Me::of(&api).await?;
    let mut to = arguments.to.iter().map(|text| handle(text)).collect::<Result<Vec<_>, _>>()?;
    to.sort_unstable();
    to.dedup();
    if to.is_empty() || to.len() > AGENTS_MAX || to.contains(&me.handle) {
        let text = format!("`to` must be 1 to {AGENTS_MAX} agents other than yourself.");
        return Err(Refusal::arguments(text));
    }
    if seconds > WAIT_S_MAX {
        let text = format!(
            "`timeout_s` is at most {WAIT_S_MAX}. For a longer wait use send: the answer comes to your inbox."
        );
        return Err(Refusal::arguments(text));
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let under_way = questions.begin(&me.handle, &to)?;
    let topic = arguments.topic.as_deref();
    let message = Message { content: arguments.text.into(), topic, continues: false, key: None };
    let sent = session::send_to(&api, &me.handle, &to, &message).await?;
    let (id, sequence) = (sent["session_id"].as_str().unwrap_or_default(), sent["sequence"].as_u64());
    under_way.set_sent(id, sequence.unwrap_or_default());
    let answers = collect(&api, &under_way, &sent, to, until).await?;
    let shown = shown(&sent, answers);
    // A cut answer stays unread: `read` or a hook shows it whole.
    let whole = listed(&shown, "answers").iter().filter(|answer| answer["truncated"] != true);
    for answer_sequence in whole.filter_map(|answer| answer["sequence"].as_u64()) {
        session::mark_seen(&api, id, answer_sequence - 1, answer_sequence).await;
    }
    Ok(shown)
}

/// Whether the recipient is an owner's people, `@owner`, and not an agent.
fn is_owner(to: &str) -> bool {
    to.strip_prefix('@').is_some_and(|owner| owner.parse::<plenary_kernel::OwnerName>().is_ok())
}

/// The first message of each agent, and the agents without one at the deadline or when the server stops.
async fn collect(
    api: &ToolApi,
    under_way: &PendingQuestion,
    sent: &Value,
    mut missing: Vec<AgentHandle>,
    until: Instant,
) -> Result<(Vec<Value>, Vec<AgentHandle>), Refusal> {
    let id = sent["session_id"].as_str().unwrap_or_default();
    let mut after = sent["sequence"].as_u64().unwrap_or_default();
    let mut answers = Vec::new();
    // An answer wakes it, also if another coding session of the agent spoke in the session meanwhile.
    let all = &api.without(session::CODING_SESSION);
    // Taken before the first read, so that no later message is missed.
    let mut news = News::until_now(all).await;
    loop {
        let page = api.read(&EVENTS, &[id], &[("after_sequence", &after.to_string())]).await?;
        let events = listed(&page, "events");
        for event in events {
            after = event["sequence"].as_u64().unwrap_or(after);
            let from = |agent: &AgentHandle| event["sender"] == agent.as_str();
            if event["type"] == "session.message"
                && let Some(nth) = missing.iter().position(from)
                && under_way.accepts(&missing[nth], after)
            {
                missing.swap_remove(nth);
                answers.push(session::summarize(event));
            }
        }
        let is_over = missing.is_empty() || Instant::now() >= until;
        // After a page with events, reads the next one at once.
        if is_over || (events.is_empty() && !news.of_session(all, id, until).await) {
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
    async fn until_now(api: &ToolApi) -> Self {
        let page = api.read(&inbox::LIST, &[], &MESSAGES).await.unwrap_or_default();
        Self { after: cursor(&page) }
    }

    /// Waits until there may be news in a session, or until the deadline; false when the server stops.
    async fn of_session(&mut self, api: &ToolApi, id: &str, until: Instant) -> bool {
        while Instant::now() < until {
            let remaining = until - Instant::now();
            let seconds = remaining.as_secs().saturating_add(1).min(INBOX_WAIT_S_MAX).to_string();
            let mut query = MESSAGES.to_vec();
            query.push(("timeout_s", &seconds));
            query.extend(self.after.as_deref().map(|after| ("after", after)));
            let page = match timeout_at(until, api.read(&inbox::WAIT, &[], &query)).await {
                Ok(Ok(page)) => page,
                Ok(Err(refused)) if refused.code == "stopping" => return false,
                Ok(Err(_)) => {
                    sleep_until(until.min(Instant::now() + PAUSE)).await;
                    return true;
                }
                Err(_) => return true,
            };
            let is_here = listed(&page, "items").iter().any(|item| item["ref"]["session_id"] == id);
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
        shown["note"] = "A later answer comes to your inbox.".into();
    }
    if answers.len() > fitting {
        let rest = answers.split_off(fitting);
        shown["next"] = json!({
            "tool": "read", "session_id": sent["session_id"], "after_sequence": sent["sequence"], "left": rest.len(),
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
        let questions = Questions::default();
        let (a, b, c) = (agent("a"), agent("b"), agent("c"));
        let first = questions.begin(&a, std::slice::from_ref(&b)).unwrap();
        let second = questions.begin(&b, std::slice::from_ref(&c)).unwrap();
        let refused = |asker: &AgentHandle, agent: &AgentHandle| {
            questions.begin(asker, std::slice::from_ref(agent)).err().map(|refusal| refusal.code)
        };
        assert_eq!(refused(&b, &a).as_deref(), Some("would_deadlock"));
        assert_eq!(refused(&c, &a).as_deref(), Some("would_deadlock"));
        assert_eq!(refused(&a, &c), None, "two may ask the same one");
        first.set_sent("s", 1);
        assert!(first.accepts(&b, 2));
        assert_eq!(refused(&b, &a), None, "the answered asker waits no more");
        drop((first, second));
        let open = questions.0.lock();
        assert!(open.questions.is_empty() && open.answers.is_empty());
    }

    #[test]
    fn each_message_answers_one_question() {
        let questions = Questions::default();
        let (a, b) = (agent("a"), agent("b"));
        let begin = |sequence| {
            let question = questions.begin(&a, std::slice::from_ref(&b)).unwrap();
            question.set_sent("s", sequence);
            question
        };
        let (second, first) = (begin(6), begin(5));
        assert!(!second.accepts(&b, 7), "the first question waits for it, and has not read it");
        assert!(second.accepts(&b, 8));
        assert!(first.accepts(&b, 7) && !first.accepts(&b, 8));
        drop(first);
        let third = begin(6);
        assert!(!third.accepts(&b, 7) && !third.accepts(&b, 8) && third.accepts(&b, 9));
    }
}
