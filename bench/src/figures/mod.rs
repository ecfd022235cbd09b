//! The figures, in order. Each file measures what belongs together; limit and subject take turns.
//! Must not know: how load is made.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::{
    RunArgs,
    bench::Bench,
    console, disk, machine,
    report::{Row, Table},
};

mod channels;
mod context;
mod fanout;
mod first;
mod frames;
mod growth;
mod hook;
mod idle;
mod latency;
mod limits;
mod model;
mod postgres;
mod reconnect;
mod replay;
mod runs;
mod send;
mod slow;
mod tools;

pub(crate) use growth::Grown;

/// Every figure; `limits` are the bare ones that no other shows.
const FIGURES: &[&str] = &[
    "limits", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", MILLION,
    "P14", "P15", "P16", "P17", "P18", "P19", "P20",
];
/// P13 over ten times as many packages, which takes so long that it is measured by name alone.
const MILLION: &str = "P13-million";

/// Measures what was asked for.
pub(crate) async fn measure(args: &RunArgs) -> Result<Table> {
    if let Some(unknown) = args.only.iter().find(|id| !FIGURES.contains(&id.as_str())) {
        bail!("there is no figure {unknown}; there are {}", FIGURES.join(", "));
    }
    let begin = Instant::now();
    let mut bench = Bench::new(args)?;
    let mut table = Table { facts: machine::facts(), ..Table::default() };
    let rate = disk::fdatasync_rate(bench.scratch(), Duration::from_secs(1))?;
    table.facts.push(("fdatasync of 4 KiB alone", format!("{rate:.0}/s")));
    let counted = if bench.counts_flushes() { "counted by the kernel" } else { "not counted here" };
    table.facts.push(("flushes of the disk", counted.to_owned()));
    for id in FIGURES.iter().filter(|id| is_selected(args, id)) {
        let watch = Instant::now();
        let rows = figure(id, &mut bench, &mut table).await.with_context(|| format!("{id} failed"))?;
        for row in &rows {
            console::print_line(&row.line());
        }
        console::print_line(&format!("    {id} took {:.0} s", watch.elapsed().as_secs_f64()));
        table.rows.extend(rows);
    }
    table.remarks.push(format!("the run took {:.0} s", begin.elapsed().as_secs_f64()));
    Ok(table)
}

fn is_selected(args: &RunArgs, id: &str) -> bool {
    (args.only.is_empty() && id != MILLION) || args.only.iter().any(|only| only == id)
}

async fn figure(id: &str, bench: &mut Bench, table: &mut Table) -> Result<Vec<Row>> {
    match id {
        "limits" => Box::pin(limits::measure(bench)).await,
        "P1" => Box::pin(send::p1(bench)).await,
        "P2" => Box::pin(send::p2(bench)).await,
        "P3" => Box::pin(send::p3(bench)).await,
        "P4" => Box::pin(latency::measure(bench)).await,
        "P5" => Box::pin(fanout::measure(bench)).await,
        "P6" => Box::pin(frames::measure(bench)).await,
        "P7" => Box::pin(replay::measure(bench)).await,
        "P8" => Box::pin(reconnect::measure(bench)).await,
        "P9" => Box::pin(idle::measure(bench)).await,
        "P10" => Box::pin(growth::measure(bench)).await,
        "P11" if !bench.has_postgres() => {
            table.remarks.push("P11 was left out: no PostgreSQL".to_owned());
            Ok(Vec::new())
        }
        "P11" => Box::pin(postgres::measure(bench, table)).await,
        "P12" => Box::pin(context::deposits(bench)).await,
        "P13" => {
            let count = bench.sizes.packages;
            let mut rows = Box::pin(context::finding(bench, count)).await?;
            rows.extend(Box::pin(context::finding_meaning(bench, count)).await?);
            Ok(rows)
        }
        MILLION => Box::pin(context::finding_meaning(bench, 10 * bench.sizes.packages)).await,
        "P14" => Box::pin(channels::measure(bench)).await,
        "P15" => Box::pin(runs::measure(bench)).await,
        "P16" => Box::pin(tools::measure(bench)).await,
        "P17" => Box::pin(hook::measure(bench)).await,
        "P18" => Box::pin(slow::measure(bench)).await,
        "P19" => Box::pin(send::p19(bench)).await,
        "P20" => match bench.model() {
            Some(model) => Box::pin(model::measure(bench, &model)).await,
            None => {
                table.remarks.push("P20 was left out: no model was named".to_owned());
                Ok(Vec::new())
            }
        },
        _ => bail!("no figure {id}"),
    }
}

/// The value below which this part of all samples lies, in microseconds.
fn percentile(samples: &mut [u64], part: f64) -> Result<f64> {
    samples.sort_unstable();
    let last = samples.len().checked_sub(1).context("nothing was measured")?;
    let mut nth = 0;
    while nth < last && (nth as f64) < part * last as f64 {
        nth += 1;
    }
    Ok(micros(samples[nth]))
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_samples() {
        let mut samples: Vec<u64> = (1..=101).rev().map(|n| n * 1_000).collect();
        assert!((percentile(&mut samples, 0.5).unwrap() - 51.0).abs() < 1e-9);
        assert!((percentile(&mut samples, 0.99).unwrap() - 100.0).abs() < 1e-9);
        assert!(percentile(&mut [], 0.5).is_err());
    }
}
