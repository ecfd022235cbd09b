//! Requests as plain data: which fields a body or a query has, what each value must be, and with which code and words a
//! wrong one is refused. Reading, the JSON schema and the list of arguments come from that one declaration. Pure.
//! Must not know: HTTP, or any one request.

mod form;
mod misfit;
mod node;
mod read;
mod schema;
mod shape;
mod words;

#[cfg(test)]
mod tests;

pub use form::{Bounds, Form, Grammar, Json, List, Switch, Unit, at_most, bounds};
pub use misfit::{Misfit, Path};
pub use node::{Node, Raw};
pub use read::Sent;
pub use shape::{
    Field, Items, Manner, Missing, Null, Order, Rule, Shape, Twice, Unknown, optional, required,
};
