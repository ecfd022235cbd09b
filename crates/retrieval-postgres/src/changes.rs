//! Writes the index: documents, counts and cursor in one transaction.
//! Must not know: which process leads.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
};

use bytes::{BufMut as _, BytesMut};
use plenary_kernel::Position;
use plenary_log_postgres::tables::{Trouble, stored, text, unsigned};
use plenary_retrieval::{Change, Document, Lexemes, PutOutcome, WEIGHTS, Weight, Word};
use tokio_postgres::{
    Client, Statement, Transaction,
    types::{IsNull, ToSql, Type},
};

use crate::Tables;

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
    let is_new = |change: &Change| matches!(change, Change::Add(_));
    let known: Vec<String> = changes.iter().filter(|c| !is_new(c)).map(|c| c.id().to_owned()).collect();
    // Of several changes of one document the last wins.
    let last: HashMap<String, Option<Document>> =
        changes.into_iter().map(|change| (change.id().to_owned(), change.document())).collect();
    let mut counts = BTreeMap::<String, Counts>::new();
    if !known.is_empty() {
        take_out((&transaction, tables), &known, &mut counts).await?;
    }
    let mut documents: Vec<Document> = last.into_values().flatten().collect();
    // Neighbours in the indexes are written together.
    documents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let sql = format!(
        "INSERT INTO {tables}_documents (id, project, created_at_ms, is_draft, length, words) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[], $5::bigint[], $6::tsvector[])"
    );
    let insert = transaction.prepare(&sql).await?;
    for some in documents.chunks(DOCUMENTS_PER_STATEMENT) {
        put_in((&transaction, &insert), some, &mut counts).await?;
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
    ids: &[String],
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
    (transaction, insert): (&Transaction<'_>, &Statement),
    documents: &[Document],
    counts: &mut BTreeMap<String, Counts>,
) -> Result<(), Trouble> {
    let lexemes: Vec<Lexemes> = documents.iter().map(Lexemes::of).collect();
    let ids: Vec<_> = documents.iter().map(|document| text::stored(&document.id)).collect();
    let projects: Vec<_> = documents.iter().map(|document| text::stored(&document.project)).collect();
    let times: Vec<i64> = documents.iter().map(|document| document.created_at_ms).collect();
    let drafts: Vec<bool> = documents.iter().map(|document| document.is_draft).collect();
    let lengths: Vec<i64> = lexemes.iter().map(|lexemes| stored(lexemes.length())).collect();
    let words: Vec<Vector<'_>> = lexemes.iter().map(Vector).collect();
    for (project, length) in projects.iter().zip(&lengths) {
        let counts = counts.entry(project.to_string()).or_default();
        counts.documents += 1;
        counts.length += length;
    }
    transaction.execute(insert, &[&ids, &projects, &times, &drafts, &lengths, &words]).await?;
    Ok(())
}

/// The words of a document as the binary form of a `tsvector`, which the server takes over faster than text.
#[derive(Debug)]
struct Vector<'a>(&'a Lexemes);

impl ToSql for Vector<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let begin = out.len();
        out.put_i32(0);
        let mut count = 0;
        for Word { text, counts, .. } in self.0.words() {
            out.put_slice(text.as_bytes());
            out.put_u8(0);
            let counts = counts.map(|count| count.min(COUNT_MAX));
            out.put_u16(u16::try_from(counts.iter().sum::<u32>())?);
            let mut place = 0;
            for (weight, count) in WEIGHTS.iter().zip(counts) {
                for _ in 0..count {
                    place += 1;
                    out.put_u16(bits(*weight) << 14 | place);
                }
            }
            count += 1;
        }
        out[begin..begin + 4].copy_from_slice(&i32::to_be_bytes(count));
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TS_VECTOR
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A weight as it is above a word's place.
const fn bits(weight: Weight) -> u16 {
    match weight {
        Weight::A => 3,
        Weight::B => 2,
        Weight::C => 1,
        Weight::D => 0,
    }
}

#[cfg(test)]
mod tests {
    use plenary_retrieval::{Kind, Section};

    use super::*;

    #[test]
    fn words_stand_with_their_weights() {
        let document = Document {
            id: "1".into(),
            project: "p".into(),
            created_at_ms: 0,
            is_draft: false,
            sections: vec![
                Section { kind: Kind::Title, text: "fox".into() },
                Section { kind: Kind::Body, text: format!("fox {}", "dog ".repeat(99)) },
            ],
        };
        let mut out = BytesMut::new();
        Vector(&Lexemes::of(&document)).to_sql(&Type::TS_VECTOR, &mut out).unwrap();
        let begin = b"\0\0\0\x02fox\0\0\x02\xc0\x01\0\x02dog\0\0\x18\0\x01";
        assert_eq!(&out[..begin.len()], begin);
        assert_eq!(out.len(), begin.len() + 2 * 23);
    }
}
