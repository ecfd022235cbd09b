//! The events of a fact's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// An event of the facts of one subject and predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactEvent {
    /// A fact was asserted; the current fact, if any, ended.
    FactAsserted(FactAsserted),
    /// The current fact ended without a successor.
    FactInvalidated(FactInvalidated),
    /// A fact of another server was inserted into the history.
    FactMerged(FactMerged),
    /// An earlier end became known for a fact that had ended.
    FactShortened(FactShortened),
}

/// See [`FactEvent::FactAsserted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactAsserted {
    /// The caller.
    pub by: Actor,
    /// The beginning of its validity.
    pub valid_from: Moment,
    /// The same, as the client wrote it, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The `valid_from` of the superseded fact, which ends where this one begins (AP-48).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Moment>,
    /// The span of the request, as a `traceparent`; absent for an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The document of the fact, without its end.
    #[serde(skip)]
    pub document: Bytes,
}

/// See [`FactEvent::FactInvalidated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactInvalidated {
    /// The caller.
    pub by: Actor,
    /// The `valid_from` of the fact.
    pub valid_from: Moment,
    /// Its end.
    pub valid_to: Moment,
    /// The end as another server wrote it, if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// See [`FactEvent::FactMerged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactMerged {
    /// The caller.
    pub by: Actor,
    /// The beginning of its validity.
    pub valid_from: Moment,
    /// The same, as the other server wrote it.
    pub text: String,
    /// Its end; absent for the current fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<FactEnd>,
    /// Whether no fact begins later, so that this one determines the current state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_last: bool,
    /// The id of this fact, if a fact with the same beginning outranks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outranked: Option<String>,
    /// The fact with the same beginning that this one outranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outranks: Option<OutrankedFact>,
    /// The document of the fact, without its end.
    #[serde(skip)]
    pub document: Bytes,
}

/// The end of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactEnd {
    /// When.
    pub at: Moment,
    /// The same, as the other server wrote it.
    pub text: String,
}

/// A fact with an empty period, because another one with the same beginning outranks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutrankedFact {
    /// Its id.
    pub fact_id: String,
    /// The document of the fact, without its end.
    pub document: String,
}

/// See [`FactEvent::FactShortened`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactShortened {
    /// The caller.
    pub by: Actor,
    /// The `valid_from` of the fact.
    pub valid_from: Moment,
    /// The earlier known end.
    pub was: Moment,
    /// The new end.
    pub ended: FactEnd,
    /// Whether another fact begins later, so that this is not the end of the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_followed: bool,
}

plenary_engine::stored_forms! {
    FactEvent: FactAsserted + document, FactInvalidated, FactMerged + document, FactShortened
}
