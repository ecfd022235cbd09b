//! One line of an export, and the hash of a package as a client computes it (sections 6.6, Appendix A).
//! Must not know: the source of the lines.

use std::collections::BTreeSet;

use bytes::Bytes;
use plenary_kernel::json::{Nulls, canonical, digest};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Counts, ExportSummary};
use crate::{Error, Result};

/// The kind of the record that ends an export.
pub(super) const END: &str = "end";

/// A line, parsed as far as a transfer needs it.
#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    pub(super) record: String,
    /// Its project, as `OWNER:ID`; absent from older servers.
    pub(super) project: Option<String>,
    #[serde(borrow)]
    pub(super) data: &'a RawValue,
    pub(super) content_hash: Option<String>,
    #[serde(borrow)]
    pub(super) reviews: Option<&'a RawValue>,
    /// The original id of a package that an import has renamed.
    pub(super) renamed_from: Option<String>,
    /// The hash of its first deposit there, if an import has changed its id or its parent.
    pub(super) origin_hash: Option<String>,
    pub(super) cursor: Option<String>,
}

/// The members of a package or project that a transfer uses.
#[derive(Debug, Deserialize)]
pub(super) struct Ids {
    #[serde(default)]
    pub(super) project_id: String,
    #[serde(default)]
    pub(super) package_id: String,
}

/// The ids that several projects of an export share; an export of all starts with its projects.
#[derive(Debug, Default)]
pub(super) struct SharedIds {
    /// Projects requested as `OWNER:ID`.
    qualified: Vec<String>,
    seen: BTreeSet<String>,
    several: BTreeSet<String>,
}

impl SharedIds {
    /// For an export of these projects, or of all.
    pub(super) fn of(projects: &[String]) -> Self {
        let qualified = projects.iter().filter(|name| name.contains(':')).cloned().collect();
        Self { qualified, ..Self::default() }
    }

    /// Adds a record; returns the server's unambiguous name for its project.
    pub(super) fn name(&mut self, record: &Record<'_>, project_id: &str) -> String {
        if record.record == "project" && !self.seen.insert(project_id.to_owned()) {
            self.several.insert(project_id.to_owned());
        }
        let id = match &record.project {
            Some(project) => project.split_once(':').map_or(project_id, |(_, id)| id),
            None => project_id,
        };
        match &record.project {
            Some(project) if self.several.contains(id) || self.qualified.contains(project) => project.clone(),
            Some(_) | None => id.to_owned(),
        }
    }
}

impl<'a> Record<'a> {
    pub(super) fn read(line: &'a [u8]) -> Result<Self> {
        serde_json::from_slice(line)
            .map_err(|error| Error::Unreadable(format!("a line of the export is not valid ({error})")))
    }

    pub(super) fn ids(&self) -> Result<Ids> {
        serde_json::from_str(self.data.get())
            .map_err(|error| Error::Unreadable(format!("a record of the export has no valid ids ({error})")))
    }

    /// The summary in the record that ends an export.
    pub(super) fn end(&self) -> Result<ExportSummary> {
        serde_json::from_str(self.data.get())
            .map_err(|error| Error::Unreadable(format!("the last line of the export is not valid ({error})")))
    }

    /// Verifies a package against the hash that came with it.
    pub(super) fn verify(&self) -> Result<()> {
        let Some(claimed) = &self.content_hash else { return Ok(()) };
        let hash = hash(self.data.get())?;
        if hash == *claimed {
            return Ok(());
        }
        let id = self.ids()?.package_id;
        Err(Error::Unreadable(format!(
            "the hash of the package `{id}` is {hash}, but the server states {claimed}"
        )))
    }

    /// Counts the record.
    pub(super) fn count(&self, counts: &mut Counts) {
        match self.record.as_str() {
            "project" => counts.projects += 1,
            "package" => counts.packages += 1,
            "fact" => counts.facts += 1,
            "session" => counts.sessions += 1,
            "damaged" => counts.damaged += 1,
            _ => {}
        }
    }
}

/// The content hash of a package.
pub(super) fn hash(package: &str) -> Result<String> {
    let value = serde_json::from_str(package)
        .map_err(|error| Error::Unreadable(format!("a package of the export is not JSON ({error})")))?;
    Ok(format!("sha256:{}", hex::encode(digest(&canonical(&value, Nulls::Drop)))))
}

pub(super) fn end_line(exported: &ExportSummary) -> Result<Bytes> {
    let line = serde_json::json!({"record": END, "data": exported});
    Ok(Bytes::from(format!("{line}\n")))
}

/// A line of an export around a record's data.
pub(super) fn enveloped(kind: &str, data: &str, hash: Option<&str>, reviews: Option<&str>) -> Bytes {
    let mut line = format!("{{\"record\":\"{kind}\",\"data\":{data}");
    if let Some(hash) = hash {
        line.push_str(&format!(",\"content_hash\":\"{hash}\""));
    }
    if let Some(reviews) = reviews {
        line.push_str(&format!(",\"reviews\":{reviews}"));
    }
    line.push_str("}\n");
    Bytes::from(line)
}

/// The line of a package with a further member.
pub(super) fn with_member(line: &Bytes, name: &str, value: &str) -> Bytes {
    let open = line.trim_ascii_end().strip_suffix(b"}").unwrap_or(line);
    let mut line = String::from_utf8_lossy(open).into_owned();
    line.push_str(&format!(",\"{name}\":{}}}\n", serde_json::json!(value)));
    Bytes::from(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_77_a_package_is_held_to_its_hash() {
        let data = r#"{ "package_id":"a", "x":1.0, "y":null }"#;
        let hash = hash(data).unwrap();
        let line = enveloped("package", data, Some(&hash), None);
        let record = Record::read(&line).unwrap();
        record.verify().unwrap();
        assert_eq!(record.data.get(), data);
        let changed = enveloped("package", &data.replace("1.0", "1.5"), Some(&hash), None);
        assert!(Record::read(&changed).unwrap().verify().unwrap_err().to_string().contains("`a`"));
    }

    #[test]
    fn where_a_package_was_renamed_from_is_read_as_it_is_written() {
        let line = enveloped("package", "{}", Some("sha256:0"), Some("[]"));
        let line = with_member(&with_member(&line, "renamed_from", "a\"b"), "origin_hash", "sha256:1");
        let record = Record::read(&line).unwrap();
        assert_eq!((record.renamed_from.as_deref(), record.data.get()), (Some("a\"b"), "{}"));
        assert_eq!(record.origin_hash.as_deref(), Some("sha256:1"));
        assert!(line.ends_with(b"}\n"));
    }

    #[test]
    fn the_end_is_read_as_it_is_written() {
        let exported =
            ExportSummary { counts: Counts { packages: 3, ..Counts::default() }, since: "7-ab".into() };
        assert_eq!(Record::read(&end_line(&exported).unwrap()).unwrap().end().unwrap(), exported);
    }
}
