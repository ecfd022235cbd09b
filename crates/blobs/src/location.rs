//! The storage location of blobs, as the operator configures it.
//! Must not know: how blobs are stored there.

use std::{fmt, path::PathBuf, str::FromStr};

/// Where blobs are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In memory only.
    Memory,
    /// In a directory that no other process writes to; created if absent.
    Own(PathBuf),
    /// In a directory that other processes may write to as well; created if absent.
    Directory(PathBuf),
    /// In a bucket with the S3 protocol, under a prefix that may be empty. Its address and keys are in
    /// the `AWS_…` variables.
    Bucket {
        /// The bucket.
        bucket: String,
        /// The prefix of every name in it.
        prefix: String,
    },
}

/// The text is not a valid place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the place of blobs must be file:///directory or s3://bucket/prefix")]
pub struct NotALocation;

impl FromStr for Location {
    type Err = NotALocation;

    fn from_str(text: &str) -> Result<Self, NotALocation> {
        if let Some(path) = text.strip_prefix("file://") {
            return if path.starts_with('/') { Ok(Self::Directory(path.into())) } else { Err(NotALocation) };
        }
        let named = text.strip_prefix("s3://").ok_or(NotALocation)?;
        let (bucket, prefix) = named.split_once('/').unwrap_or((named, ""));
        let is_bucket = !bucket.is_empty()
            && bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
        if !is_bucket || prefix.bytes().any(|byte| matches!(byte, b'?' | b'#')) {
            return Err(NotALocation);
        }
        Ok(Self::Bucket { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Own(path) | Self::Directory(path) => write!(f, "file://{}", path.display()),
            Self::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_as_it_is_written() {
        let bucket =
            |bucket: &str, prefix: &str| Location::Bucket { bucket: bucket.into(), prefix: prefix.into() };
        for (text, location) in [
            ("file:///var/blobs", Location::Directory("/var/blobs".into())),
            ("s3://a-b.c", bucket("a-b.c", "")),
            ("s3://a/", bucket("a", "")),
            ("s3://a/b/c/", bucket("a", "b/c")),
        ] {
            assert_eq!(text.parse(), Ok(location), "{text}");
        }
        for text in ["", "/var/blobs", "file://blobs", "s3://", "s3:///a", "s3://a b", "s3://a?x", "gs://a"] {
            assert_eq!(text.parse::<Location>(), Err(NotALocation), "{text}");
        }
    }
}
