//! Which file defines what a path names.

use std::collections::BTreeSet;

use super::source::{Binding, Module, Source};

/// Most imports that one name is followed through: beyond, imports name themselves.
const MOST_STEPS: usize = 24;

/// Follows the names of a crate.
pub struct Names<'a>(&'a Source);

impl<'a> Names<'a> {
    /// Of the crate of a source.
    pub fn new(source: &'a Source) -> Self {
        Self(source)
    }

    /// The files that define what a path names in a module; none for a module itself and for what other crates define.
    pub fn files(&self, module: usize, path: &[String]) -> BTreeSet<usize> {
        self.from(module, path, 0)
    }

    fn module(&self, at: usize) -> &'a Module {
        &self.0.modules[at]
    }

    /// A path as a module's code has it.
    fn from(&self, module: usize, path: &[String], steps: usize) -> BTreeSet<usize> {
        match path {
            _ if steps > MOST_STEPS => BTreeSet::new(),
            [first, rest @ ..] if first == "crate" => self.within(0, rest, steps),
            [first, rest @ ..] if first == "self" => self.within(module, rest, steps),
            [first, rest @ ..] if first == "super" => match self.module(module).parent {
                Some(parent) if rest.first().is_some_and(|next| next == "super") => self.from(parent, rest, steps),
                Some(parent) => self.within(parent, rest, steps),
                None => BTreeSet::new(),
            },
            path => self.within(module, path, steps),
        }
    }

    /// A path whose first name is looked for in a module.
    fn within(&self, module: usize, path: &[String], steps: usize) -> BTreeSet<usize> {
        let [name, rest @ ..] = path else { return BTreeSet::new() };
        if steps > MOST_STEPS {
            return BTreeSet::new();
        }
        let own = self.module(module);
        let Some(bindings) = own.names.get(name) else {
            return own.globs.iter().flat_map(|glob| self.through(module, glob, path, steps + 1)).collect();
        };
        let files = bindings.iter().flat_map(|binding| match binding {
            Binding::Value if !rest.is_empty() => BTreeSet::new(),
            Binding::Value | Binding::Type => BTreeSet::from([own.file]),
            Binding::Module(child) => self.within(*child, rest, steps),
            Binding::Import(import) if import[0] == *name => self.elsewhere(module, import, rest, steps),
            Binding::Import(import) => self.through(module, import, rest, steps + 1),
        });
        files.collect()
    }

    /// A path behind an import or within what is imported whole.
    fn through(&self, module: usize, import: &[String], rest: &[String], steps: usize) -> BTreeSet<usize> {
        self.from(module, &[import, rest].concat(), steps)
    }

    /// A path behind an import whose first name is the name that it gives: a module of that name, or another crate.
    fn elsewhere(&self, module: usize, import: &[String], rest: &[String], steps: usize) -> BTreeSet<usize> {
        let path = [import, rest].concat();
        let bindings = self.module(module).names.get(&import[0]).into_iter().flatten();
        let children = bindings.filter_map(|binding| match binding {
            Binding::Module(child) => Some(*child),
            Binding::Value | Binding::Type | Binding::Import(_) => None,
        });
        children.flat_map(|child| self.within(child, &path[1..], steps + 1)).collect()
    }
}
