//! The data that is read back from the file, and the part that a crash may lose.
//! Must not know: models.

use std::io::Write as _;

use super::*;
use crate::{codes::Code, journal_entry::Entry};

fn put(id: &str) -> JournalEntry {
    let codes = vec![Code { parts: vec![1, 2], scale: 1.0 }];
    let (id, project) = (id.to_owned(), "p".to_owned());
    JournalEntry::Put(Entry { id, project, created_at_ms: 0, is_draft: false, digest: 0, codes })
}

async fn all(shelf: &FileShelf) -> (Vec<JournalEntry>, Position) {
    let mut news = shelf.news(Mark::default()).await.unwrap();
    let mut changes = std::mem::take(&mut news.changes);
    while news.more {
        news = shelf.news(news.mark).await.unwrap();
        changes.append(&mut news.changes);
    }
    (changes, news.cursor)
}

#[tokio::test]
async fn a_batch_that_was_broken_off_or_damaged_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vectors");
    let shelf = FileShelf::open(&path, "m").unwrap();
    assert_eq!(all(&shelf).await, (vec![], Position(0)));
    shelf.put(vec![put("a")], Position(0), Position(5)).await.unwrap().unwrap();
    let whole = std::fs::metadata(&path).unwrap().len();
    shelf.put(vec![put("b")], Position(5), Position(9)).await.unwrap().unwrap();
    assert_eq!(shelf.put(vec![put("c")], Position(5), Position(9)).await.unwrap(), None);
    drop(shelf);
    let bytes = std::fs::read(&path).unwrap();
    for end in usize::try_from(whole).unwrap()..=bytes.len() {
        std::fs::write(&path, &bytes[..end]).unwrap();
        if end == bytes.len() {
            let mut file = OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::End(-1)).unwrap();
            file.write_all(&[bytes[end - 1] ^ 1]).unwrap();
        }
        let shelf = FileShelf::open(&path, "m").unwrap();
        assert_eq!(all(&shelf).await, (vec![put("a")], Position(5)), "cut at {end}");
        shelf.put(vec![put("c")], Position(5), Position(6)).await.unwrap().unwrap();
        drop(shelf);
        let shelf = FileShelf::open(&path, "m").unwrap();
        assert_eq!(all(&shelf).await, (vec![put("a"), put("c")], Position(6)));
    }
}

#[tokio::test]
async fn codes_of_another_model_are_thrown_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vectors");
    let shelf = FileShelf::open(&path, "m").unwrap();
    all(&shelf).await;
    shelf.put(vec![put("a")], Position(0), Position(5)).await.unwrap().unwrap();
    drop(shelf);
    assert_eq!(all(&FileShelf::open(&path, "m").unwrap()).await.1, Position(5));
    assert_eq!(all(&FileShelf::open(&path, "other").unwrap()).await, (vec![], Position(0)));
}

#[tokio::test]
async fn a_rewritten_file_has_the_same_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vectors");
    let shelf = FileShelf::open(&path, "m").unwrap();
    all(&shelf).await;
    for nth in 0..9 {
        shelf.put(vec![put("a")], Position(nth), Position(nth + 1)).await.unwrap().unwrap();
    }
    let entries: Vec<_> = (0..REWRITE_CHANGES + 1).map(|nth| put(&nth.to_string())).collect();
    let mark = shelf.rewrite(Box::new(entries.clone().into_iter()), Position(9)).await.unwrap();
    assert_eq!(all(&shelf).await, (entries.clone(), Position(9)));
    assert!(shelf.news(mark).await.unwrap().changes.is_empty());
    shelf.put(vec![put("b")], Position(9), Position(10)).await.unwrap().unwrap();
    let reopened = FileShelf::open(&path, "m").unwrap();
    assert_eq!(all(&reopened).await, ([entries, vec![put("b")]].concat(), Position(10)));
    assert!(!shelf.is_crowded(0));
}
