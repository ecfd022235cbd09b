//! The requested format of a view: `?format=`, otherwise `Accept` with its weights, otherwise JSON (CH-22).
//! Must not know: the content of the view.

use std::cmp::Reverse;

/// A format of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    Markdown,
}

/// Media types with their formats. The first three are sent; the others are aliases.
const TYPES: &[(&str, Format)] = &[
    ("application/json", Format::Json),
    ("application/yaml", Format::Yaml),
    ("text/markdown", Format::Markdown),
    ("application/x-yaml", Format::Yaml),
    ("text/yaml", Format::Yaml),
    ("text/x-yaml", Format::Yaml),
    ("text/x-markdown", Format::Markdown),
];

impl Format {
    /// The content type of the response.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Markdown => "text/markdown; charset=utf-8",
        }
    }

    /// The requested format. An unknown format, or an `Accept` without a match, gives JSON.
    pub(crate) fn negotiate<'a>(format: Option<&str>, accept: impl Iterator<Item = &'a str>) -> Self {
        match format.map(str::to_ascii_lowercase).as_deref() {
            Some("yaml" | "yml") => Self::Yaml,
            Some("markdown" | "md") => Self::Markdown,
            Some(_) => Self::Json,
            None => accepted(accept),
        }
    }
}

/// One element of `Accept`: its media range, its weight in thousandths, and its index.
struct Range<'a> {
    media: &'a str,
    weight: u32,
    index: usize,
}

/// How specific a matching range is: 2 for the type itself, 1 for `type/*`, 0 for `*/*`.
fn closeness(range: &str, media: &str) -> Option<u8> {
    if range.eq_ignore_ascii_case(media) {
        return Some(2);
    }
    let kind = media.split_once('/').map_or("", |(kind, _)| kind);
    match range.split_once('/') {
        Some(("*", "*")) => Some(0),
        Some((main_type, "*")) if main_type.eq_ignore_ascii_case(kind) => Some(1),
        _ => None,
    }
}

/// The format with the highest weight, then the most specific range, then the first range.
fn accepted<'a>(headers: impl Iterator<Item = &'a str>) -> Format {
    let ranges: Vec<Range<'_>> = headers
        .flat_map(|header| header.split(','))
        .enumerate()
        .map(|(index, element)| {
            let mut parts = element.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            Range { media, weight: weight.map_or(1_000, thousandths), index }
        })
        .collect();
    let judged = TYPES.iter().enumerate().filter_map(|(order, (media, format))| {
        // The most specific range determines the weight of a type.
        let closest = ranges.iter().filter_map(|range| Some((closeness(range.media, media)?, range)));
        let (close, range) = closest.max_by_key(|(close, range)| (*close, Reverse(range.index)))?;
        // A wildcard matches only the types that are sent, not the aliases.
        let other_name = close < 2 && order > 2;
        (range.weight > 0 && !other_name)
            .then_some(((range.weight, close, Reverse(range.index), Reverse(order)), *format))
    });
    judged.max_by_key(|(rank, _)| *rank).map_or(Format::Json, |(_, format)| format)
}

/// `0.85` is 850; an invalid weight counts as zero.
fn thousandths(text: &str) -> u32 {
    match text.parse::<f32>() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 1000 after the check"
        )]
        Ok(weight) if (0.0..=1.0).contains(&weight) => (weight * 1_000.0).round() as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_22_the_parameter_wins_over_accept() {
        let negotiate = |format: &str, accept: &str| Format::negotiate(Some(format), std::iter::once(accept));
        assert_eq!(negotiate("json", "text/markdown"), Format::Json);
        assert_eq!(negotiate("YML", "application/json"), Format::Yaml);
        assert_eq!(negotiate("md", ""), Format::Markdown);
        assert_eq!(negotiate("markdown", ""), Format::Markdown);
        assert_eq!(negotiate("toml", "text/markdown"), Format::Json, "an unknown one is JSON");
    }

    #[test]
    fn ch_22_accept_is_weighed() {
        for (accept, format) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("text/html", Format::Json),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Format::Json),
            ("text/markdown", Format::Markdown),
            ("TEXT/Markdown; charset=utf-8", Format::Markdown),
            ("application/yaml", Format::Yaml),
            ("text/yaml;q=0.5, application/json;q=0.4", Format::Yaml),
            ("text/x-yaml", Format::Yaml),
            ("text/markdown;q=0.5, application/json", Format::Json),
            ("text/markdown;q=0.9, application/json;q=0.85", Format::Markdown),
            ("*/*, text/markdown", Format::Markdown),
            ("text/*", Format::Markdown),
            ("application/*;q=0.5, text/*;q=0.6", Format::Markdown),
            ("application/json;q=0, */*", Format::Yaml),
            ("text/markdown, application/json", Format::Markdown),
            ("application/json, text/markdown", Format::Json),
            ("text/markdown;q=0", Format::Json),
            ("text/markdown;q=oops, application/yaml;q=0.1", Format::Yaml),
        ] {
            assert_eq!(Format::negotiate(None, std::iter::once(accept)), format, "{accept}");
        }
        assert_eq!(Format::negotiate(None, ["text/html", "text/markdown"].into_iter()), Format::Markdown);
    }
}
