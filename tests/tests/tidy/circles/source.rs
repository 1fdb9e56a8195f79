//! The modules of a crate: what each defines, imports and names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, Meta, UseTree, Visibility};

/// The names along a path.
pub type Names = Vec<String>;

/// What a name stands for in a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binding {
    /// What is defined there and has nothing within it that a path could name.
    Value,
    /// A type or trait that is defined there.
    Type,
    /// A module, by its position.
    Module(usize),
    /// An import.
    Import(Names),
}

/// A module's content.
#[derive(Debug, Default)]
pub struct Module {
    /// The position of its file.
    pub file: usize,
    /// The module that declares it.
    pub parent: Option<usize>,
    /// What its names stand for; types and values may share one.
    pub names: BTreeMap<String, Vec<Binding>>,
    /// What it imports everything of.
    pub globs: Vec<Names>,
    /// The paths of its code and of its private imports.
    paths: Vec<Names>,
}

impl Module {
    /// What its code names.
    pub fn needed(&self) -> &[Names] {
        &self.paths
    }
}

/// The modules of a crate, its root first.
#[derive(Debug, Default)]
pub struct Source {
    /// The files, relative to the folder that was read.
    pub files: Vec<PathBuf>,
    /// The modules.
    pub modules: Vec<Module>,
}

impl Source {
    /// Reads a crate from its root file on.
    pub fn read(folder: &Path, root: &Path) -> Self {
        let mut source = Self::default();
        let children = root.parent().expect("a file lies in a folder");
        source.read_file(folder, root, children, None);
        source
    }

    /// Reads a file, the files of whose modules lie in a folder, as a module.
    fn read_file(&mut self, folder: &Path, path: &Path, children: &Path, parent: Option<usize>) -> usize {
        let text = std::fs::read_to_string(folder.join(path));
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.files.push(path.to_owned());
        let module = self.add(self.files.len() - 1, parent);
        Reader { source: self, folder, children: children.to_owned(), module }.items(&file.items);
        module
    }

    fn add(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules.len() - 1
    }
}

/// Reads the items of a module.
struct Reader<'a> {
    source: &'a mut Source,
    folder: &'a Path,
    /// The folder of the files of its modules.
    children: PathBuf,
    module: usize,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item]) {
        items.iter().for_each(|item| self.visit_item(item));
    }

    fn own(&mut self) -> &mut Module {
        &mut self.source.modules[self.module]
    }

    fn bind(&mut self, name: &syn::Ident, binding: Binding) {
        self.own().names.entry(name.to_string()).or_default().push(binding);
    }

    fn module(&mut self, item: &ItemMod) {
        let (own, file) = (self.module, self.own().file);
        let name = item.ident.to_string();
        let child = match &item.content {
            Some((_, items)) => {
                let child = self.source.add(file, Some(own));
                let children = self.children.join(&name);
                Reader { source: self.source, folder: self.folder, children, module: child }.items(items);
                child
            }
            None => {
                let (flat, nested) = (self.children.join(format!("{name}.rs")), self.children.join(&name));
                let path = if self.folder.join(&flat).is_file() { flat } else { nested.join("mod.rs") };
                self.source.read_file(self.folder, &path, &nested, Some(own))
            }
        };
        self.bind(&item.ident, Binding::Module(child));
    }

    /// Takes the imports of a tree, whose path begins with a prefix.
    fn import(&mut self, tree: &UseTree, prefix: &Names, exported: bool) {
        let with = |name: &syn::Ident| prefix.iter().cloned().chain([name.to_string()]).collect::<Names>();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &with(&path.ident), exported),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, prefix, exported)),
            UseTree::Glob(_) => return self.own().globs.push(prefix.clone()),
            UseTree::Name(name) if name.ident == "self" => match prefix.last() {
                Some(last) => (last.clone(), prefix.clone()),
                None => return,
            },
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => (rename.rename.to_string(), prefix.clone()),
            UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
        };
        if !exported {
            self.own().paths.push(path.clone());
        }
        self.own().names.entry(name).or_default().push(Binding::Import(path));
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        match item {
            Item::Mod(item) => return self.module(item),
            Item::Use(item) => {
                let exported = !matches!(item.vis, Visibility::Inherited);
                return self.import(&item.tree, &Names::new(), exported);
            }
            Item::Const(item) => self.bind(&item.ident, Binding::Value),
            Item::Fn(item) => self.bind(&item.sig.ident, Binding::Value),
            Item::Static(item) => self.bind(&item.ident, Binding::Value),
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.bind(name, Binding::Value);
                }
            }
            Item::Enum(item) => self.bind(&item.ident, Binding::Type),
            Item::Struct(item) => self.bind(&item.ident, Binding::Type),
            Item::Trait(item) => self.bind(&item.ident, Binding::Type),
            Item::TraitAlias(item) => self.bind(&item.ident, Binding::Type),
            Item::Type(item) => self.bind(&item.ident, Binding::Type),
            Item::Union(item) => self.bind(&item.ident, Binding::Type),
            _ => (),
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Const(item) => &item.attrs[..],
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.own().paths.push(names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        visit::visit_macro(self, item);
        let found = paths(&item.tokens.to_string());
        self.own().paths.extend(found);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is there for tests only.
fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::Path(_) | Meta::NameValue(_) => false,
    }
}

/// The paths among what a macro is given.
fn paths(tokens: &str) -> Vec<Names> {
    let code: String = tokens.split('"').step_by(2).collect::<Vec<_>>().join(" \"\" ");
    let spaced = code.replace("::", " :: ").replace('.', " . ");
    let is_word = |part: &str| part.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let split = |character: char| !(character.is_alphanumeric() || "_:.".contains(character));
    let (mut found, mut continued, mut field) = (Vec::<Names>::new(), false, false);
    for part in spaced.split(split).filter(|part| !part.is_empty()) {
        match (part, is_word(part)) {
            (_, true) if continued => found.last_mut().expect("a path is continued").push(part.to_owned()),
            (_, true) if !field => found.push(vec![part.to_owned()]),
            _ => (),
        }
        continued = part == "::" && !found.is_empty();
        field = part == ".";
    }
    found
}
