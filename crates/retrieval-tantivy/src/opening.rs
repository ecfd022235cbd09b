//! Where an index is kept, and what becomes of one that can't be used: it is only made from the log, so it is made
//! anew.
//! Must not know: what is searched or written.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

use plenary_kernel::Position;
use plenary_retrieval::Fault;
use serde::{Deserialize, Serialize};
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy, store::Compressor};

use crate::{FORM, fields::Fields, unavailable};

/// An index that was opened.
pub(crate) struct Opened {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
}

/// What a commit says beside its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    form: u32,
    cursor: u64,
}

impl Mark {
    pub(crate) fn at(cursor: Position) -> String {
        let mark = Self { form: FORM, cursor: cursor.0 };
        serde_json::to_string(&mark).expect("two numbers can be written")
    }
}

pub(crate) fn in_directory(directory: &Path) -> Result<Opened, Fault> {
    make(directory).map_err(unavailable)?;
    let is_empty = fs::read_dir(directory).map_err(unavailable)?.next().is_none();
    if !is_empty {
        match existing(directory) {
            Ok(opened) => return Ok(opened),
            Err(why) => {
                tracing::warn!(why, directory = %directory.display(), "the search index can't be used and is built again from the log");
            }
        }
        fs::remove_dir_all(directory).map_err(unavailable)?;
        make(directory).map_err(unavailable)?;
    }
    let (schema, fields) = Fields::schema();
    let index =
        Index::builder().schema(schema).settings(settings()).create_in_dir(directory).map_err(unavailable)?;
    Ok(Opened { index, fields })
}

/// For its owner alone: it holds the words of what was deposited.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

pub(crate) fn in_memory() -> Result<Opened, Fault> {
    let (schema, fields) = Fields::schema();
    let index = Index::builder().schema(schema).settings(settings()).create_in_ram().map_err(unavailable)?;
    Ok(Opened { index, fields })
}

/// The index of a directory, or why it can't be used.
fn existing(directory: &Path) -> Result<Opened, String> {
    let index = Index::open_in_dir(directory).map_err(|error| error.to_string())?;
    let (schema, fields) = Fields::schema();
    if index.schema() != schema {
        return Err("it has other fields".to_owned());
    }
    let damaged = index.validate_checksum().map_err(|error| error.to_string())?;
    if let Some(file) = damaged.iter().next() {
        return Err(format!("{} is damaged", file.display()));
    }
    mark(&index)?;
    reader(&index).map_err(|fault| fault.to_string())?;
    Ok(Opened { index, fields })
}

fn settings() -> IndexSettings {
    // Only ids are stored.
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// A reader that sees a commit when it is told.
pub(crate) fn reader(index: &Index) -> Result<IndexReader, Fault> {
    index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(unavailable)
}

fn mark(index: &Index) -> Result<Option<Mark>, String> {
    let metas = index.load_metas().map_err(|error| error.to_string())?;
    let Some(payload) = metas.payload else {
        // Nothing was ever committed.
        return if metas.segments.is_empty() { Ok(None) } else { Err("no cursor".to_owned()) };
    };
    let mark: Mark = serde_json::from_str(&payload).map_err(|error| error.to_string())?;
    if mark.form == FORM { Ok(Some(mark)) } else { Err(format!("it is of form {}", mark.form)) }
}

/// How far it is.
pub(crate) fn cursor(index: &Index) -> Result<Position, Fault> {
    let mark = mark(index).map_err(unavailable)?;
    Ok(Position(mark.map_or(0, |mark| mark.cursor)))
}
