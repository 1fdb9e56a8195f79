//! Names of a model in messages: whatever they hold, a message stays one message.

mod file_remedy;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

pub use file_remedy::file_remedy;

/// Characters of a name that a message shows.
const LONGEST: usize = 160;

/// A name for people: characters that end lines, move the cursor or turn the direction of text are escaped, and what is very
/// long is cut.
pub fn legible(name: &str) -> Cow<'_, str> {
    let shown = escaped(name);
    match shown.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &shown[..end])),
        None => shown,
    }
}

/// The same of a whole line of text, which is not cut.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(breaks_out) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match breaks_out(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// A count with its noun: `1 node`, `2 nodes`, `2 launches`.
pub fn counted(count: impl fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = match noun.ends_with("ch") {
        _ if count == "1" => "",
        true => "es",
        false => "s",
    };
    format!("{count} {noun}{ending}")
}

/// What a message lists: what it is, as a noun, its name, and what is wrong with it.
pub struct Culprit<'a> {
    pub noun: &'static str,
    pub name: &'a str,
    pub reason: String,
}

/// The most culprits of one reason that have lines of their own, and the names that a common line shows.
const SINGLE: usize = 3;

/// A line for each item, each after a line break and two spaces. More than three of one noun and reason share a line: their count, the
/// reason and the first names, such as `69 nodes: it has no kernel (a, b, c and 66 more)`.
pub fn listed<'a, T: fmt::Display>(items: &'a [T], culprit: impl Fn(&'a T) -> Culprit<'a>) -> String {
    let culprits: Vec<Culprit<'_>> = items.iter().map(culprit).collect();
    let mut equal: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for Culprit { noun, name, reason } in &culprits {
        equal.entry((noun, reason)).or_default().push(name);
    }
    let mut text = String::new();
    for (item, Culprit { noun, reason, .. }) in items.iter().zip(&culprits) {
        let key = (*noun, reason.as_str());
        match equal.get(&key).map_or(0, Vec::len) {
            // The first of them has told it.
            0 => {}
            1..=SINGLE => _ = write!(text, "\n  {item}"),
            count => {
                let names = equal.remove(&key).unwrap_or_default();
                let names = names.iter().take(SINGLE).map(|name| legible(name)).collect::<Vec<_>>().join(", ");
                _ = write!(text, "\n  {}: {reason} ({names} and {} more)", counted(count, noun), count - SINGLE);
            }
        }
    }
    text
}

/// Whether a character does something else than stand in its place.
fn breaks_out(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(reasons: &[&str]) -> String {
        let items: Vec<(String, &str)> =
            reasons.iter().enumerate().map(|(at, reason)| (format!("n{at}"), *reason)).collect();
        let shown: Vec<String> = items.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        listed(&shown, |line| {
            let (name, reason) = line.split_once(": ").expect("a name and a reason");
            Culprit { noun: "node", name, reason: reason.to_owned() }
        })
    }

    #[test]
    fn equal_reasons_share_a_line() {
        assert_eq!(lines(&["a", "b", "a"]), "\n  n0: a\n  n1: b\n  n2: a");
        assert_eq!(lines(&["a", "b", "a", "a", "a"]), "\n  4 nodes: a (n0, n2, n3 and 1 more)\n  n1: b");
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "node")), ["0 nodes", "1 node", "2 nodes"]);
        assert_eq!([1, 2].map(|count| counted(count, "launch")), ["1 launch", "2 launches"]);
    }
}
