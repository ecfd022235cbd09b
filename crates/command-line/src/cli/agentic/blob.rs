//! `plenary context blob`: contents of deliverables, uploaded and downloaded by their hash.
//! Must not know: packages.

use bytes::Bytes;
use clap::{Args, Subcommand};
use plenary_client::context::BlobId;
use serde_json::json;

use super::{deliverable::DeliverableFile, target::ProjectTarget};
use crate::{
    cli::{context::Context, destination::Destination, failure::Failure},
    out::{Progress, clean, counted},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Upload files and print their hashes
    Put(PutArguments),
    /// Download the content with a given hash
    Get(Get),
}

#[derive(Debug, Args)]
pub(crate) struct PutArguments {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// SHA-256 hash of the content, as the deliverable states it
    hash: BlobId,
    #[command(flatten)]
    to: Destination,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, command: Command) -> Result<(), Failure> {
    match command {
        Command::Put(PutArguments { files }) => {
            let directory = context.directory()?;
            for file in files {
                let delivered = super::deliverable::read(directory, directory, &file)?;
                let content = delivered.content.ok_or_else(|| {
                    Failure::usage(
                        format!("{} is not a file", clean(&file)),
                        "name a file; a URL needs no upload",
                    )
                })?;
                put(context, target, &file, content).await?;
            }
            Ok(())
        }
        Command::Get(Get { hash, to }) => {
            let path = to.file()?;
            let content = target.client.blob(target.project()?, hash).await?;
            let Some(path) = path else { return Ok(context.out.bytes(&content)?) };
            std::fs::write(path, &content)
                .map_err(|error| Failure::local(format!("{} cannot be written: {error}", path.display())))?;
            context.out.note(&format!("{} in {}", counted(content.len() as u64, "byte"), path.display()));
            Ok(())
        }
    }
}

async fn put(context: &Context, target: &ProjectTarget, name: &str, content: Bytes) -> Result<(), Failure> {
    let (id, size) = (BlobId::of(&content), content.len());
    target.client.put_blob(target.project()?, content).await?;
    if context.out.is_json() {
        let answer = json!({"path": name, "hash": format!("sha256:{id}"), "size_bytes": size});
        return Ok(context.out.line(&answer.to_string())?);
    }
    Ok(context.out.line(&format!("sha256:{id}  {}", clean(name)))?)
}

/// Uploads the contents of deliverables.
pub(super) async fn upload(
    context: &Context,
    target: &ProjectTarget,
    delivered: Vec<DeliverableFile>,
) -> Result<(), Failure> {
    let files = delivered.into_iter().filter_map(|file| Some((file.entry.path, file.content?)));
    let (mut count, mut bytes) = (0, 0);
    let mut progress = Progress::new(&context.out);
    for (_, content) in files {
        bytes += content.len() as u64;
        target.client.put_blob(target.project()?, content).await?;
        count += 1;
        progress.report("upload", count, bytes);
    }
    drop(progress);
    if count > 0 {
        context.out.note(&format!("{} uploaded, {}", counted(count, "file"), counted(bytes, "byte")));
    }
    Ok(())
}
