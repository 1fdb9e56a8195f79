//! Text to tensor expressions.

use super::{
    Atom, Axis, AxisId, AxisKind, BinaryOp, Condition, Guard, Index, IndirectIndex, Literal, Read, ReadId, Reducer,
    Scalar, TensorExpr, UnaryOp,
};
use crate::arena::Arena;
use crate::text::reader::{Parsed, Reader};
use crate::types::{ElementType, TensorType};

/// More reads than any expression has.
const ANY_READ: usize = u32::MAX as usize;

impl TensorExpr {
    /// Reads what an expression prints as, over operands of these types and with a value of this element type.
    ///
    /// Every id of the result is declared; the other rules of expressions are [`TensorExpr::check`]'s.
    pub fn read(reader: &mut Reader<'_>, operands: Vec<TensorType>, element: ElementType) -> Parsed<Self> {
        let mut parser = Parser { axes: Arena::new(), operands: &operands, reads: Arena::new(), any_axis: false };
        parser.declared_reads(reader)?;
        let start = reader.clone();
        parser.axes(reader, AxisKind::Parallel)?;
        let reducer = parser.reducer(reader)?;
        if !parser.axes_are_known() {
            return Err(start.expected("every axis that the reads name"));
        }
        parser.any_axis = false;
        let body = parser.scalar(reader)?;
        let epilogue = if reader.eat_word("then") { Some(parser.scalar(reader)?) } else { None };
        let Parser { axes, reads, .. } = parser;
        Ok(Self { axes, operands, reads, body, reducer, epilogue, element })
    }
}

impl Index {
    /// Reads what an index prints as, over the first `axes` axes and without reads.
    pub fn read(reader: &mut Reader<'_>, axes: usize) -> Parsed<Self> {
        let axis = Axis { extent: 0, kind: AxisKind::Parallel };
        let axes = std::iter::repeat_n(axis, axes).collect();
        Parser { axes, operands: &[], reads: Arena::new(), any_axis: false }.index(reader)
    }
}

/// What has been read of an expression.
struct Parser<'o> {
    axes: Arena<AxisId, Axis>,
    operands: &'o [TensorType],
    reads: Arena<ReadId, Read>,
    /// Whether axes and reads may be named before they are declared.
    any_axis: bool,
}

impl Parser<'_> {
    /// `with %0 = …, %1 = …:`, where reads may name one another and the axes that follow.
    fn declared_reads(&mut self, reader: &mut Reader<'_>) -> Parsed<()> {
        if !reader.eat_word("with") {
            return Ok(());
        }
        let start = reader.clone();
        self.any_axis = true;
        let mut reads: Vec<Read> = Vec::new();
        while reads.is_empty() || reader.eat(",") {
            reader.declared::<ReadId>(reads.len())?;
            reader.mark("=")?;
            reads.push(self.read(reader)?);
        }
        reader.mark(":")?;
        if !self.reads.is_empty() {
            return Err(start.expected("reads that are declared one by one"));
        }
        self.reads = reads.into_iter().collect();
        let mut known = true;
        self.visit_indices(&mut |index, parser| {
            index.visit(&mut |_| {}, &mut |read| known &= parser.reads.get(read).is_some());
        });
        if known { Ok(()) } else { Err(start.expected("reads that name declared reads")) }
    }

    fn visit_indices(&self, visit: &mut dyn FnMut(&Index, &Self)) {
        for read in self.reads.values() {
            let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
            read.index.iter().chain(conditions).for_each(|index| visit(index, self));
        }
    }

    fn axes_are_known(&self) -> bool {
        let mut known = true;
        self.visit_indices(&mut |index, parser| {
            index.visit(&mut |axis| known &= parser.axes.get(axis).is_some(), &mut |_| {});
        });
        known
    }

    /// A reducer and its axes, or the axes that a procedure takes; `max(` begins a scalar.
    fn reducer(&mut self, reader: &mut Reader<'_>) -> Parsed<Option<Reducer>> {
        if reader.eat_word("each") {
            return self.axes(reader, AxisKind::Reduced).map(|()| None);
        }
        let mut ahead = reader.clone();
        let reducer = ahead.eat_named::<Reducer>().filter(|_| ahead.clone().eat("["));
        if reducer.is_some() {
            *reader = ahead;
            self.axes(reader, AxisKind::Reduced)?;
        }
        Ok(reducer)
    }

    fn axes(&mut self, reader: &mut Reader<'_>, kind: AxisKind) -> Parsed<()> {
        reader.mark("[")?;
        reader.list("]", |reader| {
            reader.declared::<AxisId>(self.axes.len())?;
            reader.mark("<")?;
            let extent = reader.integer("an extent")?;
            self.axes.push(Axis { extent, kind });
            Ok(())
        })?;
        Ok(())
    }

    fn scalar(&mut self, reader: &mut Reader<'_>) -> Parsed<Scalar> {
        reader.nested(|reader| self.any_scalar(reader))
    }

    fn any_scalar(&mut self, reader: &mut Reader<'_>) -> Parsed<Scalar> {
        if self.is_read(reader) {
            return self.named(reader).map(Scalar::Read);
        }
        if let Some(op) = reader.eat_named::<UnaryOp>() {
            let [operand] = self.arguments(reader)?;
            return Ok(operand.unary(op));
        }
        if let Some(op) = reader.eat_named::<BinaryOp>() {
            let [left, right] = self.arguments(reader)?;
            return Ok(left.binary(op, right));
        }
        if reader.eat_word("select") {
            let [condition, then, otherwise] = self.arguments(reader)?;
            return Ok(condition.select(then, otherwise));
        }
        if reader.eat_word("holds") {
            reader.mark("(")?;
            let guard = self.guard(reader)?;
            return reader.mark(")").map(|()| Scalar::Holds(guard));
        }
        if reader.eat_word("reduced") {
            return Ok(Scalar::Reduced);
        }
        if let Some(element) = reader.eat_element_type() {
            if reader.eat("[") {
                let index = self.index(reader)?;
                return reader.mark("]").map(|()| Scalar::Index(index, element));
            }
            let [operand] = self.arguments(reader)?;
            return Ok(Scalar::Cast(element, Box::new(operand)));
        }
        Literal::read(reader).map(Scalar::Literal)
    }

    fn arguments<const N: usize>(&mut self, reader: &mut Reader<'_>) -> Parsed<[Scalar; N]> {
        reader.mark("(")?;
        let start = reader.clone();
        let arguments = reader.list(")", |reader| self.scalar(reader))?;
        arguments.try_into().map_err(|_| start.expected(format!("{N} operands")))
    }

    fn is_read(&self, reader: &Reader<'_>) -> bool {
        let operand = reader.peek().and_then(|word| word.strip_prefix('x'));
        let operand = operand.is_some_and(|digits| digits.starts_with(|digit: char| digit.is_ascii_digit()));
        operand || reader.is_id::<ReadId>() || reader.clone().eat("(")
    }

    /// A read by its name, or in place.
    fn named(&mut self, reader: &mut Reader<'_>) -> Parsed<ReadId> {
        if reader.is_id::<ReadId>() {
            let known = if self.any_axis { ANY_READ } else { self.reads.len() };
            return reader.id("a read that is known here", known);
        }
        let read = self.read(reader)?;
        Ok(self.reads.push(read))
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Parsed<Read> {
        if !reader.eat("(") {
            let (operand, index) = self.plain(reader)?;
            let fill = Literal::new(self.operands[operand].element, 0.0);
            return Ok(Read { operand, index, guard: Guard::always(), fill });
        }
        let guard = self.guard(reader)?;
        reader.mark("?")?;
        let (operand, index) = self.plain(reader)?;
        reader.mark(":")?;
        let fill = Literal::read(reader)?;
        reader.mark(")")?;
        Ok(Read { operand, index, guard, fill })
    }

    fn plain(&mut self, reader: &mut Reader<'_>) -> Parsed<(usize, Vec<Index>)> {
        let word = reader.peek().unwrap_or_default();
        let operand = word.strip_prefix('x').and_then(|digits| digits.parse::<usize>().ok());
        let operand = operand.filter(|&operand| operand < self.operands.len());
        let operand = operand.ok_or_else(|| reader.expected("an operand such as `x0`"))?;
        reader.keyword(word)?;
        reader.mark("[")?;
        let index = reader.list("]", |reader| self.index(reader))?;
        Ok((operand, index))
    }

    fn guard(&mut self, reader: &mut Reader<'_>) -> Parsed<Guard> {
        if reader.eat_word("always") {
            return Ok(Guard::always());
        }
        let start = reader.clone();
        let mut conditions = Vec::new();
        while conditions.is_empty() || reader.eat(",") {
            let index = self.index(reader)?;
            reader.keyword("in")?;
            let lower = reader.integer("a lower bound")?;
            reader.mark("..")?;
            conditions.push(Condition { index, lower, upper: reader.integer("an upper bound")? });
        }
        Guard::from_conditions(conditions).ok_or_else(|| start.expected("conditions in ascending order"))
    }

    fn index(&mut self, reader: &mut Reader<'_>) -> Parsed<Index> {
        reader.nested(|reader| {
            let start = reader.clone();
            let (mut terms, mut constant) = (Vec::new(), 0);
            let mut negative = reader.eat("-");
            loop {
                let (factor, atom) = self.term(reader)?;
                let factor = if negative { -factor } else { factor };
                let factor = i64::try_from(factor).map_err(|_| start.expected("factors of 64 bits"))?;
                match atom {
                    Some(atom) => terms.push((atom, factor)),
                    None => {
                        constant = factor;
                        break;
                    }
                }
                if !reader.eat("+") {
                    // `->` may follow an index.
                    negative = !reader.clone().eat("->") && reader.eat("-");
                    if !negative {
                        break;
                    }
                } else {
                    negative = false;
                }
            }
            Index::from_terms(constant, terms).ok_or_else(|| start.expected("terms in ascending order"))
        })
    }

    /// A factor and what it multiplies; a constant multiplies nothing.
    fn term(&mut self, reader: &mut Reader<'_>) -> Parsed<(i128, Option<Atom>)> {
        let number = reader.peek().is_some_and(|word| word.starts_with(|digit: char| digit.is_ascii_digit()));
        if !number {
            return Ok((1, Some(self.atom(reader)?)));
        }
        let factor: u64 = reader.integer("a factor")?;
        let atom = if reader.eat("*") { Some(self.atom(reader)?) } else { None };
        Ok((i128::from(factor), atom))
    }

    fn atom(&mut self, reader: &mut Reader<'_>) -> Parsed<Atom> {
        if reader.is_id::<AxisId>() {
            let known = if self.any_axis { ANY_READ } else { self.axes.len() };
            return reader.id("an axis of the expression", known).map(Atom::Axis);
        }
        let word = reader.peek().unwrap_or_default();
        if !["div", "mod", "clamp", "place"].contains(&word) {
            return Err(reader.expected("an axis, `div`, `mod`, `clamp` or `place`"));
        }
        if word == "place" {
            return self.indirect(reader);
        }
        reader.keyword(word)?;
        reader.mark("(")?;
        let inner = Box::new(self.index(reader)?);
        reader.mark(",")?;
        let start = reader.clone();
        let number = reader.integer::<i64>("a number")?;
        let atom = match word {
            "clamp" => {
                reader.mark(",")?;
                Atom::Clamp(inner, number, reader.integer("an upper bound")?)
            }
            _ if number <= 0 => return Err(start.expected("a positive divisor")),
            "div" => Atom::FloorDiv(inner, number),
            _ => Atom::Mod(inner, number),
        };
        reader.mark(")")?;
        Ok(atom)
    }

    /// A place that a read names.
    fn indirect(&mut self, reader: &mut Reader<'_>) -> Parsed<Atom> {
        reader.keyword("place")?;
        reader.mark("(")?;
        let read = self.named(reader)?;
        reader.mark(",")?;
        let start = reader.clone();
        let extent = reader.integer::<i64>("an extent")?;
        reader.mark(")")?;
        if extent > 0 {
            Ok(Atom::Indirect(IndirectIndex { read, extent }))
        } else {
            Err(start.expected("a positive extent"))
        }
    }
}

impl Literal {
    /// Reads what a literal prints as.
    pub fn read(reader: &mut Reader<'_>) -> Parsed<Self> {
        let start = reader.clone();
        let literal = Self::parse(reader.literal());
        literal.ok_or_else(|| start.expected("a literal"))
    }

    fn parse(text: &str) -> Option<Self> {
        if let "true" | "false" = text {
            return Some(Self::Bool(text == "true"));
        }
        let (digits, element) = match text.split_once('_') {
            Some((digits, element)) => (digits, Some(element.parse::<ElementType>().ok()?)),
            None => (text, None),
        };
        if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            let element = element.unwrap_or(ElementType::I64);
            return element.is_integer().then(|| digits.parse().ok().map(|value| Self::Integer(element, value)))?;
        }
        let bits = match digits.strip_prefix("nan:") {
            Some(bits) => u64::from_str_radix(bits, 16).ok().filter(|&bits| f64::from_bits(bits).is_nan())?,
            None => digits.parse::<f64>().ok().filter(|value| !value.is_nan())?.to_bits(),
        };
        let element = element.unwrap_or(ElementType::F32);
        element.is_float().then_some(Self::Float(element, bits))
    }
}
