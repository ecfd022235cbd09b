//! Free ports.
//! Must not know: their use.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// A port of the loopback that is free now; another process may take it first.
pub(super) fn free() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}
