//! The embedded files of the page, found by name, with their content types and entity tags.
//! Must not know: the caller.

use std::{collections::BTreeMap, sync::LazyLock};

use plenary_kernel::json::digest;

/// An embedded file, plain and compressed.
struct File {
    name: &'static str,
    plain: &'static [u8],
    zipped: &'static [u8],
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The HTML of the page.
pub(crate) const INDEX: &str = "index.html";

/// Bytes of the digest in an entity tag.
const TAG_BYTES: usize = 16;

/// A file with the values of its response headers.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) plain: &'static [u8],
    pub(crate) zipped: &'static [u8],
    pub(crate) content_type: &'static str,
    /// The `ETag`, with its quotes.
    pub(crate) tag: String,
}

/// The content types by file extension.
const TYPES: &[(&str, &str)] = &[
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".json", "application/json"),
    (".webmanifest", "application/manifest+json"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".ico", "image/x-icon"),
    (".woff2", "font/woff2"),
    (".txt", "text/plain; charset=utf-8"),
    (".md", "text/markdown; charset=utf-8"),
];

/// The content type of a file with an unknown extension.
const UNKNOWN: &str = "application/octet-stream";

static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let served = |file: &File| {
        let known = TYPES.iter().find(|(end, _)| file.name.ends_with(end));
        let content_type = known.map_or(UNKNOWN, |(_, content_type)| content_type);
        let tag = format!("\"{}\"", hex::encode(&digest(file.plain)[..TAG_BYTES]));
        (file.name, Asset { plain: file.plain, zipped: file.zipped, content_type, tag })
    };
    FILES.iter().map(served).collect()
});

/// The file with this name.
pub(crate) fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two classes of `HIDDEN` in `parts/text.js`, as ranges; the rest of it are joiners, which depend on their neighbours.
    fn hidden_on_the_page() -> Vec<(u32, u32)> {
        let script = include_str!("../web/parts/text.js");
        let classes = script.split_once("HIDDEN =\n  /[").unwrap().1.split_once("|[\\ud800").unwrap().0;
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for part in classes.split("\\u").skip(1) {
            let digits = part.trim_start_matches('{').split(['}', '-', ']']).next().unwrap();
            let code = u32::from_str_radix(digits, 16).unwrap();
            match ranges.last_mut().filter(|(_, end)| *end == u32::MAX) {
                Some((_, end)) => *end = code,
                None => ranges.push((code, code)),
            }
            if part.trim_end_matches(']').ends_with('-') {
                ranges.last_mut().unwrap().1 = u32::MAX;
            }
        }
        ranges
    }

    #[test]
    fn the_page_and_the_server_hide_the_same_characters() {
        let ranges = hidden_on_the_page();
        assert!(ranges.len() > 20 && ranges.contains(&(0xad, 0xad)), "{ranges:x?}");
        // A text on the page has lines and tabs.
        let of_texts = ['\t', '\n', '\u{200c}', '\u{200d}'];
        for c in (char::MIN..=char::MAX).filter(|c| !of_texts.contains(c)) {
            let is_hidden = ranges.iter().any(|(from, to)| (*from..=*to).contains(&u32::from(c)));
            assert_eq!(is_hidden, plenary_kernel::text::is_hidden(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn every_file_has_a_type_and_a_tag_of_its_own() {
        assert!(asset(INDEX).is_some_and(|index| index.content_type.starts_with("text/html")));
        for (name, asset) in ASSETS.iter() {
            assert_ne!(asset.content_type, UNKNOWN, "{name}");
        }
        assert!(asset("../Cargo.toml").is_none() && asset("").is_none());
    }
}
