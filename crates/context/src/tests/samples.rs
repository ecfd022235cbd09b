//! Samples that the tests of this room share.

use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_kernel::{Stamp, TimestampMs};
use serde_json::{Value, json};

use crate::{
    access::Role,
    project::{
        decide::InProject,
        event::{ArchiveChange, MemberSet, ProjectCreated, ProjectDescription, ProjectEvent},
        state::ProjectState,
    },
};

/// The smallest package.
pub(super) fn package() -> Value {
    json!({
        "package_id": "pkg_1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d",
        "project_id": "proj_dev_relay",
        "relay_version": "0.1",
        "title": "Shipped archive/de-archive",
        "status": "complete",
        "package_type": "milestone",
        "review_type": "none",
        "created_at": "2026-04-18T20:00:00Z",
        "created_by": {"id": "nick", "type": "human", "session_id": null}
    })
}

/// The authority of `@nick.a`, `~nick`, `operator`.
pub(super) fn authority(by: &str) -> Authority {
    Authority { by: by.parse().unwrap(), token: Some(TokenDigest::of("t")) }
}

/// A project of `nick` in which `@acme.w` writes, `@acme.v` reviews and `@acme.r` reads.
pub(super) fn project() -> ProjectState {
    let by = || Actor::Operator;
    let mut state = ProjectState::default();
    let owned = ProjectCreated {
        project_id: "proj_dev_relay".into(),
        by: by(),
        owner: Some("nick".parse().unwrap()),
        made_at: None,
        about: ProjectDescription::default(),
    };
    state.evolve(TimestampMs(1), &ProjectEvent::ProjectCreated(owned));
    for (member, role) in [("@acme.w", Role::Writer), ("@acme.v", Role::Reviewer), ("@acme.r", Role::Reader)]
    {
        let set = MemberSet { by: by(), member: member.parse().unwrap(), role };
        state.evolve(TimestampMs(2), &ProjectEvent::MemberSet(set));
    }
    state
}

/// The same, archived.
pub(super) fn archived() -> ProjectState {
    let mut state = project();
    state.evolve(
        TimestampMs(3),
        &ProjectEvent::ProjectArchived(ArchiveChange { by: Actor::Operator, at: None }),
    );
    state
}

/// What a decider knows of a project.
pub(super) fn inside(project: ProjectState) -> InProject {
    InProject { authority_holds: true, project: project.into() }
}

/// A stamp at a time.
pub(super) fn stamp(ms: u64) -> Stamp {
    Stamp::new(TimestampMs(ms), [7; 10])
}
