//! The memory backend passes the suite.

use plenary_log::{OpenedLog, conformance::Store, open_memory};

struct Memory;

impl Store for Memory {
    async fn fresh() -> Self {
        Self
    }
    async fn open(&self) -> OpenedLog {
        open_memory()
    }
}

plenary_log::conformance!(Memory);
