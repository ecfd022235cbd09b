//! The memory backend passes the suite.

use plenary_log::{Opened, conformance::Store, open_memory};

struct Memory;

impl Store for Memory {
    async fn fresh() -> Self {
        Self
    }
    async fn open(&self) -> Opened {
        open_memory()
    }
}

plenary_log::conformance!(Memory);
