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
    pub(crate) same: Option<FoundFact>,
    /// The existing fact with the same id, if another one with the same beginning outranks it.
    pub(crate) outranked: Option<String>,
    /// The last fact that begins earlier: its beginning and its end.
    pub(crate) before: Option<(Moment, Option<Moment>)>,
    /// The beginning of the first fact that begins later.
    pub(crate) after: Option<FactEnd>,
}

/// An existing fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFact {
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
pub(crate) fn merge(by: &Actor, arriving: &ArrivingFact, document: String, around: &Neighbours) -> Merge {
    let holder = around.same.as_ref();
    let own = holder.filter(|holder| holder.fact_id == arriving.fact_id);
    if let Some(known) = own.map(|own| &own.document).or(around.outranked.as_ref()) {
        if ContentHash::of_text(known) != ContentHash::of_text(&document) {
            return Merge::Differs;
        }
        let Some((own, ended)) = own.zip(arriving.ended.as_ref()) else { return Merge::Known };
        return match own.ended {
            None => Merge::Ends(Box::new(ends(by, arriving.valid_from, ended))),
            Some(was) if ended.at < was => {
                let is_followed = around.after.is_some();
                Merge::Ends(Box::new(shortened(by, (arriving.valid_from, is_followed), was, ended)))
            }
            Some(_) => Merge::Known,
        };
    }
    Merge::New(match holder {
        Some(holder) => beside(by, arriving, document, (holder, around.after.as_ref())),
        None => between(by, arriving, document, around),
    })
}

/// The events for a fact with the same beginning as another.
fn beside(
    by: &Actor,
    arriving: &ArrivingFact,
    document: String,
    (holder, after): (&FoundFact, Option<&FactEnd>),
) -> Vec<FactEvent> {
    let is_outranked = arriving.fact_id < holder.fact_id;
    let at_once = || FactEnd { at: arriving.valid_from, text: arriving.from_text.clone() };
    let outranked = OutrankedFact { fact_id: holder.fact_id.clone(), document: holder.document.clone() };
    vec![FactEvent::FactMerged(FactMerged {
        by: by.clone(),
        valid_from: arriving.valid_from,
        text: arriving.from_text.clone(),
        ended: if is_outranked { Some(at_once()) } else { earliest(arriving.ended.as_ref(), after) },
        is_last: !is_outranked && after.is_none(),
        outranked: is_outranked.then(|| arriving.fact_id.clone()),
        outranks: (!is_outranked).then_some(outranked),
        document: document.into(),
    })]
}

/// The events for a fact with a beginning of its own.
fn between(by: &Actor, arriving: &ArrivingFact, document: String, around: &Neighbours) -> Vec<FactEvent> {
    let begins = FactEnd { at: arriving.valid_from, text: arriving.from_text.clone() };
    let before_ended = around.before.and_then(|(since, ended)| Some((since, ended?)));
    let cut = before_ended.filter(|(_, was)| *was > begins.at);
    let is_followed = around.after.is_some();
    let cut = cut.map(|(since, was)| shortened(by, (since, is_followed), was, &begins));
    let mut events: Vec<_> = cut.into_iter().collect();
    if let Some(after) = &around.after {
        events.push(FactEvent::FactMerged(FactMerged {
            by: by.clone(),
            valid_from: arriving.valid_from,
            text: begins.text,
            ended: earliest(arriving.ended.as_ref(), Some(after)),
            is_last: false,
            outranked: None,
            outranks: None,
            document: document.into(),
        }));
        return events;
    }
    events.push(FactEvent::FactAsserted(FactAsserted {
        by: by.clone(),
        valid_from: arriving.valid_from,
        text: Some(begins.text),
        supersedes: around.before.filter(|(_, ended)| ended.is_none()).map(|(since, _)| since),
        trace: None,
        document: document.into(),
    }));
    events.extend(arriving.ended.as_ref().map(|ended| ends(by, arriving.valid_from, ended)));
    events
}

fn earliest(one: Option<&FactEnd>, other: Option<&FactEnd>) -> Option<FactEnd> {
    [one, other].into_iter().flatten().min_by_key(|ended| ended.at).cloned()
}

fn ends(by: &Actor, valid_from: Moment, ended: &FactEnd) -> FactEvent {
    let (valid_to, text) = (ended.at, Some(ended.text.clone()));
    FactEvent::FactInvalidated(FactInvalidated { by: by.clone(), valid_from, valid_to, text })
}

fn shortened(
    by: &Actor,
    (valid_from, is_followed): (Moment, bool),
    was: Moment,
    ended: &FactEnd,
) -> FactEvent {
    let (by, ended) = (by.clone(), ended.clone());
    FactEvent::FactShortened(FactShortened { by, valid_from, was, ended, is_followed })
}
