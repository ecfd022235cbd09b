//! A fact of an export: with its exact id, times and author (AP-76; sections 7.1, 7.2).
//! Must not know: the existing facts.

use plenary_kernel::json::Tree;

use crate::{
    fact::{document::Assertion, event::FactEnd},
    limits::FACT_BYTES_MAX,
    malformed::ContextFault,
    members::{Object, appended},
    moment::Moment,
    schema::Creator,
    shape::Shape,
};

/// An imported fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrivingFact {
    pub(crate) project_id: String,
    pub(crate) fact_id: String,
    pub(crate) subject: String,
    pub(crate) predicate: String,
    pub(crate) source_package_id: Option<String>,
    pub(crate) asserted_by: Option<Creator>,
    pub(crate) valid_from: Moment,
    /// The same, as it was written.
    pub(crate) from_text: String,
    /// Its end, with the text as it was written.
    pub(crate) ended: Option<FactEnd>,
    /// The document without the end, with defaults for missing members except `asserted_by`.
    pub(crate) document: String,
}

impl ArrivingFact {
    /// Reads a fact.
    ///
    /// # Errors
    /// `invalid_schema` with the first invalid field.
    pub(crate) fn read(data: &str) -> Result<Self, ContextFault> {
        let value = Tree::read(data).map_err(|_| ContextFault::whole("A fact must be an object."))?;
        let shape = Shape::root(&value)?;
        if data.len() > FACT_BYTES_MAX {
            return Err(ContextFault::whole("The fact is larger than a fact may be."));
        }
        for name in ["fact_id", "project_id", "subject", "predicate", "value", "valid_from", "created_at"] {
            shape.required(name)?;
        }
        let (fact_id, project_id) = (shape.id("fact_id")?.to_owned(), shape.id("project_id")?.to_owned());
        let valid_from = shape.exact_moment("valid_from")?;
        shape.moment("created_at")?;
        let ended = match shape.text_or_null("valid_to")? {
            None => None,
            Some(text) => Some(FactEnd { at: shape.exact_moment("valid_to")?, text: text.to_owned() }),
        };
        // Equal is allowed: an outranked fact ends where it begins.
        if ended.as_ref().is_some_and(|ended| ended.at < valid_from) {
            return shape.wrong("valid_to", "not before valid_from");
        }
        let asserted = Assertion::read(data, |id| id == project_id)?;
        let object = Object::parse(data).ok_or_else(|| ContextFault::whole("A fact must be an object."))?;
        let mut document = object.without("valid_to");
        for (name, value) in [("source_package_id", "null"), ("confidence", "1.0"), ("tags", "[]")] {
            if object.get(name).is_none() {
                document = appended(&document, name, value);
            }
        }
        Ok(Self {
            fact_id,
            project_id,
            subject: asserted.subject,
            predicate: asserted.predicate,
            source_package_id: asserted.source_package_id,
            asserted_by: asserted.asserted_by,
            valid_from,
            from_text: shape.text("valid_from")?.to_owned(),
            ended,
            document,
        })
    }

    /// The same fact with another source package.
    pub(crate) fn with_source(&self, package_id: &str) -> Self {
        let document = Object::parse(&self.document)
            .map(|object| object.with(&[("source_package_id", &crate::members::quoted(package_id))]));
        let document = document.unwrap_or_else(|| self.document.clone());
        Self { source_package_id: Some(package_id.to_owned()), document, ..self.clone() }
    }
}

impl ArrivingFact {
    /// The stored document, with `asserted_by` if the fact names none (AP-45).
    pub(crate) fn document_by(&self, asserted_by: &str) -> String {
        let says = Object::parse(&self.document).is_some_and(|object| object.get("asserted_by").is_some());
        if says { self.document.clone() } else { appended(&self.document, "asserted_by", asserted_by) }
    }
}
