//! JSON at the edge: what is refused before anything is parsed, and the canonical form that digests use.
//! Must not know: any protocol's shapes.
