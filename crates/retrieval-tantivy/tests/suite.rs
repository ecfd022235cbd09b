//! The index passes the suite, in memory and in a directory, and is built again where it can't be used.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::PathBuf, sync::Arc};

use plenary_kernel::Position;
use plenary_retrieval::{Change, Document, Extent, Index, Kind, Put, Section, conformance::Place};

struct Memory;

impl Place for Memory {
    async fn fresh() -> Self {
        Self
    }
    async fn open(&self) -> Arc<dyn Index> {
        plenary_retrieval_tantivy::open_memory().unwrap()
    }
}

struct Directory(tempfile::TempDir);

impl Place for Directory {
    async fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    async fn open(&self) -> Arc<dyn Index> {
        plenary_retrieval_tantivy::open(&self.0.path().join("search")).unwrap()
    }
}

mod memory {
    use super::*;
    plenary_retrieval::conformance!(Memory);
}

mod directory {
    use super::*;
    plenary_retrieval::conformance!(Directory, durable);
}

/// An index with one document, closed again; where it is.
async fn written(place: &Directory) -> PathBuf {
    let index = place.open().await;
    let document = Document {
        id: "a".to_owned(),
        project: "p".to_owned(),
        created_at_ms: 0,
        is_draft: false,
        sections: vec![Section { kind: Kind::Body, text: "login".to_owned() }],
    };
    assert_eq!(index.put(vec![Change::Put(document)], Position(0), Position(7)).await.unwrap(), Put::Done);
    index.close().await.unwrap();
    place.0.path().join("search")
}

/// Opened again, it is as new, or as it was.
async fn extent(place: &Directory) -> Extent {
    let index = place.open().await;
    let extent = index.extent().await.unwrap();
    index.close().await.unwrap();
    extent
}

#[test]
fn an_index_that_cannot_be_used_is_thrown_away() {
    plenary_retrieval::conformance::run(async {
        let place = Directory::fresh().await;
        let directory = written(&place).await;
        assert_eq!(extent(&place).await, Extent { cursor: Position(7), documents: 1 });

        let meta = directory.join("meta.json");
        let text = fs::read_to_string(&meta).unwrap();
        fs::write(&meta, text.replace("\\\"form\\\":1", "\\\"form\\\":0")).unwrap();
        assert_eq!(extent(&place).await, Extent::default(), "an older form");

        written(&place).await;
        fs::write(&meta, "{").unwrap();
        assert_eq!(extent(&place).await, Extent::default(), "a damaged list");

        written(&place).await;

        let words = words_of(&directory);
        let mut octets = fs::read(&words).unwrap();
        octets[0] ^= 1;
        fs::write(&words, octets).unwrap();
        assert_eq!(extent(&place).await, Extent::default(), "a damaged file");

        written(&place).await;
        fs::remove_file(words_of(&directory)).unwrap();
        assert_eq!(extent(&place).await, Extent::default(), "a missing file");

        written(&place).await;
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(extent(&place).await, Extent::default(), "no directory");
    });
}

fn words_of(directory: &std::path::Path) -> PathBuf {
    let mut files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.find(|file| file.extension().is_some_and(|kind| kind == "idx")).unwrap()
}
