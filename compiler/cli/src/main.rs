//! The program `warpweave`.

/// Plans are made of very many small vectors, by all threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    warpweave_cli::main(std::env::args_os())
}
