//! idempotency.
