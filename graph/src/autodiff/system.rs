//! Affine reads transposed: which points read a given element.
//!
//! A read of an operand at `index(q)` gives an equation `index_d(q) = j_d` for each dimension `d` of the operand. The equations are
//! solved for as many axes of `q` as they determine; the others are free, and the gradient of element `j` is a sum over them.

use crate::arena::Arena;
use crate::expr::{Atom, Axis, AxisId, AxisKind, Condition, Index, IndirectIndex, Range};

/// Equations over axes, of which the first are known: the dimensions of the operand.
#[derive(Clone, Debug)]
pub(super) struct System {
    axes: Arena<AxisId, Axis>,
    standing: Arena<AxisId, Standing>,
    /// Indices that are 0 wherever an element is read.
    equations: Vec<Index>,
    conditions: Vec<Condition>,
}

#[derive(Clone, PartialEq, Debug)]
enum Standing {
    /// A dimension of the operand.
    Target,
    /// Not determined so far.
    Unknown,
    /// All its values are summed over.
    Free,
    /// Determined by targets and free axes.
    Solved(Index),
}

/// The solution of a system.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// All axes of the system, those that were added while it was solved behind the others.
    pub axes: Arena<AxisId, Axis>,
    /// What each axis is: itself, or an index over targets and free axes.
    pub values: Arena<AxisId, Index>,
    /// The axes that are summed over.
    pub free: Vec<AxisId>,
    /// What holds of targets and free axes at the points that read the element; reads inside stand at the original axes.
    pub conditions: Vec<Condition>,
}

impl Solution {
    /// The range of an axis.
    pub fn range(&self, axis: AxisId) -> Range {
        Range { minimum: 0, maximum: (self.axes[axis].extent as i64 - 1).max(0) }
    }
}

/// A term of an equation whose value is not known: a digit of a number with mixed bases.
struct Digit {
    atom: Atom,
    weight: i64,
    range: Range,
}

impl System {
    /// The system of axes of which the first `targets` are known, and indices that are 0. `axes_of` gives the axes that an
    /// indirect index depends on.
    pub fn solve(
        axes: Arena<AxisId, Axis>,
        targets: usize,
        equations: Vec<Index>,
        axes_of: impl Fn(IndirectIndex) -> Vec<AxisId>,
    ) -> Solution {
        let standing = |(at, axis): (usize, &Axis)| match axis.extent {
            _ if at < targets => Standing::Target,
            1 => Standing::Solved(Index::constant(0)),
            _ => Standing::Unknown,
        };
        let standing = axes.values().enumerate().map(standing).collect();
        let mut system = Self { axes, standing, equations: Vec::new(), conditions: Vec::new() };
        for equation in equations {
            let equation = system.substituted(&equation);
            system.equations.push(equation);
        }
        while system.step(&axes_of) {}
        system.finish()
    }

    /// One step towards a solution; `false` if there is nothing left to do.
    fn step(&mut self, axes_of: &impl Fn(IndirectIndex) -> Vec<AxisId>) -> bool {
        self.drop_settled(axes_of)
            || self.solve_one()
            || self.join_division()
            || self.free_smallest()
            || self.expand_division()
            || self.free_hard(axes_of)
    }

    fn range(&self) -> impl Fn(AxisId) -> Range + use<> {
        let extents: Vec<usize> = self.axes.values().map(|axis| axis.extent).collect();
        move |axis: AxisId| {
            let extent = extents[crate::arena::Id::index(axis)];
            Range { minimum: 0, maximum: (extent as i64 - 1).max(0) }
        }
    }

    fn is_unknown(&self, axis: AxisId) -> bool {
        self.standing[axis] == Standing::Unknown
    }

    /// The unknown axes inside an atom, but for those that a read depends on.
    fn unknown_inside(&self, atom: &Atom) -> Vec<AxisId> {
        let mut found = Vec::new();
        let whole = Index::of(atom.clone());
        whole.visit(&mut |axis| found.extend(self.is_unknown(axis).then_some(axis)), &mut |_| {});
        found
    }

    /// Whether an equation has a part that cannot be undone: a clamp of what is unknown, or what a read gives.
    fn is_hard(&self, equation: &Index) -> bool {
        let hard = |atom: &Atom| match atom {
            Atom::Axis(_) => false,
            Atom::Clamp(..) => !self.unknown_inside(atom).is_empty(),
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) => !inner.is_free_of_reads() || self.has_clamp(inner),
            Atom::Indirect(_) => true,
        };
        equation.terms().iter().any(|(atom, _)| hard(atom))
    }

    fn has_clamp(&self, index: &Index) -> bool {
        index.terms().iter().any(|(atom, _)| match atom {
            Atom::Clamp(..) => !self.unknown_inside(atom).is_empty(),
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) => self.has_clamp(inner),
            Atom::Axis(_) | Atom::Indirect(_) => false,
        })
    }

    /// Turns an equation without unknowns into a condition.
    fn drop_settled(&mut self, axes_of: &impl Fn(IndirectIndex) -> Vec<AxisId>) -> bool {
        let settled = |equation: &Index| {
            let mut known = true;
            equation.visit(&mut |axis| known &= !self.is_unknown(axis), &mut |_| {});
            let places = equation.indirect_indices();
            known && places.into_iter().all(|place| axes_of(place).into_iter().all(|axis| !self.is_unknown(axis)))
        };
        let Some(at) = self.equations.iter().position(settled) else { return false };
        let index = self.equations.remove(at);
        if index != Index::constant(0) {
            self.conditions.push(Condition { index, lower: 0, upper: 1 });
        }
        true
    }

    /// An equation as digits of a number: `Σ weight · atom = value`, weights positive and ascending.
    fn digits(&self, equation: &Index) -> (Vec<Digit>, Index) {
        let range = self.range();
        let mut digits = Vec::new();
        let mut rest = Index::constant(equation.offset());
        for (atom, weight) in equation.terms() {
            if self.unknown_inside(atom).is_empty() {
                rest = rest.add(&Index::of(atom.clone()).times(*weight));
            } else {
                let range = Index::of(atom.clone()).range(&range);
                digits.push(Digit { atom: atom.clone(), weight: *weight, range });
            }
        }
        digits.sort_by_key(|digit| digit.weight.abs());
        (digits, rest.times(-1))
    }

    /// Solves an equation that determines all its unknown parts.
    fn solve_one(&mut self) -> bool {
        for at in 0..self.equations.len() {
            if self.is_hard(&self.equations[at]) {
                continue;
            }
            let (digits, value) = self.digits(&self.equations[at]);
            let is_division = |digit: &Digit| !matches!(digit.atom, Atom::Axis(_));
            let alone = digits.len() == 1 && digits[0].weight.abs() == 1;
            if digits.is_empty() || !is_positional(&digits) || (alone && is_division(&digits[0])) {
                continue;
            }
            self.equations.remove(at);
            self.decode(&digits, value);
            return true;
        }
        false
    }

    /// Reads the digits of `value` off.
    fn decode(&mut self, digits: &[Digit], value: Index) {
        let range = self.range();
        // A digit counts up from 0 along the sign of its weight.
        let lowest = |digit: &Digit| {
            if digit.weight > 0 { digit.range.minimum * digit.weight } else { digit.range.maximum * digit.weight }
        };
        let mut value = value.plus(-digits.iter().map(lowest).sum::<i64>());
        let mut unit = digits[0].weight.abs();
        if unit > 1 {
            let index = value.modulo(unit, &range);
            self.conditions.push(Condition { index, lower: 0, upper: 1 });
            value = value.floor_div(unit, &range);
        }
        for (at, digit) in digits.iter().enumerate() {
            let count = digit.range.maximum - digit.range.minimum + 1;
            let own = match digits.get(at + 1) {
                Some(next) => {
                    let base = next.weight.abs() / unit;
                    let own = value.modulo(base, &range);
                    value = value.floor_div(base, &range);
                    unit = next.weight.abs();
                    own
                }
                None => value.clone(),
            };
            self.conditions.push(Condition { index: own.clone(), lower: 0, upper: count });
            let found =
                if digit.weight > 0 { own.plus(digit.range.minimum) } else { own.times(-1).plus(digit.range.maximum) };
            match digit.atom {
                Atom::Axis(axis) => self.settle(axis, Standing::Solved(found)),
                _ => self.equations.push(Index::of(digit.atom.clone()).add(&found.times(-1))),
            }
        }
    }

    /// An equation of one quotient or remainder: the part, its inside, its divisor, and what it is.
    fn division(&self, equation: &Index) -> Option<(Atom, Index, i64, Index)> {
        if self.is_hard(equation) {
            return None;
        }
        let (digits, value) = self.digits(equation);
        let [Digit { atom, weight, .. }] = digits.as_slice() else { return None };
        match atom {
            Atom::FloorDiv(inner, divisor) | Atom::Mod(inner, divisor) if weight.abs() == 1 => {
                Some((atom.clone(), (**inner).clone(), *divisor, value.times(*weight)))
            }
            _ => None,
        }
    }

    /// Joins a quotient and the remainder of the same division.
    fn join_division(&mut self) -> bool {
        let divisions: Vec<Option<(Atom, Index, i64, Index)>> =
            self.equations.iter().map(|equation| self.division(equation)).collect();
        for (rest, remainder) in divisions.iter().enumerate() {
            let Some((Atom::Mod(..), inner, divisor, own)) = remainder else { continue };
            let is_quotient = |atom: &Atom| {
                let direct = Atom::FloorDiv(Box::new(inner.clone()), *divisor);
                let nested = match inner.terms() {
                    [(Atom::FloorDiv(innermost, first), 1)] if inner.offset() == 0 => {
                        Some(Atom::FloorDiv(innermost.clone(), first * divisor))
                    }
                    _ => None,
                };
                *atom == direct || Some(atom) == nested.as_ref()
            };
            let quotient = divisions.iter().position(|other| other.as_ref().is_some_and(|other| is_quotient(&other.0)));
            let Some(Some((_, _, _, above))) = quotient.map(|at| &divisions[at]) else { continue };
            let joined = inner.add(&above.times(-divisor)).add(&own.times(-1));
            self.conditions.push(Condition { index: own.clone(), lower: 0, upper: *divisor });
            let quotient = quotient.unwrap_or(rest);
            let keeps = |at: usize| at != rest && at != quotient;
            let mut at = 0;
            self.equations.retain(|_| {
                at += 1;
                keeps(at - 1)
            });
            self.equations.push(joined);
            return true;
        }
        false
    }

    /// Sums over the axis with the fewest values of an equation that does not determine all of its own.
    fn free_smallest(&mut self) -> bool {
        for equation in self.equations.iter().filter(|equation| !self.is_hard(equation)) {
            let (digits, _) = self.digits(equation);
            if digits.len() < 2 {
                continue;
            }
            let axes = digits.iter().flat_map(|digit| self.unknown_inside(&digit.atom));
            let smallest =
                axes.min_by_key(|&axis| (self.axes[axis].extent, self.axes[axis].kind == AxisKind::Parallel));
            if let Some(axis) = smallest {
                self.settle(axis, Standing::Free);
                return true;
            }
        }
        false
    }

    /// Replaces a quotient or a remainder without the other by an axis for the other.
    fn expand_division(&mut self) -> bool {
        let found = self.equations.iter().enumerate().find_map(|(at, equation)| Some((at, self.division(equation)?)));
        let Some((at, (atom, inner, divisor, value))) = found else { return false };
        self.equations.remove(at);
        let range = inner.range(&self.range());
        let (lowest, highest) = (range.minimum.div_euclid(divisor), range.maximum.div_euclid(divisor));
        let is_quotient = matches!(atom, Atom::FloorDiv(..));
        let extent = if is_quotient { divisor } else { highest - lowest + 1 } as usize;
        let other = if extent == 1 {
            Index::constant(0)
        } else {
            let axis = self.axes.push(Axis { extent, kind: AxisKind::Reduced });
            self.standing.push(Standing::Free);
            Index::axis(axis)
        };
        let (quotient, remainder) = if is_quotient { (value, other) } else { (other.plus(lowest), value) };
        self.conditions.push(Condition { index: remainder.clone(), lower: 0, upper: divisor });
        self.equations.push(inner.add(&quotient.times(-divisor)).add(&remainder.times(-1)));
        true
    }

    /// Sums over all axes of an equation that cannot be undone, and then over those in no equation.
    fn free_hard(&mut self, axes_of: &impl Fn(IndirectIndex) -> Vec<AxisId>) -> bool {
        let mut inside = Vec::new();
        if let Some(equation) = self.equations.first() {
            equation.visit(&mut |axis| inside.push(axis), &mut |_| {});
            inside.extend(equation.indirect_indices().into_iter().flat_map(axes_of));
        } else {
            inside.extend(self.axes.ids());
        }
        let unknown: Vec<AxisId> = inside.into_iter().filter(|&axis| self.is_unknown(axis)).collect();
        unknown.iter().for_each(|&axis| self.settle(axis, Standing::Free));
        !unknown.is_empty()
    }

    fn settle(&mut self, axis: AxisId, standing: Standing) {
        if self.is_unknown(axis) {
            self.standing[axis] = standing;
            self.equations = self.equations.iter().map(|equation| self.substituted(equation)).collect();
        }
    }

    /// An index with what is known of its axes.
    fn substituted(&self, index: &Index) -> Index {
        let value = |axis: AxisId| match &self.standing[axis] {
            Standing::Solved(value) => value.clone(),
            Standing::Target | Standing::Unknown | Standing::Free => Index::axis(axis),
        };
        index.substitute(&value, &|read| read, &self.range())
    }

    /// Every value over targets and free axes alone: what solved axes are may name axes that were solved later.
    fn finish(self) -> Solution {
        let settled = |index: &Index| {
            let mut index = index.clone();
            loop {
                let next = self.substituted(&index);
                if next == index {
                    return next;
                }
                index = next;
            }
        };
        let values = self.axes.ids().map(|axis| settled(&Index::axis(axis))).collect();
        let conditions = self.conditions.iter().map(|Condition { index, lower, upper }| Condition {
            index: settled(index),
            lower: *lower,
            upper: *upper,
        });
        let conditions = conditions.collect();
        let free = self.axes.ids().filter(|&axis| self.standing[axis] == Standing::Free).collect();
        Solution { axes: self.axes.clone(), values, free, conditions }
    }
}

/// Whether no two choices of digits, which ascend by weight, give one number.
fn is_positional(digits: &[Digit]) -> bool {
    digits.windows(2).all(|pair| {
        let (own, next) = (pair[0].weight.abs(), pair[1].weight.abs());
        let count = pair[0].range.maximum - pair[0].range.minimum + 1;
        next % own == 0 && own.saturating_mul(count) <= next
    })
}
