//! Merges the facts of several servers into one history: of two facts of one subject and predicate the one with the
//! later `valid_from` is current, and the other ends where it begins; if they begin at the same moment, the one with
//! the greater `fact_id` is current, and the other gets an empty interval. A fact ends at its earliest known end. No
//! fact is lost, and every order of arrival gives the same intervals. Pure.
//! Must not know: permissions to import, or how facts are stored.

use plenary_accounts::Actor;

use super::fact::ArrivingFact;
use crate::{
    fact::event::{
        FactAsserted, FactEnd, FactEvent, FactInvalidated, FactMerged, FactShortened, OutrankedFact,
    },
    hash::ContentHash,
    moment::Moment,
};

/// The existing facts around an imported one, of the same subject and predicate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    /// The fact with the same beginning.
    pub(crate) same: Option<ExistingFact>,
    /// The existing fact with the same id, if another one with the same beginning outranks it.
    pub(crate) outranked: Option<String>,
    /// The last fact that begins earlier: its beginning and its end.
    pub(crate) before: Option<(Moment, Option<Moment>)>,
    /// The beginning of the first fact that begins later.
    pub(crate) after: Option<FactEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExistingFact {
    pub(crate) fact_id: String,
    /// The document without the end.
    pub(crate) document: String,
    pub(crate) ended: Option<Moment>,
}

/// The relation of an imported fact to the existing ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merge {
    /// It exists, with the same or an earlier end.
    Known,
    /// It exists, and gets an earlier end.
    Ends(Box<FactEvent>),
    /// Its id exists with other content.
    Differs,
    /// It does not exist.
    New(Vec<FactEvent>),
}

/// Merges a fact with the existing ones. `document` is its stored form.
pub(crate) fn merge(by: &Actor, arrival: &ArrivingFact, document: String, neighbours: &Neighbours) -> Merge {
    let holder = neighbours.same.as_ref();
    let same_fact = holder.filter(|holder| holder.fact_id == arrival.fact_id);
    if let Some(existing) = same_fact.map(|fact| &fact.document).or(neighbours.outranked.as_ref()) {
        if ContentHash::of_text(existing) != ContentHash::of_text(&document) {
            return Merge::Differs;
        }
        let Some((existing, end)) = same_fact.zip(arrival.ended.as_ref()) else { return Merge::Known };
        return match existing.ended {
            None => Merge::Ends(Box::new(end_event(by, arrival.valid_from, end))),
            Some(was) if end.at < was => {
                let is_followed = neighbours.after.is_some();
                Merge::Ends(Box::new(shortened_event(by, (arrival.valid_from, is_followed), was, end)))
            }
            Some(_) => Merge::Known,
        };
    }
    Merge::New(match holder {
        Some(holder) => events_beside(by, arrival, document, (holder, neighbours.after.as_ref())),
        None => events_between(by, arrival, document, neighbours),
    })
}

/// The events for a fact with the same beginning as another.
fn events_beside(
    by: &Actor,
    arrival: &ArrivingFact,
    document: String,
    (holder, after): (&ExistingFact, Option<&FactEnd>),
) -> Vec<FactEvent> {
    let is_outranked = arrival.fact_id < holder.fact_id;
    let own_beginning = || FactEnd { at: arrival.valid_from, text: arrival.from_text.clone() };
    let outranked = OutrankedFact { fact_id: holder.fact_id.clone(), document: holder.document.clone() };
    vec![FactEvent::FactMerged(FactMerged {
        by: by.clone(),
        valid_from: arrival.valid_from,
        text: arrival.from_text.clone(),
        ended: if is_outranked { Some(own_beginning()) } else { earliest(arrival.ended.as_ref(), after) },
        is_last: !is_outranked && after.is_none(),
        outranked: is_outranked.then(|| arrival.fact_id.clone()),
        outranks: (!is_outranked).then_some(outranked),
        document: document.into(),
    })]
}

/// The events for a fact with a beginning of its own.
fn events_between(
    by: &Actor,
    arrival: &ArrivingFact,
    document: String,
    neighbours: &Neighbours,
) -> Vec<FactEvent> {
    let beginning = FactEnd { at: arrival.valid_from, text: arrival.from_text.clone() };
    let before_ended = neighbours.before.and_then(|(since, ended)| Some((since, ended?)));
    let overlapping = before_ended.filter(|(_, was)| *was > beginning.at);
    let is_followed = neighbours.after.is_some();
    let shortening =
        overlapping.map(|(since, was)| shortened_event(by, (since, is_followed), was, &beginning));
    let mut events: Vec<_> = shortening.into_iter().collect();
    if let Some(after) = &neighbours.after {
        events.push(FactEvent::FactMerged(FactMerged {
            by: by.clone(),
            valid_from: arrival.valid_from,
            text: beginning.text,
            ended: earliest(arrival.ended.as_ref(), Some(after)),
            is_last: false,
            outranked: None,
            outranks: None,
            document: document.into(),
        }));
        return events;
    }
    events.push(FactEvent::FactAsserted(FactAsserted {
        by: by.clone(),
        valid_from: arrival.valid_from,
        text: Some(beginning.text),
        supersedes: neighbours.before.filter(|(_, ended)| ended.is_none()).map(|(since, _)| since),
        trace: None,
        document: document.into(),
    }));
    events.extend(arrival.ended.as_ref().map(|end| end_event(by, arrival.valid_from, end)));
    events
}

fn earliest(first: Option<&FactEnd>, second: Option<&FactEnd>) -> Option<FactEnd> {
    [first, second].into_iter().flatten().min_by_key(|ended| ended.at).cloned()
}

fn end_event(by: &Actor, valid_from: Moment, end: &FactEnd) -> FactEvent {
    let (valid_to, text) = (end.at, Some(end.text.clone()));
    FactEvent::FactInvalidated(FactInvalidated { by: by.clone(), valid_from, valid_to, text })
}

fn shortened_event(
    by: &Actor,
    (valid_from, is_followed): (Moment, bool),
    was: Moment,
    ended: &FactEnd,
) -> FactEvent {
    let (by, ended) = (by.clone(), ended.clone());
    FactEvent::FactShortened(FactShortened { by, valid_from, was, ended, is_followed })
}
