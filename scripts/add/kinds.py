"""What one more of each kind takes: the files that it creates, with what, and the edits of others.

Keys are the titles of the bullets of "How to add" in CONTRIBUTING.md. `optional` are places that the bullet names and that the
kind can do without. An edit is one of

    ("after" or "before", ANCHOR, LINES)  inserts lines, as far indented, beside the one line that holds the anchor
    ("count", NAME)                       makes a constant array one longer
    ("listed", NAME, ITEM)                adds an item to a constant array that stands on one line
"""

OPERATOR = {
    "create": {"graph/src/ops/functions/example.rs": "operator.rs.in"},
    "edit": {
        "graph/src/ops/functions/mod.rs": [("before", "pub mod exp;", "pub mod example;")],
        "graph/src/ops/mod.rs": [("before", "    exp::Exp,", "example::Example,")],
    },
    "optional": ["docs/operators.md", "scripts/operator_families/"],
}

PROCEDURE = {
    "create": {
        "graph/src/procedure/example.rs": "procedure_values.rs.in",
        "fusion/plan/src/template/opaque/example.rs": "procedure_work.rs.in",
        "codegen/src/lower/opaque/example.rs": "procedure_lowering.rs.in",
    },
    "edit": {
        "graph/src/procedure/mod.rs": [
            ("before", "pub mod sort;", "pub mod example;"),
            ("before", "    /// Whether each place stays", "/// The places of a row: [`example::places`].\nExample,"),
            ("before", "Self::Suppress { .. } => ElementType::Bool,", "Self::Example => ElementType::I64,"),
            ("before", "Self::Suppress { .. } => suppress::LONGEST_ROW,", "Self::Example => example::LONGEST_ROW,"),
            ("before", "Self::Suppress { .. } => require(body", "Self::Example => Ok(()),"),
            ("before", "Self::Suppress { most } => write!", 'Self::Example => f.write_str("example"),'),
            (
                "before",
                'reader.keyword("suppress")?;',
                'if reader.eat_word("example") {\n    return Ok(Self::Example);\n}',
            ),
        ],
        "graph/src/reference/opaque.rs": [
            ("before", "use crate::procedure::sort::", "use crate::procedure::example;"),
            (
                "before",
                "Procedure::Suppress { most } => {",
                "Procedure::Example => {\n"
                "    let rows = access.output().shape.elements() / length;\n"
                "    let places = (0..rows).flat_map(|_| example::places(length)).collect();\n"
                "    Ok((Values::Integer(places), Faults::new()))\n"
                "}",
            ),
        ],
        "runtime/src/host/opaque.rs": [
            ("after", "Procedure::Sort(_) => None,", "Procedure::Example => None,"),
            (
                "before",
                "Procedure::Suppress { most } => {",
                "Procedure::Example => row.store(&warpweave_graph::procedure::example::places(row.length)),",
            ),
        ],
        "fusion/plan/src/template/opaque/mod.rs": [
            ("before", "pub mod rules;", "pub mod example;"),
            ("before", "Procedure::Suppress { most } =>", "Procedure::Example => example::of_row(length),"),
        ],
        "codegen/src/lower/opaque/mod.rs": [
            ("before", "pub(crate) mod sort;", "pub(crate) mod example;"),
            ("before", "Procedure::Suppress { most } =>", "Procedure::Example => example::emit(emitter, &row),"),
        ],
        "codegen/src/lower/unsupported.rs": [
            ("after", "Procedure::Suppress { .. } => Ok(()),", "Procedure::Example => Ok(()),"),
        ],
        "tests/src/evaluate.rs": [
            (
                "before",
                "Procedure::Suppress { most } => {",
                "Procedure::Example => result.extend((0..length as i64).map(Value::Integer)),",
            ),
        ],
        "tests/src/sketch.rs": [
            ("after", "Procedure::Sort(_) => Scalar::literal(", "Procedure::Example => Scalar::literal(ty.element, 0.0),"),
        ],
        "tests/tests/filetests/coverage.rs": [("after", 'Self::Sort(_) => "sort",', 'Self::Example => "example",')],
    },
}

TEMPLATE = {
    "create": {
        "fusion/plan/src/template/example.rs": "template_rules.rs.in",
        "fusion/src/template/example.rs": "template_pricing.rs.in",
        "codegen/src/lower/example.rs": "template_lowering.rs.in",
    },
    "edit": {
        "fusion/plan/src/template/mod.rs": [
            ("before", "pub mod opaque;", "pub mod example;"),
            ("after", "    Row(RowThreads),", "/// A template that takes no body.\nExample,"),
            ("after", "Self::Row(own) => own,", "Self::Example => &example::Example,"),
        ],
        "fusion/plan/src/template/text.rs": [
            ("count", "TEMPLATES"),
            ("before", '("opaque", |_| Ok(Template::Opaque)),', '("example", |_| Ok(Template::Example)),'),
        ],
        "fusion/src/template/mod.rs": [
            ("before", "pub mod opaque;", "pub mod example;"),
            ("after", "Template::Row(own) => own,", "Template::Example => &warpweave_plan::template::example::Example,"),
        ],
        "fusion/src/template/candidates.rs": [
            (
                "after",
                "let mut found = simple_candidates(body);",
                "found.extend(warpweave_plan::template::example::candidate(body));",
            ),
        ],
        "codegen/src/lower/mod.rs": [
            ("before", "pub(crate) mod hoist;", "pub(crate) mod example;"),
            ("before", "Template::Opaque => opaque::emit", "Template::Example => example::emit(&mut emitter)?,"),
        ],
        "tests/tests/filetests/coverage.rs": [("after", 'Self::Staged => "staged",', 'Self::Example => "example",')],
        "tests/tests/lowering/counts.rs": [
            (
                "after",
                "Template::Row(_) => vec![1],",
                'Template::Example => unreachable!("it takes no body"),',
            ),
        ],
        "tests/tests/plans/prefetch.rs": [("after", "| Template::Row(_)", "| Template::Example")],
        "tests/tests/tidy/templates.rs": [("listed", "VARIANTS", '"Example"')],
    },
}

STATEMENT = {
    "edit": {
        "codegen/src/kernel_ir/statement.rs": [
            (
                "before",
                "    /// Closes the thread's open group of copies.",
                "/// Lets time pass.\nPause {\n    /// Cycles.\n    cycles: u32,\n},",
            ),
        ],
        "codegen/src/kernel_ir/declaration.rs": [
            ("after", "Self::Break => Parts::new(),", "Self::Pause { .. } => Parts::new(),"),
            ("after", "Self::AsyncCommit | Self::AsyncWait { .. } => Effects::NONE,", "Self::Pause { .. } => Effects::NONE,"),
        ],
        "codegen/src/kernel_ir/text/statement.rs": [
            (
                "before",
                '"copies" if reader.eat_word("commit")',
                '"pause" => Statement::Pause { cycles: reader.integer("a number of cycles")? },',
            ),
            (
                "before",
                'Statement::AsyncCommit => "copies commit".to_owned(),',
                'Statement::Pause { cycles } => format!("pause {cycles}"),',
            ),
        ],
        "codegen/src/print/statement.rs": [
            (
                "before",
                'Statement::AsyncCommit => self.line("ww_async_commit();"),',
                'Statement::Pause { cycles } => self.line(&format!("ww_pause({cycles}u);")),',
            ),
        ],
        "codegen/src/prelude/device.cuh": [
            (
                "before",
                "WW_FUNCTION unsigned char* ww_shared_memory() {",
                "WW_FUNCTION void ww_pause(ww_u32 cycles) { __nanosleep(cycles); }\n",
            ),
        ],
        "codegen/src/prelude/host.hpp": [
            ("before", "WW_FUNCTION unsigned char* ww_shared_memory() {", "WW_FUNCTION void ww_pause(ww_u32) {}"),
        ],
        "codegen/src/emulate/compile/statement.rs": [
            (
                "before",
                "Statement::AsyncWait { pending } => {",
                "Statement::Pause { cycles } => _ = self.emit(Instruction::Pause(*cycles)),",
            ),
        ],
        "codegen/src/emulate/bytecode/mod.rs": [("after", "    AsyncWait(u32),", "Pause(u32),")],
        "codegen/src/emulate/warp/execute.rs": [
            ("before", "Instruction::DependentLaunch => {}", "Instruction::Pause(_) => {}"),
        ],
    },
}

PASS = {
    "create": {
        "graph/src/passes/example.rs": "graph_pass.rs.in",
        "graph/src/program/passes/example.rs": "program_pass.rs.in",
    },
    "edit": {
        "graph/src/passes/mod.rs": [
            ("before", "pub mod identity_removal;", "pub mod example;"),
            ("count", "PASSES"),
            ("before", "(dead_code::NAME, dead_code::dead_code),", "(example::NAME, example::example),"),
        ],
        "graph/src/program/passes/mod.rs": [
            ("before", "mod quantized_products;", "mod example;"),
            ("before", "pub use quantized_products::", "pub use example::example;"),
            ("count", "PASSES"),
            ("before", '("sibling_merging", merge_siblings),', 'both("example", example),'),
        ],
    },
}

POLICY = {
    "create": {
        "fusion/src/schedule/dependence/example.rs": "policy_bands.rs.in",
        "fusion/src/schedule/placement/example.rs": "policy_placement.rs.in",
    },
    "edit": {
        "fusion/src/schedule/policy.rs": [
            ("before", "    /// All of an rOperator.", "/// As coarse as whole rOperators.\nExample,"),
            ("before", "    /// List scheduling:", "/// In waves.\nExample,"),
            (
                "before",
                "    /// All policies, coarsest first.",
                "/// A further one.\n"
                "pub const EXAMPLE: Self = Self { waits: WaitGranularity::Example, placement: PlacementPolicy::Example };",
            ),
            (
                "before",
                '(WaitGranularity::Operator, _) => "operator",',
                '(WaitGranularity::Example, _) => "example",',
            ),
        ],
        "fusion/src/schedule/dependence/mod.rs": [("before", "pub mod requirements;", "pub mod example;")],
        "fusion/src/schedule/placement/mod.rs": [("before", "pub mod insertion;", "pub mod example;")],
        "fusion/src/schedule/placement/policies.rs": [
            (
                "before",
                "PlacementPolicy::ListScheduling => {",
                "PlacementPolicy::Example => crate::schedule::placement::example::place(work, units, costs),",
            ),
        ],
        "fusion/src/schedule/choice/planner.rs": [
            ("after", "WaitGranularity::Device => coarse,", "WaitGranularity::Example => self.justified(coarse),"),
            (
                "before",
                "WaitGranularity::Device | WaitGranularity::Operator => Bands::",
                "WaitGranularity::Example => crate::schedule::dependence::example::bands(&self.operators),",
            ),
        ],
        "fusion/src/schedule/choice/persistent.rs": [
            ("after", "match options.sync.map(SyncPolicy::waits) {", "    Some(WaitGranularity::Example) => false,"),
        ],
        "tests/tests/filetests/coverage.rs": [("before", 'Self::Operator => "operator",', 'Self::Example => "example",')],
    },
    "optional": ["fusion/src/tuning.rs"],
}

TARGET = {
    "edit": {
        "runtime/src/target.rs": [
            ("before", "    /// Blackwell, `sm_120`.", "/// Blackwell embedded, `sm_110`.\nSm110,"),
            ("count", "ALL"),
            ("before", "        Self::Sm120,", "Self::Sm110,"),
            ("after", "Self::Sm80 => (8, 0),", "Self::Sm110 => (11, 0),"),
            ("after", "Self::Sm80 | Self::Sm87 => 163 << 10,", "Self::Sm110 => 227 << 10,"),
            ("after", "Self::Sm80 | Self::Sm86 | Self::Sm87 | Self::Sm89 => false,", "Self::Sm110 => true,"),
            ("before", "Self::Sm90a | Self::Sm100a | Self::Sm103a |", "Self::Sm110 => false,"),
        ],
        "runtime/src/bundle/name.rs": [("after", "Target::Sm80 => 108,", "Target::Sm110 => 20,")],
        "compiler/src/prices.rs": [("after", "| Target::Sm120a", "| Target::Sm110")],
    },
    "optional": ["fusion/src/cost/gpu.rs"],
}

SUBCOMMAND = {
    "create": {"compiler/cli/src/machine/example.rs": "subcommand.rs.in"},
    "edit": {
        "compiler/cli/src/machine/mod.rs": [("before", "pub mod litmus;", "pub mod example;")],
        "compiler/cli/src/commands.rs": [
            ("before", "use crate::machine::{", "use crate::machine::example;"),
            ("before", "    /// Compiles device text;", "/// Says that it was run\nExample(example::Arguments),"),
            ("before", "Command::DeviceCompile(_) => false,", "Command::Example(arguments) => arguments.json,"),
            (
                "before",
                "Command::DeviceCompile(arguments) =>",
                "Command::Example(arguments) => example::execute(&arguments, &output),",
            ),
        ],
    },
}

STORAGE_TYPE = {
    "edit": {
        "codegen/src/kernel_ir/memory.rs": [
            ("before", "    /// A signed integer of two bytes", "/// One byte; an `I32` in a register.\nExample,"),
            ("before", "Self::I16 | Self::U16 => 2,", "Self::Example => 1,"),
            ("before", "Self::U32 | Self::I64 => ScalarType::I64,", "Self::Example => ScalarType::I32,"),
        ],
        "codegen/src/kernel_ir/text/words.rs": [("before", 'I16 => "i16",', 'Example => "example",')],
        "codegen/src/print/types.rs": [
            ("before", 'MemoryType::I8 => "signed char",', 'MemoryType::Example => "unsigned char",'),
            ("before", 'MemoryType::I8 => "i8",', 'MemoryType::Example => "example",'),
        ],
        "codegen/src/prelude/device.cuh": [
            (
                "after",
                "WW_DEFINE_ACCESS4(u8,",
                'WW_DEFINE_ACCESS(example, ww_u32, 1, "u8", "u8", "r")\n'
                'WW_DEFINE_ACCESS2(example, ww_u32, 1, "u8", "u8", "r")\n'
                'WW_DEFINE_ACCESS4(example, ww_u32, 1, "u8", "u8", "r")',
            ),
            ("after", "WW_DEFINE_SHARED(u8,", "WW_DEFINE_SHARED(example, ww_u32, unsigned char, uchar2, uchar4)"),
        ],
        "codegen/src/prelude/host.hpp": [
            ("after", "WW_DEFINE_ACCESS(u8,", "WW_DEFINE_ACCESS(example, ww_u32, unsigned char)"),
        ],
        "codegen/src/emulate/warp/access.rs": [
            (
                "before",
                "MemoryType::I16 => frame.narrow[slot][lane] =",
                "MemoryType::Example => frame.narrow[slot][lane] = u32::from(bytes[0]),",
            ),
            (
                "before",
                "MemoryType::I16 | MemoryType::U16 => {",
                "MemoryType::Example => bytes[0] = frame.narrow[slot][lane] as u8,",
            ),
            (
                "before",
                "MemoryType::I16 => i32::from(register as i16) as u32,",
                "MemoryType::Example => u32::from(register as u8),",
            ),
        ],
    },
    "optional": ["codegen/src/lower/unsupported.rs", "graph/src/numerics.rs"],
}

COMPUTE_UNIT = {
    "create": {
        "fusion/plan/src/template/contraction/unit/example.rs": "unit_rules.rs.in",
        "codegen/src/lower/contraction/unit/example.rs": "unit_lowering.rs.in",
    },
    "edit": {
        "fusion/plan/src/template/contraction/unit/mod.rs": [
            ("before", "pub mod simt;", "pub mod example;"),
            ("before", "    /// The lanes of a multiprocessor", "/// A unit that adds nothing.\nExample,"),
            ("before", 'Simt => "simt",', 'Example => "example",'),
        ],
        "fusion/plan/src/template/contraction/shape.rs": [
            ("before", "ComputeUnit::Simt => self.is_possible_on_lanes(),", "ComputeUnit::Example => false,"),
        ],
        "fusion/src/cost/arithmetic.rs": [
            ("before", "(ComputeUnit::Simt, false) =>", "(ComputeUnit::Example, _) => self.simt_single.rates(),"),
        ],
        "codegen/src/lower/contraction/unit/mod.rs": [
            ("before", "mod simt;", "mod example;"),
            (
                "before",
                "ComputeUnit::Simt => simt::add_products",
                "ComputeUnit::Example => example::add_products(emitter, products, left, right),",
            ),
        ],
    },
}

KINDS = {
    "A storage type": STORAGE_TYPE,
    "A compute unit": COMPUTE_UNIT,
    "An operator": OPERATOR,
    "A procedure": PROCEDURE,
    "A template": TEMPLATE,
    "A statement of the kernel IR": STATEMENT,
    "A pass": PASS,
    "A policy": POLICY,
    "A target": TARGET,
    "A subcommand": SUBCOMMAND,
}
