//! The search index passes its suite on a real server, and is emptied where its form is another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../log-postgres/tests/server/mod.rs"]
mod server;

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Change, Document, Extent, Index, Kind, Query, Scope, Section, conformance};
use plenary_retrieval_postgres::{Tables, open_index};

struct Postgres(server::TestStore);

impl conformance::Storage for Postgres {
    fn at_hand() -> bool {
        server::at_hand()
    }
    async fn fresh() -> Self {
        Self(server::TestStore::new())
    }
    async fn open(&self) -> Arc<dyn Index> {
        drop(self.0.open().await);
        open_index(&server::url(), &self.0.options(), Tables::Packages).await.unwrap()
    }
}

plenary_retrieval::conformance!(Postgres, durable, shared);

fn document() -> Document {
    Document {
        id: "a".to_owned(),
        project: "p".to_owned(),
        created_at_ms: 0,
        is_draft: false,
        sections: vec![Section { kind: Kind::Body, text: "login".to_owned() }],
    }
}

#[test]
fn an_index_of_another_form_is_emptied() {
    server::run(async {
        let store = Postgres(server::TestStore::new());
        let index = conformance::Storage::open(&store).await;
        index.put(vec![Change::Put(document())], Position(0), Position(7)).await.unwrap();
        index.close().await.unwrap();
        let index = conformance::Storage::open(&store).await;
        assert_eq!(index.extent().await.unwrap(), Extent { cursor: Position(7), documents: 1 });
        index.close().await.unwrap();
        store.0.admin().await.batch_execute("UPDATE search_state SET form = 99").await.unwrap();
        let index = conformance::Storage::open(&store).await;
        assert_eq!(index.extent().await.unwrap(), Extent::default());
    });
}

#[test]
fn the_index_of_everything_has_tables_of_its_own() {
    server::run(async {
        let store = Postgres(server::TestStore::new());
        let packages = conformance::Storage::open(&store).await;
        let everything = open_index(&server::url(), &store.0.options(), Tables::Everything).await.unwrap();
        assert!(packages.leads().await.unwrap() && everything.leads().await.unwrap());
        everything.put(vec![Change::Put(document())], Position(0), Position(7)).await.unwrap();
        let (query, scope) = (Query::read("login").unwrap(), Scope::project("p"));
        assert_eq!(everything.search(&query, &scope, 9).await.unwrap().len(), 1);
        assert_eq!(packages.extent().await.unwrap(), Extent::default());
        assert!(packages.search(&query, &scope, 9).await.unwrap().is_empty());
        everything.clear().await.unwrap();
        assert_eq!(everything.extent().await.unwrap(), Extent::default());
    });
}

#[test]
fn a_writer_whose_connection_is_cut_leads_again() {
    server::run(async {
        let store = Postgres(server::TestStore::new());
        let index = conformance::Storage::open(&store).await;
        assert!(index.leads().await.unwrap());
        let admin = store.0.admin().await;
        assert_eq!(store.0.terminate(&admin, "index").await, 1);
        let change = || vec![Change::Put(document())];
        // The first one may meet the cut; nothing of it was written then.
        let first = index.put(change(), Position(0), Position(7)).await;
        if first.is_err() {
            let leading = async { while !matches!(index.leads().await, Ok(true)) {} };
            server::soon(leading).await;
            index.put(change(), Position(0), Position(7)).await.unwrap();
        }
        assert_eq!(index.extent().await.unwrap(), Extent { cursor: Position(7), documents: 1 });
    });
}
