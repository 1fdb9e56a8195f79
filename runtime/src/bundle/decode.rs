//! Postcard with a limit on nesting: recursive values of a hostile file must not exhaust the stack.

use std::cell::Cell;
use std::rc::Rc;

use serde::Serialize;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::error::BundleError;
use super::name::EntryName;

/// Values may be nested this deep: structures, sequences, options and variants each count.
const MAX_NESTING: usize = 4096;
/// Stack of the thread that decodes; a level takes less than a kilobyte and a half in any build.
const STACK_BYTES: usize = 96 << 20;

/// The bytes of a value.
pub(super) fn encode<T: Serialize + ?Sized>(entry: EntryName, value: &T) -> Result<Vec<u8>, BundleError> {
    postcard::to_stdvec(value).map_err(|error| BundleError::Damaged { entry, reason: error.to_string() })
}

/// The value that `bytes` hold, all of them.
pub(super) fn decode<T>(entry: EntryName, bytes: &[u8]) -> Result<T, BundleError>
where
    T: for<'de> Deserialize<'de> + Send,
{
    let damaged = |reason: String| BundleError::Damaged { entry, reason };
    let decoded = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || limited(bytes));
        let thread = thread.map_err(|error| format!("no thread to decode it on: {error}"))?;
        thread.join().map_err(|_| "its values are impossible".to_owned())?
    });
    decoded.map_err(damaged)
}

fn limited<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, String> {
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    let depth = Rc::new(Depth::default());
    let limited = Limited { inner: &mut deserializer, depth: Rc::clone(&depth) };
    // The errors of the format keep no text, so the reason is kept beside them.
    let reason = |error: postcard::Error| match depth.exceeded.get() {
        true => format!("its values are nested more than {MAX_NESTING} deep"),
        false => error.to_string(),
    };
    let value = T::deserialize(limited).map_err(reason)?;
    let rest = deserializer.finalize().map_err(|error| error.to_string())?;
    if rest.is_empty() { Ok(value) } else { Err(format!("{} bytes too many", rest.len())) }
}

/// How deep the value is that is being read.
#[derive(Default)]
struct Depth {
    levels: Cell<usize>,
    exceeded: Cell<bool>,
}

/// Passes everything on to `inner`, and counts how deep it is.
struct Limited<T> {
    inner: T,
    depth: Rc<Depth>,
}

/// Leaves a level at its end.
struct Level(Rc<Depth>);

impl Level {
    fn enter<E: de::Error>(depth: &Rc<Depth>) -> Result<Self, E> {
        if depth.levels.get() >= MAX_NESTING {
            depth.exceeded.set(true);
            return Err(E::custom("values are nested too deep"));
        }
        depth.levels.set(depth.levels.get() + 1);
        Ok(Self(Rc::clone(depth)))
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        self.0.levels.set(self.0.levels.get() - 1);
    }
}

impl<T> Limited<T> {
    fn around<U>(&self, inner: U) -> Limited<U> {
        Limited { inner, depth: Rc::clone(&self.depth) }
    }
}

macro_rules! pass_on {
    ($($method:ident($($argument:ident: $ty:ty),*)),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $ty,)* visitor: V) -> Result<V::Value, D::Error> {
            let _level = Level::enter(&self.depth)?;
            let visitor = self.around(visitor);
            self.inner.$method($($argument,)* visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Limited<D> {
    type Error = D::Error;

    pass_on!(
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(),
        deserialize_i64(), deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(),
        deserialize_u64(), deserialize_u128(), deserialize_f32(), deserialize_f64(), deserialize_char(),
        deserialize_str(), deserialize_string(), deserialize_bytes(), deserialize_byte_buf(), deserialize_option(),
        deserialize_unit(), deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str), deserialize_seq(), deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize), deserialize_map(),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]), deserialize_identifier(),
        deserialize_ignored_any(),
    );

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident: $ty:ty),* $(,)?) => {
        $(fn $method<E: de::Error>(self, value: $ty) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Limited<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    visit!(
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128,
        visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64, visit_u128: u128, visit_f32: f32,
        visit_f64: f64, visit_char: char, visit_str: &str, visit_borrowed_str: &'de str, visit_string: String,
        visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    );

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.visit_some(inner)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.visit_newtype_struct(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_seq(inner)
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_map(inner)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let inner = self.around(inner);
        self.inner.visit_enum(inner)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Limited<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let inner = self.around(inner);
        self.inner.deserialize(inner)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Limited<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Limited<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.next_value_seed(seed)
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Limited<A> {
    type Error = A::Error;
    type Variant = Limited<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let depth = Rc::clone(&self.depth);
        let seed = self.around(seed);
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Limited { inner, depth }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Limited<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Serialize, Deserialize, PartialEq)]
    enum Chain {
        End,
        Link(Box<Chain>),
    }

    #[test]
    fn nesting_is_limited() {
        let chain = |links: usize| vec![1u8; links].into_iter().chain([0]).collect::<Vec<u8>>();
        assert!(decode::<Chain>(EntryName::Program, &chain(1000)).is_ok());
        let error = decode::<Chain>(EntryName::Program, &chain(1_000_000)).expect_err("this is too deep");
        assert!(error.to_string().contains("nested more than"), "{error}");
    }

    #[test]
    fn trailing_bytes_are_refused() {
        assert_eq!(
            decode::<Chain>(EntryName::Program, &[1, 0]).expect("a chain of one"),
            Chain::Link(Box::new(Chain::End))
        );
        assert!(decode::<Chain>(EntryName::Program, &[1, 0, 0]).is_err());
    }
}
