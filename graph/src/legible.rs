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
