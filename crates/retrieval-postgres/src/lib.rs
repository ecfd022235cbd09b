//! Search in PostgreSQL, in tables beside the log: the word indexes, and the vectors of models.
//! Must not know: any protocol.

mod changes;
mod index;
mod query;
mod vectors;

use plenary_log_postgres::tables::Trouble;
use plenary_retrieval::Fault;

pub use self::{
    index::{Tables, open_index},
    vectors::open_archive,
};

fn unavailable(trouble: Trouble) -> Fault {
    Fault::Unavailable(trouble.fault().to_string())
}
