//! Blobs in memory and in a directory: stored, refused, damaged, interrupted.

use std::{convert::Infallible, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};

use crate::{
    BLOB_BYTES_MAX, BlobId, Blobs, Fault, Location, PUT_BUFFER_BYTES_MAX, PutError, WHOLE_BYTES_MAX,
};

/// Bytes that do not repeat within a part.
fn bytes(count: u64) -> Bytes {
    (0..count).map(|n| u8::try_from((n ^ (n >> 8) ^ (n >> 16)) & 255).unwrap()).collect()
}

async fn put(blobs: &Blobs, id: &BlobId, content: &Bytes, max: u64) -> Result<u64, PutError<Infallible>> {
    let pieces: Vec<_> = content.chunks(100_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    blobs.put(id, stream::iter(pieces), max).await
}

async fn got(blobs: &Blobs, id: &BlobId, range: Option<std::ops::Range<u64>>) -> Result<Bytes, Fault> {
    let content = blobs.get(id, range).await?.expect("it is kept");
    let pieces: Vec<Bytes> = content.stream.try_collect().await?;
    Ok(pieces.concat().into())
}

struct TestBlobs {
    blobs: Blobs,
    directory: Option<tempfile::TempDir>,
}

fn test_blobs() -> [TestBlobs; 2] {
    let directory = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(&Location::Directory(directory.path().join("blobs")), |_| None).unwrap();
    [
        TestBlobs { blobs: Blobs::in_memory(), directory: None },
        TestBlobs { blobs, directory: Some(directory) },
    ]
}

#[test]
fn a_new_directory_is_private_and_an_existing_one_keeps_its_mode() {
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let parent = tempfile::tempdir().unwrap();
    let (new, shared) = (parent.path().join("new"), parent.path().join("shared"));
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o750)).unwrap();
    for path in [&new, &shared] {
        Blobs::open(&Location::Directory(path.clone()), |_| None).unwrap();
    }
    assert_eq!((mode(&new), mode(&shared)), (0o700, 0o750));
}

/// Every file below a directory.
fn files(below: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn what_is_put_comes_back_whole_and_in_parts() {
    for TestBlobs { blobs, directory: _directory } in test_blobs() {
        for size in [0, 1, WHOLE_BYTES_MAX, WHOLE_BYTES_MAX + 1, 3_000_000] {
            let content = bytes(size);
            let id = BlobId::of(&content);
            assert_eq!(blobs.head(&id).await, Ok(None));
            assert!(blobs.get(&id, None).await.unwrap().is_none());
            for _ in 0..2 {
                assert_eq!(put(&blobs, &id, &content, size).await.unwrap(), size);
            }
            assert_eq!(blobs.head(&id).await, Ok(Some(size)));
            assert_eq!(got(&blobs, &id, None).await.unwrap(), content);
            for (from, until) in
                [(0, 0), (0, 1), (size / 2, size), (size / 3, size + 7), (size + 1, size + 2)]
            {
                let at = |byte: u64| usize::try_from(byte.min(size)).unwrap();
                let part = got(&blobs, &id, Some(from..until)).await.unwrap();
                assert_eq!(part, content[at(from)..at(until)], "{from}..{until} of {size}");
            }
        }
    }
}

#[tokio::test]
async fn nothing_of_a_refused_put_is_stored() {
    for TestBlobs { blobs, directory } in test_blobs() {
        for size in [10, 2_000_000] {
            let (content, other) = (bytes(size), BlobId::of(b"something else"));
            let mismatch = put(&blobs, &other, &content, BLOB_BYTES_MAX).await;
            assert!(matches!(mismatch, Err(PutError::Mismatch(found)) if found == BlobId::of(&content)));
            let id = BlobId::of(&content);
            let large = put(&blobs, &id, &content, size - 1).await;
            assert!(matches!(large, Err(PutError::TooLarge { bytes_max }) if bytes_max == size - 1));
            let broken = stream::iter([Ok(content.clone()), Err("gone")]);
            assert!(matches!(blobs.put(&id, broken, size).await, Err(PutError::Content("gone"))));
            for absent in [id, other] {
                assert_eq!(blobs.head(&absent).await, Ok(None));
            }
        }
        if let Some(directory) = directory {
            // Unfinished parts are removed after the answer.
            let removed = async {
                while !files(directory.path()).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), removed).await.expect("they are removed");
        }
    }
}

#[tokio::test]
async fn damage_is_reported_and_a_second_put_repairs_it() {
    let [_, TestBlobs { blobs, directory }] = test_blobs();
    let directory = directory.unwrap();
    for size in [1_000, 2_000_000] {
        let content = bytes(size);
        let id = BlobId::of(&content);
        put(&blobs, &id, &content, size).await.unwrap();
        let name = id.to_string();
        let path = directory.path().join("blobs/sha256").join(&name[..2]).join(&name[2..]);
        let damage = |damaged: Vec<u8>| std::fs::write(&path, damaged).unwrap();
        let mut flipped = content.to_vec();
        flipped[700] ^= 1;
        for damaged in
            [flipped, content[..content.len() - 1].to_vec(), [&content[..], b"x"].concat(), Vec::new()]
        {
            damage(damaged);
            assert_eq!(got(&blobs, &id, None).await, Err(Fault::Damaged(id)));
            assert_eq!(got(&blobs, &id, Some(0..10)).await, Err(Fault::Damaged(id)));
        }
        put(&blobs, &id, &content, size).await.unwrap();
        assert_eq!(got(&blobs, &id, None).await.unwrap(), content);
    }
}

#[tokio::test]
async fn a_large_content_that_is_damaged_never_comes_to_its_end() {
    let [_, TestBlobs { blobs, directory }] = test_blobs();
    let content = bytes(WHOLE_BYTES_MAX + 1);
    let id = BlobId::of(&content);
    put(&blobs, &id, &content, BLOB_BYTES_MAX).await.unwrap();
    let path = files(directory.as_ref().unwrap().path()).remove(0);
    let mut damaged = content.to_vec();
    damaged[0] ^= 1;
    std::fs::write(path, damaged).unwrap();
    let mut stream = blobs.get(&id, None).await.unwrap().unwrap().stream;
    let mut seen = 0;
    let end = loop {
        match stream.try_next().await {
            Ok(Some(piece)) => seen += piece.len(),
            Ok(None) => panic!("it came to its end"),
            Err(fault) => break fault,
        }
    };
    assert_eq!(end, Fault::Damaged(id));
    assert!(seen < content.len(), "{seen} bytes were given out");
}

#[tokio::test]
async fn past_the_buffers_of_all_puts_the_next_one_waits_and_is_then_refused() {
    let store = Arc::new(object_store::memory::InMemory::new());
    let blobs = Blobs::over(store, String::new(), PUT_BUFFER_BYTES_MAX / 2).waiting(Duration::from_millis(1));
    let id = BlobId::of(b"");
    let endless = || blobs.put(&id, stream::pending::<Result<Bytes, Infallible>>(), 1);
    let (mut first, mut second) = (Box::pin(endless()), Box::pin(endless()));
    for put in [&mut first, &mut second] {
        assert!(futures_util::poll!(put).is_pending());
    }
    assert!(matches!(put(&blobs, &id, &Bytes::new(), 1).await, Err(PutError::Busy)));
    drop(first);
    assert_eq!(put(&blobs, &id, &Bytes::new(), 1).await.unwrap(), 0);
}

#[test]
fn a_name_is_64_lower_case_hex_digits() {
    let name = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(name.parse(), Ok(BlobId::of(b"")));
    assert_eq!(BlobId::of(b"").to_string(), name);
    for bad in ["", &name[1..], &name.to_uppercase(), &format!("{name}0"), "../../etc/passwd"] {
        assert!(bad.parse::<BlobId>().is_err(), "{bad}");
    }
}
