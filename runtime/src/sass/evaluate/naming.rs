//! Names of what integer instructions make of words that are not known.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::Adjustment;
use super::super::operation::Operation;
use super::super::parts::Destination;
use super::form::Form;
use super::launch::Launch;
use super::term::{Term, result};
use super::value::{LANES, Value};
use super::warp::Warp;

/// What an instruction writes to each lane, where that has a name.
pub struct NamedResult {
    destination: Option<Destination>,
    terms: [Option<Term>; LANES],
}

impl NamedResult {
    /// Of an instruction that has not been executed yet; nothing where all its sources are known, or one has no name.
    ///
    /// Of a wide result it is the lower word: the upper one follows it. A choice is named by what it chooses between.
    pub fn of(warp: &Warp, code: &Code, mask: u32, launch: &Launch) -> Result<Option<Self>, CodeError> {
        if !makes_integers(code.operation) {
            return Ok(None);
        }
        let form = Form::new(code, launch)?;
        let mut sources: Vec<(Value, Adjustment)> = Vec::with_capacity(4);
        let mut lanes = mask;
        for source in form.sources {
            let (value, adjustment) = warp.word(code, source, 0, launch)?;
            lanes &= value.known | value.named();
            sources.push((value, adjustment));
        }
        let known = sources.iter().fold(u32::MAX, |known, (value, _)| known & value.known);
        let in_part = sources.iter().any(|(_, adjustment)| adjustment.part.is_some() || adjustment.absolute);
        if !matches!(code.operation, Operation::Sel | Operation::Usel) {
            lanes &= !known;
        }
        if lanes == 0 || in_part {
            return Ok(None);
        }
        let mut terms = [None; LANES];
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
            let own: Vec<(Term, Adjustment)> =
                sources.iter().filter_map(|(value, adjustment)| Some((value.term(lane)?, *adjustment))).collect();
            terms[lane] = Some(result(code, &own));
        }
        Ok(Some(Self { destination: form.destination, terms }))
    }

    /// Names what the instruction has written.
    pub fn write(&self, warp: &mut Warp) {
        let (register, found) = match self.destination {
            Some(Destination::Register(register)) => (usize::from(register.0), &mut warp.registers),
            Some(Destination::Uniform(register)) => (usize::from(register.0), &mut warp.uniform),
            None => return,
        };
        let Some(value) = found.get_mut(register) else { return };
        for (lane, term) in self.terms.iter().enumerate() {
            if let Some(term) = term {
                value.name(lane, *term);
            }
        }
    }
}

fn makes_integers(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::Iadd3
            | O::Uiadd3
            | O::Viadd
            | O::Imad
            | O::Uimad
            | O::Lea
            | O::Ulea
            | O::Shf
            | O::Ushf
            | O::Lop3
            | O::Ulop3
            | O::Iabs
            | O::Sel
            | O::Usel
            | O::Imnmx
            | O::Vimnmx
            | O::Viaddmnmx
            | O::Prmt
            | O::Uprmt
            | O::Sgxt
            | O::Usgxt
    )
}
