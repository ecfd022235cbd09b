//! The parameters of a request: each at most once (RFC 6749, 3.1), except `resource` (RFC 8707). Pure.
//! Must not know: the list of parameters.

use url::form_urlencoded;

/// The parameters of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query or a form; `None` if a parameter is repeated.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut read: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(text) {
            if name != "resource" && read.iter().any(|(known, _)| *known == name) {
                return None;
            }
            read.push((name.into_owned(), value.into_owned()));
        }
        Some(Self(read))
    }

    /// A parameter; an empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        values.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_occurs_once() {
        let read = Parameters::read(b"a=1&b=%20x+y&c=&resource=r&resource=s").unwrap();
        assert_eq!((read.get("a"), read.get("b"), read.get("c")), (Some("1"), Some(" x y"), None));
        assert_eq!(read.all("resource").collect::<Vec<_>>(), ["r", "s"]);
        assert_eq!(Parameters::read(b"a=1&a=1"), None);
    }
}
