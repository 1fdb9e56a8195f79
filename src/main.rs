//! The `warpweave` command line.

mod cli;

/// Searches and plans allocate much, from all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
