//! Names of a model in messages: whatever they hold, a message stays one message.

use std::borrow::Cow;

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

/// Whether a character does something else than stand in its place.
fn breaks_out(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_as_they_are() {
        for name in ["", "layer/0/Relu:0", "größe \"a\"", r"a\b", "*/"] {
            assert_eq!(legible(name), name);
        }
    }

    #[test]
    fn names_end_no_line_and_no_message() {
        assert_eq!(legible("a\nerror[x]: b\r\u{1b}[2J"), "a\\nerror[x]: b\\r\\u{1b}[2J");
        assert_eq!(legible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(legible(&"ä".repeat(10_000)).chars().count(), LONGEST + 1);
        assert_eq!(escaped(&"n".repeat(10_000)).len(), 10_000);
    }
}
