//! The news of this room: outcomes of requests, for the requesting agents.
//! Must not know: marks, or the presentation.

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, AskId, Version};
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use plenary_room::{
    Description, FoundNews, Kind, News, NewsSource, Reference, Senders, StreamOfNews, async_trait,
};

use crate::{
    ANSWERS_REPORTED_MAX, Requests,
    event::RequestEvent,
    is_request,
    request_view::RequestReading,
    room::{OUTCOMES, RequestRoom},
    state::Settlement,
    wire::RequestView,
};

/// A settled request that the inbox of `agent` reports, with the version of its settlement.
fn outcome_for(reading: RequestReading, agent: &AgentHandle) -> Option<(RequestView, Version)> {
    let settled_version =
        reading.settled_version.filter(|_| reading.notifies_inbox && reading.view.from == *agent)?;
    Some((reading.view, settled_version))
}

/// The outcome as text.
fn text(view: &RequestView) -> String {
    let Some(answer) = &view.answer else { return "no answer came in time".to_owned() };
    let mut text = format!("{} by {}", answer.answer.as_str(), answer.author());
    if let Some(args) = &answer.args {
        text.push_str(&format!("\nwith {}", serde_json::Value::Object(args.clone())));
    }
    if let Some(text_of_answer) = &answer.text {
        text.push_str(&format!("\n{text_of_answer}"));
    }
    text
}

impl Requests {
    async fn answer_for(
        &self,
        agent: &AgentHandle,
        stream: &StreamName,
    ) -> Result<Option<(RequestView, Version)>, Fault> {
        let Ok(id) = stream.id().parse::<AskId>() else { return Ok(None) };
        Ok(self.read(&id).await?.and_then(|reading| outcome_for(reading, agent)))
    }
}

#[async_trait]
impl NewsSource for Requests {
    fn has(&self, stream: &StreamName) -> bool {
        is_request(stream)
    }

    fn senders(&self) -> Senders {
        Senders::Any
    }

    async fn streams(&self, agent: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        let prefix = format!("{agent}/");
        let log = self.log();
        let rows = log.read_index(OUTCOMES, &prefix, None, ANSWERS_REPORTED_MAX, Order::Descending).await?;
        let ids = rows.iter().filter_map(|row| row.key.rsplit('/').next());
        Ok(ids.map(RequestRoom::stream).collect())
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        _waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
        for stored_event in events {
            let event = RequestEvent::decode(stored_event)?;
            if event.reaches_inbox() {
                return Ok(vec![event.subject().agent.clone()]);
            }
        }
        Ok(Vec::new())
    }

    async fn news(
        &self,
        agent: &AgentHandle,
        stream: &StreamName,
        after: Version,
        _max: usize,
    ) -> Result<StreamOfNews, Fault> {
        let mut stream_news = StreamOfNews { read: after, ..StreamOfNews::default() };
        let Some((_, settled_version)) = self.answer_for(agent, stream).await? else {
            return Ok(stream_news);
        };
        if settled_version > after {
            let before = Version(settled_version.0.saturating_sub(1));
            let event = self.log().read_stream(stream, before, 1).await?.pop();
            stream_news.read = settled_version;
            stream_news.news.extend(event.map(|event| News::at_event(Kind::RequestAnswered, &event, None)));
        }
        Ok(stream_news)
    }

    async fn describe(
        &self,
        agent: &AgentHandle,
        stream: &StreamName,
        version: Version,
    ) -> Result<Option<Description>, Fault> {
        let answer =
            self.answer_for(agent, stream).await?.filter(|(_, settled_version)| *settled_version == version);
        Ok(answer.map(|(view, _)| Description {
            subject: view.title.clone(),
            text: text(&view),
            reference: Reference { request_id: Some(view.request_id.to_string()), ..Reference::default() },
        }))
    }

    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        _blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(news.stream.id()).await?;
        let is_own = state.creation.as_ref().is_some_and(|creation| creation.subject.agent == *me);
        Ok(is_own && state.settlement == Some(Settlement { version: news.version, reaches_inbox: true }))
    }
}
