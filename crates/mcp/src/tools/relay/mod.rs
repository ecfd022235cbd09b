//! The nine tools of the protocol's reference, with its parameters and its results, so that prompts written for it
//! work (wire.md 0.5). Facts are `relation` and `object` there.
//! Must not know: how context is stored.

mod context;
mod facts;

use super::{ADDS, Card, READS, SETTLES, composed, core::ENDS};
use crate::{
    operations::Operations,
    tool::{Tool, Toolset},
};

const CONTEXT: &[Toolset] = &[Toolset::Context];

/// The tools of these names.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let card = |name, description, hints| Card { name, description, hints, sets: CONTEXT };
    let start = card("relay_session_start", "Begin a session; brings recent packages.", ADDS);
    let pull = card("relay_pull_context", "Pull packages.", READS);
    let deposit = card("relay_deposit", "Deposit a package.", ADDS);
    let status = card("relay_status", "Recent packages and reviews.", READS);
    let assert = card("relay_assert_fact", "Assert a fact.", SETTLES);
    let invalidate = card("relay_invalidate_fact", "End facts.", ENDS);
    let query = card("relay_query_facts", "Query facts.", READS);
    let orient = card("relay_session_orient", "Wake-up bundle of a project.", SETTLES);
    let orchestrate = card("relay_orchestrate", "Digest across packages.", READS);
    vec![
        composed(operations, start, context::session_start),
        composed(operations, pull, context::pull_context),
        composed(operations, deposit, context::deposit),
        composed(operations, status, context::status),
        composed(operations, assert, facts::assert_fact),
        composed(operations, invalidate, facts::invalidate_fact),
        composed(operations, query, facts::query_facts),
        composed(operations, orient, context::session_orient),
        composed(operations, orchestrate, context::orchestrate),
    ]
}
