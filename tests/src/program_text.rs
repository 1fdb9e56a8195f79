//! Programs as text.

use warpweave::graph::TensorProgram;
use warpweave::graph::program::text::{parse, print, tensors};

/// Whether a program's text reads back to the same program.
pub fn read_back(program: &TensorProgram) -> Result<(), String> {
    let text = print(program);
    match parse(&text, &tensors(program)) {
        Ok(read) if read == *program => Ok(()),
        Ok(read) => Err(format!("what is read back prints as\n{}instead of\n{text}", print(&read))),
        Err(error) => Err(format!("{error} of\n{text}")),
    }
}
