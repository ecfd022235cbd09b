//! Facts of several servers: whichever comes first and however often, the same intervals come of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use plenary_accounts::{Accounts, Actor, Authority, TokenDigest};
use plenary_engine::{Room, SystemClock};
use plenary_kernel::Clock;
use plenary_log::{Batch, open_memory};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Config, Context,
    attribution::Attribution,
    fact::{
        event::{Ended, FactEvent},
        room::FactRoom,
        state::FactState,
    },
    history::Asked,
    moment::Moment,
    transfer::{
        Exporter, Import, Importer, Mode,
        fact::ArrivingFact,
        merge::{FoundFact, Merge, Neighbours, merge},
    },
};

const PROJECT: &str = "p:nick";

fn at(second: u64) -> Moment {
    Moment::parse(&text(second)).unwrap()
}

fn text(second: u64) -> String {
    format!("2026-04-10T12:00:{second:02}Z")
}

/// A fact of the one subject and predicate, by its id, its first moment and its last.
fn fact(id: &str, from: u64, to: Option<u64>) -> Value {
    json!({"fact_id": id, "project_id": "p", "subject": "s", "predicate": "is", "value": id,
        "valid_from": text(from), "valid_to": to.map(text), "created_at": text(from),
        "asserted_by": {"id": "nick", "type": "agent"}})
}

fn arriving(id: &str, from: u64, to: Option<u64>) -> ArrivingFact {
    ArrivingFact::read(&fact(id, from, to).to_string()).unwrap()
}

fn found(id: &str, from: u64, to: Option<u64>) -> FoundFact {
    let document = arriving(id, from, to).document;
    FoundFact { fact_id: id.to_owned(), document, ended: to.map(at) }
}

fn merged(arriving: &ArrivingFact, around: &Neighbours) -> Merge {
    merge(&Actor::Operator, arriving, arriving.document.clone(), around)
}

/// What is written of a new fact: `+` a fact with its end, `-` the end of one, `>` one that another outranks.
fn written(arriving: &ArrivingFact, around: &Neighbours) -> Vec<String> {
    let Merge::New(events) = merged(arriving, around) else { panic!("it is new") };
    let second = |moment: Moment| moment.as_str()[17..19].trim_start_matches('0').to_owned();
    let tell = |event: &FactEvent| match event {
        FactEvent::FactAsserted(event) => {
            let over = event.supersedes.map(|since| format!(" over {}", second(since)));
            format!("+{}{}", second(event.valid_from), over.unwrap_or_default())
        }
        FactEvent::FactInvalidated(event) => {
            format!("-{}..{}", second(event.valid_from), second(event.valid_to))
        }
        FactEvent::FactShortened(event) => {
            format!("-{}..{} was {}", second(event.valid_from), second(event.ended.at), second(event.was))
        }
        FactEvent::FactMerged(event) => {
            let end = event.ended.as_ref().map_or(String::new(), |ended| second(ended.at));
            let other = event.outranks.as_ref().map(|other| format!(" over {}", other.fact_id));
            let mark = if event.outranked.is_some() { '>' } else { '+' };
            let last = if event.is_last { " last" } else { "" };
            format!("{mark}{}..{end}{}{last}", second(event.valid_from), other.unwrap_or_default())
        }
    };
    events.iter().map(tell).collect()
}

#[test]
fn ap_75_a_later_fact_ends_the_one_before_it_where_it_begins() {
    let current = Neighbours { before: Some((at(1), None)), ..Neighbours::default() };
    assert_eq!(written(&arriving("b", 5, None), &current), ["+5 over 1"]);
    assert_eq!(written(&arriving("b", 5, Some(7)), &current), ["+5 over 1", "-5..7"]);
    let ended = Neighbours { before: Some((at(1), Some(at(6)))), ..Neighbours::default() };
    assert_eq!(written(&arriving("b", 5, None), &ended), ["-1..5 was 6", "+5"]);
    assert_eq!(written(&arriving("b", 6, None), &ended), ["+6"]);
}

#[test]
fn ap_75_an_earlier_fact_ends_where_the_next_one_begins() {
    let after = Some(Ended { at: at(5), text: text(5) });
    let around = Neighbours { after, before: Some((at(1), Some(at(4)))), ..Neighbours::default() };
    assert_eq!(written(&arriving("b", 3, None), &around), ["-1..3 was 4", "+3..5"]);
    assert_eq!(written(&arriving("b", 3, Some(9)), &around), ["-1..3 was 4", "+3..5"]);
    assert_eq!(written(&arriving("b", 4, Some(5)), &around), ["+4..5"]);
    let alone = Neighbours { before: None, ..around };
    assert_eq!(written(&arriving("b", 3, Some(4)), &alone), ["+3..4"]);
}

#[test]
fn ap_75_of_two_that_begin_together_the_greater_id_outranks() {
    let current = Neighbours { same: Some(found("b", 3, None)), ..Neighbours::default() };
    assert_eq!(written(&arriving("a", 3, None), &current), [">3..3"]);
    assert_eq!(written(&arriving("c", 3, None), &current), ["+3.. over b last"]);
    assert_eq!(written(&arriving("c", 3, Some(4)), &current), ["+3..4 over b last"]);
    let after = Some(Ended { at: at(5), text: text(5) });
    let between = Neighbours { same: Some(found("b", 3, Some(4))), after, ..Neighbours::default() };
    assert_eq!(written(&arriving("c", 3, None), &between), ["+3..5 over b"], "the end of b is not its own");
}

#[test]
fn ap_83_what_is_known_changes_nothing_but_by_an_earlier_end() {
    let here = |to| Neighbours { same: Some(found("b", 3, to)), ..Neighbours::default() };
    assert_eq!(merged(&arriving("b", 3, None), &here(Some(5))), Merge::Known);
    assert_eq!(merged(&arriving("b", 3, Some(5)), &here(Some(5))), Merge::Known);
    assert_eq!(merged(&arriving("b", 3, Some(6)), &here(Some(5))), Merge::Known);
    let ends = |arriving: &ArrivingFact, around: &Neighbours| match merged(arriving, around) {
        Merge::Ends(event) => *event,
        other @ (Merge::Known | Merge::Differs | Merge::New(_)) => panic!("{other:?}"),
    };
    assert!(matches!(
        ends(&arriving("b", 3, Some(4)), &here(Some(5))),
        FactEvent::FactShortened(event) if event.ended.at == at(4) && event.was == at(5)
    ));
    assert!(matches!(
        ends(&arriving("b", 3, Some(5)), &here(None)),
        FactEvent::FactInvalidated(event) if event.valid_to == at(5)
    ));
    let mut other = fact("b", 3, None);
    other["value"] = json!("other");
    let other = ArrivingFact::read(&other.to_string()).unwrap();
    assert_eq!(merged(&other, &here(None)), Merge::Differs);
    let outranked = arriving("b", 3, None).document;
    let around =
        Neighbours { same: Some(found("c", 3, None)), outranked: Some(outranked), ..Neighbours::default() };
    assert_eq!(merged(&arriving("b", 3, Some(9)), &around), Merge::Known);
}

/// A server of its own.
async fn server() -> Context {
    let log = open_memory().log;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo_x"));
    let index = plenary_retrieval_sqlite::open_memory().unwrap();
    let context = Context::new(log, clock, accounts, index, None, Config::default());
    let project = json!({"record": "project", "project": "nick:p", "data": {"project_id": "p"}});
    assert_eq!(import(&context, &project.to_string(), Mode::Skip).await["imported"], 1);
    context
}

async fn import(context: &Context, lines: &str, mode: Mode) -> Value {
    let authority = Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo_x")) };
    let import = Import { authority: &authority, mode, attribution: Attribution::Open };
    let mut importer = Importer::new(context, import, false);
    for (nth, line) in lines.lines().enumerate() {
        importer.line(nth as u64 + 1, Some(line.as_bytes())).await.unwrap_or_else(|_| panic!("{line}"));
    }
    let report = importer.finish().await.unwrap_or_else(|_| panic!("no report"));
    let report = serde_json::to_value(&report).unwrap();
    assert_eq!(report["refused_count"], 0, "{report}");
    report
}

async fn export(context: &Context) -> String {
    let state = context.project(PROJECT).await.unwrap();
    let projects = vec![(PROJECT.to_owned(), state)];
    let mut exporter = Exporter::new(context.clone(), projects, None, None).await.unwrap();
    let mut text = String::new();
    while let Some(piece) = exporter.next().await.unwrap() {
        text.push_str(&piece);
    }
    text
}

async fn facts(context: &Context, asked: &Asked<'_>) -> Vec<Value> {
    let page = context.facts(PROJECT, asked, 1_000).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.facts.iter().map(|fact| serde_json::from_str(fact).unwrap()).collect()
}

/// Everything that a reader is shown: what is current, what was at each second, and all there was.
async fn seen(context: &Context) -> Vec<Vec<Value>> {
    let mut seen = vec![facts(context, &Asked::default()).await];
    for second in 0..SECONDS + 2 {
        seen.push(facts(context, &Asked { as_of: Some(at(second)), ..Asked::default() }).await);
    }
    seen.push(facts(context, &Asked { include_ended: true, ..Asked::default() }).await);
    seen
}

const SECONDS: u64 = 6;

/// What is to be seen at each second of these facts: told apart from the deciders.
fn expected(facts: &BTreeSet<(u64, String, Option<u64>)>) -> Vec<Option<String>> {
    let mut ends = BTreeMap::<(u64, String), u64>::new();
    for (from, id, to) in facts {
        let end = ends.entry((*from, id.clone())).or_insert(u64::MAX);
        *end = (*end).min(to.unwrap_or(u64::MAX));
    }
    (0..SECONDS + 2)
        .map(|second| {
            let last = ends.range(..(second + 1, String::new())).next_back()?;
            (second < *last.1).then(|| last.0.1.clone())
        })
        .collect()
}

/// A fact by number, with the server that has it, and perhaps an end that this server knows.
fn known() -> impl Strategy<Value = Vec<(usize, usize, Option<u64>)>> {
    prop::collection::vec((0..3_usize, 0..8_usize, prop::option::of(1..4_u64)), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn ap_75_servers_agree_whatever_the_order(
        begins in prop::collection::vec(0..SECONDS, 8),
        known in known(),
        trips in prop::collection::vec((0..3_usize, 0..3_usize), 0..8),
    ) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let servers = [server().await, server().await, server().await];
            let mut all = BTreeSet::new();
            for (server, nth, lasts) in known {
                let (id, from) = (format!("f{nth}"), begins[nth]);
                let to = lasts.map(|lasts| from + lasts);
                import(&servers[server], &fact(&id, from, to).to_string(), Mode::Skip).await;
                all.insert((from, id, to));
            }
            let mut modes = Mode::ALL.iter().cycle();
            for (from, to) in trips {
                import(&servers[to], &export(&servers[from]).await, *modes.next().unwrap()).await;
            }
            for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1)] {
                import(&servers[to], &export(&servers[from]).await, *modes.next().unwrap()).await;
            }
            let first = seen(&servers[0]).await;
            for server in &servers {
                assert_eq!(seen(server).await, first);
                // What a decision would go by is what readers are shown.
                let (state, _) = server.fact_states().state(&format!("{PROJECT}/s/is")).await.unwrap();
                let current = first[0].first().map(|fact| fact["valid_from"].clone());
                assert_eq!(state.current.as_ref().map(|one| json!(one.valid_from.to_string())), current);
            }
            let ids = first.last().unwrap().iter().map(|fact| fact["fact_id"].as_str().unwrap().to_owned());
            let expected_ids: BTreeSet<_> = all.iter().map(|(_, id, _)| id.clone()).collect();
            assert_eq!(ids.collect::<BTreeSet<_>>(), expected_ids, "none is lost");
            for (second, expected) in expected(&all).into_iter().enumerate() {
                let shown: Vec<_> = first[second + 1].iter().map(|fact| fact["fact_id"].as_str().unwrap()).collect();
                assert_eq!(shown, expected.as_deref().into_iter().collect::<Vec<_>>(), "at {second}");
            }
            for (from, to) in [(0, 1), (1, 0), (2, 1)] {
                let report = import(&servers[to], &export(&servers[from]).await, Mode::Overwrite).await;
                assert_eq!((&report["imported"], &report["overwritten"]), (&json!(0), &json!(0)), "AP-83");
            }
        });
    }
}

/// AP-41: a fact from before facts claimed their ids has its id all the same.
#[tokio::test]
async fn ap_41_an_old_fact_has_its_id() {
    let context = server().await;
    let asserted = arriving("f1", 1, None);
    let Merge::New(events) = merged(&asserted, &Neighbours::default()) else { panic!("it is new") };
    // As it was written then: the event and its index rows, and no row for its id.
    let stream = FactRoom::stream(&format!("{PROJECT}/s/is"));
    let batch = Batch {
        events: events.iter().map(|event| (stream.clone(), event.encode())).collect(),
        index: events.iter().flat_map(|event| FactRoom::index(stream.id(), event)).collect(),
        ..Batch::default()
    };
    context.log().append(batch).await.unwrap();
    let state = events.iter().fold(FactState::default(), |mut state, event| {
        state.evolve(event);
        state
    });
    assert!(state.current.is_some());
    let mut other = fact("f1", 2, None);
    other["subject"] = json!("another");
    let authority = Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo_x")) };
    let take = async |line: &Value| {
        let import = Import { authority: &authority, mode: Mode::Skip, attribution: Attribution::Open };
        let mut importer = Importer::new(&context, import, false);
        importer.line(1, Some(line.to_string().as_bytes())).await.unwrap_or_else(|_| panic!("{line}"));
        serde_json::to_value(importer.finish().await.unwrap_or_else(|_| panic!("no report"))).unwrap()
    };
    assert_eq!(take(&other).await["refused"][0]["code"], "duplicate_fact_id");
    assert_eq!(take(&fact("f1", 2, None)).await["refused"][0]["code"], "duplicate_fact_id");
    assert_eq!(take(&fact("f1", 1, None)).await["skipped"], 1, "it is the same fact");
    assert_eq!(take(&fact("f2", 2, None)).await["imported"], 1);
}
