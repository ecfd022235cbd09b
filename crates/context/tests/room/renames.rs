//! Servers that exchange their packages with `conflict=rename`, in any order: each package is on each server once, and in the
//! end nothing changes any more.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

/// Pseudorandom numbers, the same in every run.
struct Dice(u64);

impl Dice {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// One project on several servers.
struct Network<'a> {
    houses: &'a [House],
    project: String,
    /// The number of deposits so far; each has a title and a time of its own.
    deposits: usize,
    /// The title of the parent of a package, by its own title.
    parents: BTreeMap<String, String>,
}

impl<'a> Network<'a> {
    async fn new(houses: &'a [House], project: String) -> Self {
        for house in houses {
            house.post(&house.nick, "/v1/projects", &json!({"project_id": project})).await.ok(201);
        }
        Self { houses, project, deposits: 0, parents: BTreeMap::new() }
    }

    async fn export(&self, at: usize) -> String {
        self.houses[at].get(OPERATOR, &format!("/v1/projects/nick:{}/export", self.project)).await.body
    }

    /// The records of a server, without what an export adds.
    async fn records(&self, at: usize) -> Vec<Value> {
        let text = self.export(at).await;
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut records: Vec<Value> = lines.filter(|line| line["record"] != "end").collect();
        for record in &mut records {
            record["cursor"] = Value::Null;
        }
        records
    }

    async fn packages(&self, at: usize) -> Vec<Value> {
        let records = self.records(at).await;
        records
            .into_iter()
            .filter(|record| record["record"] == "package")
            .map(|it| it["data"].clone())
            .collect()
    }

    /// Exchanges one way; a dry run before it predicts its report.
    async fn import(&self, from: usize, to: usize, mode: &str) -> Value {
        let (text, path) = (self.export(from).await, format!("/v1/import?conflict={mode}"));
        let to = &self.houses[to];
        let mut predicted =
            to.send(OPERATOR, "POST", &format!("{path}&dry_run=true"), text.clone()).await.ok(200);
        let report = to.send(OPERATOR, "POST", &path, text).await.ok(200);
        predicted["dry_run"] = json!(false);
        assert_eq!(predicted, report, "{}", self.project);
        report
    }

    async fn deposit(&mut self, at: usize, id: &str, parent: Option<&str>, status: &str) {
        self.deposits += 1;
        let title = format!("t{}", self.deposits);
        let further = json!({"project_id": self.project, "title": title, "status": status});
        let mut document = package(id, self.deposits, &further);
        let packages = self.packages(at).await;
        let named = parent.and_then(|parent| packages.iter().find(|it| it["package_id"] == parent));
        if let Some(parent) = parent {
            document["parent_package_id"] = json!(parent);
        }
        let answer = self.houses[at].deposit(&document).await;
        let parent = match parent {
            Some(parent) if parent == id => Some(title.clone()),
            _ => named.map(|parent| parent["title"].as_str().unwrap().to_owned()),
        };
        if let (true, Some(parent)) = (answer.status == 201, parent) {
            self.parents.insert(title, parent);
        }
    }

    /// A step of a review, which may be refused.
    async fn step(&self, at: usize, id: &str, dice: &mut Dice) {
        let (path, body) = match dice.below(2) {
            0 => ("flag", json!({"review_type": dice.one_of(&["human", "agent"])})),
            _ => {
                let to = dice.one_of(&["complete", "revision_requested", "awaiting_review"]);
                ("review", json!({"status": to}))
            }
        };
        let house = &self.houses[at];
        let path = format!("/v1/packages/{id}/{path}?project={}", self.project);
        house.post(&house.nick, &path, &body).await;
    }

    async fn fact(&self, at: usize, source: &str, dice: &mut Dice) {
        let (subject, value) = (dice.one_of(&["s", "t"]), dice.one_of(&["u", "v"]));
        let fact = json!({"subject": subject, "predicate": "p", "value": value, "source_package_id": source});
        let house = &self.houses[at];
        house.post(&house.nick, &format!("/v1/projects/{}/facts", self.project), &fact).await;
    }

    /// Exchanges in all directions; the number of packages that were written.
    async fn round(&self) -> u64 {
        let mut written = 0;
        for from in 0..self.houses.len() {
            for to in (0..self.houses.len()).filter(|to| *to != from) {
                let report = self.import(from, to, "rename").await;
                assert_eq!(report["refused_count"], 0, "{} {report}", self.project);
                written += ["imported", "overwritten", "renamed"]
                    .map(|it| report[it].as_u64().unwrap())
                    .iter()
                    .sum::<u64>();
            }
        }
        written
    }

    /// Exchanges until nothing changes, and checks what is there then.
    async fn converge(&self) {
        let mut rounds = 0;
        while self.round().await > 0 {
            rounds += 1;
            assert!(rounds < 5, "{}: it never ends", self.project);
        }
        let mut titles_anywhere = None;
        for at in 0..self.houses.len() {
            let packages = self.packages(at).await;
            let title = |package: &Value| package["title"].as_str().unwrap().to_owned();
            let titles: BTreeSet<String> = packages.iter().map(title).collect();
            assert_eq!(titles.len(), packages.len(), "{}: a package is there twice", self.project);
            for child in &packages {
                let parent = packages.iter().find(|it| it["package_id"] == child["parent_package_id"]);
                let (parent, expected) = (parent.map(title), self.parents.get(&title(child)));
                assert_eq!(parent.as_ref(), expected, "{}: the parent of {child}", self.project);
            }
            assert_eq!(titles_anywhere.get_or_insert_with(|| titles.clone()), &titles, "{}", self.project);
        }
        let mut before = Vec::new();
        for at in 0..self.houses.len() {
            before.push(self.records(at).await);
        }
        assert_eq!(self.round().await, 0);
        for (at, before) in before.iter().enumerate() {
            assert_eq!(self.records(at).await, *before, "{}", self.project);
        }
    }
}

async fn houses(count: usize) -> Vec<House> {
    let mut houses = Vec::new();
    for _ in 0..count {
        houses.push(House::new().await);
    }
    houses
}

async fn random_networks(count: usize, seeds: u64) {
    let houses = houses(count).await;
    for seed in 0..seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut network = Network::new(&houses, format!("p{seed}")).await;
        for _ in 0..8 + dice.below(14) {
            let (at, id) = (dice.below(count), dice.one_of(&["a", "b", "c"]));
            match dice.below(10) {
                0..4 => {
                    let packages = network.packages(at).await;
                    let parents: Vec<_> =
                        packages.iter().map(|it| it["package_id"].as_str().unwrap()).chain([id]).collect();
                    let parent = (dice.below(2) == 0).then(|| dice.one_of(&parents));
                    let status = dice.one_of(&["draft", "awaiting_review", "complete"]);
                    network.deposit(at, id, parent, status).await;
                }
                4..6 => network.step(at, id, &mut dice).await,
                6 => network.fact(at, id, &mut dice).await,
                _ => {
                    let to = (at + 1 + dice.below(count - 1)) % count;
                    network.import(at, to, "rename").await;
                }
            }
        }
        network.converge().await;
    }
}

#[tokio::test]
async fn two_servers_that_rename_converge() {
    random_networks(2, 40).await;
}

#[tokio::test]
async fn three_servers_that_rename_converge() {
    random_networks(3, 40).await;
}

/// A package whose reviews went different ways on two servers stays one package.
#[tokio::test]
async fn ap_17_a_package_with_two_histories_is_not_renamed() {
    let houses = houses(2).await;
    let mut network = Network::new(&houses, "p".to_owned()).await;
    network.deposit(0, "d", None, "draft").await;
    network.import(0, 1, "rename").await;
    for (house, reviewer) in houses.iter().zip(["agent", "human"]) {
        house.post(&house.nick, "/v1/packages/d/flag", &json!({"review_type": reviewer})).await.ok(200);
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let report = network.import(from, to, "rename").await;
        assert_eq!((&report["skipped"], &report["conflicts"]), (&json!(2), &json!(1)), "{report}");
    }
    network.converge().await;
}

/// What continues a renamed package is written to it.
#[tokio::test]
async fn a_renamed_package_is_continued_by_its_original() {
    let houses = houses(2).await;
    let mut network = Network::new(&houses, "p".to_owned()).await;
    network.deposit(0, "d", None, "draft").await;
    network.deposit(1, "d", None, "complete").await;
    let report = network.import(0, 1, "rename").await;
    let renamed_to = report["renames"][0]["renamed_to"].as_str().unwrap();
    let flag = json!({"review_type": "human"});
    houses[0].post(&houses[0].nick, "/v1/packages/d/flag", &flag).await.ok(200);
    let report = network.import(0, 1, "overwrite").await;
    assert_eq!((&report["overwritten"], &report["refused_count"]), (&json!(1), &json!(0)), "{report}");
    let here = houses[1].get(OPERATOR, &format!("/v1/packages/{renamed_to}")).await.ok(200);
    assert_eq!((&here["status"], &here["title"]), (&json!("awaiting_review"), &json!("t1")));
    assert_eq!(houses[1].get(OPERATOR, "/v1/packages/d").await.ok(200)["status"], "complete");
}
