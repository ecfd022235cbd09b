//! One HTTP response as it came, and the expectations a test may have of it.

use bytes::Bytes;
use serde_json::Value;

/// Status, headers in their order, and the body's exact bytes.
#[derive(Debug, Clone)]
pub struct Response {
    /// The request line, for the text of a failure.
    pub request_line: String,
    /// The status code.
    pub status: u16,
    /// Header names as sent, and values.
    pub headers: Vec<(String, String)>,
    /// The body, decoded from chunks if it came in chunks.
    pub body: Bytes,
}

impl Response {
    /// The first header of that name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body comes in chunks.
    pub fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null when it is empty.
    #[track_caller]
    pub fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {self}"))
    }

    /// Demands this status and gives the body.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "expected {status}: {self}");
        if status != 204 {
            let kind = self.header("content-type").unwrap_or_default();
            assert!(kind.starts_with("application/json"), "the body's type is JSON (ASP-90): {self}");
        }
        self.json()
    }

    /// Demands a refusal of this status and code in the shape `{"error":{"code","message"}}`.
    #[track_caller]
    pub fn assert_refused(&self, status: u16, code: &str) {
        let actual = self.refusal_code(status);
        assert_eq!(actual, code, "expected code {code}: {self}");
    }

    /// Demands a refusal of this status and gives its code.
    #[track_caller]
    pub fn refusal_code(&self, status: u16) -> String {
        assert_eq!(self.status, status, "expected {status}: {self}");
        let body = self.json();
        let error = &body["error"];
        assert!(error["message"].is_string(), "a refusal has a message: {self}");
        let code = error["code"].as_str().unwrap_or_else(|| panic!("a refusal has a code: {self}"));
        code.to_owned()
    }

    /// Demands a refusal whose code is one of several that the documents allow.
    #[track_caller]
    pub fn assert_refused_any(&self, status: u16, codes: &[&str]) {
        let actual = self.refusal_code(status);
        assert!(codes.contains(&actual.as_str()), "expected one of {codes:?}: {self}");
    }

    /// The first answer was given again (ASP-35): the marker header is there.
    pub fn is_replayed(&self) -> bool {
        self.header("idempotency-replayed") == Some("true")
    }

    /// All that a caller can see but the date: status, headers in order, body bytes.
    pub fn fingerprint(&self) -> String {
        let mut seen = format!("{}\n", self.status);
        for (name, value) in &self.headers {
            if !name.eq_ignore_ascii_case("date") {
                seen.push_str(&format!("{}: {value}\n", name.to_ascii_lowercase()));
            }
        }
        seen.push_str(&format!("\n{:?}", self.body));
        seen
    }
}

impl std::fmt::Display for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut body = self.text();
        if body.len() > 2_000 {
            body = body.chars().take(2_000).collect::<String>() + " [cut]";
        }
        write!(f, "\n> {}\n< {}", self.request_line, self.status)?;
        for (name, value) in &self.headers {
            write!(f, "\n< {name}: {value}")?;
        }
        write!(f, "\n< {body}")
    }
}
