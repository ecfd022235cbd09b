//! Deposit, pull, flag, review.

use plenary_log::{Batch, NewEvent, StreamName};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

#[tokio::test]
async fn ap_69_ap_104_bytes_that_are_no_text_name_nothing() {
    let house = House::new().await;
    let fact = json!({"subject": "\u{fffd}", "predicate": "p", "value": "v"});
    house.post(&house.nick, "/v1/projects/p/facts", &fact).await.ok(201);
    for path in ["/v1/packages/%ff", "/v1/projects/%c3%28/packages", "/v1/projects/p/sessions/%ff"] {
        house.get(&house.nick, path).await.refused(400, "invalid_parameter", "path");
    }
    for (method, query) in [("GET", "subject=%ff"), ("DELETE", "subject=%ff&predicate=p")] {
        let answer = house.send(&house.nick, method, &format!("/v1/projects/p/facts?{query}"), "").await;
        answer.refused(400, "invalid_parameter", "subject");
    }
    house.get(&house.nick, "/v1/packages/a?project=%ff").await.refused(400, "invalid_parameter", "project");
    let found = house.get(&house.nick, "/v1/projects/p/facts?subject=%EF%BF%BD&predicate=p").await.ok(200);
    assert_eq!(found["facts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn ap_58_latest_is_by_time_and_goes_on_where_it_stopped() {
    let house = House::new().await;
    for nth in 0..40 {
        // Neither the order of arrival nor that of the ids is that of time.
        let second = nth * 7 % 40;
        house.deposit(&package(&format!("pkg_{nth:02}"), second, &json!({}))).await.ok(201);
    }
    let path = "/v1/projects/p/packages?mode=latest";
    let list = house.get(&house.nick, path).await.ok(200);
    let at = |list: &Value| {
        let packages = list["packages"].as_array().unwrap().clone();
        packages.iter().map(|package| package["created_at"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(at(&list).len(), 5);
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let list = house.get(&house.nick, &format!("{path}&limit=7{cursor}")).await.ok(200);
        all.extend(at(&list));
        let Some(next) = list["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={}", next.replace('%', "%25"));
    }
    let mut sorted = all.clone();
    sorted.sort();
    sorted.reverse();
    sorted.dedup();
    assert_eq!((all.len(), &all), (40, &sorted));
    let whole = house.get(&house.nick, &format!("{path}&limit=40")).await.ok(200);
    assert_eq!((at(&whole), whole.get("next_cursor")), (all, None));
}

/// What can select nothing is refused: the newest packages would look like matches, or an empty list like an answer.
#[tokio::test]
async fn ap_30_ap_60_a_parameter_that_can_select_nothing_is_refused() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({"package_type": "x-memo"}))).await.ok(201);
    let (packages, reviews) = ("/v1/projects/p/packages", "/v1/projects/p/reviews");
    for query in ["query=a", "mode=latest&query=a", "ranking=lexical"] {
        let name = query.split(['&', '=']).rev().nth(1).unwrap();
        let answer = house.get(&house.nick, &format!("{packages}?{query}")).await;
        answer.refused(400, "invalid_parameter", name);
    }
    for list in [format!("{packages}?"), format!("{packages}?mode=relevant&query=a&"), format!("{reviews}?")]
    {
        for word in ["memo", "X-memo", "x-", ""] {
            let answer = house.get(&house.nick, &format!("{list}package_type={word}")).await;
            answer.refused(400, "invalid_parameter", "package_type");
        }
    }
    for query in ["package_type=x-memo", "query=", "mode=latest&query=&ranking=", "asof=2020-01-01"] {
        assert_eq!(house.ids(&house.nick, &format!("{packages}?{query}")).await, ["a"], "{query}");
    }
}

#[tokio::test]
async fn ap_9_ap_10_two_packages_of_one_parent_are_siblings() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({}))).await.ok(201);
    for id in ["b", "c"] {
        house.deposit(&package(id, 1, &json!({"parent_package_id": "a"}))).await.ok(201);
    }
    assert_eq!(house.ids(&house.nick, "/v1/projects/p/packages?parent=a").await, ["c", "b"]);
}

#[tokio::test]
async fn ap_38_ap_39_ap_99_a_damaged_package_is_reported_and_quarantined() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({}))).await.ok(201);
    let stream = StreamName::new("context.package", "p:nick/a");
    let good = house.log.read_stream(&stream, plenary_kernel::Version::ZERO, 1);
    let good = good.await.unwrap().remove(0);
    let envelope = String::from_utf8(good.envelope.to_vec()).unwrap().replace("\"a\"", "\"b\"");
    let payload = String::from_utf8(good.payload.to_vec()).unwrap().replace("Package a", "Another");
    let event =
        NewEvent { kind: "PackageDeposited", form: 1, envelope: envelope.into(), payload: payload.into() };
    let put = |name, key: &str, value: &'static str| plenary_log::IndexOp::Put {
        name,
        key: key.into(),
        value: value.into(),
    };
    let index = vec![
        put("context.packages", "p:nick/2026-04-18T21:00:00.000000000/b", "complete standard"),
        put("context.package_ids", "b/p:nick", ""),
    ];
    let events = vec![(StreamName::new("context.package", "p:nick/b"), event)];
    house.log.append(Batch { events, index, ..Batch::default() }).await.unwrap();
    house.get(&house.nick, "/v1/packages/b").await.refused(500, "content_damaged", "-");
    assert_eq!(house.ids(&house.nick, "/v1/projects/p/packages").await, ["a"]);
}

/// An event that cannot be read is the package's damage too, for every operation.
#[tokio::test]
async fn ap_39_what_cannot_be_read_of_a_package_is_refused_by_one_code() {
    let house = House::new().await;
    house.post(&house.nick, "/v1/projects", &json!({"project_id": "p"})).await.ok(201);
    let stream = StreamName::new("context.package", "p:nick/b");
    let event = NewEvent { kind: "PackageDeposited", form: 1, envelope: "{".into(), payload: "{".into() };
    let index = vec![plenary_log::IndexOp::Put {
        name: "context.package_ids",
        key: "b/p:nick".into(),
        value: "".into(),
    }];
    house.log.append(Batch { events: vec![(stream, event)], index, ..Batch::default() }).await.unwrap();
    let body = json!({"review_type": "human"});
    for answer in [
        house.get(&house.nick, "/v1/packages/b").await,
        house.deposit(&package("b", 0, &json!({}))).await,
        house.post(&house.nick, "/v1/packages/b/flag", &body).await,
        house.post(&house.nick, "/v1/packages/b/review", &json!({"status": "complete"})).await,
    ] {
        answer.refused(500, "content_damaged", "-");
    }
}

#[tokio::test]
async fn deposits_of_one_id_at_once_make_one_package() {
    let house = House::new().await;
    let deposits = (0..16).map(|nth| {
        let package = package("a", nth % 2, &json!({}));
        let house = &house;
        async move { house.deposit(&package).await.status.as_u16() }
    });
    let mut answers = futures_util::future::join_all(deposits).await;
    answers.sort_unstable();
    assert_eq!(answers, [vec![200; 7], vec![201], vec![409; 8]].concat());
    house.get(OPERATOR, "/v1/packages/a").await.ok(200);
}

#[tokio::test]
async fn ap_35_a_claim_that_is_no_hash_is_not_the_hash() {
    let house = House::new().await;
    for claim in ["", "deadbeef", "sha256:00"] {
        let claimed = package("a", 0, &json!({"content_hash": claim}));
        house.deposit(&claimed).await.refused(400, "hash_mismatch", "content_hash");
    }
    let number = package("a", 0, &json!({"content_hash": 5}));
    house.deposit(&number).await.refused(400, "invalid_schema", "content_hash");
}
