//! Facts of several servers: any order and any number of imports gives the same intervals.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use plenary_accounts::{Accounts, Actor, Authority, TokenDigest};
use plenary_engine::{Room, SystemClock};
use plenary_kernel::{Clock, Position};
use plenary_log::{Batch, open_memory};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Config, Context,
    activity::event::{Activity, ActivityNoted},
    attribution::Attribution,
    cursor::is_of_all_facts,
    fact::{
        event::{FactEnd, FactEvent},
        room::FactRoom,
        state::FactState,
    },
    history::FactSelection,
    moment::Moment,
    package_reader::ReadableProjects,
    transfer::{
        Exporter, Import, Importer, Mode,
        fact::ArrivingFact,
        merge::{ExistingFact, Merge, Neighbours, merge},
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

fn arrival(id: &str, from: u64, to: Option<u64>) -> ArrivingFact {
    ArrivingFact::read(&fact(id, from, to).to_string()).unwrap()
}

fn found(id: &str, from: u64, to: Option<u64>) -> ExistingFact {
    let document = arrival(id, from, to).document;
    ExistingFact { fact_id: id.to_owned(), document, ended: to.map(at) }
}

fn merged(arrival: &ArrivingFact, around: &Neighbours) -> Merge {
    merge(&Actor::Operator, arrival, arrival.document.clone(), around)
}

/// What is written of a new fact: `+` a fact with its end, `-` the end of one, `>` one that another outranks.
fn written(arrival: &ArrivingFact, around: &Neighbours) -> Vec<String> {
    let Merge::New(events) = merged(arrival, around) else { panic!("it is new") };
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
    assert_eq!(written(&arrival("b", 5, None), &current), ["+5 over 1"]);
    assert_eq!(written(&arrival("b", 5, Some(7)), &current), ["+5 over 1", "-5..7"]);
    let ended = Neighbours { before: Some((at(1), Some(at(6)))), ..Neighbours::default() };
    assert_eq!(written(&arrival("b", 5, None), &ended), ["-1..5 was 6", "+5"]);
    assert_eq!(written(&arrival("b", 6, None), &ended), ["+6"]);
}

#[test]
fn ap_75_an_earlier_fact_ends_where_the_next_one_begins() {
    let after = Some(FactEnd { at: at(5), text: text(5) });
    let around = Neighbours { after, before: Some((at(1), Some(at(4)))), ..Neighbours::default() };
    assert_eq!(written(&arrival("b", 3, None), &around), ["-1..3 was 4", "+3..5"]);
    assert_eq!(written(&arrival("b", 3, Some(9)), &around), ["-1..3 was 4", "+3..5"]);
    assert_eq!(written(&arrival("b", 4, Some(5)), &around), ["+4..5"]);
    let alone = Neighbours { before: None, ..around };
    assert_eq!(written(&arrival("b", 3, Some(4)), &alone), ["+3..4"]);
}

#[test]
fn ap_75_of_two_that_begin_together_the_greater_id_outranks() {
    let current = Neighbours { same: Some(found("b", 3, None)), ..Neighbours::default() };
    assert_eq!(written(&arrival("a", 3, None), &current), [">3..3"]);
    assert_eq!(written(&arrival("c", 3, None), &current), ["+3.. over b last"]);
    assert_eq!(written(&arrival("c", 3, Some(4)), &current), ["+3..4 over b last"]);
    let after = Some(FactEnd { at: at(5), text: text(5) });
    let between = Neighbours { same: Some(found("b", 3, Some(4))), after, ..Neighbours::default() };
    assert_eq!(written(&arrival("c", 3, None), &between), ["+3..5 over b"], "the end of b is not its own");
}

#[test]
fn ap_83_what_is_known_changes_nothing_but_by_an_earlier_end() {
    let here = |to| Neighbours { same: Some(found("b", 3, to)), ..Neighbours::default() };
    assert_eq!(merged(&arrival("b", 3, None), &here(Some(5))), Merge::Known);
    assert_eq!(merged(&arrival("b", 3, Some(5)), &here(Some(5))), Merge::Known);
    assert_eq!(merged(&arrival("b", 3, Some(6)), &here(Some(5))), Merge::Known);
    let ends = |arrival: &ArrivingFact, around: &Neighbours| match merged(arrival, around) {
        Merge::Ends(event) => *event,
        other @ (Merge::Known | Merge::Differs | Merge::New(_)) => panic!("{other:?}"),
    };
    assert!(matches!(
        ends(&arrival("b", 3, Some(4)), &here(Some(5))),
        FactEvent::FactShortened(event) if event.ended.at == at(4) && event.was == at(5)
    ));
    assert!(matches!(
        ends(&arrival("b", 3, Some(5)), &here(None)),
        FactEvent::FactInvalidated(event) if event.valid_to == at(5)
    ));
    let mut other = fact("b", 3, None);
    other["value"] = json!("other");
    let other = ArrivingFact::read(&other.to_string()).unwrap();
    assert_eq!(merged(&other, &here(None)), Merge::Differs);
    let outranked = arrival("b", 3, None).document;
    let around =
        Neighbours { same: Some(found("c", 3, None)), outranked: Some(outranked), ..Neighbours::default() };
    assert_eq!(merged(&arrival("b", 3, Some(9)), &around), Merge::Known);
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
    imported(context, lines, mode, false).await
}

async fn imported(context: &Context, lines: &str, mode: Mode, dry_run: bool) -> Value {
    let authority = Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo_x")) };
    let import =
        Import { authority: &authority, mode, attribution: Attribution::Open, own_agents: HashSet::new() };
    let mut importer = Importer::new(context, import, dry_run);
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
    let projects = ReadableProjects { projects, damaged: Vec::new() };
    let mut exporter = Exporter::new(context.clone(), projects, None, None).await.unwrap();
    let mut text = String::new();
    while let Some(piece) = exporter.next().await.unwrap() {
        text.push_str(&piece);
    }
    text
}

async fn facts(context: &Context, asked: &FactSelection<'_>) -> Vec<Value> {
    let page = context.facts(PROJECT, asked, 1_000).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.facts.iter().map(|fact| serde_json::from_str(fact).unwrap()).collect()
}

/// Everything that a reader is shown: what is current, what was at each second, and all there was.
async fn seen(context: &Context) -> Vec<Vec<Value>> {
    let mut seen = vec![facts(context, &FactSelection::default()).await];
    for second in 0..SECONDS + 2 {
        seen.push(
            facts(context, &FactSelection { as_of: Some(at(second)), ..FactSelection::default() }).await,
        );
    }
    seen.push(facts(context, &FactSelection { include_ended: true, ..FactSelection::default() }).await);
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
    prop::collection::vec((0..3_usize, 0..8_usize, prop::option::of(0..4_u64)), 1..14)
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
                let ends = first.last().unwrap().iter().filter_map(|fact| fact["valid_to"].as_str());
                match &state.current {
                    None => assert_eq!(state.ended, ends.filter_map(Moment::parse).max()),
                    Some(current) => assert!(state.ended.is_none_or(|ended| ended <= current.valid_from)),
                }
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

/// A dry run tells what the import does, and writes nothing.
#[tokio::test]
async fn a_dry_run_decides_on_what_those_before_would_have_made() {
    let context = server().await;
    import(&context, &fact("here", 0, None).to_string(), Mode::Skip).await;
    let mut differs = fact("b", 3, None);
    differs["value"] = json!("other");
    let lines = [
        fact("b", 3, None),
        // Again; with an end; with a later one; another content.
        fact("b", 3, None),
        fact("b", 3, Some(5)),
        fact("b", 3, Some(6)),
        differs,
        // It outranks, and is outranked.
        fact("c", 3, None),
        fact("b", 3, Some(4)),
        fact("a", 3, None),
        fact("a", 3, None),
        // What begins later ends it: a later end is no news, an earlier one is.
        fact("d", 6, None),
        fact("c", 3, Some(7)),
        fact("c", 3, Some(5)),
        fact("here", 0, Some(4)),
        fact("here", 0, Some(2)),
    ];
    let lines = lines.map(|line| line.to_string()).join("\n");
    let written = context.log().read_log(Position::ZERO, 1_000).await.unwrap().len();
    let mut foretold = imported(&context, &lines, Mode::Skip, true).await;
    assert_eq!(context.log().read_log(Position::ZERO, 1_000).await.unwrap().len(), written);
    foretold["dry_run"] = json!(false);
    assert_eq!(foretold, import(&context, &lines, Mode::Skip).await);
}

/// A dry run claims no ids either.
#[tokio::test]
async fn a_dry_run_changes_no_row() {
    let context = server().await;
    let row = format!("context.fact_ids_claimed/{PROJECT}");
    let line = fact("a", 1, None).to_string();
    imported(&context, &line, Mode::Skip, true).await;
    assert!(context.log().read_row(&row).await.unwrap().is_none());
    import(&context, &line, Mode::Skip).await;
    assert!(context.log().read_row(&row).await.unwrap().is_some());
}

/// A first import was incomplete and archived the project at its end.
#[tokio::test]
async fn ap_75_an_import_of_an_archived_project_can_be_repeated() {
    let context = server().await;
    let data = json!({"project_id": "q", "archived_at": text(9)});
    let mut lines = vec![json!({"record": "project", "project": "nick:q", "data": data})];
    for nth in 1..=3 {
        let mut fact = fact(&format!("f{nth}"), nth, None);
        fact["project_id"] = "q".into();
        lines.push(fact);
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let report = import(&context, &text, Mode::Skip).await;
        assert_eq!(report["refused_count"], 0, "{report}");
        assert!(context.project("q:nick").await.unwrap().archived_at.is_some());
    }
}

/// The feed tells of the fact that ended then, whatever has taken its place since.
#[tokio::test]
async fn a_note_tells_of_the_fact_that_held_when_it_was_noted() {
    let context = server().await;
    for fact in [fact("a", 1, None), fact("b", 5, None), fact("z", 1, None)] {
        import(&context, &fact.to_string(), Mode::Skip).await;
    }
    let noted = ActivityNoted {
        activity: Activity::FactSuperseded,
        on: format!("{PROJECT}/s/is"),
        version: 2,
        draft_of: None,
        trace: None,
    };
    let told: Value = serde_json::from_str(&context.live_json("p", &noted).await.unwrap().unwrap()).unwrap();
    assert_eq!((&told["fact"]["fact_id"], &told["fact"]["valid_to"]), (&json!("a"), &json!(text(5))));
}

/// What is shortened is not the last one where an empty one stands at its end.
#[tokio::test]
async fn an_earlier_end_leaves_the_end_of_a_later_fact() {
    let context = server().await;
    for fact in [fact("a", 1, Some(5)), fact("b", 5, Some(5)), fact("a", 1, Some(3))] {
        import(&context, &fact.to_string(), Mode::Skip).await;
    }
    let (state, _) = context.fact_states().state(&format!("{PROJECT}/s/is")).await.unwrap();
    assert_eq!((state.current.clone(), state.ended), (None, Some(at(5))));
}

/// A page that ends on a fact that another outranks has a cursor that is taken.
#[tokio::test]
async fn a_page_goes_on_behind_an_outranked_fact() {
    let context = server().await;
    for id in ["a", "b", "c"] {
        import(&context, &fact(id, 1, None).to_string(), Mode::Skip).await;
    }
    let (mut cursor, mut seen) = (None::<String>, Vec::new());
    loop {
        let asked =
            FactSelection { include_ended: true, cursor: cursor.as_deref(), ..FactSelection::default() };
        let page = context.facts(PROJECT, &asked, 1).await.unwrap();
        seen.extend(
            page.facts.iter().map(|fact| serde_json::from_str::<Value>(fact).unwrap()["fact_id"].clone()),
        );
        match page.next_cursor {
            Some(next) => {
                assert!(is_of_all_facts(&next), "{next}");
                cursor = Some(next);
            }
            None => break,
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// `end` is a predicate like any other.
#[tokio::test]
async fn a_fact_whose_predicate_is_end_is_listed() {
    let context = server().await;
    let mut ends = fact("a", 1, None);
    ends["predicate"] = json!("end");
    import(&context, &ends.to_string(), Mode::Skip).await;
    for include_ended in [false, true] {
        let asked = FactSelection { include_ended, ..FactSelection::default() };
        assert_eq!(facts(&context, &asked).await.len(), 1, "{include_ended}");
    }
}

/// AP-41: a fact from before facts claimed their ids has its id all the same.
#[tokio::test]
async fn ap_41_an_old_fact_has_its_id() {
    let context = server().await;
    let asserted = arrival("f1", 1, None);
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
        let import = Import {
            authority: &authority,
            mode: Mode::Skip,
            attribution: Attribution::Open,
            own_agents: HashSet::new(),
        };
        let mut importer = Importer::new(&context, import, false);
        importer.line(1, Some(line.to_string().as_bytes())).await.unwrap_or_else(|_| panic!("{line}"));
        serde_json::to_value(importer.finish().await.unwrap_or_else(|_| panic!("no report"))).unwrap()
    };
    assert_eq!(take(&other).await["refused"][0]["code"], "duplicate_fact_id");
    assert_eq!(take(&fact("f1", 2, None)).await["refused"][0]["code"], "duplicate_fact_id");
    assert_eq!(take(&fact("f1", 1, None)).await["skipped"], 1, "it is the same fact");
    assert_eq!(take(&fact("f2", 2, None)).await["imported"], 1);
}
