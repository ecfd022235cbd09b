//! The addresses of a connection.
//! Must not know: proxies; forwarded addresses are not trusted here.

use std::{convert::Infallible, net::SocketAddr};

use axum::extract::FromRequestParts;
use http::request::Parts;

/// The address of a request's sender; unspecified (`0.0.0.0:0`) without a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The address of this server that the client is connected to: a request extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress(pub SocketAddr);

/// Both ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// A page of this server sent the request, by its `Origin`: a request extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPage;

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(SocketAddr::from(([0; 4], 0)))))
    }
}
