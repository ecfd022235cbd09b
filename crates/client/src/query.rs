//! Paths with parameters, those that are set.
//! Must not know: any operation.

use crate::client::segment;

/// A path with its parameters so far.
#[derive(Debug)]
pub(crate) struct Query(String);

impl Query {
    /// A path, which may have parameters already.
    pub(crate) fn of(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// The same with a parameter, if it is set; its value is percent-encoded.
    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.contains('?') { '&' } else { '?' });
            self.0.push_str(&format!("{name}={}", segment(&value.to_string())));
        }
        self
    }

    /// The whole path.
    pub(crate) fn path(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_stands_in_the_path_and_stays_in_its_place() {
        let query = Query::of("/x").with("a", None::<&str>).with("limit", Some(5)).with("q", Some("ä +&"));
        assert_eq!(query.with("b", Some(true)).path(), "/x?limit=5&q=%C3%A4%20%2B%26&b=true");
        assert_eq!(Query::of("/x?y=1").with("cursor", Some("2")).path(), "/x?y=1&cursor=2");
    }
}
