//! Programs to text.

use std::fmt;

use warpweave_graph::text::reader::Word;

use crate::kernel_ir::{Entry, Function, Program};

use super::statement::show_block;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "threads {}\n", self.threads)?;
        for (id, kernel) in self.kernels.iter() {
            writeln!(f, "kernel {id} {{\n{kernel}}}\n")?;
        }
        match &self.entry {
            Entry::Persistent(entry) => writeln!(f, "entry {{\n{entry}}}"),
            Entry::Nodes(_) => nodes(f, &self.entry),
            Entry::Mixed(entries) => {
                writeln!(f, "entry {{\n{}}}\n", entries.persistent)?;
                nodes(f, &self.entry)
            }
        }
    }
}

fn nodes(f: &mut fmt::Formatter<'_>, entry: &Entry) -> fmt::Result {
    writeln!(f, "nodes")?;
    entry.nodes().into_iter().try_for_each(|(id, node)| writeln!(f, "\nnode {id} {{\n{node}}}"))
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locals = self.locals.iter().map(|(id, scalar)| format!("{id}: {}", scalar.word()));
        let arrays = self.arrays.iter().map(|(id, array)| format!("{id}: {}[{}]", array.scalar.word(), array.length));
        let shared = self.shared.iter().map(|(id, array)| format!("{id}: {}[{}]", array.memory.word(), array.length));
        let declared: [(&str, Vec<String>); 3] =
            [("locals", locals.collect()), ("arrays", arrays.collect()), ("shared", shared.collect())];
        for (keyword, declared) in declared.iter().filter(|(_, declared)| !declared.is_empty()) {
            writeln!(f, "  {keyword} {}", declared.join(", "))?;
        }
        if let Some(kept) = self.kept {
            writeln!(f, "  keeps {kept}")?;
        }
        show_block(f, &self.body, 1)
    }
}
