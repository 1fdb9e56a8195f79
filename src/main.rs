//! The `warpweave` command line.

mod cli;

/// Plans are made of very many small vectors, by all threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
