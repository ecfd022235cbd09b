//! Packages: deposit, pull, flag, review (sections 8.1, 8.2, 8.5; AP-53 to AP-64, AP-86, AP-87).
//! Must not know: the content of a package.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{
    NewPackage, Package,
    hash::verified,
    path::{package, project},
};
use crate::{Client, Reply, Result, client::json as json_bytes, query::Query};

/// Selects packages of a project, newest first.
#[derive(Debug, Clone, Default)]
pub struct PackageQuery {
    /// Maximum number, up to 1,000; default 5 (AP-58).
    pub limit: Option<u32>,
    /// Only packages with this status.
    pub status: Option<String>,
    /// Only packages of this type.
    pub package_type: Option<String>,
    /// Only packages with this parent.
    pub parent: Option<String>,
    /// The `next_cursor` of an earlier page.
    pub cursor: Option<String>,
}

/// Packages, newest first.
#[derive(Debug, Clone, Deserialize)]
pub struct PackagePage {
    /// The packages, without hashes.
    pub packages: Vec<Package>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// Packages that match a query, best match first (AP-60).
#[derive(Debug, Clone, Deserialize)]
pub struct RelevantPage {
    /// At most the requested number.
    pub packages: Vec<RelevantPackage>,
}

/// A package and its relevance.
#[derive(Debug, Clone, Deserialize)]
pub struct RelevantPackage {
    /// The package.
    pub package: Package,
    /// The relevance; higher is better; comparable within one answer only.
    pub score: f64,
}

/// The review log of a package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewLog {
    /// The steps since the deposit.
    pub reviews: Vec<ReviewStep>,
}

/// One step of a review.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewStep {
    /// `deposit`, `flag` or `review`.
    pub action: String,
    /// The previous status; `None` at the deposit.
    pub from: Option<String>,
    /// The new status.
    pub status: String,
    /// The next reviewer.
    pub review_type: String,
    /// The reason.
    pub note: Option<String>,
    /// The holder of the token.
    pub by: String,
    /// RFC 3339 UTC.
    pub at: String,
    /// The content hash after this step.
    pub content_hash: String,
}

impl Client {
    /// `POST …/packages`. Safe to repeat because of the id: 201, or 200 if the same package exists already (AP-83).
    ///
    /// # Errors
    /// 409 `duplicate_package_id` if another package has the id.
    pub async fn deposit(&self, package: &NewPackage) -> Result<Reply<Package>> {
        let path = project(&package.project_id, "/packages");
        let body = json_bytes(package)?;
        let send = || async {
            let raw = self.raw(Method::POST, &path, Some(body.clone())).await?;
            Reply::read(verified(raw.into_success()?)?)
        };
        self.retry().run(send).await
    }

    /// `GET /v1/packages/{id}`; `project_id` if several projects may have the id. Verifies the hash of the content.
    ///
    /// # Errors
    /// [`crate::Error::Unreadable`] when the hash does not match.
    pub async fn package(&self, package_id: &str, project_id: Option<&str>) -> Result<Reply<Package>> {
        let raw = self.raw(Method::GET, &package(package_id, "", project_id), None).await?;
        Reply::read(verified(raw.into_success()?)?)
    }

    /// `GET …/packages?mode=latest`.
    pub async fn latest_packages(
        &self,
        project_id: &str,
        query: &PackageQuery,
    ) -> Result<Reply<PackagePage>> {
        let PackageQuery { limit, status, package_type, parent, cursor } = query;
        let query = Query::of(project(project_id, "/packages?mode=latest"))
            .with("limit", *limit)
            .with("status", status.as_ref())
            .with("package_type", package_type.as_ref())
            .with("parent", parent.as_ref())
            .with("cursor", cursor.as_ref());
        self.get(&query.path()).await
    }

    /// `GET …/packages?mode=relevant`.
    ///
    /// # Errors
    /// 501 `search_not_supported` if the server has no search.
    pub async fn relevant_packages(
        &self,
        project_id: &str,
        query: &str,
        limit: Option<u32>,
    ) -> Result<Reply<RelevantPage>> {
        let path = project(project_id, "/packages?mode=relevant");
        self.get(&Query::of(path).with("query", Some(query)).with("limit", limit).path()).await
    }

    /// `GET …/reviews`: the packages that await review (AP-87).
    pub async fn awaiting_review(
        &self,
        project_id: &str,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<Reply<PackagePage>> {
        let query = Query::of(project(project_id, "/reviews")).with("limit", limit).with("cursor", cursor);
        self.get(&query.path()).await
    }

    /// `POST …/flag`: asks for a review by `human` or `agent` (AP-63).
    ///
    /// # Errors
    /// 400 `invalid_transition` if the package is complete.
    pub async fn flag_package(
        &self,
        package_id: &str,
        project_id: Option<&str>,
        review_type: &str,
        note: Option<&str>,
    ) -> Result<Reply<Package>> {
        let body = json!({"review_type": review_type, "note": note});
        self.post(&package(package_id, "/flag", project_id), &body).await
    }

    /// `POST …/review`: changes the status to `complete`, `revision_requested` or `awaiting_review` (AP-86).
    ///
    /// # Errors
    /// 400 `invalid_transition` if that status is not reachable.
    pub async fn review_package(
        &self,
        package_id: &str,
        project_id: Option<&str>,
        status: &str,
        note: Option<&str>,
    ) -> Result<Reply<Package>> {
        let body = json!({"status": status, "note": note});
        self.post(&package(package_id, "/review", project_id), &body).await
    }

    /// `GET …/reviews` of a package.
    pub async fn review_log(&self, package_id: &str, project_id: Option<&str>) -> Result<Reply<ReviewLog>> {
        self.get(&package(package_id, "/reviews", project_id)).await
    }
}
