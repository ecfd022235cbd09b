//! Checks every blob of a place: whether its content matches its name.
//! Must not know: which blobs must exist.

use futures_util::TryStreamExt;
use object_store::{local::LocalFileSystem, path::Path as Key};

use crate::{BlobId, Blobs, Fault, Location, OpenFault, OwnName, blobs::PART_BYTES, verified::verify};

/// The counts and findings of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobCheck {
    /// Blobs that were read.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The blobs that do not match their names, and those that can't be read.
    pub damaged: Vec<String>,
}

impl Blobs {
    /// Opens a place for a check only: nothing is created, and no leftovers are removed.
    ///
    /// # Errors
    /// When the place can't be opened; `None` if the directory does not exist.
    pub fn look_at(
        location: &Location,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, OpenFault> {
        match location {
            Location::Own(path) | Location::Directory(path) => {
                if !path.exists() {
                    return Ok(None);
                }
                let store = LocalFileSystem::new_with_prefix(path).map_err(|e| OpenFault(e.to_string()))?;
                Ok(Some(Self::over(std::sync::Arc::new(store), String::new(), PART_BYTES)))
            }
            Location::Memory | Location::Bucket { .. } => Self::open(location, variable).map(Some),
        }
    }

    /// Reads every blob to its end.
    ///
    /// # Errors
    /// When the store as a whole fails.
    pub async fn check(&self) -> Result<BlobCheck, Fault> {
        let mut checked = BlobCheck::default();
        let below = self.shelves();
        let mut names = self.store().list(Some(&below));
        while let Some(found) = names.try_next().await? {
            let Some(id) = named(&found.location, &below) else { continue };
            checked.contents += 1;
            checked.bytes += found.size;
            if let Err(fault) = self.whole(&found.location, &id).await {
                checked.damaged.push(format!("{id}: {fault}"));
            }
        }
        Ok(checked)
    }

    /// Reads a blob with a separate name to its end; returns a description of its damage, if any. A
    /// missing blob counts as damage only if it `must_be` there: another process may be removing it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_own(
        &self,
        name: &OwnName,
        id: &BlobId,
        must_be: bool,
        checked: &mut BlobCheck,
    ) -> Result<(), Fault> {
        let read = async {
            let Some(content) = self.read(name, id, None).await? else { return Ok(None) };
            let bytes = content.bytes;
            content.stream.try_for_each(|_| std::future::ready(Ok(()))).await?;
            Ok::<_, Fault>(Some(bytes))
        };
        match read.await {
            Ok(Some(bytes)) => {
                checked.contents += 1;
                checked.bytes += bytes;
            }
            Ok(None) if must_be => checked.damaged.push(format!("{name}: it is not there")),
            Ok(None) => {}
            Err(fault @ Fault::Damaged(_)) => checked.damaged.push(format!("{name}: {fault}")),
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    async fn whole(&self, key: &Key, id: &BlobId) -> Result<(), Fault> {
        let content = self.store().get_opts(key, object_store::GetOptions::default()).await?;
        if content.meta.size == 0 {
            // The stream has no bytes that it could verify.
            return if BlobId::of(b"") == *id { Ok(()) } else { Err(Fault::Damaged(*id)) };
        }
        verify(Box::pin(content.into_stream().map_err(Fault::from)), id).await
    }
}

/// The blob of a key: `sha256/ab/cdef…`, below the prefix.
fn named(key: &Key, below: &Key) -> Option<BlobId> {
    let rest: Vec<_> = key.prefix_match(below)?.collect();
    let [shelf, rest] = rest.as_slice() else { return None };
    format!("{}{}", shelf.as_ref(), rest.as_ref()).parse().ok()
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn contents_that_do_not_match_their_names_are_reported_and_nothing_is_changed() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Own(directory.path().join("blobs"));
        assert!(Blobs::look_at(&location, |_| None).unwrap().is_none());
        let blobs = Blobs::open(&location, |_| None).unwrap();
        let mut files = Vec::new();
        for content in ["one", "two", ""] {
            let id = BlobId::of(content.as_bytes());
            let pieces = stream::iter([Ok::<_, std::io::Error>(bytes::Bytes::from(content))]);
            blobs.put(&id, pieces, 10).await.unwrap();
            let name = id.to_string();
            files.push((id, directory.path().join("blobs/sha256").join(&name[..2]).join(&name[2..])));
        }
        let staged = files[0].1.with_file_name(format!("{}#1", "f".repeat(62)));
        std::fs::write(&staged, "x").unwrap();
        let looked = Blobs::look_at(&location, |_| None).unwrap().unwrap();
        let checked = looked.check().await.unwrap();
        assert_eq!((checked.contents, checked.bytes, checked.damaged.len()), (3, 6, 0), "{checked:?}");
        std::fs::write(&files[1].1, "twp").unwrap();
        let checked = looked.check().await.unwrap();
        assert_eq!(checked.damaged.len(), 1, "{checked:?}");
        assert!(checked.damaged[0].starts_with(&files[1].0.to_string()), "{checked:?}");
        std::fs::write(&files[1].1, "").unwrap();
        assert_eq!(looked.check().await.unwrap().damaged.len(), 1, "cut to nothing");
        assert!(staged.exists(), "an upload under way is left alone");
    }
}
