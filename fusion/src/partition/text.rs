//! Partitions as text that parses back to an equal partition.
//!
//! ```text
//! partition
//!   group 0 of [e0, e1]: row/warp tile 5, 0.25 us
//!     tile axes 1, reads [t0], writes [t2]
//!     stage 0 (t0: f32[5x33]): f32 = [a0<5] max[a1<33] x0[a0, a1]
//! ```
//! Groups stand in their order. The program whose statements they are, after all passes, stands elsewhere. What is parsed
//! names only what that program declares; whether the groups compute it is not checked.

use std::collections::BTreeSet;
use std::fmt;

use warpweave_graph::program::{Definition, StatementId, TensorProgram};
use warpweave_graph::text::reader::{Parsed, Reader, TextError};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::text as params_text;
use warpweave_plan::text::body;

use crate::partition::search::{FusionGroup, Partition};

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "partition")?;
        for (position, FusionGroup { statements, kernel, microseconds, origins: _ }) in self.groups.iter().enumerate() {
            let members: Vec<String> = statements.iter().map(ToString::to_string).collect();
            writeln!(f, "  group {position} of [{}]: {kernel}, {microseconds:?} us", members.join(", "))?;
            write!(f, "{}", kernel.body())?;
        }
        Ok(())
    }
}

/// The partition of `program` that a text describes.
pub fn parse(text: &str, program: &TensorProgram) -> Result<Partition, TextError> {
    let mut reader = Reader::new(text);
    reader.keyword("partition")?;
    let mut partition = Partition::default();
    let mut left: BTreeSet<StatementId> = program
        .statements
        .iter()
        .filter(|(_, statement)| !matches!(statement.definition, Definition::Concat { .. }))
        .map(|(id, _)| id)
        .collect();
    while reader.eat_word("group") {
        let group = group(&mut reader, partition.groups.len(), program, &mut left)?;
        partition.groups.push(group);
    }
    reader.end()?;
    match left.first() {
        Some(statement) => Err(reader.expected(format!("a group of {statement}"))),
        None => Ok(partition),
    }
}

/// A group after its keyword, whose statements are among those that are left.
fn group(
    reader: &mut Reader<'_>,
    position: usize,
    program: &TensorProgram,
    left: &mut BTreeSet<StatementId>,
) -> Parsed<FusionGroup> {
    let before = reader.clone();
    if reader.integer::<usize>("a position")? != position {
        return Err(before.expected(format!("position {position}")));
    }
    reader.keyword("of")?;
    reader.mark("[")?;
    let members = reader.list("]", |reader| {
        let before = reader.clone();
        let statement = reader.id::<StatementId>("a statement", program.statements.len())?;
        if left.remove(&statement) { Ok(statement) } else { Err(before.expected("a statement without a group")) }
    })?;
    reader.mark(":")?;
    let params = params_text::read(reader)?;
    reader.mark(",")?;
    let before = reader.clone();
    let microseconds = reader.literal().parse().map_err(|_| before.expected("microseconds"))?;
    reader.keyword("us")?;
    let kernel = Kernel::unchecked(body::read(reader, program.tensors.len())?, params);
    let statements = members.into_iter().collect();
    let origins = program.origins_of(&statements);
    Ok(FusionGroup { statements, kernel, microseconds, origins })
}
