//! The records since an earlier export: all objects with events after its position. A known record may be repeated;
//! none is missing.
//! Must not know: how a record is written.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use plenary_engine::Room;
use plenary_kernel::{Position, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StreamNews};

use super::{
    export::{Exporter, fact, json, whole, window},
    record::Kind,
};
use crate::{
    fact::{event::FactEvent, room::FactRoom},
    index::beside,
    key,
    limits::READS_AT_ONCE,
    moment::Moment,
    package::room::PackageRoom,
    project::room::ProjectRoom,
    session::room::SessionRoom,
    wire::Project,
};

impl Exporter {
    /// Exports the records of a kind that a range of the log changed; `false` after the last range.
    pub(super) async fn news(&mut self, kind: Kind) -> Result<bool, Fault> {
        let at = Position(self.cursor.key.parse().unwrap_or(self.cursor.head.0));
        if at >= self.cursor.head {
            return Ok(false);
        }
        let (end, bytes_before) = (window(at, self.cursor.head, self.rounds), self.piece.len());
        let category = match kind {
            Kind::Project => ProjectRoom::CATEGORY,
            Kind::Package => PackageRoom::CATEGORY,
            Kind::Fact => FactRoom::CATEGORY,
            Kind::Session => SessionRoom::CATEGORY,
        };
        let mut news = self.context.log().streams_between(category, at, end).await?;
        news.retain(|news| self.has(project_of(news)));
        news.sort_by(|a, b| a.stream.id().cmp(b.stream.id()));
        match kind {
            Kind::Project => {
                for news in &news {
                    let project = self.context.project(news.stream.id()).await?;
                    self.line(Kind::Project, news.stream.id(), &json(&Project::from(&*project)));
                }
            }
            Kind::Package => self.new_packages(&news).await?,
            Kind::Fact => self.new_facts(&news).await?,
            Kind::Session => {
                for news in &news {
                    let (project, session) = news.stream.id().split_once('/').unwrap_or_default();
                    self.session(project, session).await?;
                }
            }
        }
        self.rounds.learn(self.piece.len() - bytes_before);
        self.cursor.key = end.0.to_string();
        Ok(true)
    }

    fn has(&self, project: &str) -> bool {
        self.projects.binary_search_by(|(part, _)| part.as_str().cmp(project)).is_ok()
    }

    async fn new_packages(&mut self, news: &[StreamNews]) -> Result<(), Fault> {
        let mut packages = Vec::with_capacity(news.len());
        for chunk in news.chunks(READS_AT_ONCE) {
            let read_packages =
                try_join_all(chunk.iter().map(|news| whole(&self.context, news.stream.id()))).await?;
            packages.extend(read_packages.into_iter().flatten());
        }
        packages.sort_by(|a, b| a.created_at.cmp(&b.created_at));
        packages.into_iter().for_each(|package| self.package(Some(package)));
        Ok(())
    }

    /// Exports the facts that began or ended, in time order, so that a fact comes after the one that it
    /// supersedes.
    async fn new_facts(&mut self, news: &[StreamNews]) -> Result<(), Fault> {
        let mut keys = BTreeSet::new();
        for StreamNews { stream, first, .. } in news {
            let mut after = Version(first.0.saturating_sub(1));
            loop {
                let events = self.context.log().read_stream(stream, after, READ_ROWS_MAX).await?;
                for stored in &events {
                    after = stored.version;
                    for at in changed_keys(&FactEvent::decode(stored)?) {
                        let key = key::join(&[stream.id(), &at]);
                        keys.insert((at, key));
                    }
                }
                if events.len() < READ_ROWS_MAX {
                    break;
                }
            }
        }
        for (_, key) in keys {
            let fact = fact(&self.context, &key).await?;
            self.fact(key.split_once('/').map_or("", |(project, _)| project), fact);
        }
        Ok(())
    }
}

/// The last parts of the keys of the facts that an event changes.
fn changed_keys(event: &FactEvent) -> Vec<String> {
    let plain = |moment: &Moment| moment.as_str().to_owned();
    match event {
        FactEvent::FactAsserted(event) => {
            [Some(&event.valid_from), event.supersedes.as_ref()].into_iter().flatten().map(plain).collect()
        }
        FactEvent::FactInvalidated(event) => vec![plain(&event.valid_from)],
        FactEvent::FactShortened(event) => vec![plain(&event.valid_from)],
        FactEvent::FactMerged(event) => {
            let other = event.outranks.as_ref().map(|outranked| &outranked.fact_id);
            let outranked = other.or(event.outranked.as_ref());
            let aside = outranked.map(|fact_id| beside(event.valid_from, fact_id));
            aside.into_iter().chain([plain(&event.valid_from)]).collect()
        }
    }
}

fn project_of(news: &StreamNews) -> &str {
    let id = news.stream.id();
    id.split_once('/').map_or(id, |(project, _)| project)
}
