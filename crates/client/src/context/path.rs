//! Paths and queries below `/v1`: ids in them are percent-encoded, `/` included (wire.md D.7).
//! Must not know: any operation.

use crate::client::segment;

/// The path of a project, or of a resource below it.
pub(super) fn project(project_id: &str, below: &str) -> String {
    format!("/v1/projects/{}{below}", segment(project_id))
}

/// The path of a package, or of a resource below it; with a project if given, because several may have the id.
pub(super) fn package(package_id: &str, below: &str, project_id: Option<&str>) -> String {
    let path = format!("/v1/packages/{}{below}", segment(package_id));
    Query::default().text("project", project_id).append_to(&path)
}

/// The parameters that are set.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<String>);

impl Query {
    pub(super) fn text(mut self, name: &str, value: Option<&str>) -> Self {
        self.0.extend(value.map(|value| format!("{name}={}", segment(value))));
        self
    }

    pub(super) fn number(mut self, name: &str, value: Option<u32>) -> Self {
        self.0.extend(value.map(|value| format!("{name}={value}")));
        self
    }

    /// The path with these parameters.
    pub(super) fn append_to(self, path: &str) -> String {
        if self.0.is_empty() { path.to_owned() } else { format!("{path}?{}", self.0.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_20_any_id_stays_in_its_place() {
        assert_eq!(project("a/b?c", "/facts"), "/v1/projects/a%2Fb%3Fc/facts");
        assert_eq!(package("p/1", "/flag", Some("x&y")), "/v1/packages/p%2F1/flag?project=x%26y");
        assert_eq!(package("p", "", None), "/v1/packages/p");
        let query = Query::default().text("a", None).number("limit", Some(5)).text("q", Some("ä +"));
        assert_eq!(query.append_to("/x"), "/x?limit=5&q=%C3%A4%20%2B");
    }
}
