//! The codes of refusals, each once: what a machine reads of a "no" (wire.md D.3). Pure.
//! Must not know: which operation refuses with which, or under which status.

use std::fmt;

/// An enum of codes, each with its text on the wire.
macro_rules! codes {
    ($($code:ident = $text:literal,)+) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each says itself; what to do about it stands in the message beside it")]
        pub enum ErrorCode {
            $($code,)+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            /// The code as it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $text,)+
                }
            }

            /// The code of this text; `None` where a newer server has one more.
            #[must_use]
            pub fn known(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$code),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    AgentConfigured = "agent_configured",
    AgentExists = "agent_exists",
    AgentNotFound = "agent_not_found",
    AgentStopped = "agent_stopped",
    AllowlistFull = "allowlist_full",
    AmbiguousPackageId = "ambiguous_package_id",
    AmbiguousProjectId = "ambiguous_project_id",
    ArgsTooLarge = "args_too_large",
    ArtifactNotFound = "artifact_not_found",
    BlobNotFound = "blob_not_found",
    BlocksFull = "blocks_full",
    BodyTooLarge = "body_too_large",
    ChannelClosed = "channel_closed",
    ContactAnswered = "contact_answered",
    ContentDamaged = "content_damaged",
    Corrupt = "corrupt",
    DepthExceeded = "depth_exceeded",
    DuplicateFactId = "duplicate_fact_id",
    DuplicatePackageId = "duplicate_package_id",
    EndAfterSendRequiresInitialMessage = "end_after_send_requires_initial_message",
    EnvelopeVersionUnsupported = "envelope-version-unsupported",
    FieldInvalid = "field-invalid",
    FieldMissing = "field-missing",
    FieldUnknown = "field-unknown",
    FilterAxisUnknown = "filter-axis-unknown",
    FilterValueInvalid = "filter-value-invalid",
    Forbidden = "forbidden",
    ForeignHost = "foreign_host",
    ForeignOrigin = "foreign_origin",
    HashMismatch = "hash_mismatch",
    IdempotencyKeyReused = "idempotency_key_reused",
    IncompleteBody = "incomplete_body",
    Internal = "internal",
    IntroductionTooLong = "introduction_too_long",
    InvalidAfterId = "invalid_after_id",
    InvalidAfterSequence = "invalid_after_sequence",
    InvalidAgent = "invalid_agent",
    InvalidAllowlistEntry = "invalid_allowlist_entry",
    InvalidArgs = "invalid_args",
    InvalidAuthor = "invalid_author",
    InvalidAuthorization = "invalid_authorization",
    InvalidBeforeId = "invalid_before_id",
    InvalidBlockTarget = "invalid_block_target",
    InvalidBody = "invalid_body",
    InvalidCardBody = "invalid_card_body",
    InvalidContent = "invalid_content",
    InvalidCreatedBy = "invalid_created_by",
    InvalidCursor = "invalid_cursor",
    InvalidDepth = "invalid_depth",
    InvalidDescription = "invalid_description",
    InvalidDirection = "invalid_direction",
    InvalidDisplayName = "invalid_display_name",
    InvalidEndAfterSend = "invalid_end_after_send",
    InvalidEvents = "invalid_events",
    InvalidHandle = "invalid_handle",
    InvalidIdempotencyKey = "invalid_idempotency_key",
    InvalidIncludeClosed = "invalid_include_closed",
    InvalidInitialMessage = "invalid_initial_message",
    InvalidInput = "invalid_input",
    InvalidIntroduction = "invalid_introduction",
    InvalidInvite = "invalid_invite",
    InvalidJson = "invalid_json",
    InvalidKind = "invalid_kind",
    InvalidKinds = "invalid_kinds",
    InvalidLimit = "invalid_limit",
    InvalidLoggingLevel = "invalid_logging_level",
    InvalidMessage = "invalid_message",
    InvalidMetadata = "invalid_metadata",
    InvalidOwner = "invalid_owner",
    InvalidParameter = "invalid_parameter",
    InvalidPayload = "invalid_payload",
    InvalidPolicy = "invalid_policy",
    InvalidQuery = "invalid_query",
    InvalidReader = "invalid_reader",
    InvalidRequestKeys = "invalid_request_keys",
    InvalidRequestMetadata = "invalid_request_metadata",
    InvalidRoles = "invalid_roles",
    InvalidRunContext = "invalid_run_context",
    InvalidRunId = "invalid_run_id",
    InvalidSchema = "invalid_schema",
    InvalidSelfService = "invalid_self_service",
    InvalidSince = "invalid_since",
    InvalidStream = "invalid_stream",
    InvalidThreadId = "invalid_thread_id",
    InvalidTimeout = "invalid_timeout",
    InvalidTitle = "invalid_title",
    InvalidToken = "invalid_token",
    InvalidTopic = "invalid_topic",
    InvalidTransition = "invalid_transition",
    InvalidType = "invalid_type",
    InvalidValidFrom = "invalid_valid_from",
    InvalidValidate = "invalid_validate",
    InvalidVisibility = "invalid_visibility",
    InvalidWait = "invalid_wait",
    KindUnknown = "kind-unknown",
    Malformed = "malformed",
    MembersFull = "members_full",
    MethodNotAllowed = "method_not_allowed",
    MissingAuthorization = "missing_authorization",
    MissingRunId = "missing_run_id",
    NoEventYet = "no_event_yet",
    NoSuchChannel = "no_such_channel",
    NotFound = "not_found",
    NotImplemented = "not_implemented",
    NotItsOwner = "not_its_owner",
    NotJoined = "not_joined",
    NotReopenable = "not_reopenable",
    OutcomeUnknown = "outcome_unknown",
    Overloaded = "overloaded",
    OwnerExists = "owner_exists",
    PackageNotFound = "package_not_found",
    PayloadKindMismatch = "payload-kind-mismatch",
    ProjectArchived = "project_archived",
    ProjectExists = "project_exists",
    ProjectFull = "project_full",
    ProjectNotFound = "project_not_found",
    QuotaExceeded = "quota_exceeded",
    RateLimited = "rate-limited",
    RunNotActive = "run_not_active",
    RunNotFound = "run_not_found",
    ScopeUnauthorised = "scope-unauthorised",
    ScopeUnimplemented = "scope-unimplemented",
    SenderIdentityMismatch = "sender-identity-mismatch",
    SessionActive = "session_active",
    SessionEnded = "session_ended",
    SessionExists = "session_exists",
    SessionFull = "session_full",
    SessionNotFound = "session_not_found",
    Stopping = "stopping",
    StorageFull = "storage_full",
    ThreadFull = "thread_full",
    ThreadNotFound = "thread_not_found",
    TokenExists = "token_exists",
    TooMany = "too_many",
    TooManyAgents = "too_many_agents",
    TooManyContacts = "too_many_contacts",
    TooManyExports = "too_many_exports",
    TooManyInstances = "too_many_instances",
    TooManyInstancesOfOwner = "too_many_instances_of_owner",
    TooManyInvitations = "too_many_invitations",
    TooManyMisses = "too_many_misses",
    TooManyProjects = "too_many_projects",
    TooManyPuts = "too_many_puts",
    TooManyQueuedRuns = "too_many_queued_runs",
    TooManyQueuedRunsOfOwner = "too_many_queued_runs_of_owner",
    TooManyReaders = "too_many_readers",
    TooManyRenames = "too_many_renames",
    TooManyRuns = "too_many_runs",
    TooManyRunsOfOwner = "too_many_runs_of_owner",
    TooManySearches = "too_many_searches",
    TooManySteps = "too_many_steps",
    TooManyStreams = "too_many_streams",
    TooManyWaits = "too_many_waits",
    Unauthenticated = "unauthenticated",
    Unauthorized = "unauthorized",
    Unavailable = "unavailable",
    UnknownMember = "unknown_member",
    UnknownRequestType = "unknown_request_type",
    UnsupportedContentEncoding = "unsupported_content_encoding",
    WebsocketRequired = "websocket_required",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<ErrorCode> for &'static str {
    fn from(code: ErrorCode) -> Self {
        code.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_is_written() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::known(code.as_str()), Some(*code));
        }
        assert_eq!(ErrorCode::known("no_such_code"), None);
    }
}
