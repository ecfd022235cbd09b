//! Counts connections, in total and per address, and signals the end of the last one.
//! Must not know: the content of connections.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;

use crate::{config::Config, origin::network_block};

/// The count of open connections.
pub(crate) struct Admission {
    connections_max: usize,
    per_address_max: usize,
    count_loopback: bool,
    open: AtomicUsize,
    per_address: Mutex<HashMap<IpAddr, usize>>,
    released: Notify,
    gauge: Gauge,
}

/// Counts as one open connection until it is dropped.
pub(crate) struct Permit {
    admission: Arc<Admission>,
    address: Option<IpAddr>,
}

impl Admission {
    pub(crate) fn new(config: &Config, gauge: Gauge) -> Arc<Self> {
        Arc::new(Self {
            connections_max: config.connections_max,
            per_address_max: config.connections_per_address_max,
            count_loopback: config.count_loopback,
            open: AtomicUsize::new(0),
            per_address: Mutex::default(),
            released: Notify::new(),
            gauge,
        })
    }

    /// Admits another connection from an address; `None` beyond a limit.
    pub(crate) fn admit(self: &Arc<Self>, from: IpAddr) -> Option<Permit> {
        let is_counted = self.count_loopback || !from.to_canonical().is_loopback();
        self.take(is_counted.then(|| network_block(from)))
    }

    fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Permit> {
        if let Some(address) = address {
            let mut counts = self.counts();
            let count = counts.entry(address).or_default();
            if *count >= self.per_address_max {
                return None;
            }
            *count += 1;
        }
        // From here on, dropping the permit releases what was counted.
        let permit = Permit { admission: self.clone(), address };
        self.gauge.inc();
        (self.open.fetch_add(1, Ordering::AcqRel) < self.connections_max).then_some(permit)
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Waits until no connection is open.
    pub(crate) async fn empty(&self) {
        loop {
            let released = self.released.notified();
            if self.open() == 0 {
                return;
            }
            released.await;
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.per_address.lock()
    }
}

impl Permit {
    /// Issues further permits for concurrent requests on this connection.
    pub(crate) fn peer_permits(&self) -> PeerPermits {
        PeerPermits { admission: self.admission.clone(), address: self.address }
    }
}

/// Issues further permits to one peer.
pub(crate) struct PeerPermits {
    admission: Arc<Admission>,
    address: Option<IpAddr>,
}

impl PeerPermits {
    /// Takes one; `None` beyond a limit.
    pub(crate) fn take(&self) -> Option<Permit> {
        self.admission.take(self.address)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let admission = &self.admission;
        if let Some(address) = self.address {
            let mut counts = admission.counts();
            match counts.get_mut(&address) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(counts.remove(&address)),
            }
        }
        admission.gauge.dec();
        if admission.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            admission.released.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(connections_max: usize, connections_per_address_max: usize) -> Arc<Admission> {
        let config = Config { connections_max, connections_per_address_max, ..Config::default() };
        Admission::new(&config, Gauge::default())
    }

    #[test]
    fn past_the_limit_of_an_address_only_that_address_is_refused() {
        let admission = admission(10, 2);
        let hog: IpAddr = "192.0.2.1".parse().unwrap();
        let first = admission.admit(hog).unwrap();
        let _second = admission.admit(hog).unwrap();
        assert!(admission.admit(hog).is_none());
        assert!(admission.admit("::ffff:192.0.2.1".parse().unwrap()).is_none());
        assert!(admission.admit("192.0.2.2".parse().unwrap()).is_some());
        drop(first);
        let again = admission.admit(hog).unwrap();
        assert!(again.peer_permits().take().is_none(), "its requests count too");
        assert_eq!(admission.open(), 2);
    }

    #[test]
    fn an_ipv6_client_counts_by_its_64_prefix() {
        let admission = admission(10, 1);
        let _held = admission.admit("2001:db8:1:2::1".parse().unwrap()).unwrap();
        assert!(admission.admit("2001:db8:1:2:ffff::9".parse().unwrap()).is_none());
        assert!(admission.admit("2001:db8:1:3::1".parse().unwrap()).is_some());
    }

    #[test]
    fn past_the_limit_of_all_everyone_is_refused_and_nothing_leaks() {
        let admission = admission(2, 2);
        let permits: Vec<_> =
            ["127.0.0.1", "::1"].map(|ip| admission.admit(ip.parse().unwrap()).unwrap()).into();
        for _ in 0..5 {
            assert!(admission.admit("192.0.2.1".parse().unwrap()).is_none());
        }
        assert_eq!((admission.open(), admission.counts().len(), admission.gauge.get()), (2, 0, 2));
        drop(permits);
        assert_eq!((admission.open(), admission.gauge.get()), (0, 0));
    }
}
