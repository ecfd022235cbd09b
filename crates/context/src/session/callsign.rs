//! Callsigns: an adjective and a noun (AP-14).
//! Must not know: where the randomness comes from.

const ADJECTIVES: [&str; 64] = [
    "amber", "ashen", "azure", "bold", "brave", "brisk", "bright", "bronze", "calm", "cedar", "clear",
    "clever", "coral", "cosmic", "crimson", "crisp", "dapper", "deep", "eager", "early", "fair", "fleet",
    "fresh", "gentle", "gilded", "glad", "golden", "grand", "hardy", "hazel", "honest", "humble", "ivory",
    "jade", "jolly", "keen", "kind", "lively", "loyal", "lucid", "lunar", "mellow", "merry", "misty",
    "mossy", "noble", "olive", "opal", "plain", "proud", "quick", "quiet", "rapid", "rosy", "rustic",
    "sandy", "silver", "snowy", "solar", "steady", "sunny", "swift", "tidy", "violet",
];
const NOUNS: [&str; 64] = [
    "badger", "beaver", "bison", "bobcat", "crane", "cricket", "curlew", "dolphin", "dove", "eagle", "egret",
    "falcon", "ferret", "finch", "fox", "gannet", "gecko", "gibbon", "goose", "grouse", "gull", "hare",
    "hawk", "heron", "hornet", "ibex", "ibis", "jackal", "jay", "kestrel", "kite", "koala", "lark", "lemur",
    "linnet", "lizard", "llama", "lynx", "magpie", "marten", "mole", "moose", "newt", "ocelot", "orca",
    "osprey", "otter", "owl", "panda", "parrot", "pelican", "plover", "puffin", "quail", "raven", "robin",
    "salmon", "seal", "sparrow", "stork", "swan", "tern", "trout", "wren",
];

/// The callsign for some random bits; the lowest twelve are used.
pub fn callsign(bits: u128) -> String {
    let nth = |bits: u128| usize::try_from(bits & 63).unwrap_or_default();
    format!("{}-{}", ADJECTIVES[nth(bits)], NOUNS[nth(bits >> 6)])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ap_14_every_callsign_is_an_adjective_and_a_noun() {
        let all: BTreeSet<String> = (0..4_096).map(callsign).collect();
        assert_eq!(all.len(), 4_096);
        for callsign in all {
            assert!((5..=32).contains(&callsign.len()), "{callsign}");
            let (adjective, noun) = callsign.split_once('-').unwrap();
            assert!([adjective, noun].iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase())));
        }
    }
}
