//! The choice of the token if several are available.

use std::path::Path;

use super::*;
use crate::cli::{
    failure::Exit,
    identity::{Source, resolve},
};

const SERVER: &str = "http://127.0.0.1:7420";

fn server() -> BaseUrl {
    SERVER.parse().unwrap()
}

fn file_with(root: &Path, tokens: &[(&str, &str)]) -> TokensFile {
    let file = TokensFile::in_dir(&root.join("config"));
    for (holder, token) in tokens {
        let holder = if *holder == "operator" { Holder::Operator } else { holder.parse().unwrap() };
        file.change(|saved| saved.put(&server(), &holder, token)).unwrap();
    }
    file
}

fn given(text: &str, source: TokenSource) -> Option<Credential> {
    Some(credential(text, source).unwrap())
}

fn identity(handle: &str) -> Identity {
    Identity { handle: handle.parse().unwrap(), source: Source::Flag }
}

#[test]
fn an_agent_uses_a_given_token_that_fits_else_its_saved_one() {
    let root = tempfile::tempdir().unwrap();
    let file = file_with(root.path(), &[("@nick.a", "pla_saved")]);
    let nick = identity("@nick.a");
    let chosen = |given| agent_credential(given, Some(&nick), &server(), Some(&file)).unwrap();
    assert_eq!(chosen(given("pla_given", TokenSource::Flag)).token.reveal(), "pla_given");
    assert_eq!(chosen(given("seeded", TokenSource::Flag)).token.reveal(), "seeded");
    assert_eq!(chosen(given("plo_operator", TokenSource::Flag)).token.reveal(), "pla_saved");
    assert_eq!(chosen(None).token.reveal(), "pla_saved");
}

#[test]
fn without_identity_or_token_the_next_step_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = file_with(root.path(), &[("@nick.a", "pla_saved")]);
    let Err(failure) = agent_credential(None, None, &server(), Some(&file)) else { panic!() };
    assert_eq!(failure.exit(), Exit::Auth);
    assert!(matches!(&failure, Failure::Auth { next, .. } if next.contains("plenary use")));
    let other = identity("@nick.other");
    let Err(failure) = agent_credential(None, Some(&other), &server(), Some(&file)) else { panic!() };
    assert!(matches!(&failure, Failure::Auth { next, .. } if next.contains("plenary agent add @nick.other")));
    let elsewhere = "https://a.example".parse().unwrap();
    let Err(Failure::Auth { next, missing, .. }) =
        agent_credential(None, Some(&identity("@nick.a")), &elsewhere, Some(&file))
    else {
        panic!()
    };
    assert_eq!(missing, Some("@nick.a".parse().unwrap()));
    assert!(next.contains("add `--url http://127.0.0.1:7420`") && !next.contains("agent add"), "{next}");
}

#[test]
fn configuring_prefers_a_given_token_then_the_operator_then_the_owner_then_this_machine() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("operator-token"), "plo_data\n").unwrap();
    let data = root.path().to_str().unwrap().to_owned();
    let nick: OwnerName = "nick".parse().unwrap();
    let chosen = |given, file: &TokensFile, vars: &[(&str, &str)]| {
        let environment = Environment::of_test(root.path(), vars);
        configuring_credential(given, Realm::Owner(&nick), &server(), Some(file), &environment)
            .unwrap()
            .token
            .reveal()
            .to_owned()
    };
    let vars = [("PLENARY_DATA", data.as_str())];
    let with_operator = [("PLENARY_DATA", data.as_str()), ("PLENARY_OPERATOR_TOKEN", "plo_env")];

    let file = file_with(root.path(), &[]);
    assert_eq!(chosen(None, &file, &vars), "plo_data");
    let file = file_with(root.path(), &[("nick", "plw_nick"), ("other", "plw_other")]);
    assert_eq!(chosen(None, &file, &vars), "plw_nick");
    let file = file_with(root.path(), &[("operator", "plo_saved")]);
    assert_eq!(chosen(None, &file, &vars), "plo_saved");
    assert_eq!(chosen(None, &file, &with_operator), "plo_env");
    assert_eq!(chosen(given("plw_given", TokenSource::Flag), &file, &with_operator), "plw_given");
    let from_environment = given("seeded", TokenSource::Environment("PLENARY_TOKEN"));
    assert_eq!(chosen(from_environment, &file, &with_operator), "plo_env");
    assert_eq!(chosen(given("pla_agent", TokenSource::Flag), &file, &with_operator), "plo_env");
    // A saved token never replaces a given one of an agent.
    assert_eq!(chosen(given("pla_agent", TokenSource::Flag), &file, &vars), "pla_agent");
    let from_environment = || given("pla_agent", TokenSource::Environment("PLENARY_TOKEN"));
    assert_eq!(chosen(from_environment(), &file, &vars), "plo_saved");
    let environment = Environment::of_test(root.path(), &vars);
    let everything =
        configuring_credential(from_environment(), Realm::Everything, &server(), Some(&file), &environment);
    assert_eq!(everything.unwrap().token.reveal(), "pla_agent");
}

#[test]
fn the_view_of_an_owner_takes_a_token_of_an_owner_alone() {
    let root = tempfile::tempdir().unwrap();
    let nick: OwnerName = "nick".parse().unwrap();
    let file = file_with(root.path(), &[("nick", "plw_saved"), ("operator", "plo_saved")]);
    let chosen = |given, file: &TokensFile| {
        owner_credential(given, &nick, &server(), Some(file))
            .map(|chosen| chosen.token.reveal().to_owned())
            .map_err(|failure| failure.exit())
    };
    let from_environment = |text| given(text, TokenSource::Environment("PLENARY_TOKEN"));
    assert_eq!(chosen(given("plw_given", TokenSource::Flag), &file).as_deref(), Ok("plw_given"));
    assert_eq!(chosen(None, &file).as_deref(), Ok("plw_saved"));
    assert_eq!(chosen(from_environment("pla_agent"), &file).as_deref(), Ok("plw_saved"));
    assert_eq!(chosen(given("plo_given", TokenSource::Flag), &file), Err(Exit::Usage));
    let root = tempfile::tempdir().unwrap();
    let file = file_with(root.path(), &[("operator", "plo_saved")]);
    assert_eq!(chosen(None, &file), Err(Exit::Auth));
}

#[test]
fn the_data_directory_counts_for_this_machine_only() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("operator-token"), "plo_data\n").unwrap();
    let environment = Environment::of_test(root.path(), &[("PLENARY_DATA", root.path().to_str().unwrap())]);
    let remote: BaseUrl = "https://a.example".parse().unwrap();
    assert!(configuring_credential(None, Realm::Server, &server(), None, &environment).is_ok());
    let failure = configuring_credential(None, Realm::Server, &remote, None, &environment).unwrap_err();
    assert_eq!(failure.exit(), Exit::Auth);
}

#[test]
fn one_saved_owner_is_enough_to_list_two_are_ambiguous_and_none_is_the_operator() {
    let root = tempfile::tempdir().unwrap();
    let environment = Environment::of_test(root.path(), &[]);
    let file = file_with(root.path(), &[("nick", "plw_nick")]);
    let chosen = |realm, file| configuring_credential(None, realm, &server(), Some(file), &environment);
    assert_eq!(chosen(Realm::Everything, &file).unwrap().token.reveal(), "plw_nick");
    assert!(chosen(Realm::Server, &file).is_err());
    let operator = Environment::of_test(root.path(), &[("PLENARY_DATA", root.path().to_str().unwrap())]);
    std::fs::write(root.path().join("operator-token"), "plo_data\n").unwrap();
    let everything =
        configuring_credential(None, Realm::Everything, &server(), Some(&file), &operator).unwrap();
    assert_eq!(everything.token.reveal(), "plo_data", "the operator sees every owner");
    let file = file_with(root.path(), &[("other", "plw_other")]);
    assert!(chosen(Realm::Everything, &file).is_err());
    assert_eq!(resolve(None, &environment).unwrap(), None);
}
