//! Bare limits that no figure is compared with: what this machine does with HTTP alone.
//! Must not know: the server.

use anyhow::Result;

use crate::{
    bench::Bench,
    report::{Goal, Row, Series, Unit},
    world::World,
};

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let echo = bench.limit(&["echo"])?;
    let mut rows = Vec::new();
    for publishers in [1, 64] {
        let mut world = World::bare(echo.address(), publishers).await?;
        let mut figure = Series::default();
        for _ in 0..bench.sizes.rounds {
            figure.0.push(world.run(publishers, bench.sizes.warm / 4, bench.sizes.window / 3).await?.rate);
        }
        let plural = if publishers == 1 { "" } else { "s" };
        rows.push(Row {
            id: "echo",
            what: format!("bare HTTP: POST and an empty answer, {publishers} connection{plural}"),
            unit: Unit::PerSecond,
            figure,
            limit: None,
            goal: Goal::None,
            note: String::new(),
        });
    }
    Ok(rows)
}
