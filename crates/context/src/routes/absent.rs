//! Operations whose capability this server does not declare: 501, naming it (AP-79).

use http::Method;
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::Class;

use super::{Bearer, in_project};
use crate::{Context, refusals::Refused, rejection::Rejection};

fn absent(doc: OperationDoc, capability: &'static str) -> Operation<Context> {
    let doc = doc.errors(Class::NotImplemented, &["not_implemented"]);
    Operation::new(doc, move |_: Bearer| async move {
        Err::<(), Refused>(Rejection::NotImplemented(capability).into())
    })
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let events = "/v1/projects/{project_id}/events";
    let blob = "/v1/projects/{project_id}/blobs/{sha256}";
    vec![
        absent(
            in_project("context.events", Method::GET, events, "Events of a project; not there yet"),
            "realtime",
        ),
        absent(
            in_project("context.get_blob", Method::GET, blob, "The content of a deliverable; not there yet"),
            "blob_storage",
        ),
        absent(
            in_project(
                "context.put_blob",
                Method::PUT,
                blob,
                "Keep the content of a deliverable; not there yet",
            ),
            "blob_storage",
        ),
    ]
}
