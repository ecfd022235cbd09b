//! An operation as plain data: its id, method and path, and the types of what is sent and answered.
//! Must not know: which operations there are, who may call one, how it is described.

use std::marker::PhantomData;

/// How an operation is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It reads.
    Get,
    /// It does something.
    Post,
    /// It puts something in its place.
    Put,
    /// It changes a part.
    Patch,
    /// It removes something.
    Delete,
}

impl From<Method> for http::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Patch => Self::PATCH,
            Method::Delete => Self::DELETE,
        }
    }
}

/// One operation. The server's description and route are made of it, and the client calls by it.
///
/// The types are those of the body that a client sends, of the reply, and of the query; `()` where there is none.
#[derive(Debug, Clone, Copy)]
pub struct Operation<Request = (), Reply = (), Query = ()> {
    /// The stable name, `session.send`.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path in axum's syntax, `/sessions/{id}/messages`.
    pub path: &'static str,
    /// Whether clients send it under an `Idempotency-Key`, and repeat it under that key when a connection breaks.
    pub is_repeated: bool,
    types: PhantomData<fn(Request, Query) -> Reply>,
}

impl<Request, Reply, Query> Operation<Request, Reply, Query> {
    const fn new(id: &'static str, method: Method, path: &'static str) -> Self {
        Self { id, method, path, is_repeated: false, types: PhantomData }
    }

    /// A `GET`.
    #[must_use]
    pub const fn get(id: &'static str, path: &'static str) -> Self {
        Self::new(id, Method::Get, path)
    }

    /// A `POST`.
    #[must_use]
    pub const fn post(id: &'static str, path: &'static str) -> Self {
        Self::new(id, Method::Post, path)
    }

    /// A `POST` that clients send under an `Idempotency-Key` and repeat when a connection breaks.
    #[must_use]
    pub const fn post_repeated(id: &'static str, path: &'static str) -> Self {
        Self { is_repeated: true, ..Self::post(id, path) }
    }

    /// A `PUT`.
    #[must_use]
    pub const fn put(id: &'static str, path: &'static str) -> Self {
        Self::new(id, Method::Put, path)
    }

    /// A `PATCH`.
    #[must_use]
    pub const fn patch(id: &'static str, path: &'static str) -> Self {
        Self::new(id, Method::Patch, path)
    }

    /// A `DELETE`.
    #[must_use]
    pub const fn delete(id: &'static str, path: &'static str) -> Self {
        Self::new(id, Method::Delete, path)
    }
}
