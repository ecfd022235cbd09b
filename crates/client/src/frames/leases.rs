//! The current claims: the listener correlates the lock-shaped frames (FO-18 to FO-21). All listeners of a handle get
//! its frames in one order, so they agree on which claim was first.
//! Must not know: the time, streams, reactions to a claim. A claim blocks nobody.

use std::collections::HashMap;

use plenary_kernel::{SovereignHandle, TimestampMs};

use super::{LockRequest, Payload, ReceivedFrame, Uuid};

/// Maximum number of claims; beyond it the one that expires first is dropped.
const LEASES_MAX: usize = 1_000;

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The id that its frames share.
    pub lease_id: Uuid,
    /// The claimed resource.
    pub resource: String,
    /// The principal that holds it.
    pub holder: SovereignHandle,
    /// The agent runtime that announced it.
    pub drafted_with: String,
    /// The reason.
    pub intent: Option<String>,
    /// When it was first announced, by the sender's clock.
    pub claimed_at: TimestampMs,
    /// When it expires unless it is extended, by the sender's clock.
    pub expires_at: TimestampMs,
    order: u64,
}

impl Lease {
    /// Whether it has expired.
    pub fn is_over(&self, now: TimestampMs) -> bool {
        self.expires_at <= now
    }
}

/// The effect of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A claim was announced.
    Claimed(Lease),
    /// A known claim was announced again or extended.
    Extended(Lease),
    /// A claim was released.
    Released(Lease),
}

/// A claim belongs to its announcer: nobody else can release or extend it, whatever id they name.
type Key = (SovereignHandle, Uuid);

/// The claims known to one listener.
#[derive(Debug, Clone, Default)]
pub struct Leases {
    known: HashMap<Key, Lease>,
    arrived: u64,
}

impl Leases {
    /// Applies a frame, in stream order. Frames of other kinds, and of unknown claims, change nothing.
    pub fn take(&mut self, received: &ReceivedFrame) -> Option<Change> {
        let frame = &received.frame;
        let key = |lease_id: &Uuid| (frame.sender_handle.clone(), lease_id.clone());
        if let Payload::LockRequest(request) = &received.payload {
            return Some(self.claim(key(&request.lease_id), request, received));
        }
        if let Payload::LockRelease(release) = &received.payload {
            return self.known.remove(&key(&release.lease_id)).map(Change::Released);
        }
        if let Payload::LeaseExtend(extend) = &received.payload {
            let lease = self.known.get_mut(&key(&extend.lease_id))?;
            // Compensates a missed extension: the claim holds at least for the stated time from now on.
            let from = lease.expires_at.max(frame.creation_time());
            lease.expires_at = TimestampMs(from.0.saturating_add(extend.ttl_ms));
            return Some(Change::Extended(lease.clone()));
        }
        None
    }

    fn claim(&mut self, key: Key, request: &LockRequest, received: &ReceivedFrame) -> Change {
        self.arrived += 1;
        let creation_time = received.frame.creation_time();
        let expires_at = TimestampMs(creation_time.0.saturating_add(request.ttl_ms));
        if let Some(lease) = self.known.get_mut(&key)
            && !lease.is_over(creation_time)
            && lease.resource == request.resource
        {
            lease.expires_at = lease.expires_at.max(expires_at);
            return Change::Extended(lease.clone());
        }
        let lease = Lease {
            lease_id: request.lease_id.clone(),
            resource: request.resource.clone(),
            holder: received.frame.sender_handle.clone(),
            drafted_with: received.frame.drafted_with.clone(),
            intent: request.intent.clone(),
            claimed_at: creation_time,
            expires_at,
            order: self.arrived,
        };
        self.known.insert(key, lease.clone());
        if self.known.len() > LEASES_MAX
            && let Some(first) = self
                .known
                .iter()
                .min_by_key(|(_, lease)| (lease.expires_at, lease.order))
                .map(|(key, _)| key.clone())
        {
            self.known.remove(&first);
        }
        Change::Claimed(lease)
    }

    /// The claims that have not expired, in the order of their announcement.
    #[must_use]
    pub fn active(&self, now: TimestampMs) -> Vec<&Lease> {
        let mut leases: Vec<&Lease> = self.known.values().filter(|lease| !lease.is_over(now)).collect();
        leases.sort_by_key(|lease| lease.order);
        leases
    }

    /// The other claims that were announced before this one, have not expired, and overlap its resource. If this one
    /// is unknown, all others count.
    pub fn ahead_of(
        &self,
        holder: &SovereignHandle,
        lease_id: &Uuid,
        resource: &str,
        now: TimestampMs,
    ) -> Vec<&Lease> {
        let own = self.known.get(&(holder.clone(), lease_id.clone()));
        let order = own.map_or(u64::MAX, |own| own.order);
        let mut leases = self.active(now);
        leases.retain(|lease| lease.order < order && overlap(&lease.resource, resource));
        leases
    }

    /// Removes and returns the expired claims.
    pub fn expire(&mut self, now: TimestampMs) -> Vec<Lease> {
        let mut over: Vec<Lease> =
            self.known.extract_if(|_, lease| lease.is_over(now)).map(|(_, lease)| lease).collect();
        over.sort_by_key(|lease| (lease.expires_at, lease.order));
        over
    }

    /// When the next claim expires.
    pub fn next_end(&self) -> Option<TimestampMs> {
        self.known.values().map(|lease| lease.expires_at).min()
    }
}

/// Whether two resources overlap: they are equal, or one is a path below the other.
pub fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_end_matches('/'), other.trim_end_matches('/'));
    let below =
        |upper: &str, lower: &str| lower.strip_prefix(upper).is_some_and(|rest| rest.starts_with('/'));
    one == other || below(one, other) || below(other, one)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{LeaseExtend, LockRelease, frame::tests::frame},
        *,
    };

    struct Scene(Leases);

    impl Scene {
        fn send(&mut self, sender: &str, at: u64, payload: &Payload) -> Option<Change> {
            let mut frame = frame(payload, at);
            frame.sender_handle = sender.parse().unwrap();
            let json = serde_json::to_string(&frame).unwrap();
            self.0.take(&ReceivedFrame::read(None, &json).unwrap())
        }

        fn claim(&mut self, sender: &str, at: u64, id: &Uuid, resource: &str, ttl_ms: u64) -> Option<Change> {
            let request =
                LockRequest { resource: resource.into(), lease_id: id.clone(), ttl_ms, intent: None };
            self.send(sender, at, &Payload::LockRequest(request))
        }

        fn extend(&mut self, sender: &str, at: u64, id: &Uuid, ttl_ms: u64) -> Option<Change> {
            self.send(sender, at, &Payload::LeaseExtend(LeaseExtend { lease_id: id.clone(), ttl_ms }))
        }

        fn release(&mut self, sender: &str, id: &Uuid) -> Option<Change> {
            let release = LockRelease { lease_id: id.clone(), resource: None };
            self.send(sender, 0, &Payload::LockRelease(release))
        }

        fn active(&self, now: u64) -> Vec<String> {
            self.0
                .active(TimestampMs(now))
                .iter()
                .map(|lease| format!("{} {}", lease.holder, lease.resource))
                .collect()
        }

        fn ahead(&self, holder: &str, id: &Uuid, now: u64) -> usize {
            let key = (holder.parse().unwrap(), id.clone());
            let resource = self.0.known.get(&key).map_or("/repo", |own| own.resource.as_str());
            self.0.ahead_of(&key.0, &key.1, resource, TimestampMs(now)).len()
        }
    }

    fn scene() -> Scene {
        Scene(Leases::default())
    }

    #[test]
    fn fo_26_to_fo_28_a_claim_lives_until_it_is_released_or_ends() {
        let (mut scene, a, b) = (scene(), Uuid::random(), Uuid::random());
        assert!(matches!(scene.claim("~nick", 1_000, &a, "x", 100), Some(Change::Claimed(_))));
        scene.claim("~nick", 1_000, &b, "y", 500);
        assert_eq!(scene.active(1_099), ["~nick x", "~nick y"]);
        assert_eq!(scene.active(1_100), ["~nick y"]);
        assert!(matches!(scene.release("~nick", &b), Some(Change::Released(lease)) if lease.resource == "y"));
        assert!(scene.active(1_050).len() == 1 && scene.release("~nick", &b).is_none(), "FO-21");
        assert_eq!(scene.0.next_end(), Some(TimestampMs(1_100)));
        assert_eq!(scene.0.expire(TimestampMs(1_099)), []);
        assert_eq!(scene.0.expire(TimestampMs(1_100)).len(), 1);
        assert_eq!(scene.0.next_end(), None);
    }

    #[test]
    fn fo_28_an_extension_adds_and_makes_up_for_a_missed_one() {
        let (mut scene, a) = (scene(), Uuid::random());
        scene.claim("~nick", 1_000, &a, "x", 100);
        scene.extend("~nick", 1_050, &a, 100);
        assert_eq!((scene.active(1_199).len(), scene.active(1_200).len()), (1, 0));
        scene.extend("~nick", 1_500, &a, 100);
        assert_eq!((scene.active(1_599).len(), scene.active(1_600).len()), (1, 0));
        assert!(scene.extend("~nick", 1_500, &Uuid::random(), 100).is_none());
    }

    #[test]
    fn only_who_claimed_releases_and_extends() {
        let (mut scene, a) = (scene(), Uuid::random());
        scene.claim("~nick", 1_000, &a, "x", 100);
        assert!(scene.release("~eve", &a).is_none() && scene.extend("~eve", 1_000, &a, 9_000).is_none());
        scene.claim("~eve", 1_000, &a, "x", 100);
        assert_eq!(scene.active(1_050), ["~nick x", "~eve x"], "FO-20: both claims stand");
        assert_eq!((scene.ahead("~eve", &a, 1_050), scene.ahead("~nick", &a, 1_050)), (1, 0));
    }

    #[test]
    fn everyone_agrees_on_who_was_first_and_a_renewal_keeps_its_place() {
        let (mut scene, a, b, c) = (scene(), Uuid::random(), Uuid::random(), Uuid::random());
        scene.claim("~nick", 1_000, &a, "/repo/src", 100);
        scene.claim("~nick", 1_001, &b, "/repo/src/main.rs", 1_000);
        scene.claim("~nick", 1_002, &c, "/repo/srcs", 1_000);
        assert_eq!([&a, &b, &c].map(|id| scene.ahead("~nick", id, 1_010)), [0, 1, 0]);
        assert_eq!(scene.ahead("~nick", &Uuid::random(), 1_010), 3, "a claim that was not seen is the last");
        assert!(matches!(scene.claim("~nick", 1_050, &a, "/repo/src", 100), Some(Change::Extended(_))));
        assert_eq!(scene.ahead("~nick", &b, 1_149), 1);
        assert_eq!(scene.ahead("~nick", &b, 1_150), 0, "it has ended");
        assert!(matches!(scene.claim("~nick", 1_200, &a, "/repo/src", 100), Some(Change::Claimed(_))));
        assert_eq!(
            (scene.ahead("~nick", &a, 1_210), scene.ahead("~nick", &b, 1_210)),
            (1, 0),
            "behind the other"
        );
    }

    #[test]
    fn resources_touch_as_paths_do() {
        for (one, other) in [("a", "a"), ("/a", "/a/b"), ("/a/", "/a/b/c"), ("/a/b", "/a"), ("src/", "src")] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("/a", "/ab"), ("/a/b", "/a/c"), ("deploy", "deploy:eu")] {
            assert!(!overlap(one, other) && !overlap(other, one), "{one} {other}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut scene = scene();
        for n in 0..u64::try_from(LEASES_MAX).unwrap() + 5 {
            scene.claim("~nick", 1_000 + n, &Uuid::random(), &n.to_string(), 10_000);
        }
        let active = scene.active(2_000);
        assert_eq!((active.len(), active[0].as_str()), (LEASES_MAX, "~nick 5"));
    }
}
