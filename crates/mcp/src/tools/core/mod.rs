//! The few tools for daily work, each made of several operations.
//! Must not know: how an operation is carried out.

mod ask;
mod channel;
mod claims;
pub(super) mod deposit;
mod handing;
mod inbox;
pub(super) mod me;
mod person;
pub(super) mod project;
pub(super) mod recall;
pub(super) mod results;
mod run;
mod session;
mod talk;
mod whoami;

use super::{ADDS, Card, READS, SETTLES, asking::has, composed};
use crate::{
    operations::Operations,
    tool::{Hints, Tool, Toolset},
};

const CORE: &[Toolset] = &[Toolset::Core];
/// Tools that may end something.
pub(super) const ENDS: Hints =
    Hints { read_only: false, destructive: true, idempotent: false, open_world: false };
/// Tools that run and stop programs of others.
const RUNS: Hints = Hints { open_world: true, ..ENDS };
/// The names of this set: connecting a client allows it to call them.
pub const NAMES: [&str; 12] = [
    "ask",
    "channel",
    "deposit",
    "hand_over",
    "inbox",
    "lock",
    "note_fact",
    "read",
    "recall",
    "run_agent",
    "send",
    "whoami",
];
/// Tools that must be loaded at once: otherwise a model uses a client's own tool of a similar name.
const AT_ONCE: [&str; 2] = ["send", "inbox"];

/// The tools of this set, without those whose operations the server does not have.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let card = |name, says, hints| Card { name, says, hints, sets: CORE };
    let asks = ask::Asks::default();
    let mut tools = vec![
        composed(operations, card("whoami", whoami::SAYS, READS), whoami::whoami),
        composed(operations, card("send", talk::SENDS, ADDS), talk::send),
        composed(operations, card("read", talk::READS, SETTLES), talk::read),
        composed(operations, card("ask", ask::SAYS, ADDS), move |asking, wanted| {
            ask::ask(asks.clone(), asking, wanted)
        }),
        composed(operations, card("lock", handing::LOCKS, ADDS), handing::lock),
        composed(operations, card("hand_over", handing::HANDS_OVER, ADDS), handing::hand_over),
        composed(operations, card("deposit", deposit::DEPOSITS, ADDS), deposit::deposit),
        composed(operations, card("recall", recall::SAYS, READS), recall::recall),
        composed(operations, card("note_fact", deposit::NOTES, ADDS), deposit::note_fact),
        composed(operations, card("channel", channel::SAYS, ADDS), channel::channel),
        composed(operations, card("run_agent", run::SAYS, RUNS), run::run_agent),
    ];
    if has(operations, &inbox::LIST) {
        tools.push(composed(operations, card("inbox", inbox::SAYS, ADDS), inbox::inbox));
    }
    if has(operations, &person::MAKE) {
        let sets = &[Toolset::Requests];
        let card = Card { name: "ask_person", says: person::SAYS, hints: ADDS, sets };
        tools.push(composed(operations, card, person::ask_person));
    }
    for tool in &mut tools {
        tool.output = Some(results::of(&tool.name));
        tool.at_once = AT_ONCE.contains(&tool.name.as_str());
    }
    tools
}
