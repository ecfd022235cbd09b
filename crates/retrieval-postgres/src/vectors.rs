//! Vectors in tables beside the log, shared by every process on the store with the same model. One process
//! writes:
//! the holder of an advisory lock. In addition each write compares and sets the cursor.
//! Must not know: the meaning of vectors, or their model.

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_log_postgres::{
    OpenError, Options,
    tables::{Lead, LeadHolder, Pool, Purpose, Target, Trouble, stored, text, unsigned},
};
use plenary_retrieval::{Additions, Answer, Archive, ArchivedDocument, Fault, Mark};
use tokio_postgres::{Client, Row, Transaction};

use crate::unavailable;

/// Documents per read.
const READ_AT_ONCE: i64 = 128;
/// One connection reads everything at the start, and then the additions.
const READING_CONNECTIONS: usize = 1;

/// The state of the model, and the additions after a mark; one row without a place if there are none.
const ADDITIONS: &str = "SELECT m.generation, m.place, m.cursor, v.place, v.id, v.octets FROM vector_models m \
    LEFT JOIN LATERAL (SELECT place, id, octets FROM vectors WHERE vectors.model = m.id \
        AND vectors.place > CASE WHEN m.generation = $2 THEN $3::bigint ELSE 0 END \
        ORDER BY vectors.place LIMIT $4) v ON true \
    WHERE m.name = $1 ORDER BY v.place";
const STATEMENTS: &[&str] = &[ADDITIONS];

/// The vectors of one model in one store.
struct PostgresArchive {
    schema: String,
    model: String,
    reading: Pool,
    lead: Lead,
}

/// Opens the vectors of a model in a store that is already set up.
///
/// # Errors
/// As [`plenary_log_postgres::open`].
pub fn open_archive(url: &str, options: &Options, model: &str) -> Result<Arc<dyn Archive>, OpenError> {
    let target = Arc::new(Target::new(url, options)?);
    let schema = target.schema().to_owned();
    let reading = Pool::of(target.clone(), READING_CONNECTIONS, Purpose::Searching, STATEMENTS);
    let lead = Lead::new(target, Purpose::Keeping, lock(&schema, model));
    Ok(Arc::new(PostgresArchive { schema, model: text::stored(model).into_owned(), reading, lead }))
}

fn lock(schema: &str, model: &str) -> String {
    format!("plenary vectors {schema} {model}")
}

impl PostgresArchive {
    async fn leads(&self) -> Result<bool, Trouble> {
        let holder = self.lead.take().await?;
        if holder == LeadHolder::Now {
            self.lead.write(async |client: &mut Client| self.forget_others(client).await).await?;
        }
        Ok(holder != LeadHolder::ByOthers)
    }

    /// Deletes the vectors of models that no process uses any more.
    async fn forget_others(&self, client: &mut Client) -> Result<(), Trouble> {
        let others = "SELECT id, name FROM vector_models WHERE name <> $1";
        for other in client.query(others, &[&self.model]).await? {
            let (id, name): (i32, String) = (other.try_get(0)?, other.try_get(1)?);
            let lock = lock(&self.schema, &text::plain(&name));
            let transaction = client.transaction().await?;
            let free = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
            if transaction.query_one(free, &[&lock]).await?.try_get(0)? {
                tracing::info!(model = name, "vectors of a model that is no longer used are deleted");
                transaction.execute("DELETE FROM vector_models WHERE id = $1", &[&id]).await?;
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn additions(&self, after: Mark) -> Result<Additions, Fault> {
        let (generation, sequence) = (stored(after.generation), stored(after.sequence));
        let rows = self.reading.ask(0, &[&self.model, &generation, &sequence, &READ_AT_ONCE]).await;
        let rows = rows.map_err(|fault| Fault::Unavailable(fault.to_string()))?;
        read(&rows, after).map_err(unavailable)
    }
}

fn read(rows: &[Row], after: Mark) -> Result<Additions, Trouble> {
    let Some(first) = rows.first() else {
        // Nothing was ever added, or everything was deleted.
        let anew = after != Mark::default();
        let (mark, cursor) = (Mark::default(), Position::ZERO);
        return Ok(Additions { found: Vec::new(), mark, cursor, anew, more: false });
    };
    let generation = unsigned(first.try_get(0)?)?;
    let end = Mark { generation, sequence: unsigned(first.try_get(1)?)? };
    let cursor = Position(unsigned(first.try_get(2)?)?);
    let anew = after.generation != generation;
    let (mut found, mut mark) = (Vec::with_capacity(rows.len()), end);
    for row in rows {
        let Some(at) = row.try_get::<_, Option<i64>>(3)? else { continue };
        mark.sequence = unsigned(at)?;
        let id = text::plain(row.try_get(4)?).into_owned();
        found.push(ArchivedDocument { id, bytes: row.try_get(5)? });
    }
    let more = i64::try_from(found.len()).is_ok_and(|count| count >= READ_AT_ONCE);
    Ok(Additions { found, mark: if more { mark } else { end }, cursor, anew, more })
}

/// The model's number, mark and cursor, locked until the transaction ends.
async fn state(transaction: &Transaction<'_>, model: &str) -> Result<(i32, Mark, Position), Trouble> {
    let known = "INSERT INTO vector_models (name) VALUES ($1) ON CONFLICT (name) DO NOTHING";
    transaction.execute(known, &[&model]).await?;
    let sql = "SELECT id, generation, place, cursor FROM vector_models WHERE name = $1 FOR UPDATE";
    let state = transaction.query_one(sql, &[&model]).await?;
    let mark = Mark { generation: unsigned(state.try_get(1)?)?, sequence: unsigned(state.try_get(2)?)? };
    Ok((state.try_get(0)?, mark, Position(unsigned(state.try_get(3)?)?)))
}

async fn put(
    client: &mut Client,
    model: &str,
    documents: Vec<ArchivedDocument>,
    from: Position,
    to: Position,
) -> Result<Option<Mark>, Trouble> {
    let transaction = client.transaction().await?;
    let (number, mut mark, cursor) = state(&transaction, model).await?;
    if cursor != from {
        transaction.rollback().await?;
        return Ok(None);
    }
    let sql = "INSERT INTO vectors (model, id, place, octets) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (model, id) DO UPDATE SET place = excluded.place, octets = excluded.octets";
    let statement = transaction.prepare(sql).await?;
    for ArchivedDocument { id, bytes } in documents {
        mark.sequence += 1;
        transaction
            .execute(&statement, &[&number, &text::stored(&id), &stored(mark.sequence), &bytes])
            .await?;
    }
    let sql = "UPDATE vector_models SET place = $2, cursor = $3 WHERE id = $1";
    transaction.execute(sql, &[&number, &stored(mark.sequence), &stored(to.0)]).await?;
    transaction.commit().await?;
    Ok(Some(mark))
}

async fn clear(client: &mut Client, model: &str) -> Result<Mark, Trouble> {
    let transaction = client.transaction().await?;
    let (number, _, _) = state(&transaction, model).await?;
    transaction.execute("DELETE FROM vectors WHERE model = $1", &[&number]).await?;
    let sql = "UPDATE vector_models SET generation = nextval('vector_generations'), place = 0, cursor = 0 \
        WHERE id = $1 RETURNING generation";
    let generation = unsigned(transaction.query_one(sql, &[&number]).await?.try_get(0)?)?;
    transaction.commit().await?;
    Ok(Mark { generation, sequence: 0 })
}

impl Archive for PostgresArchive {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async { self.leads().await.map_err(unavailable) })
    }

    fn additions(&self, after: Mark) -> Answer<'_, Additions> {
        Box::pin(self.additions(after))
    }

    fn put(
        &self,
        documents: Vec<ArchivedDocument>,
        from: Position,
        to: Position,
    ) -> Answer<'_, Option<Mark>> {
        Box::pin(async move {
            let put = async |client: &mut Client| put(client, &self.model, documents, from, to).await;
            self.lead.write(put).await.map_err(unavailable)
        })
    }

    fn clear(&self) -> Answer<'_, Mark> {
        Box::pin(async {
            let clear = async |client: &mut Client| clear(client, &self.model).await;
            self.lead.write(clear).await.map_err(unavailable)
        })
    }
}
