//! Reads sessions with their packages (AP-13, AP-15).
//! Must not know: HTTP.

use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};

use crate::{
    Context,
    index::{CALLSIGNS, OF_SESSION, SESSIONS},
    key,
    limits::{LIST_BYTES_MAX, LIST_MAX},
    wire::{Session, Sessions, written},
};

impl Context {
    /// A session, by the keys of its project and itself.
    pub(crate) async fn session(&self, project: &str, session: &str) -> Result<Option<Session>, Fault> {
        let (state, _) = self.session_states().fresh(&key::join(&[project, session])).await?;
        let Some(started) = &state.started else { return Ok(None) };
        let name = self.project(project).await?.project_id.clone();
        let prefix = format!("{project}/{session}/");
        let rows = self.log().read_index(OF_SESSION, &prefix, None, LIST_MAX, Order::Ascending).await?;
        let packages_truncated = match rows.get(LIST_MAX - 1) {
            None => false,
            Some(last) => {
                let after = Some(last.key.as_str());
                !self.log().read_index(OF_SESSION, &prefix, after, 1, Order::Ascending).await?.is_empty()
            }
        };
        Ok(Some(Session {
            session_id: started.session_id.clone(),
            project_id: name,
            actor_id: started.actor_id.clone(),
            actor_type: started.actor_type,
            callsign: Some(started.callsign.clone()).filter(|callsign| !callsign.is_empty()),
            started_at: started.started_at.to_string(),
            ended_at: state.ended_at.map(|at| at.to_string()),
            packages_deposited: rows
                .iter()
                .map(|row| String::from_utf8_lossy(&row.value).into_owned())
                .collect(),
            packages_truncated,
            extensions: started.extensions.clone(),
        }))
    }

    /// The sessions of a project, newest first.
    pub(crate) async fn sessions(
        &self,
        project: &str,
        callsign: Option<&str>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Sessions, Fault> {
        let (index, prefix) = match callsign {
            Some(callsign) => (CALLSIGNS, format!("{project}/{}/", key::part(callsign))),
            None => (SESSIONS, format!("{project}/")),
        };
        let after = cursor.map(|cursor| format!("{prefix}{cursor}"));
        let max = limit.min(READ_ROWS_MAX);
        let rows = self.log().read_index(index, &prefix, after.as_deref(), max, Order::Descending).await?;
        let mut sessions = Vec::with_capacity(rows.len());
        let (mut bytes, mut last, mut is_full) = (0, None, rows.len() == max);
        for row in &rows {
            let session = self.session(project, row.key.rsplit('/').next().unwrap_or_default()).await;
            let session = Fault::skip_corrupt(session, "a damaged session is left out of a list")?.flatten();
            bytes += session.as_ref().map_or(0, written);
            if bytes > LIST_BYTES_MAX && !sessions.is_empty() {
                is_full = true;
                break;
            }
            sessions.extend(session);
            last = Some(row);
        }
        let last = last.filter(|_| is_full);
        let next_cursor = last.map(|row| row.key[prefix.len()..].to_owned());
        Ok(Sessions { sessions, next_cursor })
    }
}
