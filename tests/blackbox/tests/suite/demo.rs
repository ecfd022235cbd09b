//! The demonstration as a person reads it: a story of short scenes.

use blackbox::{Cli, TempDir};
use rustix::process::Signal;

/// A terminal as it opens.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

#[tokio::test]
async fn each_scene_fits_on_a_screen_and_each_line_is_a_whole_sentence() {
    let told = Cli::new(&[]).run(&["demo", "--once"]).await;
    assert_eq!(told.code, 0, "{told:?}");
    let rules = told.out.match_indices('─').map(|(at, _)| told.out[..at].lines().count());
    let mut scenes: Vec<usize> = rules.collect();
    scenes.dedup();
    assert!(scenes.len() > 7, "{}", told.out);
    let lines: Vec<&str> = told.out.lines().collect();
    for (nth, rule) in scenes.iter().enumerate() {
        let end = scenes.get(nth + 1).map_or(lines.len(), |next| next - 2);
        let scene = &lines[rule - 2..end];
        let rows: usize = scene.iter().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum();
        assert!(rows <= ROWS, "{rows} rows:\n{}", scene.join("\n"));
    }
    for verb in ["loses", "admits", "fetches", "invites", "says", "gets", "sees", "get", "see"] {
        let is_cut = |line: &&&str| line.ends_with(&format!(" {verb}"));
        assert_eq!(lines.iter().find(is_cut), None);
    }
    assert!(told.out.contains("`plenary connect claude --serve`"), "what to do next: {}", told.out);
    assert!(told.out.contains("@nick.assistant, @acme.support and @acme.engineer connect"), "{}", told.out);
}

/// Whoever stops it, at whatever step, finds nothing of it on the disk.
#[tokio::test]
async fn a_demonstration_that_is_stopped_leaves_nothing() {
    let temporary = TempDir::new();
    let cli = Cli::new(&[("TMPDIR", &temporary.path().display().to_string())]);
    let left = || std::fs::read_dir(temporary.path()).expect("a directory").count();
    for (signal, words) in [
        (Signal::INT, "keeps its log"),
        (Signal::TERM, "keeps its log"),
        (Signal::TERM, "stop it with Ctrl-C"),
    ] {
        let mut demo = cli.start(&["demo", "--raw"]);
        demo.line_with(words).await;
        assert!(left() > 0, "{words}");
        demo.signal(signal);
        let ended = demo.end().await;
        assert_eq!((ended.code, left()), (0, 0), "{signal:?} at `{words}`: {ended:?}");
    }
    let mut once = cli.start(&["demo", "--once", "--raw"]);
    once.line_with("keeps its log").await;
    once.signal(Signal::INT);
    let ended = once.end().await;
    assert!(ended.code == 1 && ended.err.contains("before its last step") && left() == 0, "{ended:?}");
}
