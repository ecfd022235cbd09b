//! A search as one statement: BM25 over the projects of the scope, with word counts weighted by section.
//! Must not know: how documents were written.

use plenary_log_postgres::tables::{Pool, Trouble, stored, text};
use plenary_retrieval::{COMMON_DOCUMENTS_MIN, COMMON_SHARE, Fault, Hit, Query, Scope};

/// Most documents that one search scores; of more, the database chooses which.
const LOOKED_AT_MAX: u64 = 50_000;

/// The statements that a search session prepares, for one set of tables.
///
/// In the first, `tf` rises with every occurrence of a word and stays below 1; the rest is BM25 with b = 0.75
/// and a k1 that
/// suits it. Of the projects $9 only the documents up to the numbers $10 are searched; they do not count in the
/// mean length. The last returns the size of a sample of documents, and how many of them have each word.
macro_rules! statements {
    ($tables:literal) => {
        &[
            concat!(
        "WITH scope AS ( \
        SELECT greatest(sum(documents), 1)::float8 AS documents, \
        greatest(sum(length), 1)::float8 / greatest(sum(documents), 1)::float8 AS usual \
        FROM ",
        $tables,
        "_projects WHERE project = ANY($1) AND project <> ALL($9::text[])), \
        hits AS MATERIALIZED ( \
        SELECT id, created_at_ms, length, words FROM ",
        $tables,
        "_documents \
        WHERE words @@ $2::text::tsquery AND project = ANY($1) \
        AND (project <> ALL($9) OR substring(id from '[0-9]+$')::bigint <= ($10::bigint[])[array_position($9, project)]) \
        AND ($4::bigint IS NULL OR created_at_ms >= $4) AND ($8::bigint IS NULL OR created_at_ms < $8) \
        AND NOT ($5::boolean AND is_draft) LIMIT $7::bigint), \
        asked AS MATERIALIZED (SELECT nth, word::tsquery AS word FROM unnest($3::text[]) WITH ORDINALITY AS w (word, nth)), \
        found AS MATERIALIZED ( \
        SELECT hits.id, hits.created_at_ms, hits.length, asked.nth, \
        ts_rank('{0.2, 0.4, 0.6, 1.0}', hits.words, asked.word)::float8 AS tf \
        FROM hits JOIN asked ON hits.words @@ asked.word), \
        known AS MATERIALIZED ( \
        SELECT nth, ln(1 + (greatest(min(scope.documents) - count(*), 0) + 0.5) / (count(*) + 0.5)) AS idf \
        FROM found, scope GROUP BY nth) \
        SELECT found.id, sum(known.idf * found.tf * 1.3 \
        / (found.tf + 0.3 * (0.25 + 0.75 * found.length / scope.usual))) AS score \
        FROM found JOIN known ON known.nth = found.nth CROSS JOIN scope \
        GROUP BY found.id, found.created_at_ms ORDER BY score DESC, found.created_at_ms DESC, found.id LIMIT $6::bigint"
    ),
            concat!("SELECT cursor, documents FROM ", $tables, "_state"),
            concat!(
        "WITH sample AS MATERIALIZED ( \
        SELECT words FROM ",
        $tables,
        "_documents WHERE project = ANY($1) LIMIT $3::bigint) \
        SELECT word, count(*) FILTER (WHERE sample.words @@ word::tsquery), count(*) \
        FROM unnest($2::text[]) AS w (word), sample GROUP BY word"
    ),
        ]
    };
}
pub(crate) const PACKAGES: &[&str] = statements!("search");
pub(crate) const EVERYTHING: &[&str] = statements!("everything");
const NEAREST: usize = 0;
/// The index of the statement that returns the progress of the index.
pub(crate) const EXTENT: usize = 1;
const COMMON_WORDS: usize = 2;
/// Size of the sample in which common words are counted.
const SAMPLE: u64 = 200;

/// Words of the query that nearly all documents of the scope's projects have.
pub(crate) async fn common(pool: &Pool, query: &Query, scope: &Scope) -> Result<Vec<String>, Fault> {
    let projects: Vec<_> = scope.projects.iter().map(|project| text::stored(project)).collect();
    let words: Vec<String> = query.words().iter().map(|word| format!("'{word}'")).collect();
    let rows = pool
        .ask(COMMON_WORDS, &[&projects, &words, &stored(SAMPLE)])
        .await
        .map_err(|fault| Fault::Unavailable(fault.to_string()))?;
    let mut common = Vec::new();
    for row in &rows {
        let read = || {
            Ok::<_, Trouble>((
                row.try_get::<_, &str>(0)?,
                row.try_get::<_, i64>(1)?,
                row.try_get::<_, i64>(2)?,
            ))
        };
        let (word, having, all) = read().map_err(crate::unavailable)?;
        #[expect(clippy::cast_precision_loss, reason = "a sample is small")]
        let is_common = having as f64 >= COMMON_SHARE * all as f64;
        if is_common && u64::try_from(all).unwrap_or_default() >= COMMON_DOCUMENTS_MIN {
            common.push(word.trim_matches('\'').to_owned());
        }
    }
    Ok(common)
}

/// The best documents.
pub(crate) async fn search(
    pool: &Pool,
    query: &Query,
    scope: &Scope,
    limit: usize,
) -> Result<Vec<Hit>, Fault> {
    let projects: Vec<_> = scope.projects.iter().map(|project| text::stored(project)).collect();
    // Words consist only of letters and digits, so quoting is sufficient.
    let words: Vec<String> = query.words().iter().map(|word| format!("'{word}'")).collect();
    let any = words.join(" | ");
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let beginnings: Vec<_> = scope.beginnings.keys().map(|project| text::stored(project)).collect();
    let last_numbers: Vec<_> = scope.beginnings.values().copied().map(stored).collect();
    let rows = pool
        .ask(
            NEAREST,
            &[
                &projects,
                &any,
                &words,
                &scope.since_ms,
                &scope.without_drafts,
                &most,
                &stored(LOOKED_AT_MAX),
                &scope.until_ms,
                &beginnings,
                &last_numbers,
            ],
        )
        .await
        .map_err(|fault| Fault::Unavailable(fault.to_string()))?;
    let hit = |row: &tokio_postgres::Row| {
        Ok::<_, Trouble>(Hit { id: text::plain(row.try_get(0)?).into_owned(), score: row.try_get(1)? })
    };
    rows.iter().map(hit).collect::<Result<_, _>>().map_err(crate::unavailable)
}
