//! What an instruction is once it is decoded, and what it works on.

use warpweave_plan::tensor_core::sum::TensorCore;

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::constants::Constants;
use super::super::fault::FaultKind;
use super::super::lanes::Lanes;
use super::super::memory::view::MemoryView;
use super::super::operands::{Condition, Sign, Target, Word};
use super::super::warp::Warp;

/// What a block's instructions work on, beside the registers of their warp.
pub struct Context<'a> {
    /// The constant banks.
    pub constants: &'a Constants,
    /// Global and shared memory as the block sees them.
    pub memory: MemoryView<'a>,
    /// The block in its grid.
    pub block: u32,
    /// Nanoseconds, as the device counts them.
    pub nanoseconds: u64,
    /// Whether a strong load was executed, so that another warp should go on.
    pub polls: bool,
    /// Whether a poll found what the last one at that instruction did not.
    pub has_news: bool,
    /// How matrices are multiplied.
    pub tensor_core: TensorCore,
    /// Moves results of approximate functions inside of their documented errors.
    pub nudge: Option<u64>,
}

/// An instruction that lanes execute where they are.
pub trait Execute: Send + Sync {
    /// Executes it in the lanes of `mask`, of which there is at least one.
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind>;
}

/// A decoded instruction.
pub type Action = Box<dyn Execute>;

/// A word of each lane as a function of `N` words of the same lane.
pub struct Pointwise<const N: usize, F> {
    target: Target,
    sources: [Word; N],
    function: F,
}

impl<const N: usize, F: Fn([u32; N]) -> u32 + Send + Sync + 'static> Pointwise<N, F> {
    /// An instruction that reads its first `N` sources.
    pub fn action(code: &Code, sign: Sign, function: F) -> Result<Action, CodeError> {
        let parts = super::super::super::parts::Parts::of(code)?;
        let mut sources = [Word::zero(); N];
        for (index, source) in sources.iter_mut().enumerate() {
            *source = Word::new(code, parts.source(index)?, sign)?;
        }
        Self::of(Target::new(code, parts.destination)?, sources, function)
    }

    /// An instruction of these operands.
    pub fn of(target: Target, sources: [Word; N], function: F) -> Result<Action, CodeError> {
        Ok(Box::new(Self { target, sources, function }))
    }
}

impl<const N: usize, F: Fn([u32; N]) -> u32 + Send + Sync> Execute for Pointwise<N, F> {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut sources = [Lanes::ZERO; N];
        for (words, source) in sources.iter_mut().zip(&self.sources) {
            *words = source.read(warp, context.constants)?;
        }
        let result = Lanes::of(|lane| (self.function)(std::array::from_fn(|index| sources[index].0[lane])));
        self.target.write(warp, mask, &result);
        Ok(())
    }
}

/// The left word where a predicate holds, the right one elsewhere.
pub struct Select {
    /// Where it goes.
    pub target: Target,
    /// What is chosen from.
    pub words: [Word; 2],
    /// What decides.
    pub condition: Condition,
}

impl Execute for Select {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut chosen = self.words[1].read(warp, context.constants)?;
        let left = self.words[0].read(warp, context.constants)?;
        chosen.merge(self.condition.lanes(warp), &left);
        self.target.write(warp, mask, &chosen);
        Ok(())
    }
}

/// A word of each lane of two that a function gives: the first where a predicate holds, the second elsewhere.
pub struct Extremum<const N: usize, F> {
    /// Where it goes.
    pub target: Target,
    /// What is compared.
    pub sources: [Word; N],
    /// Where it holds, the smaller is wanted.
    pub smaller: Condition,
    /// The smaller and the larger.
    pub function: F,
}

impl<const N: usize, F: Fn([u32; N]) -> [u32; 2] + Send + Sync> Execute for Extremum<N, F> {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut sources = [Lanes::ZERO; N];
        for (words, source) in sources.iter_mut().zip(&self.sources) {
            *words = source.read(warp, context.constants)?;
        }
        let smaller = self.smaller.lanes(warp);
        let result = Lanes::of(|lane| {
            let [least, most] = (self.function)(std::array::from_fn(|index| sources[index].0[lane]));
            if smaller >> lane & 1 == 1 { least } else { most }
        });
        self.target.write(warp, mask, &result);
        Ok(())
    }
}
