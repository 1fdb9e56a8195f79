//! A body and its parameters go together as a kernel.

use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Fields, File, ImplItemFn, ItemFn, ItemStruct, Signature, TraitItemFn, TypeTuple};

use super::rust_files;

/// Crates whose functions take kernels.
const FOLDERS: [&str; 6] = ["fusion/src", "fusion/plan/src", "codegen/src", "runtime/src", "compiler", "benches"];
/// Where kernels are made of the two, and where that is checked.
const HOMES: [&str; 2] = ["fusion/plan/src/kernel", "fusion/plan/src/verify"];
/// Most places there that hold both.
const MOST: usize = 5;

/// Files that look at a body before there are kernels of it.
const BEFORE_KERNELS: [&str; 7] = [
    "fusion/plan/src/kernel/geometry.rs",
    "fusion/plan/src/template/attention/mod.rs",
    "fusion/plan/src/template/contraction/operand_staging.rs",
    "fusion/src/cost/estimate.rs",
    "fusion/src/template/candidates.rs",
    "fusion/src/template/contraction",
    "fusion/src/template/variants.rs",
];

/// Only what makes kernels derives a contraction of a body. All else asks the kernel, which derives it once.
pub(crate) fn check_geometry() {
    let mut used = vec![false; BEFORE_KERNELS.len()];
    let mut complaints = Vec::new();
    for folder in FOLDERS {
        for (relative, text) in rust_files(folder) {
            if !text.contains("Contraction::of(") {
                continue;
            }
            match BEFORE_KERNELS.iter().position(|known| relative.starts_with(Path::new(known))) {
                Some(at) => used[at] = true,
                None => complaints.push(relative.display().to_string()),
            }
        }
    }
    assert!(complaints.is_empty(), "`Kernel::contraction` has it: {complaints:#?}");
    let idle: Vec<_> = BEFORE_KERNELS.iter().zip(used).filter(|(_, used)| !used).map(|(file, _)| file).collect();
    assert!(idle.is_empty(), "these derive no contraction: {idle:?}");
}

/// Functions, tuples and structures that hold a body and parameters stand where kernels are made, and are few.
pub(crate) fn check() {
    let (mut elsewhere, mut at_home) = (Vec::new(), Vec::new());
    for folder in FOLDERS {
        for (relative, text) in rust_files(folder) {
            let is_home = HOMES.iter().any(|home| relative.starts_with(Path::new(home)));
            let found = pairs(&text).unwrap_or_else(|error| panic!("{}: {error}", relative.display()));
            let found = found.into_iter().map(|name| format!("{}: {name}", relative.display()));
            if is_home { at_home.extend(found) } else { elsewhere.extend(found) }
        }
    }
    assert!(elsewhere.is_empty(), "a body and its parameters are one `Kernel`: {elsewhere:#?}");
    assert!((1..=MOST).contains(&at_home.len()), "at most {MOST} places make kernels of the two: {at_home:#?}");
}

/// The rule finds arguments, tuples and fields, and nothing else.
pub(crate) fn check_rule() {
    let held = [
        "fn f(body: &GroupBody, params: &ScheduleParams) {}",
        "impl A { fn f(&self, b: Arc<GroupBody>, n: usize, p: &[ScheduleParams]) {} }",
        "trait A { fn f(_: &GroupBody, _: &ScheduleParams); }",
        "fn f((body, params): (&GroupBody, &ScheduleParams)) {}",
        "type T = Vec<(GroupBody, f64, ScheduleParams)>;",
        "struct S { a: Arc<GroupBody>, b: Option<ScheduleParams> }",
        "fn f(choose: impl Fn(&GroupBody), params: ScheduleParams) {}",
    ];
    for text in held {
        assert!(!pairs(text).expect("it parses").is_empty(), "{text}");
    }
    let others = [
        "fn f(kernel: &Kernel) {}",
        "fn f(body: &GroupBody) -> ScheduleParams {}",
        "fn f(choose: impl Fn(&GroupBody) -> Option<ScheduleParams>) {}",
        "struct S { a: Arc<GroupBody> } struct T { b: ScheduleParams }",
        "fn f(body: &GroupBody) {} fn g(params: &ScheduleParams) {}",
    ];
    for text in others {
        assert_eq!(pairs(text).expect("it parses"), Vec::<String>::new(), "{text}");
    }
}

/// What holds both in a text of Rust.
fn pairs(text: &str) -> syn::Result<Vec<String>> {
    let file: File = syn::parse_str(text)?;
    let mut found = Pairs::default();
    found.visit_file(&file);
    Ok(found.0)
}

#[derive(Default)]
struct Pairs(Vec<String>);

impl Pairs {
    fn add<'t>(&mut self, name: &str, types: impl IntoIterator<Item = &'t syn::Type>) {
        let mut named = Named::default();
        types.into_iter().for_each(|ty| named.visit_type(ty));
        if named.body && named.params {
            self.0.push(name.to_owned());
        }
    }

    fn signature(&mut self, signature: &Signature) {
        let types = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(&*typed.ty),
            syn::FnArg::Receiver(_) => None,
        });
        self.add(&signature.ident.to_string(), types);
    }
}

impl<'ast> Visit<'ast> for Pairs {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.signature(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.signature(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.signature(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        let fields: &Fields = &item.fields;
        self.add(&item.ident.to_string(), fields.iter().map(|field| &field.ty));
        visit::visit_item_struct(self, item);
    }

    fn visit_type_tuple(&mut self, tuple: &'ast TypeTuple) {
        self.add("a tuple", &tuple.elems);
        visit::visit_type_tuple(self, tuple);
    }
}

/// Which of the two a type names; what a function type gives back is not held.
#[derive(Default)]
struct Named {
    body: bool,
    params: bool,
}

impl<'ast> Visit<'ast> for Named {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.body |= segment.ident == "GroupBody";
        self.params |= segment.ident == "ScheduleParams";
        visit::visit_path_segment(self, segment);
    }

    fn visit_return_type(&mut self, _: &'ast syn::ReturnType) {}
}
