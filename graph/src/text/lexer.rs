//! Words, quoted texts and marks of one line.

/// A piece of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'t> {
    /// A run of letters, digits and the signs that numbers and types are made of.
    Word(&'t str),
    /// A quoted text, unescaped.
    Text(String),
    /// Any other character.
    Mark(char),
}

/// The tokens of a line; `None` if a quoted text does not end or has an unknown escape.
pub(super) fn tokens(line: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if first == '"' {
            let (text, after) = quoted(&rest[1..])?;
            tokens.push(Token::Text(text));
            rest = after;
        } else if is_word(first) {
            let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        } else {
            tokens.push(Token::Mark(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(tokens)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-' | '+')
}

/// A quoted text after its opening quote, as `{:?}` writes it, and what follows it.
pub(super) fn quoted(text: &str) -> Option<(String, &str)> {
    let mut result = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((result, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => result.push('\n'),
                'r' => result.push('\r'),
                't' => result.push('\t'),
                '0' => result.push('\0'),
                'u' => {
                    let digits: String =
                        characters.by_ref().map(|(_, digit)| digit).take_while(|&digit| digit != '}').collect();
                    let code = u32::from_str_radix(digits.strip_prefix('{')?, 16).ok()?;
                    result.push(char::from_u32(code)?);
                }
                escaped @ ('"' | '\'' | '\\') => result.push(escaped),
                _ => return None,
            },
            other => result.push(other),
        }
    }
    None
}
