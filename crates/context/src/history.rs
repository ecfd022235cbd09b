//! Reads facts: the current ones, those of a moment, and all (AP-46, AP-47, AP-51, AP-85).
//! Must not know: HTTP.

use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};
use serde_json::Value;

use crate::{
    Context,
    fact::document::shown,
    index::{CURRENT, FACTS, is_outranked},
    key,
    limits::{LIST_BYTES_MAX, SCAN_ROWS_MAX},
    members::Object,
    moment::Moment,
};

/// Rows of one read of what was current at a moment: nearly always the first two decide.
const ROWS_AT_MOMENT: usize = 16;

/// The filters of a list of facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactSelection<'a> {
    pub(crate) subject: Option<&'a str>,
    pub(crate) predicate: Option<&'a str>,
    /// Facts that were current at this moment.
    pub(crate) as_of: Option<Moment>,
    /// Include ended facts.
    pub(crate) include_ended: bool,
    pub(crate) min_confidence: Option<f64>,
    pub(crate) tag: Option<&'a str>,
    pub(crate) cursor: Option<&'a str>,
}

/// A page of facts, each as JSON.
#[derive(Debug, Default)]
pub(crate) struct FactPage {
    pub(crate) facts: Vec<String>,
    pub(crate) next_cursor: Option<String>,
}

/// A fact from an index, and its end.
struct Row {
    key: String,
    document: String,
    end: Option<String>,
}

impl Row {
    /// Whether the key is of the same subject and predicate.
    fn is_followed_by(&self, key: &str) -> bool {
        let of = |key: &str| key.rsplit_once('/').map_or(0, |(of, _)| of.len());
        of(&self.key) == of(key) && self.key[..of(key)] == key[..of(key)]
    }

    /// Whether a damaged row has the end of the fact, which must not be shown as if it had none.
    fn ends_with(&self, damaged: &str) -> bool {
        let is_followed = self.is_followed_by(damaged) && !is_outranked(damaged);
        damaged.strip_suffix("/end") == Some(self.key.as_str()) || self.end.is_none() && is_followed
    }
}

impl Context {
    /// Facts of a project, by subject, predicate and time.
    pub(crate) async fn facts(
        &self,
        project: &str,
        selection: &FactSelection<'_>,
        limit: usize,
    ) -> Result<FactPage, Fault> {
        let FactSelection { subject, predicate, as_of, cursor, .. } = selection;
        let (Some(subject), Some(predicate), Some(at), None) = (subject, predicate, as_of, cursor) else {
            return self.list_facts(project, selection, limit).await;
        };
        let base = format!("{project}/");
        let prefix = format!("{base}{}/{}/", key::part(subject), key::part(predicate));
        let mut builder = PageBuilder::new(selection, limit, base.len());
        if let Some(fact) = self.last_fact_until(&prefix, *at).await? {
            builder.is_full_with(fact);
        }
        Ok(builder.page)
    }

    async fn list_facts(
        &self,
        project: &str,
        selection: &FactSelection<'_>,
        limit: usize,
    ) -> Result<FactPage, Fault> {
        let index = if selection.include_ended || selection.as_of.is_some() { FACTS } else { CURRENT };
        let base = format!("{project}/");
        let prefix = match selection.subject.map(key::part) {
            None => base.clone(),
            Some(subject) => {
                let predicate = selection.predicate.map(key::part).unwrap_or_default();
                format!("{base}{subject}/{predicate}")
            }
        };
        let (log, max) = (self.log(), READ_ROWS_MAX);
        let mut after = selection.cursor.map(|cursor| format!("{base}{cursor}"));
        let (mut builder, mut scanned) = (PageBuilder::new(selection, limit, base.len()), 0);
        // The row of a fact's end follows the fact, so each fact waits for the next row.
        let mut pending_fact = None::<Row>;
        loop {
            let rows = log.read_index_past_damage(index, &prefix, after.as_deref(), max, Order::Ascending);
            let rows = rows.await?;
            scanned += rows.len();
            for row in &rows {
                let Some(value) = &row.value else {
                    let fact = pending_fact.take().filter(|fact| index != FACTS || !fact.ends_with(&row.key));
                    if fact.is_some_and(|fact| builder.is_full_with(fact)) {
                        return Ok(builder.page);
                    }
                    continue;
                };
                // In the index of current facts, a last part `end` is a predicate.
                if let Some(fact_key) = row.key.strip_suffix("/end").filter(|_| index == FACTS) {
                    if let Some(fact) = pending_fact.as_mut().filter(|fact| fact.key == fact_key) {
                        fact.end = Some(text(value)?.to_owned());
                    }
                    continue;
                }
                let document = text(value)?.to_owned();
                if let Some(mut fact) = pending_fact.take() {
                    // If a successor was added between two reads, the fact that was read before it has no end
                    // row: derive its end.
                    let is_followed = fact.is_followed_by(&row.key) && !is_outranked(&row.key);
                    if index == FACTS && fact.end.is_none() && is_followed {
                        fact.end = valid_from(&document);
                    }
                    if builder.is_full_with(fact) {
                        return Ok(builder.page);
                    }
                }
                let end = is_outranked(&row.key).then(|| valid_from(&document)).flatten();
                pending_fact = Some(Row { key: row.key.clone(), document, end });
            }
            match rows.last() {
                Some(last) if rows.len() == READ_ROWS_MAX && scanned < SCAN_ROWS_MAX => {
                    after = Some(last.key.clone());
                }
                last => {
                    let has_more_rows = rows.len() == READ_ROWS_MAX;
                    // The end of the last fact is not known yet: the next page begins with that fact again.
                    if has_more_rows && builder.last_cursor.is_none() {
                        builder.last_cursor = last.map(|row| row.key[base.len()..].to_owned());
                    }
                    if let Some(fact) = pending_fact.filter(|_| !has_more_rows)
                        && builder.is_full_with(fact)
                    {
                        return Ok(builder.page);
                    }
                    builder.page.next_cursor = builder.last_cursor.filter(|_| has_more_rows);
                    return Ok(builder.page);
                }
            }
        }
    }
}

impl Context {
    /// The last fact of a subject and predicate that began until a moment. Facts of one predicate do not overlap, so no
    /// other one was current then.
    async fn last_fact_until(&self, prefix: &str, at: Moment) -> Result<Option<Row>, Fault> {
        // Behind all keys of this moment.
        let mut before = format!("{prefix}{}{}", at.as_str(), char::MAX);
        let mut last_end = None::<(String, Option<String>)>;
        loop {
            let (log, max) = (self.log(), ROWS_AT_MOMENT);
            let rows =
                log.read_index_past_damage(FACTS, prefix, Some(&before), max, Order::Descending).await?;
            for row in &rows {
                if is_outranked(&row.key) {
                    continue;
                }
                let value = row.value.as_deref().map(text).transpose()?.map(str::to_owned);
                if let Some(fact_key) = row.key.strip_suffix("/end") {
                    last_end = Some((fact_key.to_owned(), value));
                    continue;
                }
                let end = last_end.filter(|(fact_key, _)| *fact_key == row.key).map(|(_, end)| end);
                // A fact whose end is damaged must not be shown as if it had none.
                let is_damaged = end.as_ref().is_some_and(Option::is_none);
                let document = value.filter(|_| !is_damaged);
                let key = row.key.clone();
                return Ok(document.map(|document| Row { key, document, end: end.flatten() }));
            }
            match rows.last() {
                Some(last) if rows.len() == max => before.clone_from(&last.key),
                _ => return Ok(None),
            }
        }
    }
}

/// A page under construction.
struct PageBuilder<'a> {
    selection: &'a FactSelection<'a>,
    predicate: Option<String>,
    limit: usize,
    /// Length of the prefix of a key that cursors omit.
    base: usize,
    page: FactPage,
    /// Bytes of the facts on the page.
    bytes: usize,
    /// The cursor after the last processed fact.
    last_cursor: Option<String>,
}

impl<'a> PageBuilder<'a> {
    fn new(selection: &'a FactSelection<'a>, limit: usize, base: usize) -> Self {
        let (predicate, page) = (selection.predicate.map(key::part), FactPage::default());
        Self { selection, predicate, limit, base, page, bytes: 0, last_cursor: None }
    }

    /// Adds a fact if it passes the filters. Returns `true`, and sets the next cursor, if the page has no room
    /// for it.
    fn is_full_with(&mut self, fact: Row) -> bool {
        let Row { key, document, end } = fact;
        // The prefix also matches longer predicates.
        let is_selected =
            self.predicate.as_deref().is_none_or(|selected| key.split('/').nth(2) == Some(selected));
        if is_selected && self.selection.is_at(&key, end.as_deref()) && self.selection.matches(&document) {
            self.bytes += document.len();
            let is_full = self.bytes > LIST_BYTES_MAX && !self.page.facts.is_empty();
            if self.page.facts.len() == self.limit || is_full {
                self.page.next_cursor.clone_from(&self.last_cursor);
                return true;
            }
            self.page.facts.push(shown(&document, end.as_deref()));
        }
        self.last_cursor = Some(key[self.base..].to_owned());
        false
    }
}

/// The beginning of a fact, as its document has it.
pub(crate) fn valid_from(document: &str) -> Option<String> {
    serde_json::from_str(Object::parse(document)?.get("valid_from")?).ok()
}

fn text(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| Fault::Corrupt("a fact in an index is no text".to_owned()))
}

impl FactSelection<'_> {
    /// Whether the fact was current at the selected moment: `valid_from <= t < valid_to` (AP-51).
    fn is_at(&self, key: &str, end: Option<&str>) -> bool {
        let Some(at) = self.as_of else { return true };
        let has_begun = key.rsplit('/').next().is_some_and(|since| since <= at.as_str());
        has_begun && end.and_then(Moment::parse).is_none_or(|end| at < end)
    }

    fn matches(&self, document: &str) -> bool {
        if self.min_confidence.is_none() && self.tag.is_none() {
            return true;
        }
        let fact: Value = serde_json::from_str(document).unwrap_or_default();
        let confidence = fact["confidence"].as_f64().unwrap_or(1.0);
        let tags = fact["tags"].as_array().map_or(&[][..], Vec::as_slice);
        self.min_confidence.is_none_or(|min| confidence >= min)
            && self.tag.is_none_or(|selected| tags.iter().any(|tag| tag == selected))
    }
}
