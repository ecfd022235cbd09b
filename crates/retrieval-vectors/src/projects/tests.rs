//! What is found, and what is left of what was replaced or deleted.
//! Must not know: files.

use super::*;
use crate::codes::Code;

fn put(id: &str, project: &str, created_at_ms: i64, vectors: &[[f32; 2]]) -> JournalEntry {
    let codes = vectors.iter().map(|vector| Code::of(vector)).collect();
    let (id, project) = (id.to_owned(), project.to_owned());
    JournalEntry::Put(Entry { id, project, created_at_ms, is_draft: created_at_ms == 9, digest: 1, codes })
}

fn found(projects: &Projects, scope: &Scope, limit: usize) -> Vec<String> {
    let hits = projects.search(&Probe::of(&[1.0, 0.0]), scope, limit);
    hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn the_nearest_part_counts_and_the_newer_wins_a_draw() {
    let mut projects = Projects::default();
    projects.apply(put("far", "p", 1, &[[0.6, 0.8], [0.0, 1.0]]));
    projects.apply(put("near", "p", 1, &[[0.0, 1.0], [0.8, 0.6]]));
    projects.apply(put("newer", "p", 2, &[[0.8, 0.6]]));
    projects.apply(put("draft", "p", 9, &[[0.8, 0.6]]));
    projects.apply(put("other", "q", 1, &[[1.0, 0.0]]));
    projects.apply(put("behind", "p", 1, &[[-1.0, 0.0]]));
    assert_eq!(found(&projects, &Scope::project("p"), 9), ["draft", "newer", "near", "far"]);
    assert_eq!(found(&projects, &Scope::project("p"), 2), ["draft", "newer"]);
    let scope = Scope { since_ms: Some(2), without_drafts: true, ..Scope::project("p") };
    assert_eq!(found(&projects, &scope, 9), ["newer"]);
    assert!(found(&projects, &Scope::default(), 9).is_empty());
    let hits = projects.search(&Probe::of(&[1.0, 0.0]), &Scope::project("p"), 9);
    assert_eq!(hits.iter().map(|hit| hit.part).collect::<Vec<_>>(), [0, 0, 1, 0]);
}

/// Documents of three parts each, in many cells.
fn many(count: usize) -> Projects {
    let mut projects = Projects { sizes: Sizes { exact: 500, cell: 50, share: 4 }, ..Projects::default() };
    for nth in 0..count {
        let angle = nth as f32 / count as f32;
        let vectors = [angle, angle + 0.3, angle - 0.3].map(|angle| [angle.cos(), angle.sin()]);
        projects.apply(put(&format!("{nth:04}"), "p", nth as i64, &vectors));
    }
    projects
}

#[test]
fn threads_find_what_one_finds() {
    let projects = many(400);
    let cells = projects.projects.values().next().unwrap().cells.as_ref().unwrap();
    let (probe, near) = (Probe::of(&[1.0, 0.2]), (0..30).collect::<Vec<_>>());
    let sorted = |threads| {
        let mut compared = compare(cells, &probe, &near, threads);
        compared.sort_unstable_by(nearer);
        compared
    };
    for threads in [2, 3, 7, 100] {
        assert_eq!(sorted(threads), sorted(1), "{threads}");
    }
    assert_eq!(threads(PARALLEL_BYTES_MIN - 1), 1);
}

#[test]
fn a_narrow_window_finds_all_that_is_in_it() {
    let projects = many(2_000);
    assert!(projects.vectors() > 500);
    let scope = Scope { since_ms: Some(1_990), ..Scope::project("p") };
    let hits = projects.search(&Probe::of(&[1.0, 0.0]), &scope, 20);
    let ids: Vec<_> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids, ["1990", "1991", "1992", "1993", "1994", "1995", "1996", "1997", "1998", "1999"]);
    assert_eq!(projects.search(&Probe::of(&[1.0, 0.0]), &Scope::project("p"), 7).len(), 7);
}

#[test]
fn replaced_and_deleted_documents_free_their_memory() {
    let mut projects = Projects::default();
    projects.apply(put("kept", "p", 1, &[[0.6, 0.8]]));
    let bytes = projects.bytes();
    for _ in 0..3_000 {
        projects.apply(put("one", "p", 1, &[[1.0, 0.0], [0.0, 1.0]]));
    }
    assert_eq!((projects.vectors(), projects.projects[&1].documents.slots.len()), (3, 2));
    projects.apply(put("one", "q", 1, &[[1.0, 0.0]]));
    assert_eq!(found(&projects, &Scope::project("p"), 9), ["kept"]);
    assert_eq!(projects.entry("kept").map(|entry| entry.codes), Some(vec![Code::of(&[0.6, 0.8])]));
    projects.apply(JournalEntry::Delete("one".into()));
    assert_eq!((projects.documents(), projects.bytes()), (1, bytes));
    assert!(!projects.numbers.contains_key("q"));
    projects.apply(put("without", "p", 1, &[]));
    assert_eq!(projects.entry("without").map(|entry| entry.codes.len()), Some(0));
}

/// What is counted is what the vectors of a large project take.
#[test]
fn the_counted_memory_is_close_to_the_allocated_memory() {
    let mut cells = Cells::new(384, Sizes::default());
    let mut drawn = crate::cells::tests::Drawn::of(9);
    for document in 0..20_000 {
        let code = Code::of(&drawn.direction(384));
        cells.add(&code, Owner { document, part: 0 }, &mut |_, _| {});
    }
    let allocated = cells.allocated_bytes() + cells.count() * size_of::<CodeLocation>();
    let counted = vectors_bytes(cells.count(), 384);
    assert!(
        allocated < counted + counted / 20 && counted < allocated + allocated / 20,
        "{allocated} for {counted}"
    );
}
