//! A file of codes: a header with the model's name, then batches, each with a digest. A batch that a crash
//! interrupted is ignored. The file can be rebuilt, so writes are not flushed.
//! Must not know: models, how similarity is computed.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use plenary_kernel::Position;
use plenary_retrieval::{Answer, Fault, Mark};
use sha2::{Digest as _, Sha256};

use crate::{
    journal_entry::{JournalEntry, number, read_number, take, text},
    shelf::{Changes, News, Shelf},
};

/// The first bytes of the file, with the version of its format.
const MAGIC: &[u8] = b"plenary vectors 1\n";
/// Bytes of batches per read.
const PAGE_BYTES: u64 = 2 << 20;
/// A batch with a larger length is damaged.
const BATCH_BYTES_MAX: usize = 1 << 30;
/// The file is crowded when obsolete bytes exceed the live ones by this.
const SLACK_BYTES: u64 = 16 << 20;
/// Changes per batch when the file is rewritten.
const REWRITE_CHANGES: usize = 256;
/// Bytes before a batch: its length and its digest.
const FRAME: u64 = 4 + DIGEST as u64;
const DIGEST: usize = 8;

/// A file of codes. One process at a time may have it open; the lock of the store ensures that.
pub struct FileShelf(Arc<Mutex<Open>>);

struct Open {
    path: PathBuf,
    file: File,
    head: Vec<u8>,
    /// The end of the batches that were read or written.
    end: Mark,
    cursor: Position,
    /// Whether all batches of an earlier process were read.
    is_read: bool,
}

/// Mode 0600: vectors reveal the texts that they were made from.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options
}

impl FileShelf {
    /// Opens or creates the file. Codes of another model are deleted.
    pub fn open(path: &Path, model: &str) -> io::Result<Self> {
        let mut head = MAGIC.to_vec();
        text(&mut head, model);
        let mut file = private().truncate(false).open(path)?;
        let mut found = Vec::new();
        (&mut file).take(head.len() as u64).read_to_end(&mut found)?;
        if found != head {
            begin(&mut file, &head)?;
        }
        let end = Mark { generation: 1, sequence: head.len() as u64 };
        let open = Open { path: path.to_owned(), file, head, end, cursor: Position::ZERO, is_read: false };
        Ok(Self(Arc::new(Mutex::new(open))))
    }

    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Open) -> io::Result<T> + Send + 'static,
    ) -> Answer<'_, T> {
        let open = self.0.clone();
        Box::pin(async move {
            let work = tokio::task::spawn_blocking(move || work(&mut open.lock()));
            let done = work.await.map_err(|_| Fault::Unavailable("the file of vectors broke off".into()))?;
            done.map_err(|error| Fault::Unavailable(format!("the file of vectors: {error}")))
        })
    }
}

fn begin(file: &mut File, head: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(head)
}

/// A batch preceded by its length and digest.
fn framed(changes: &[JournalEntry], to: Position) -> Vec<u8> {
    let mut batch = to.0.to_le_bytes().to_vec();
    number(&mut batch, changes.len());
    changes.iter().for_each(|change| change.write(&mut batch));
    let mut framed = Vec::with_capacity(batch.len() + 12);
    number(&mut framed, batch.len());
    framed.extend(&Sha256::digest(&batch)[..DIGEST]);
    framed.extend(batch);
    framed
}

fn read(batch: &[u8]) -> Option<(Position, Vec<JournalEntry>)> {
    let mut from = batch;
    let to = Position(u64::from_le_bytes(take(&mut from)?));
    let count = read_number(&mut from)?;
    let changes = (0..count).map(|_| JournalEntry::read(&mut from)).collect::<Option<_>>()?;
    from.is_empty().then_some((to, changes))
}

impl Open {
    /// The batch at an offset, and its end; `None` if there is no complete one.
    fn batch(&mut self, offset: u64) -> io::Result<Option<(Position, Vec<JournalEntry>, u64)>> {
        let length = self.file.metadata()?.len();
        if length < offset + FRAME {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(offset))?;
        let mut frame = [0; 4 + DIGEST];
        self.file.read_exact(&mut frame)?;
        let (mut size, digest) = (&frame[..4], &frame[4..]);
        let size = read_number(&mut size).unwrap_or(usize::MAX);
        let end = offset + FRAME + size as u64;
        if size > BATCH_BYTES_MAX || length < end {
            return Ok(None);
        }
        let mut batch = vec![0; size];
        self.file.read_exact(&mut batch)?;
        if &Sha256::digest(&batch)[..DIGEST] != digest {
            return Ok(None);
        }
        Ok(read(&batch).map(|(to, changes)| (to, changes, end)))
    }

    fn news(&mut self, after: Mark) -> io::Result<News> {
        let anew = after.generation != self.end.generation;
        let from = if anew { self.head.len() as u64 } else { after.sequence };
        let mut news = News {
            changes: Vec::new(),
            mark: Mark { sequence: from, ..self.end },
            cursor: self.cursor,
            anew,
            more: false,
        };
        while !news.more {
            if self.is_read && news.mark.sequence >= self.end.sequence {
                break;
            }
            let Some((to, changes, end)) = self.batch(news.mark.sequence)? else {
                // The rest is incomplete or damaged; its documents are indexed again.
                self.file.set_len(news.mark.sequence)?;
                self.end.sequence = news.mark.sequence;
                self.is_read = true;
                break;
            };
            news.changes.extend(changes);
            news.mark.sequence = end;
            news.cursor = to;
            news.more = end - from >= PAGE_BYTES;
        }
        if !self.is_read {
            self.end.sequence = news.mark.sequence;
        }
        self.cursor = news.cursor;
        Ok(news)
    }

    fn put(&mut self, changes: &[JournalEntry], from: Position, to: Position) -> io::Result<Option<Mark>> {
        if from != self.cursor || !self.is_read {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(self.end.sequence))?;
        let framed = framed(changes, to);
        if let Err(error) = self.file.write_all(&framed) {
            // Remove a partly written batch, so that the next one does not follow it.
            let _later = self.file.set_len(self.end.sequence);
            return Err(error);
        }
        self.end.sequence += framed.len() as u64;
        self.cursor = to;
        Ok(Some(self.end))
    }

    fn clear(&mut self) -> io::Result<Mark> {
        begin(&mut self.file, &self.head)?;
        self.end = Mark { generation: self.end.generation + 1, sequence: self.head.len() as u64 };
        (self.cursor, self.is_read) = (Position::ZERO, true);
        Ok(self.end)
    }

    fn rewrite(&mut self, mut all: Changes, cursor: Position) -> io::Result<Mark> {
        let path = self.path.with_extension("new");
        let mut file = private().truncate(true).open(&path)?;
        file.write_all(&self.head)?;
        let mut length = self.head.len() as u64;
        // Only the last batch has the cursor of the whole content.
        loop {
            let changes: Vec<_> = all.by_ref().take(REWRITE_CHANGES).collect();
            let is_last = changes.is_empty();
            let framed = framed(&changes, if is_last { cursor } else { Position::ZERO });
            file.write_all(&framed)?;
            length += framed.len() as u64;
            if is_last {
                break;
            }
        }
        file.sync_all()?;
        std::fs::rename(&path, &self.path)?;
        self.file = file;
        self.end = Mark { generation: self.end.generation + 1, sequence: length };
        (self.cursor, self.is_read) = (cursor, true);
        Ok(self.end)
    }
}

impl Shelf for FileShelf {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn news(&self, after: Mark) -> Answer<'_, News> {
        self.with(move |open| open.news(after))
    }

    fn put(&self, changes: Vec<JournalEntry>, from: Position, to: Position) -> Answer<'_, Option<Mark>> {
        self.with(move |open| open.put(&changes, from, to))
    }

    fn clear(&self) -> Answer<'_, Mark> {
        self.with(Open::clear)
    }

    fn is_crowded(&self, bytes: usize) -> bool {
        let open = self.0.lock();
        open.end.sequence > 2 * bytes as u64 + SLACK_BYTES
    }

    fn rewrite(&self, all: Changes, cursor: Position) -> Answer<'_, Mark> {
        self.with(move |open| open.rewrite(all, cursor))
    }
}

#[cfg(test)]
mod tests;
