//! Completion of a resource's variable or of a prompt's argument: the names with this prefix that the caller may
//! read.
//! Must not know: the content under those names.

use super::{prompts, resources};
use crate::operations::{Caller, Operations};
use http::Method;
use rmcp::{
    ErrorData,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
};

/// The source of names of one kind.
struct Source {
    /// The prefix of the templates that contain the variable.
    template: &'static str,
    variable: &'static str,
    /// The path of the operation that lists the names.
    path: &'static str,
    /// The member with the list, if the answer is an object.
    list: &'static str,
    /// The member with the name.
    member: &'static str,
}

const PROJECTS: Source = Source {
    template: "plenary://projects/",
    variable: "project_id",
    path: "/v1/projects",
    list: "projects",
    member: "project_id",
};
const SOURCES: [Source; 3] = [
    Source {
        template: "plenary://sessions/",
        variable: "id",
        path: "/sessions?limit=100",
        list: "sessions",
        member: "id",
    },
    Source {
        template: "plenary://channels/",
        variable: "id",
        path: "/agent-channel?limit=100",
        list: "channels",
        member: "id",
    },
    PROJECTS,
];

/// The names that start with the value.
///
/// # Errors
/// When the prompt or template does not exist.
pub(super) async fn complete(
    operations: &Operations,
    caller: &Caller,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let variable = request.argument.name.as_str();
    let source = match &request.r#ref {
        Reference::Prompt(prompt) => {
            if !prompts::list().iter().any(|known| known.name == prompt.name) {
                return Err(ErrorData::invalid_params(format!("Unknown prompt: {}", prompt.name), None));
            }
            Some(&PROJECTS).filter(|source| source.variable == variable)
        }
        Reference::Resource(template) => {
            if !resources::templates(operations).iter().any(|known| known.uri_template == template.uri) {
                return Err(resources::not_found(&template.uri));
            }
            SOURCES
                .iter()
                .find(|source| template.uri.starts_with(source.template) && source.variable == variable)
        }
        _ => return Err(ErrorData::invalid_params("`ref` must be a prompt or a template", None)),
    };
    let names = match source {
        Some(source) => names(operations, caller, source).await,
        None => Vec::new(),
    };
    let mut fitting: Vec<String> =
        names.into_iter().filter(|name| name.starts_with(&request.argument.value)).collect();
    let total = u32::try_from(fitting.len()).ok();
    let more = fitting.len() > CompletionInfo::MAX_VALUES;
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(fitting, total, more);
    info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}

/// Every name of a kind that the caller may read.
async fn names(operations: &Operations, caller: &Caller, source: &Source) -> Vec<String> {
    let Ok(reply) = operations.ask(caller, Method::GET, source.path, None).await else { return Vec::new() };
    if !reply.status.is_success() {
        return Vec::new();
    }
    let answer = reply.value();
    let listed = answer.as_array().or(answer[source.list].as_array());
    let names =
        listed.into_iter().flatten().filter_map(|one| one["ref"].as_str().or(one[source.member].as_str()));
    names.map(str::to_owned).collect::<Vec<_>>()
}

#[cfg(test)]
mod tests {
    use axum::{Json, Router, routing::get};
    use plenary_edge::OperationDoc;
    use rmcp::model::ArgumentInfo;
    use serde_json::{Value, json};

    use super::*;

    fn operations() -> Operations {
        let many: Vec<Value> = (0..150).map(|n| json!({"id": format!("sess_{n:03}")})).collect();
        let router = Router::new()
            .route("/sessions", get(async move || Json(json!({"sessions": many}))))
            .route("/agent-channel", get(async || Json(json!([{"id": "AB12"}]))))
            .route("/v1/projects", get(async || Json(json!({"projects": [{"project_id": "parser"}]}))));
        let doc = |path| OperationDoc::new("a.b", Method::GET, path, "");
        let paths = [
            "/sessions/{id}",
            "/agent-channel/{id}",
            "/v1/projects/{project_id}",
            "/v1/packages/{package_id}",
        ];
        Operations::new(router, paths.map(doc).to_vec())
    }

    async fn completion(reference: Reference, name: &str, value: &str) -> Result<CompletionInfo, ErrorData> {
        let request = CompleteRequestParams::new(reference, ArgumentInfo::new(name, value));
        Ok(complete(&operations(), &Caller::default(), &request).await?.completion)
    }

    #[tokio::test]
    async fn names_are_those_that_the_caller_may_read_and_that_begin_so() {
        for (template, name, value, expected) in [
            ("plenary://channels/{id}", "id", "A", vec!["AB12"]),
            ("plenary://channels/{id}", "id", "X", vec![]),
            ("plenary://projects/{project_id}", "project_id", "", vec!["parser"]),
            ("plenary://packages/{package_id}", "package_id", "", vec![]),
            ("plenary://sessions/{id}", "id", "sess_14", (140..150).map(|_| "").collect()),
        ] {
            let found = completion(Reference::for_resource(template), name, value).await.unwrap();
            assert_eq!((found.values.len(), found.has_more), (expected.len(), Some(false)), "{template}");
            assert!(value.starts_with("sess") || found.values == expected, "{found:?}");
        }
        let project = completion(Reference::for_prompt("orient"), "project_id", "par").await.unwrap();
        assert_eq!(project.values, ["parser"]);
        assert!(completion(Reference::for_prompt("nothing"), "project_id", "").await.is_err());
        assert!(completion(Reference::for_resource("plenary://nothing/{id}"), "id", "").await.is_err());
    }

    #[tokio::test]
    async fn past_their_number_there_are_more() {
        let found = completion(Reference::for_resource("plenary://sessions/{id}"), "id", "").await.unwrap();
        assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(150), Some(true)));
    }
}
