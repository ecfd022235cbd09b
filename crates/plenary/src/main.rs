//! The `plenary` binary.

mod out;
mod paths;
mod serve;
mod server;

use clap::Parser;

#[derive(Parser)]
enum Cli {
    Serve(serve::ServeArgs),
}

fn main() -> anyhow::Result<()> {
    let Cli::Serve(args) = Cli::parse();
    serve::run(&args, &out::Out::new(false, false))
}
