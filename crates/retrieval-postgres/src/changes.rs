//! Writes the index: documents, counts and cursor in one transaction.
//! Must not know: which process leads.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use plenary_kernel::Position;
use plenary_log_postgres::tables::{Trouble, stored, text, unsigned};
use plenary_retrieval::{Change, Document, Lexemes, PutOutcome, WEIGHTS, Weight, Word};
use tokio_postgres::{Client, Transaction};

use crate::Tables;

/// Documents per statement.
const DOCUMENTS_PER_STATEMENT: usize = 256;
/// Highest count of a word for one weight; larger counts are cut.
const COUNT_MAX: u32 = 24;

/// Clears an index of another format.
pub(crate) async fn of_form(client: &mut Client, tables: Tables, form: i32) -> Result<(), Trouble> {
    let state = client.query_one(&format!("SELECT form, cursor FROM {tables}_state"), &[]).await?;
    let (found, cursor): (i32, i64) = (state.try_get(0)?, state.try_get(1)?);
    if found == form {
        return Ok(());
    }
    if cursor > 0 {
        tracing::warn!(found, form, "the search index has another format and is rebuilt from the log");
    }
    clear(client, tables, form).await
}

/// Removes all documents.
pub(crate) async fn clear(client: &mut Client, tables: Tables, form: i32) -> Result<(), Trouble> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("TRUNCATE {tables}_documents, {tables}_projects")).await?;
    let sql = format!("UPDATE {tables}_state SET form = $1, cursor = 0, documents = 0");
    transaction.execute(&sql, &[&form]).await?;
    Ok(transaction.commit().await?)
}

/// The changed counts of a project.
#[derive(Default)]
struct Counts {
    documents: i64,
    length: i64,
}

/// Writes changes, if the cursor is at `from`.
pub(crate) async fn put(
    client: &mut Client,
    tables: Tables,
    changes: Vec<Change>,
    from: Position,
    to: Position,
) -> Result<PutOutcome, Trouble> {
    let transaction = client.transaction().await?;
    let state = transaction.query_one(&format!("SELECT cursor FROM {tables}_state FOR UPDATE"), &[]).await?;
    let cursor = Position(unsigned(state.try_get(0)?)?);
    if cursor != from {
        transaction.rollback().await?;
        return Ok(PutOutcome::Moved(cursor));
    }
    // Of several changes of one document the last wins.
    let last: HashMap<String, Option<Document>> =
        changes.into_iter().map(|change| (change.id().to_owned(), change.document())).collect();
    let mut counts = BTreeMap::<String, Counts>::new();
    take_out((&transaction, tables), &last.keys().map(String::as_str).collect::<Vec<_>>(), &mut counts)
        .await?;
    let documents: Vec<Document> = last.into_values().flatten().collect();
    for some in documents.chunks(DOCUMENTS_PER_STATEMENT) {
        put_in((&transaction, tables), some, &mut counts).await?;
    }
    let projects: Vec<&String> = counts.keys().collect();
    let more: Vec<i64> = counts.values().map(|counts| counts.documents).collect();
    let longer: Vec<i64> = counts.values().map(|counts| counts.length).collect();
    let sql = format!(
        "INSERT INTO {tables}_projects AS p (project, documents, length) \
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) \
        ON CONFLICT (project) DO UPDATE SET documents = p.documents + excluded.documents, \
        length = p.length + excluded.length"
    );
    transaction.execute(&sql, &[&projects, &more, &longer]).await?;
    let all: i64 = more.iter().sum();
    let sql = format!("UPDATE {tables}_state SET cursor = $1, documents = documents + $2");
    transaction.execute(&sql, &[&stored(to.0), &all]).await?;
    transaction.commit().await?;
    Ok(PutOutcome::Done)
}

async fn take_out(
    (transaction, tables): (&Transaction<'_>, Tables),
    ids: &[&str],
    counts: &mut BTreeMap<String, Counts>,
) -> Result<(), Trouble> {
    let ids: Vec<_> = ids.iter().map(|id| text::stored(id)).collect();
    let sql = format!("DELETE FROM {tables}_documents WHERE id = ANY($1) RETURNING project, length");
    for deleted in transaction.query(&sql, &[&ids]).await? {
        let counts = counts.entry(deleted.try_get(0)?).or_default();
        counts.documents -= 1;
        counts.length -= deleted.try_get::<_, i64>(1)?;
    }
    Ok(())
}

async fn put_in(
    (transaction, tables): (&Transaction<'_>, Tables),
    documents: &[Document],
    counts: &mut BTreeMap<String, Counts>,
) -> Result<(), Trouble> {
    let lexemes: Vec<Lexemes> = documents.iter().map(Lexemes::of).collect();
    let ids: Vec<_> = documents.iter().map(|document| text::stored(&document.id)).collect();
    let projects: Vec<_> = documents.iter().map(|document| text::stored(&document.project)).collect();
    let times: Vec<i64> = documents.iter().map(|document| document.created_at_ms).collect();
    let drafts: Vec<bool> = documents.iter().map(|document| document.is_draft).collect();
    let lengths: Vec<i64> = lexemes.iter().map(|lexemes| stored(lexemes.length())).collect();
    let words: Vec<String> = lexemes.iter().map(|lexemes| vector(lexemes.words())).collect();
    for (project, length) in projects.iter().zip(&lengths) {
        let counts = counts.entry(project.to_string()).or_default();
        counts.documents += 1;
        counts.length += length;
    }
    let sql = format!(
        "INSERT INTO {tables}_documents (id, project, created_at_ms, is_draft, length, words) \
        SELECT id, project, at, draft, length, words::tsvector FROM unnest($1::text[], $2::text[], $3::bigint[], \
        $4::boolean[], $5::bigint[], $6::text[]) AS d (id, project, at, draft, length, words)"
    );
    transaction.execute(&sql, &[&ids, &projects, &times, &drafts, &lengths, &words]).await?;
    Ok(())
}

/// Words as the text of a `tsvector`, each repeated for its count in each weight. Words consist only of letters
/// and
/// digits, so quoting is sufficient.
fn vector<'a>(words: impl Iterator<Item = Word<'a>>) -> String {
    let mut vector = String::new();
    for Word { text, counts, .. } in words {
        let _ = write!(vector, "'{text}'");
        let (mut nth, mut mark) = (0, ':');
        for (weight, count) in WEIGHTS.iter().zip(counts) {
            let letter = match weight {
                Weight::A => "A",
                Weight::B => "B",
                Weight::C => "C",
                Weight::D => "",
            };
            for _ in 0..count.min(COUNT_MAX) {
                nth += 1;
                let _ = write!(vector, "{mark}{nth}{letter}");
                mark = ',';
            }
        }
        vector.push(' ');
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_with_their_weights() {
        let words = [
            Word { text: "login", hash: 0, counts: [1, 0, 2, 1] },
            Word { text: "x", hash: 0, counts: [0, 0, 0, 99] },
        ];
        let text = vector(words.into_iter());
        assert!(text.starts_with("'login':1A,2C,3C,4 'x':1,2,3,"), "{text}");
        assert!(text.trim_end().ends_with(&format!(",{COUNT_MAX}")), "{text}");
    }
}
