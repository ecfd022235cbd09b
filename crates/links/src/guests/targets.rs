//! The requests that a guest may make: those of the operations that a room opens to guests. The room then decides by its own
//! rules. Every other request gets the 404 of an absent path. Pure.
//! Must not know: the operations of a room.

use std::collections::BTreeSet;

use http::Method;
use percent_encoding::percent_decode_str;
use plenary_edge::OperationDoc;
use plenary_kernel::OwnerName;
use url::form_urlencoded;

/// A project that nobody has: its owner has a name of a peer's owner, which no owner here may have.
const ABSENT_PROJECT: &str = "nobody-at-nowhere:none";
/// The room whose objects are in projects.
const OF_PROJECTS: &str = "context";

/// The target of a guest's request, path and query, as the room gets it; `None` if the request is not for guests. A request about
/// a project names it in full, `OWNER:ID`: a plain id could be one of the guest's own names. The project of an owner that takes no
/// part becomes one that does not exist, so that the guest cannot tell which owners take part.
pub(super) fn guest_target(
    docs: &[OperationDoc],
    (method, path, query): (&Method, &str, Option<&str>),
    owners: &BTreeSet<&OwnerName>,
) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let doc = docs.iter().find(|doc| doc.method() == method && matches_pattern(doc.path(), &segments));
    let doc = doc.filter(|doc| doc.is_for_guests())?;
    let target = |path: &str, query: Option<&str>| match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    if let Some(at) = doc.path().split('/').position(|part| part == "{project_id}") {
        let project = percent_decode_str(segments[at]).decode_utf8().ok()?;
        if owners.contains(&owner_of(&project)?) {
            return Some(target(path, query));
        }
        let mut parts = segments;
        parts[at] = ABSENT_PROJECT;
        return Some(target(&parts.join("/"), query));
    }
    if doc.room_name() != OF_PROJECTS {
        return Some(target(path, query));
    }
    let pairs: Vec<_> = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect();
    let mut projects = pairs.iter().filter(|(name, _)| name == "project").map(|(_, project)| project);
    let (Some(project), None) = (projects.next(), projects.next()) else { return None };
    if owners.contains(&owner_of(project)?) {
        return Some(target(path, query));
    }
    let others = pairs.iter().filter(|(name, _)| name != "project");
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(others).append_pair("project", ABSENT_PROJECT);
    Some(target(path, Some(&query.finish())))
}

/// The owner of a project that is named in full.
fn owner_of(project: &str) -> Option<OwnerName> {
    let (owner, _) = project.split_once(':').filter(|(_, id)| !id.is_empty())?;
    owner.parse().ok()
}

/// Whether a path has the form of a pattern. A pattern with `{*rest}` matches no path: no operation for guests has one.
fn matches_pattern(pattern: &str, segments: &[&str]) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let is_match = |(pattern, segment): (&&str, &&str)| match pattern.strip_prefix('{') {
        Some(name) => !name.starts_with('*') && !matches!(*segment, "" | "." | ".."),
        None => pattern == segment,
    };
    pattern.len() == segments.len() && pattern.iter().zip(segments).all(is_match)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_for_nick(method: &Method, target: &str) -> Option<String> {
        let doc = |id, method, path| OperationDoc::new(id, method, path, "");
        let docs = [
            doc("channel.show", Method::GET, "/agent-channel/{id}").for_guests(),
            doc("channel.append", Method::POST, "/agent-channel/{id}/event").for_guests(),
            doc("channel.key", Method::POST, "/agent-channel/{id}/key"),
            doc("channel.create", Method::POST, "/agent-channel"),
            doc("context.pull", Method::GET, "/v1/projects/{project_id}/packages").for_guests(),
            doc("context.get", Method::GET, "/v1/packages/{package_id}").for_guests(),
            doc("context.orchestrate", Method::GET, "/v1/orchestrate").for_guests(),
            doc("context.import", Method::POST, "/v1/import"),
            doc("run.discovery", Method::GET, "/_discovery").for_guests(),
            doc("run.show", Method::GET, "/agent/{name}/runs/{run_id}").for_guests(),
            doc("session.list", Method::GET, "/sessions"),
            doc("peer.get", Method::GET, "/peers/{peer}/{*path}").for_guests(),
        ];
        let nick: OwnerName = "nick".parse().unwrap();
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        guest_target(&docs, (method, path, query), &[&nick].into())
    }

    fn is_allowed(method: &Method, target: &str) -> bool {
        target_for_nick(method, target).is_some_and(|forwarded| forwarded == target)
    }

    #[test]
    fn a_guest_reads_and_writes_in_channels_and_runs_agents() {
        for (method, target) in [
            (Method::GET, "/agent-channel/c?key=k&format=markdown"),
            (Method::HEAD, "/agent-channel/c"),
            (Method::POST, "/agent-channel/c/event"),
            (Method::GET, "/agent/echo/runs/run_1"),
            (Method::GET, "/_discovery"),
        ] {
            assert!(is_allowed(&method, target), "{target}");
        }
    }

    #[test]
    fn a_project_is_named_in_full_and_its_owner_takes_part() {
        for target in [
            "/v1/projects/nick:p/packages",
            "/v1/projects/nick%3Ap/packages",
            "/v1/packages/x?project=nick:p",
        ] {
            assert!(is_allowed(&Method::GET, target), "{target}");
        }
        for target in [
            "/v1/projects/p/packages",
            "/v1/projects/nick:/packages",
            "/v1/projects/ann:p/packages",
            "/v1/projects/ann%3Ap/packages",
            "/v1/packages/x",
            "/v1/packages/x?project=p",
            "/v1/packages/x?project=nick:p&project=ann:p",
            "/v1/orchestrate",
        ] {
            assert!(!is_allowed(&Method::GET, target), "{target}");
        }
    }

    #[test]
    fn a_project_of_an_owner_that_takes_no_part_is_one_that_nobody_has() {
        for (target, begin, end) in [
            (
                "/v1/projects/ann%3Ap/packages?limit=1",
                "/v1/projects/nobody-at-nowhere:none",
                "/packages?limit=1",
            ),
            ("/v1/packages/x?project=ann:p", "/v1/packages/x?project=nobody-at-nowhere%3A", ""),
        ] {
            let forwarded = target_for_nick(&Method::GET, target).unwrap();
            assert!(forwarded.starts_with(begin) && forwarded.ends_with(end), "{forwarded}");
        }
    }

    #[test]
    fn everything_else_is_absent() {
        for (method, target) in [
            (Method::POST, "/agent-channel"),
            (Method::GET, "/agent-channel/.."),
            (Method::GET, "/agent-channel/"),
            (Method::DELETE, "/agent-channel/c"),
            (Method::POST, "/agent-channel/c/key"),
            (Method::POST, "/v1/import"),
            (Method::GET, "/sessions"),
            (Method::GET, "/peers/rose/agent-channel/c"),
            (Method::GET, "/peers/rose/agent-channel"),
            (Method::GET, "/"),
        ] {
            assert!(!is_allowed(&method, target), "{target}");
        }
    }
}
