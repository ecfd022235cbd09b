//! paging.
