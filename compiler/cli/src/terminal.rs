//! How wide the lines of a result are, and texts that fit them.

use terminal_size::{Width, terminal_size_of};

/// A terminal is never taken to be narrower.
const NARROWEST: usize = 40;

/// The columns of a line: what `COLUMNS` says, else those of the terminal that standard output is, else `unknown`.
pub fn columns_or(unknown: usize) -> usize {
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&columns| columns > 0);
    let seen = || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    stated.or_else(seen).unwrap_or(unknown).max(NARROWEST)
}

/// The text, cut so that it takes at most so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// The text, of which what is between its beginning and `end`, with which it ends, is cut so that it takes at most so many columns.
pub fn cut_before(end: &str, text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let beginning = text.strip_suffix(end).unwrap_or(text);
    cut(&(cut(beginning, columns.saturating_sub(end.chars().count())) + end), columns)
}

/// A line that begins with `head`, in as many lines as it takes; all but the first are indented as far as `head` reaches.
pub fn wrapped(head: &str, text: &str, columns: usize) -> String {
    let indent = head.chars().count();
    let mut lines = vec![head.to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        let taken = last.chars().count();
        match taken {
            _ if taken <= indent => last.push_str(word),
            _ if taken + 1 + word.chars().count() <= columns => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(" ".repeat(indent) + word),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut_before(" tile 4", "contraction simt tile 4", 23), "contraction simt tile 4");
        assert_eq!(cut_before(" tile 4", "contraction simt tile 4", 20), "contraction … tile 4");
        assert_eq!(cut_before(" tile 4", "contraction simt tile 4", 5), "… ti…");
        assert_eq!(wrapped("  key  ", "one two three", 14), "  key  one two\n       three\n");
        assert_eq!(wrapped("  key  ", "one", 14), "  key  one\n");
    }
}
