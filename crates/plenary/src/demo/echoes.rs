//! The effects of a deed in few lines: players with the same effect share a line, and a long catch-up is cut. Pure.
//! Must not know: how it is printed.

/// Maximum number of consecutive lines about one player.
const IN_A_ROW_MAX: usize = 5;

/// Maximum length of a line without its indent, in characters.
const LINE_CHARS_MAX: usize = 74;

/// The effects of a deed so far.
#[derive(Default)]
pub(super) struct Echoes(Vec<(Vec<String>, String)>);

impl Echoes {
    /// Adds an effect on a player.
    pub(super) fn push(&mut self, actor: &str, effect: &str) {
        match self
            .0
            .last_mut()
            .filter(|(names, known)| known == effect && !names.iter().any(|name| name == actor))
        {
            Some((names, _)) => names.push(actor.to_owned()),
            None => self.0.push((vec![actor.to_owned()], effect.to_owned())),
        }
    }

    /// Removes and returns the lines. Does not repeat the text of the deed.
    pub(super) fn take(&mut self, deed: &str) -> Vec<String> {
        let effects = std::mem::take(&mut self.0);
        let mut lines = Vec::new();
        for row in effects.chunk_by(|(before, _), (after, _)| before == after) {
            let mut row: Vec<String> =
                row.iter().map(|(names, effect)| sentence(names, effect, deed)).collect();
            if row.len() > IN_A_ROW_MAX {
                let skipped = row.len() - 3;
                row.splice(2..2 + skipped, [format!("… and {skipped} more, in order …")]);
            }
            lines.append(&mut row);
        }
        lines
    }
}

fn sentence(names: &[String], effect: &str, deed: &str) -> String {
    let (verb, rest) = effect.split_once(' ').unwrap_or((effect, ""));
    let is_known = verb == "gets" && deed.starts_with("says") && deed.ends_with(rest);
    let rest = if is_known { "it" } else { rest };
    let (last, first) = names.split_last().map_or(("", names), |(last, first)| (last.as_str(), first));
    let actor = if first.is_empty() { last.to_owned() } else { format!("{} and {last}", first.join(", ")) };
    let verb = if first.is_empty() { verb.to_owned() } else { plural(verb) };
    let line = format!("{actor} {verb} {rest}");
    if line.chars().count() <= LINE_CHARS_MAX {
        return line.trim_end().to_owned();
    }
    let end = if line.ends_with('”') { "…”" } else { "…" };
    line.chars().take(LINE_CHARS_MAX - 2).collect::<String>().trim_end().to_owned() + end
}

fn plural(verb: &str) -> String {
    match verb {
        "is" => "are".to_owned(),
        "fetches" => "fetch".to_owned(),
        _ => verb.strip_suffix('s').unwrap_or(verb).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(effects: &[(&str, &str)], deed: &str) -> Vec<String> {
        let mut echoes = Echoes::default();
        effects.iter().for_each(|(actor, effect)| echoes.push(actor, effect));
        echoes.take(deed)
    }

    #[test]
    fn who_sees_the_same_shares_a_line() {
        let effects = [("@a.a", "is invited by @b.b"), ("@c.c", "is invited by @b.b"), ("@d.d", "hears it")];
        assert_eq!(lines(&effects, ""), ["@a.a and @c.c are invited by @b.b", "@d.d hears it"]);
        assert_eq!(
            lines(&[("@a.a", "gets “Hi”"), ("@b.b", "gets “Hi”")], "says “Hi”"),
            ["@a.a and @b.b get it"]
        );
        assert_eq!(lines(&[("@a.a", "gets “Hi”")], "answers “Hi”"), ["@a.a gets “Hi”"]);
    }

    #[test]
    fn a_long_catch_up_is_cut_in_its_middle() {
        let texts: Vec<String> = (1..=7).map(|number| format!("gets “{number}”")).collect();
        let effects: Vec<(&str, &str)> = texts.iter().map(|effect| ("@a.a", effect.as_str())).collect();
        assert_eq!(
            lines(&effects, ""),
            ["@a.a gets “1”", "@a.a gets “2”", "… and 4 more, in order …", "@a.a gets “7”"]
        );
    }
}
