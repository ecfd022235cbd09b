//! The news of an agent's inbox stream: contact requests that await its answer.
//! Must not know: marks, or the presentation.

use futures_util::future::BoxFuture;
use plenary_kernel::{AgentHandle, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Description, Kind, News, NewsSource, Reference, Senders, StreamOfNews};

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
                stream_news.news.push(News::at_event(Kind::ContactRequested, event, Some(notice.from)));
            }
            if events.len() < READ_ROWS_MAX {
                return Ok(stream_news);
            }
        }
    }
}

impl NewsSource for Accounts {
    fn has(&self, stream: &StreamName) -> bool {
        stream.category() == INBOX
    }

    fn senders(&self) -> Senders {
        Senders::Any
    }

    fn streams<'a>(&'a self, me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>> {
        Box::pin(async move { Ok(vec![inbox_of(me)]) })
    }

    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        _waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>> {
        let reader = events.first().and_then(|event| event.stream.id().parse().ok());
        Box::pin(async move { Ok(reader.into_iter().collect()) })
    }

    fn news<'a>(
        &'a self,
        _me: &'a AgentHandle,
        stream: &'a StreamName,
        after: Version,
        _max: usize,
    ) -> BoxFuture<'a, Result<StreamOfNews, Fault>> {
        Box::pin(self.contact_news(stream, after))
    }

    fn describe<'a>(
        &'a self,
        _me: &'a AgentHandle,
        stream: &'a StreamName,
        version: Version,
    ) -> BoxFuture<'a, Result<Option<Description>, Fault>> {
        Box::pin(async move {
            Ok(self.request_at(stream, version).await?.map(|notice| Description {
                subject: format!("{} asks for contact", notice.from),
                text: notice.message.unwrap_or_default(),
                reference: Reference { request_id: Some(notice.request.to_string()), ..Reference::default() },
            }))
        })
    }

    fn is_open<'a>(
        &'a self,
        _me: &'a AgentHandle,
        stream: &'a StreamName,
        version: Version,
        _blockers: &'a [AgentHandle],
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(async move {
            match self.request_at(stream, version).await? {
                Some(notice) => self.awaits_answer(&notice.request).await,
                None => Ok(false),
            }
        })
    }
}
