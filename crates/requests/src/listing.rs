//! Lists of requests: open ones, oldest first, and closed ones, newest first.
//! Must not know: HTTP.

use plenary_accounts::TokenOwner;
use plenary_kernel::{AgentHandle, AskId, OwnerName};
use plenary_log::{Fault, IndexRow, Order};

use crate::{
    LOOKED_AT_MAX, READ_FOR_PERSON_MAX, Requests,
    reading::shown,
    room::{CLOSED, EVERYBODY, Row, WAITING},
    wire::{Counts, Kind, Phase, RequestPage},
};

/// The query of a list.
#[derive(Debug, Clone)]
pub(crate) struct RequestQuery {
    pub(crate) state: Phase,
    pub(crate) kind: Option<Kind>,
    pub(crate) agent: Option<AgentHandle>,
    pub(crate) to: Option<AgentHandle>,
    pub(crate) owner: Option<OwnerName>,
    pub(crate) limit: usize,
    pub(crate) after: Option<String>,
}

impl RequestQuery {
    fn fits(&self, row: &Row) -> bool {
        self.kind.is_none_or(|kind| kind == row.kind)
            && self.agent.as_ref().is_none_or(|agent| *agent == row.agent)
    }
}

impl Requests {
    /// Up to [`LOOKED_AT_MAX`] rows of a list.
    pub(crate) async fn rows(
        &self,
        index: &str,
        prefix: &str,
        order: Order,
    ) -> Result<Vec<(String, Row)>, Fault> {
        let (mut found, mut rows) = (Vec::new(), self.log().index_rows(index, prefix, order).past_damage());
        while found.len() < LOOKED_AT_MAX
            && let Some(IndexRow { key, value }) = rows.next().await?
        {
            let row = serde_json::from_slice(&value)
                .map_err(|error| Fault::Corrupt(format!("{key} in {index}: {error}")));
            let row = Fault::skip_corrupt(row, "a damaged row is left out of a list of requests")?;
            found.extend(row.map(|row| (key[prefix.len()..].to_owned(), row)));
        }
        Ok(found)
    }

    /// A page of the requests that a caller may see.
    pub(crate) async fn page(&self, caller: &TokenOwner, query: &RequestQuery) -> Result<RequestPage, Fault> {
        let (list, own) = match caller {
            TokenOwner::Operator => (query.owner.as_ref().map_or(EVERYBODY, OwnerName::as_str), None),
            TokenOwner::Owner(owner) => (owner.as_str(), None),
            TokenOwner::Agent(agent) => (agent.owner(), Some(agent)),
        };
        let prefix = format!("{list}/");
        let is_of_caller = |row: &Row| own.is_none_or(|own| *own == row.agent);
        let mut waiting = self.rows(WAITING, &prefix, Order::Ascending).await?;
        waiting.retain(|(_, row)| is_of_caller(row));
        let now = self.now();
        // A snooze is not visible to the requesting agent.
        let is_snoozed = |row: &Row| own.is_none() && row.snoozed_until.is_some_and(|until| now < until);
        let snoozed = waiting.iter().filter(|(_, row)| is_snoozed(row)).count();
        let counts = Counts { open: waiting.len() - snoozed, snoozed };
        let is_after = |key: &str, order| match (&query.after, order) {
            (None, _) => true,
            (Some(after), Order::Ascending) => key > after.as_str(),
            (Some(after), Order::Descending) => key < after.as_str(),
        };
        let (rows, order) = match query.state {
            Phase::Open | Phase::Snoozed => {
                let snoozed_wanted = query.state == Phase::Snoozed;
                waiting.retain(|(_, row)| is_snoozed(row) == snoozed_wanted);
                (waiting, Order::Ascending)
            }
            Phase::Answered | Phase::Withdrawn | Phase::Expired => {
                let mut closed = self.rows(CLOSED, &prefix, Order::Descending).await?;
                closed.retain(|(_, row)| is_of_caller(row) && row.phase == query.state);
                (closed, Order::Descending)
            }
        };
        let (mut requests, mut next_cursor, mut last) = (Vec::new(), None, None);
        let fitting = rows.iter().filter(|(key, row)| is_after(key, order) && query.fits(row));
        for (read, (key, _)) in fitting.enumerate() {
            // The addressed person is stored in the request only, not in the index.
            if requests.len() == query.limit || (query.to.is_some() && read == READ_FOR_PERSON_MAX) {
                next_cursor = last;
                break;
            }
            let id = key.rsplit('/').next().and_then(|id| id.parse::<AskId>().ok());
            let id = id.ok_or_else(|| Fault::Corrupt(format!("{key} in a list of requests")))?;
            // The state decides: the index may be slightly older.
            let seen = self.seen_by(caller, &id).await;
            let seen = Fault::skip_corrupt(seen, "a damaged request is left out of a list")?.flatten();
            if let Some(seen) = seen {
                let view = shown(caller, seen);
                if view.state == query.state && (query.to.is_none() || view.to == query.to) {
                    requests.push(view);
                }
            }
            last = Some(key.clone());
        }
        Ok(RequestPage { requests, next_cursor, counts })
    }
}
