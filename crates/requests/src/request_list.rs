//! Lists of requests: open ones, oldest first, and closed ones, newest first.
//! Must not know: HTTP.

use plenary_accounts::TokenOwner;
use plenary_kernel::{AgentHandle, AskId, OwnerName};
use plenary_log::{Fault, IndexRow, Order};

use crate::{
    READ_FOR_PERSON_MAX, ROWS_READ_MAX, Requests,
    request_view::view_for,
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
    fn matches(&self, row: &Row) -> bool {
        self.kind.is_none_or(|kind| kind == row.kind)
            && self.agent.as_ref().is_none_or(|agent| *agent == row.agent)
    }
}

impl Requests {
    /// Up to [`ROWS_READ_MAX`] rows of a list.
    pub(crate) async fn rows(
        &self,
        index: &str,
        prefix: &str,
        order: Order,
    ) -> Result<Vec<(String, Row)>, Fault> {
        let (mut entries, mut rows) = (Vec::new(), self.log().index_rows(index, prefix, order).past_damage());
        while entries.len() < ROWS_READ_MAX
            && let Some(IndexRow { key, value }) = rows.next().await?
        {
            let row = serde_json::from_slice(&value)
                .map_err(|error| Fault::Corrupt(format!("{key} in {index}: {error}")));
            let row = Fault::skip_corrupt(row, "a damaged row is left out of a list of requests")?;
            entries.extend(row.map(|row| (key[prefix.len()..].to_owned(), row)));
        }
        Ok(entries)
    }

    /// A page of the requests that a caller may see.
    pub(crate) async fn page(&self, caller: &TokenOwner, query: &RequestQuery) -> Result<RequestPage, Fault> {
        let (list, own_agent) = match caller {
            TokenOwner::Operator => (query.owner.as_ref().map_or(EVERYBODY, OwnerName::as_str), None),
            TokenOwner::Owner(owner) => (owner.as_str(), None),
            TokenOwner::Agent(agent) => (agent.owner(), Some(agent)),
        };
        let prefix = format!("{list}/");
        let is_of_caller = |row: &Row| own_agent.is_none_or(|own_agent| *own_agent == row.agent);
        let mut waiting = self.rows(WAITING, &prefix, Order::Ascending).await?;
        waiting.retain(|(_, row)| is_of_caller(row));
        let now = self.now();
        // A snooze is not visible to the requesting agent.
        let is_snoozed =
            |row: &Row| own_agent.is_none() && row.snoozed_until.is_some_and(|until| now < until);
        let snoozed = waiting.iter().filter(|(_, row)| is_snoozed(row)).count();
        let counts = Counts { open: waiting.len() - snoozed, snoozed };
        let is_after = |key: &str, order| match (&query.after, order) {
            (None, _) => true,
            (Some(after), Order::Ascending) => key > after.as_str(),
            (Some(after), Order::Descending) => key < after.as_str(),
        };
        let (rows, order) = match query.state {
            Phase::Open | Phase::Snoozed => {
                let wants_snoozed = query.state == Phase::Snoozed;
                waiting.retain(|(_, row)| is_snoozed(row) == wants_snoozed);
                (waiting, Order::Ascending)
            }
            Phase::Answered | Phase::Withdrawn | Phase::Expired => {
                let mut closed_rows = self.rows(CLOSED, &prefix, Order::Descending).await?;
                closed_rows.retain(|(_, row)| is_of_caller(row) && row.phase == query.state);
                (closed_rows, Order::Descending)
            }
        };
        let (mut requests, mut next_cursor, mut last) = (Vec::new(), None, None);
        let matching_rows = rows.iter().filter(|(key, row)| is_after(key, order) && query.matches(row));
        for (rows_read, (key, _)) in matching_rows.enumerate() {
            // The addressed person is stored in the request only, not in the index.
            if requests.len() == query.limit || (query.to.is_some() && rows_read == READ_FOR_PERSON_MAX) {
                next_cursor = last;
                break;
            }
            let id = key.rsplit('/').next().and_then(|id| id.parse::<AskId>().ok());
            let id = id.ok_or_else(|| Fault::Corrupt(format!("{key} in a list of requests")))?;
            // The state decides: the index may be slightly older.
            let reading = self.reading_for(caller, &id).await;
            let reading = Fault::skip_corrupt(reading, "a damaged request is left out of a list")?.flatten();
            if let Some(reading) = reading {
                let view = view_for(caller, reading);
                if view.state == query.state && (query.to.is_none() || view.to == query.to) {
                    requests.push(view);
                }
            }
            last = Some(key.clone());
        }
        Ok(RequestPage { requests, next_cursor, counts })
    }
}
