//! Paths below `/v1`: ids in them are percent-encoded, `/` included (wire.md D.7).
//! Must not know: any operation.

use crate::{client::segment, query::Query};

/// The path of a project, or of a resource below it.
pub(super) fn project(project_id: &str, below: &str) -> String {
    format!("/v1/projects/{}{below}", segment(project_id))
}

/// The path of a package, or of a resource below it; with a project if given, because several may have the id.
pub(super) fn package(package_id: &str, below: &str, project_id: Option<&str>) -> String {
    Query::of(format!("/v1/packages/{}{below}", segment(package_id))).with("project", project_id).path()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_20_any_id_stays_in_its_place() {
        assert_eq!(project("a/b?c", "/facts"), "/v1/projects/a%2Fb%3Fc/facts");
        assert_eq!(package("p/1", "/flag", Some("x&y")), "/v1/packages/p%2F1/flag?project=x%26y");
        assert_eq!(package("p", "", None), "/v1/packages/p");
    }
}
