//! An owner: the fold of its stream. Pure.
//! Must not know: its agents.

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::event::OwnerEvent;
use crate::TokenDigest;

/// An owner. The default is an unused name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerState {
    created_at: Option<TimestampMs>,
    token: Option<TokenDigest>,
}

impl OwnerState {
    /// Whether the owner exists.
    pub fn exists(&self) -> bool {
        self.created_at.is_some()
    }
    /// Its time of creation.
    pub fn created_at(&self) -> Option<TimestampMs> {
        self.created_at
    }
    /// Whether this is the owner's valid token, or a console session that was checked with the request.
    pub fn accepts_token(&self, digest: &TokenDigest) -> bool {
        self.exists() && (digest.is_person() || self.token.is_some_and(|token| token.matches(digest)))
    }
    pub(crate) fn token(&self) -> Option<TokenDigest> {
        self.token
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &OwnerEvent) {
        match event {
            OwnerEvent::OwnerRegistered(event) => {
                *self = Self { created_at: Some(at), token: event.token };
            }
            OwnerEvent::OwnerTokenSet(event) => self.token = Some(event.new),
        }
    }
}
