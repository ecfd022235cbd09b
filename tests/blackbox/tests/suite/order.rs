//! order.
