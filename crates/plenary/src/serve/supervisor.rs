//! Tells the supervisor that the server listens, by the protocol of systemd's `sd_notify`.
//! Must not know: the server.

use std::{
    io,
    os::unix::net::{SocketAddr, UnixDatagram},
};

use crate::secrets;

/// The variable with the supervisor's socket.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Reports that the server is ready, if a supervisor asks for it.
pub(super) fn report_ready() {
    let Some(name) = secrets::variable(SOCKET) else { return };
    if let Err(error) = send(&name) {
        tracing::warn!(%error, "the supervisor cannot be told that the server is ready");
    }
}

fn send(name: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(b"READY=1", &address(name)?)?;
    Ok(())
}

/// A path, or after an `@` the name of an abstract socket.
fn address(name: &str) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix('@') {
        return <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name);
    }
    SocketAddr::from_pathname(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_a_path_or_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify").to_str().unwrap().to_owned();
        for name in [path, format!("@plenary-test-{}", std::process::id())] {
            let supervisor = UnixDatagram::bind_addr(&address(&name).unwrap()).unwrap();
            send(&name).unwrap();
            let mut report = [0; 64];
            let bytes = supervisor.recv(&mut report).unwrap();
            assert_eq!(&report[..bytes], b"READY=1", "{name}");
        }
        assert!(send("/nowhere/notify").is_err());
    }
}
