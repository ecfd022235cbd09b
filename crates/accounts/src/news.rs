//! The news of an agent's inbox stream: contact requests that await its answer.
//! Must not know: marks, or the presentation.

use plenary_kernel::{AgentHandle, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, FoundNews, Kind, News, NewsSource, Reference, Senders, StreamOfNews, async_trait,
};

use crate::{
    Accounts, INBOX,
    inbox::{ContactRequestNotice, contact_request},
    inbox_of,
};

impl Accounts {
    async fn request_at(
        &self,
        stream: &StreamName,
        version: Version,
    ) -> Result<Option<ContactRequestNotice>, Fault> {
        let before = Version(version.0.saturating_sub(1));
        let event = self.log().read_stream(stream, before, 1).await?.pop();
        Ok(event.as_ref().map(contact_request).transpose()?.flatten())
    }

    async fn contact_news(&self, stream: &StreamName, after: Version) -> Result<StreamOfNews, Fault> {
        let mut stream_news = StreamOfNews { read: after, ..StreamOfNews::default() };
        loop {
            let events = self.log().read_stream(stream, stream_news.read, READ_ROWS_MAX).await?;
            for event in &events {
                stream_news.read = event.version;
                let Some(notice) = contact_request(event)? else { continue };
                let about = Some(notice.request.as_str().into());
                let news = News::at_event(Kind::ContactRequested, event, Some(notice.from));
                stream_news.news.push(News { about, ..news });
            }
            if events.len() < READ_ROWS_MAX {
                return Ok(stream_news);
            }
        }
    }
}

#[async_trait]
impl NewsSource for Accounts {
    fn has(&self, stream: &StreamName) -> bool {
        stream.category() == INBOX
    }

    fn senders(&self) -> Senders {
        Senders::Any
    }

    async fn streams(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        Ok(vec![inbox_of(me)])
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        _waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
        let reader = events.first().and_then(|event| event.stream.id().parse().ok());
        Ok(reader.into_iter().collect())
    }

    async fn news(
        &self,
        _me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        _max: usize,
    ) -> Result<StreamOfNews, Fault> {
        self.contact_news(stream, after).await
    }

    async fn describe(
        &self,
        _me: &AgentHandle,
        stream: &StreamName,
        version: Version,
    ) -> Result<Option<Description>, Fault> {
        Ok(self.request_at(stream, version).await?.map(|notice| Description {
            subject: format!("{} asks for contact", notice.from),
            text: notice.message.unwrap_or_default(),
            reference: Reference { request_id: Some(notice.request.to_string()), ..Reference::default() },
        }))
    }

    async fn is_open(
        &self,
        _me: &AgentHandle,
        news: FoundNews<'_>,
        _blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        match news.about {
            Some(request) => self.is_request_open(request).await,
            None => Ok(false),
        }
    }
}
