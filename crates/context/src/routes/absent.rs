//! Operations whose capability this server does not declare: 501, naming it (AP-79).

use http::Method;
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::Class;

use super::{Bearer, doc, in_project};
use crate::{Context, refusals::Refused, rejection::Rejection};

fn absent(doc: OperationDoc, capability: &'static str) -> Operation<Context> {
    let doc = doc.errors(Class::NotImplemented, &["not_implemented"]);
    Operation::new(doc, move |_: Bearer| async move {
        Err::<(), Refused>(Rejection::NotImplemented(capability).into())
    })
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let export = "/v1/projects/{project_id}/export";
    vec![
        absent(in_project("context.export", Method::GET, export, "A whole project; not there yet"), "export"),
        absent(
            doc("context.import", Method::POST, "/v1/import", "Take a project in; not there yet"),
            "export",
        ),
    ]
}
