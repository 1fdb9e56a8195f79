//! Reading any text form: words, numbers, marks and ids, and where one of them is missing.

use std::fmt;
use std::str::FromStr;

use super::lexer::quoted;
use crate::arena::Id;
use crate::types::{ElementType, MAX_RANK, Shape, TensorType};

/// Why a text does not parse.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {expected} is expected, {found} found")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What would have parsed.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// What reading gives.
pub type Parsed<T> = Result<T, TextError>;

/// Values that are written as one word each. Declared by [`words!`](crate::words).
pub trait Word: Sized {
    /// The word of the value.
    fn word(self) -> &'static str;
    /// The value of the word.
    fn of_word(word: &str) -> Option<Self>;
}

/// Declares the word of every variant: `words!(Color { Red => "red", Blue => "blue" });`.
#[macro_export]
macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),* $(,)? }) => {
        impl $crate::text::reader::Word for $type {
            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Values nested deeper than this are refused, so that no text exhausts the stack.
const DEEPEST: usize = 256;

/// A place in a text. White space separates and is otherwise skipped.
#[derive(Clone, Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    /// The start of a text.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Skips `mark` if it comes next. A mark consists of punctuation.
    pub fn eat(&mut self, mark: &str) -> bool {
        let found = self.rest().starts_with(mark);
        if found {
            self.skip(mark.len());
        }
        found
    }

    /// Skips `mark`.
    pub fn mark(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(format!("`{mark}`"))) }
    }

    /// Skips `word` if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.skip(word.len());
        }
        found
    }

    /// Skips `word`.
    pub fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(format!("`{word}`"))) }
    }

    /// The letters, digits and underscores that come next.
    pub fn peek(&self) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    }

    /// The value whose word comes next, if one does.
    pub fn eat_named<W: Word>(&mut self) -> Option<W> {
        let word = self.peek()?;
        let value = W::of_word(word)?;
        self.skip(word.len());
        Some(value)
    }

    /// The value whose word comes next; `what` describes such values.
    pub fn named<W: Word>(&mut self, what: &str) -> Parsed<W> {
        self.eat_named().ok_or_else(|| self.expected(what))
    }

    /// Digits, after a `-` where the type is signed.
    pub fn integer<N: FromStr>(&mut self, what: &str) -> Parsed<N> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len() - sign);
        let value = rest[..sign + digits].parse().map_err(|_| self.expected(what))?;
        self.skip(sign + digits);
        Ok(value)
    }

    /// The letters, digits, `_`, `.` and `:` of a literal, with its sign and that of its exponent; empty if none comes.
    pub fn literal(&mut self) -> &'t str {
        let rest = self.rest();
        let decimal = rest.trim_start_matches('-').starts_with(|character: char| character.is_ascii_digit());
        let mut end = 0;
        let mut exponent = false;
        for character in rest.chars() {
            let sign = character == '-' && (end == 0 || (exponent && decimal));
            if !(sign || is_word(character) || matches!(character, '.' | ':')) {
                break;
            }
            exponent = character == 'e';
            end += character.len_utf8();
        }
        self.skip(end);
        &rest[..end]
    }

    /// A text in quotes, as `{:?}` writes it, if one comes next.
    pub fn eat_text(&mut self) -> Parsed<Option<String>> {
        let Some(rest) = self.rest().strip_prefix('"') else { return Ok(None) };
        let (text, after) = quoted(rest).ok_or_else(|| self.expected("a quoted text that ends, with known escapes"))?;
        self.at = self.text.len() - after.len();
        Ok(Some(text))
    }

    /// A text in quotes; `what` describes such texts.
    pub fn text(&mut self, what: &str) -> Parsed<String> {
        self.eat_text()?.ok_or_else(|| self.expected(what))
    }

    /// An id below `count`; `what` describes such ids.
    pub fn id<I: Id>(&mut self, what: &str, count: usize) -> Parsed<I> {
        let digits = self.rest().strip_prefix(I::PREFIX).map(|rest| {
            let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            &rest[..end]
        });
        let index = digits.and_then(plain::<u32>).filter(|&index| (index as usize) < count);
        let (Some(index), Some(digits)) = (index, digits) else { return Err(self.expected(what)) };
        self.skip(I::PREFIX.len() + digits.len());
        Ok(I::from_index(index as usize))
    }

    /// The id of the `count`-th declaration.
    pub fn declared<I: Id>(&mut self, count: usize) -> Parsed<I> {
        let what = format!("the declaration of `{}{count}`", I::PREFIX);
        let mut ahead = self.clone();
        let id: I = ahead.id(&what, count + 1)?;
        if id.index() != count {
            return Err(self.expected(what));
        }
        *self = ahead;
        Ok(id)
    }

    /// Whether an id comes next.
    pub fn is_id<I: Id>(&self) -> bool {
        let digits = self.rest().strip_prefix(I::PREFIX);
        digits.is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
    }

    /// Numbers joined by `x`.
    pub fn extents(&mut self, what: &str) -> Parsed<Vec<usize>> {
        let word = self.peek().unwrap_or_default();
        let extents: Option<Vec<usize>> = word.split('x').map(plain).collect();
        let extents = extents.ok_or_else(|| self.expected(what))?;
        self.skip(word.len());
        Ok(extents)
    }

    /// A type such as `f32[2x3]`, of a possible size.
    pub fn tensor_type(&mut self) -> Parsed<TensorType> {
        let element = self.element_type()?;
        self.mark("[")?;
        let before = self.clone();
        let shape = if self.eat("]") {
            Shape::scalar()
        } else {
            let extents = self.extents("a shape")?;
            self.mark("]")?;
            Shape::new(extents)
        };
        let points = shape.iter().try_fold(1isize, |points, &extent| {
            isize::try_from(extent.max(1)).ok().and_then(|extent| points.checked_mul(extent))
        });
        let possible = shape.len() <= MAX_RANK && points.is_some();
        if possible { Ok(TensorType { element, shape }) } else { Err(before.expected("a smaller shape")) }
    }

    pub fn element_type(&mut self) -> Parsed<ElementType> {
        self.eat_element_type().ok_or_else(|| self.expected("an element type"))
    }

    /// An element type, if one comes next.
    pub fn eat_element_type(&mut self) -> Option<ElementType> {
        let word = self.peek()?;
        let element = word.parse().ok()?;
        self.skip(word.len());
        Some(element)
    }

    /// Items separated by commas up to `close`, which is skipped.
    pub fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.mark(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// What `parse` reads, one level deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return Err(self.expected(format!("a value nested at most {DEEPEST} deep")));
        }
        self.depth += 1;
        let value = parse(self);
        self.depth -= 1;
        value
    }

    /// Whether nothing follows.
    pub fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// The line of what comes next, from 1.
    pub fn line(&self) -> usize {
        self.text[..self.text.len() - self.rest().len()].matches('\n').count() + 1
    }

    /// The error that `what` does not stand here.
    pub fn expected(&self, what: impl fmt::Display) -> TextError {
        let rest = self.rest();
        let before = &self.text[..self.text.len() - rest.len()];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let found = match (self.peek(), rest.chars().next()) {
            (Some(word), _) => format!("`{}`", word.chars().take(40).collect::<String>()),
            (None, Some(character)) => format!("`{character}`"),
            (None, None) => "the end of the text".to_owned(),
        };
        TextError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: what.to_string(),
            found,
        }
    }

    /// The error that more follows, unless nothing does.
    pub fn end(&self) -> Parsed<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    fn rest(&self) -> &'t str {
        self.text[self.at..].trim_start()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.text.len() - self.rest().len() + bytes;
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// A number written in digits alone.
fn plain<N: FromStr>(digits: &str) -> Option<N> {
    let only = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    only.then(|| digits.parse().ok()).flatten()
}
