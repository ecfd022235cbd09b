//! The few tools for daily work, each made of several operations.
//! Must not know: how an operation is carried out.

mod ask;
mod channel;
mod claims;
pub(super) mod deposit;
mod handover;
mod inbox;
pub(super) mod known;
pub(super) mod me;
mod person;
pub(super) mod project;
pub(super) mod recall;
pub(super) mod results;
mod run;
mod session;
mod talk;
mod whoami;

use super::{ADDS, Card, READS, SETTLES, api::has, composed};
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
/// The default wait of a tool for an answer, in seconds: programs with the SDK for TypeScript give a call up after 60 unless
/// they set another limit, and would not get the result.
const WAIT_S_DEFAULT: u64 = 50;
const _: () = assert!(WAIT_S_DEFAULT < 60, "the result comes before such a client gives up");
/// The longest wait: clients of models give a call up after about two minutes.
const WAIT_S_MAX: u64 = 110;
/// Tools that must be loaded at once: otherwise a model uses a client's own tool of a similar name.
const AT_ONCE: [&str; 2] = ["send", "inbox"];

/// The tools of this set, without those whose operations the server does not have.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let card = |name, description, hints| Card { name, description, hints, sets: CORE };
    let questions = ask::Questions::default();
    let mut tools = vec![
        composed(operations, card("whoami", whoami::DESCRIPTION, READS), whoami::whoami),
        composed(operations, card("send", talk::SEND_DESCRIPTION, ADDS), talk::send),
        composed(operations, card("read", talk::READ_DESCRIPTION, SETTLES), talk::read),
        composed(operations, card("ask", ask::DESCRIPTION, ADDS), move |api, arguments| {
            ask::ask(questions.clone(), api, arguments)
        }),
        composed(operations, card("lock", handover::LOCK_DESCRIPTION, ADDS), handover::lock),
        composed(operations, card("hand_over", handover::HAND_OVER_DESCRIPTION, ADDS), handover::hand_over),
        composed(operations, card("deposit", deposit::DEPOSIT_DESCRIPTION, ADDS), deposit::deposit),
        composed(operations, card("recall", recall::DESCRIPTION, READS), recall::recall),
        composed(operations, card("note_fact", deposit::NOTE_DESCRIPTION, ADDS), deposit::note_fact),
        composed(operations, card("channel", channel::DESCRIPTION, ADDS), channel::channel),
        composed(operations, card("run_agent", run::DESCRIPTION, RUNS), run::run_agent),
    ];
    if has(operations, &inbox::LIST) {
        tools.push(composed(operations, card("inbox", inbox::DESCRIPTION, ADDS), inbox::inbox));
    }
    if has(operations, &person::MAKE) {
        let sets = &[Toolset::Requests];
        let card = Card { name: "ask_person", description: person::DESCRIPTION, hints: ADDS, sets };
        tools.push(composed(operations, card, person::ask_person));
    }
    for tool in &mut tools {
        tool.output = Some(results::of(&tool.name));
        tool.at_once = AT_ONCE.contains(&tool.name.as_str());
    }
    tools
}
