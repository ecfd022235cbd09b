//! `plenary session file`, and the files of a message.
//! Must not know: the other content of a message.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use plenary_client::{
    Client, Error, IdempotencyKey,
    sessions::{FileContent, LocalFile, Part},
};
use plenary_kernel::FileId;

use crate::{
    cli::{context::Context, destination::Destination, failure::Failure},
    out::clean,
};

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The file, `file_…`
    #[arg(value_name = "FILE_ID")]
    id: FileId,
    #[command(flatten)]
    to: Destination,
}

/// Media types by file extension; any other file is a byte stream.
const TYPES: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("zip", "application/zip"),
];
const OPAQUE: &str = "application/octet-stream";

fn media_type(path: &Path) -> &'static str {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    TYPES.iter().find(|(extension, _)| *extension == ending).map_or(OPAQUE, |(_, media_type)| media_type)
}

/// Uploads files, and returns the parts that reference them.
pub(super) async fn uploaded(client: &Client, paths: &[PathBuf]) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            let what = format!("the name of {} cannot be sent", clean(&path.display().to_string()));
            Failure::usage(what, "name a file")
        })?;
        let file =
            LocalFile { path: path.clone(), name: name.to_owned(), media_type: media_type(path).to_owned() };
        let stored = match client.upload_file(&file, &IdempotencyKey::random()).await {
            // As every other file that cannot be read.
            Err(Error::Invalid(what)) => return Err(Failure::local(what)),
            stored => stored?.value,
        };
        let (file_id, name, size) = (Some(stored.id), Some(stored.filename), Some(stored.size_bytes));
        let mime_type = Some(stored.content_type);
        let is_image = mime_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
        parts.push(if is_image {
            Part::Image { url: None, data_uri: None, file_id, mime_type, name, size }
        } else {
            Part::File { url: None, file_id, name, mime_type, size }
        });
    }
    Ok(parts)
}

/// Downloads a file: it appears whole, or not at all.
pub(super) async fn get(context: &Context, args: Get) -> Result<(), Failure> {
    let path = args.to.file()?;
    let mut content = context.agent_client()?.file(&args.id).await?;
    let Some(path) = path else {
        while let Some(piece) = content.next().await? {
            context.out.bytes(&piece)?;
        }
        return Ok(());
    };
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = write(&mut content, &part).await;
    let saved = written.and_then(|bytes| {
        std::fs::rename(&part, path).map_err(|error| unwritable(path, &error))?;
        Ok(bytes)
    });
    match saved {
        Ok(bytes) => {
            context.out.note(&format!("{bytes} bytes in {}", path.display()));
            Ok(())
        }
        Err(failure) => {
            // The incomplete file is useless.
            let _ = std::fs::remove_file(&part);
            Err(failure)
        }
    }
}

async fn write(content: &mut FileContent, path: &Path) -> Result<u64, Failure> {
    let mut file = std::fs::File::create(path).map_err(|error| unwritable(path, &error))?;
    let mut bytes = 0;
    while let Some(piece) = content.next().await? {
        file.write_all(&piece).map_err(|error| unwritable(path, &error))?;
        bytes += piece.len() as u64;
    }
    Ok(bytes)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::local(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_follows_from_the_end_of_a_name() {
        for (name, kind) in [("a/b.PNG", "image/png"), ("q3.pdf", "application/pdf"), ("Makefile", OPAQUE)] {
            assert_eq!(media_type(Path::new(name)), kind);
        }
    }
}
