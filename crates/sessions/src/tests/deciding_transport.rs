//! Connections that drop and return.

use super::scene::{given, table};

const TWO: &str = "ann creates; ann invites bob; bob joins";

#[test]
fn asp_49_the_last_connection_of_a_joined_agent_drops_once() {
    table(&[
        (TWO, "drop bob", "bob drops => ok"),
        (TWO, "drop ann", "ann drops => ok"),
        ("ann creates; ann invites bob; bob joins; bob drops", "drop bob", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob returns", "drop bob", "bob drops => ok"),
    ]);
}

#[test]
fn asp_49_where_an_agent_is_not_joined_its_connection_is_no_news() {
    table(&[
        ("ann creates; ann invites bob", "drop bob", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob leaves", "drop bob", "=> ok"),
        ("ann creates; ann ends with ann", "drop ann", "=> ok"),
        ("ann creates", "drop eve", "=> ok"),
        ("", "drop ann", "=> ok"),
        ("ann creates; ann invites bob", "return bob", "=> ok"),
        ("ann creates", "return eve", "=> ok"),
    ]);
}

#[test]
fn asp_50_a_return_follows_a_drop_and_nothing_else() {
    table(&[
        (TWO, "return bob", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops", "return bob", "bob returns => ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob returns", "return bob", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob expires", "return bob", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob leaves", "return bob", "=> ok"),
        ("ann creates; ann drops; ann ends with ann", "return ann", "=> ok"),
        ("ann creates; ann drops; ann ends with ann; ann reopens with", "return ann", "=> ok"),
    ]);
}

#[test]
fn asp_51_past_the_grace_window_the_agent_has_left() {
    table(&[
        ("ann creates; ann invites bob; bob joins; bob drops", "expire bob since 4", "bob expires => ok"),
        ("ann creates; ann drops", "expire ann since 2", "ann expires; ends with => ok"),
        ("ann creates; ann drops; ann invites bob", "expire ann since 2", "ann expires; ends with => ok"),
    ]);
}

#[test]
fn asp_50_asp_51_a_window_ends_only_for_the_drop_that_opened_it() {
    let again = "ann creates; ann invites bob; bob joins; bob drops; bob returns; bob drops";
    table(&[
        (again, "expire bob since 4", "=> ok"),
        (again, "expire bob since 6", "bob expires => ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob returns", "expire bob since 4", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob expires", "expire bob since 4", "=> ok"),
        ("ann creates; ann invites bob; bob joins; bob drops; bob leaves", "expire bob since 4", "=> ok"),
        ("ann creates; ann drops; ann ends with ann", "expire ann since 2", "=> ok"),
        ("ann creates; ann drops; ann ends with ann; ann reopens with", "expire ann since 2", "=> ok"),
        (
            "ann creates; ann invites bob; bob joins; bob drops; bob leaves; ann invites bob; bob joins",
            "expire bob since 4",
            "=> ok",
        ),
        (TWO, "expire bob since 3", "=> ok"),
        ("ann creates", "expire eve since 1", "=> ok"),
    ]);
}

#[test]
fn asp_49_while_it_is_away_an_agent_is_joined() {
    let away = given("ann creates; ann invites bob; bob joins; bob drops");
    let bob = away.state.participant(&super::scene::handle("bob")).unwrap();
    assert_eq!(serde_json::to_value(bob.standing).unwrap(), "joined");
    assert_eq!(away.reads("bob"), [1, 2, 3]);
}
