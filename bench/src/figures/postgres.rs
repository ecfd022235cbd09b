//! P11: P1 on PostgreSQL, with one process and with three.
//! Must not know: what SQLite does.

use anyhow::Result;
use tokio_postgres::NoTls;

use super::send::{PUBLISHERS, Turns};
use crate::{
    bench::Bench,
    process::Store,
    report::{Row, Table},
    world::World,
};

pub(super) async fn measure(bench: &mut Bench, table: &mut Table) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (processes, what, goal) in [
        (1, "P1 on PostgreSQL, one process", 0.70),
        (3, "P1 on PostgreSQL, three processes, reader and publisher on different ones", 0.60),
    ] {
        let url = bench.database().await?;
        if processes == 1 {
            table.facts.push(("PostgreSQL", version(&url).await?));
        }
        let limit = bench.limit(&["pgwal", "--url", &url])?;
        // As the limit, which does not encrypt its connection either.
        let store = Store::Postgres(format!("{}?sslmode=disable", bench.database().await?));
        let servers = (0..processes).map(|_| bench.server_on(&store)).collect::<Result<Vec<_>>>()?;
        let addresses: Vec<_> = servers.iter().map(crate::process::Listening::address).collect();
        let mut bare = World::bare(limit.address(), PUBLISHERS).await?;
        let mut world = World::sessions(&addresses, "s", PUBLISHERS).await?;
        let mut turns = Turns::default();
        for _ in 0..bench.sizes.rounds {
            turns.take(bench, &mut bare, &mut world, PUBLISHERS).await?;
        }
        rows.push(turns.row("P11", what.to_owned(), "pgwal, 64", goal));
    }
    Ok(rows)
}

async fn version(url: &str) -> Result<String> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let text: String = client.query_one("SHOW server_version", &[]).await?.get(0);
    drop(client);
    connection.await??;
    Ok(text)
}
