//! Programs as text that parses back to equal programs.
//!
//! ```text
//! program
//! n0 = Mul "scale" gives "y"
//! t0 "x": f32[2x3] = input 0
//! t1 "factor": f32[] = constant 2.0
//! t2: f32[64x64] = constant #8f1c…
//! t3: f32[3] = state [0.0, 0.0, 0.0] next t3
//! e0 (t0, t1) -> t4 "y": f32[2x3] = [a0<2, a1<3] mul(x0[a0, a1], x1[]) from n0
//! e1 (t4, t4) -> t5: f32[4x3] = concat axis 0
//! output t4 "y", t5
//! ```
//! First stand the nodes of the model that statements come from. Tensors and statements stand in an order in which everything
//! is declared before statements read it; what a state becomes may follow. An operand of a statement is `x` and its position
//! in the statement's expression. Large constants are named by a hash of type and content; the tensors themselves go beside
//! the text, in [`Tensors`](crate::text::Tensors).

mod parse;
mod print;

pub use parse::{ProgramTextError, parse};
pub use print::{print, tensors};
