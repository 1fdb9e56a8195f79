//! The `warpweave` command line.

mod arguments;
mod commands;
mod compiling;
mod culprits;
mod diagnostic;
mod error;
mod interrupt;
mod machine;
mod measuring;
mod models;
mod ops;
mod output;
mod output_kinds;
mod output_paths;
mod running;
mod training;
mod usage;

/// Plans are made of very many small vectors, by all threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    commands::main()
}
