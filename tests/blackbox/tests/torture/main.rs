//! Crashes, several processes and readers that do not read: the promises that only show under violence.
//!
//! Apart from the topical suite because these run long and load the machine. `PLENARY_TEST_QUICK=1` shortens them.

mod cluster;
mod crash;
mod nodes;
mod slow;
mod stalled;
mod survivor;
