//! Cases: the characters of texts and queries.
//! Must not know: any backend.

use super::{Storage, body, document, found, put};
use crate::{Kind, Query, QueryFault, Scope};

/// A word that nearly all documents have does not distinguish them. Only the projects of the scope are counted.
pub async fn words_of_nearly_all_documents_are_common<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let common = async |scope: &Scope| {
        let query = Query::read("Caroline's pottery and Melanie").expect("it is a query");
        let mut common = index.common(&query, scope).await.expect("it answers");
        common.sort();
        common
    };
    put(&*index, (0..9).map(|nth| body(&format!("d{nth}"), "Caroline and Melanie"))).await;
    assert!(common(&Scope::project("p")).await.is_empty(), "of few documents");
    put(&*index, (9..12).map(|nth| body(&format!("d{nth}"), "Caroline's pottery"))).await;
    assert_eq!(common(&Scope::project("p")).await, ["carolin"]);
    put(&*index, (12..24).map(|nth| body(&format!("d{nth}"), "Caroline, Melanie"))).await;
    assert_eq!(common(&Scope::project("p")).await, ["carolin", "melani"]);
    assert!(common(&Scope::project("q")).await.is_empty() && common(&Scope::default()).await.is_empty());
}

/// The index uses the tokenizer of `analysis`.
pub async fn forms_accents_and_identifiers_are_found<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(
        &*index,
        [
            body("path", "see src/main.rs"),
            body("snake", "call fix_login there"),
            body("camel", "call renderFooter there"),
            body("accent", "the Café"),
            body("form", "migrations were applied"),
        ],
    )
    .await;
    for (query, id) in [
        ("main", "path"),
        ("src/main.rs", "path"),
        ("login", "snake"),
        ("fix_login", "snake"),
        ("footer", "camel"),
        ("renderfooter", "camel"),
        ("cafe", "accent"),
        ("migrating", "form"),
    ] {
        assert_eq!(found(&*index, query).await, [id], "{query}");
    }
}

/// Scripts without spaces included.
pub async fn every_script_is_found<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let texts =
        ["数据库迁移", "テスト結果", "서버배포", "Привет мир", "שלום עולם", "مرحبا", "ฐานข้อมูล", "हिन्दी"];
    put(&*index, texts.iter().map(|text| body(text, text))).await;
    for text in texts {
        assert_eq!(found(&*index, text).await, [text]);
    }
    assert_eq!(found(&*index, "迁移").await, ["数据库迁移"]);
    assert_eq!(found(&*index, "库").await, ["数据库迁移"]);
}

/// Query text is never interpreted as query syntax.
pub async fn text_of_users_is_no_syntax<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [document("a", &[(Kind::Title, "near or not: title'; \\ login")])]).await;
    for query in [
        "login AND NOT near",
        "title:login^9",
        "\"login",
        "log* login*",
        "(login | near",
        "login & !near",
        "login:*A <-> near",
        "'; DROP TABLE login; --",
        "\\ login \\'",
        "NEAR/3 login",
        "{login} [TO ~2",
        "login\u{0}near",
    ] {
        assert_eq!(found(&*index, query).await, ["a"], "{query}");
    }
}

/// Such a query is not an error.
pub async fn a_query_without_words_finds_nothing<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "the of ? login")]).await;
    for query in ["the of", "???", "' \\ \" & | ! *"] {
        assert!(found(&*index, query).await.is_empty(), "{query}");
    }
    assert_eq!(Query::read(""), Err(QueryFault::Empty));
}

/// A document with more words than the limit is indexed up to it, and found as one of which a part is missing.
pub async fn a_large_document_is_taken<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let words: Vec<String> = (0..120_000).map(|nth| format!("word{nth}")).collect();
    let text = format!("{} {} {}", words.join(" "), "again ".repeat(9_000), "x".repeat(100_000));
    let large = document("a", &[(Kind::Title, "kestrel"), (Kind::Body, &text)]);
    put(&*index, [large, body("b", "cut")]).await;
    let query = Query::read("absent").expect("it is a query").or_cut();
    let hits = index.search(&query, &Scope::project("p"), 9).await.expect("it answers");
    assert_eq!(hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), ["a"]);
    for query in ["kestrel", "word0", "word9999"] {
        let hits = index.search(&Query::read(query).expect("it is a query"), &Scope::project("p"), 9).await;
        assert_eq!(hits.expect("it answers").len(), 1, "{query}");
    }
}
