//! The tables, and the migration of an older store. Each step is one transaction under an advisory lock, so that of
//! several processes that start at once only one takes each step.

use tokio_postgres::Client;

use crate::{
    target::{OpenError, Target},
    trouble::Trouble,
};

/// The steps, in order: the first one makes version 1.
const STEPS: [&str; 7] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// Longest time that one step may wait for others, or take.
const STEP_MS_MAX: u64 = 600_000;

/// Added to the version of tables that hold an unfinished copy: no release knows such a version, so none opens it.
pub(crate) const UNFINISHED: i32 = 1_000_000;

/// Migrates the store to the newest version, and returns its epoch.
pub(crate) async fn migrate(client: &Client, target: &Target) -> Result<String, OpenError> {
    loop {
        match step(client, target).await {
            Ok(Some(epoch)) => return Ok(epoch),
            Ok(None) => {}
            Err(error) => {
                let _ = client.batch_execute("ROLLBACK").await;
                return Err(error);
            }
        }
    }
}

/// One step in one transaction; the epoch if there is no further step.
async fn step(client: &Client, target: &Target) -> Result<Option<String>, OpenError> {
    let schema = target.schema();
    let begin = format!(
        "BEGIN; SET LOCAL lock_timeout = {STEP_MS_MAX}; SET LOCAL statement_timeout = {STEP_MS_MAX}; \
         SELECT pg_advisory_xact_lock(hashtextextended('plenary schema {schema}', 0))"
    );
    client.batch_execute(&begin).await.map_err(Trouble::from)?;
    let present = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL, \
        to_regclass(quote_ident($1) || '.meta') IS NOT NULL";
    let present = client.query_one(present, &[&schema]).await.map_err(Trouble::from)?;
    if !present.try_get::<_, bool>(0).map_err(Trouble::from)? {
        client.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await.map_err(Trouble::from)?;
    }
    if !present.try_get::<_, bool>(1).map_err(Trouble::from)? {
        let meta = "CREATE TABLE meta (one boolean PRIMARY KEY DEFAULT true CHECK (one), \
            version integer NOT NULL, epoch text NOT NULL); \
            INSERT INTO meta (version, epoch) VALUES (0, gen_random_uuid()::text)";
        client.batch_execute(meta).await.map_err(Trouble::from)?;
    }
    let meta = client.query_one("SELECT version, epoch FROM meta", &[]).await.map_err(Trouble::from)?;
    let version: i32 = meta.try_get(0).map_err(Trouble::from)?;
    let next = usize::try_from(known(version)?).ok().and_then(|version| STEPS.get(version));
    if let Some(sql) = next {
        tracing::info!(from = version, schema, "migrating the store");
        client.batch_execute(sql).await.map_err(Trouble::from)?;
        client.batch_execute("UPDATE meta SET version = version + 1").await.map_err(Trouble::from)?;
    }
    client.batch_execute("COMMIT").await.map_err(Trouble::from)?;
    Ok(if next.is_some() { None } else { Some(meta.try_get(1).map_err(Trouble::from)?) })
}

/// The version of this program.
pub(crate) fn newest_schema_version() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// The version, unless it is newer than this program's.
pub(crate) fn known(version: i32) -> Result<i32, OpenError> {
    let known = newest_schema_version();
    if version > UNFINISHED {
        return Err(OpenError::Unfinished);
    }
    if version > known { Err(OpenError::Newer { found: version, known }) } else { Ok(version) }
}
