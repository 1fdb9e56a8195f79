//! Loads, stores, copies and fences.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Address, Operand, Register};
use super::super::super::operation::{Modifier, Operation};
use super::super::fault::{Access, FaultKind, Space};
use super::super::lanes::{LANES, Lanes, lanes_of};
use super::super::memory::view::{Copy, Order};
use super::super::operands::Condition;
use super::super::warp::{LOCAL_BYTES, Warp, ZERO_REGISTER, ZERO_UNIFORM};
use super::action::{Action, Context, Execute};
use super::exchange::Narrowing;
use super::matrix::whole_warp;

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    Ok(Some(match code.operation {
        O::Ldg => load(code, Space::Global)?,
        O::Lds => load(code, Space::Shared)?,
        O::Ldl => load(code, Space::Local)?,
        O::Stg => store(code, Space::Global)?,
        O::Sts => store(code, Space::Shared)?,
        O::Stl => store(code, Space::Local)?,
        O::Ldgsts => copy(code)?,
        O::Ldsm => load_matrices(code)?,
        O::Ldgdepbar => Box::new(CommitCopies),
        O::Depbar => await_copies(code)?,
        O::Membar | O::Fence => Box::new(Fence { is_wide: !code.has(Modifier::Cta) }),
        O::Cctl if code.has(Modifier::Invalidate) => Box::new(Invalidate),
        O::Errbar | O::Cgaerrbar | O::Ublkpf => Box::new(Nothing),
        _ => return Ok(None),
    }))
}

/// Where each lane accesses memory.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    base: Option<usize>,
    wide: bool,
    scale: u64,
    uniform: Option<usize>,
    offset: u64,
    space: Space,
}

impl Place {
    /// An operand's address.
    pub fn new(address: Address, space: Space) -> Self {
        Self {
            base: address.base.map(|base| base.0.into()).filter(|base| *base != ZERO_REGISTER),
            wide: address.wide,
            scale: address.scale.into(),
            uniform: address.uniform.map(|uniform| uniform.0.into()).filter(|uniform| *uniform != ZERO_UNIFORM),
            offset: address.offset as u64,
            space,
        }
    }

    /// The address of each lane. Those of shared and local memory have 32 bits.
    pub fn addresses(&self, warp: &Warp) -> [u64; LANES] {
        let mut common = self.offset;
        if let Some(uniform) = self.uniform {
            common = common.wrapping_add(warp.uniform(uniform).into());
            if self.space == Space::Global {
                common = common.wrapping_add(u64::from(warp.uniform(uniform + 1)) << 32);
            }
        }
        let mut addresses = [common; LANES];
        if let Some(base) = self.base {
            let low = warp.register(base);
            for (address, low) in addresses.iter_mut().zip(low.0) {
                *address = address.wrapping_add(u64::from(low).wrapping_mul(self.scale));
            }
            if self.wide {
                let high = warp.register(base + 1);
                for (address, high) in addresses.iter_mut().zip(high.0) {
                    *address = address.wrapping_add(u64::from(high) << 32);
                }
            }
        }
        if self.space == Space::Global { addresses } else { addresses.map(|address| address & u64::from(u32::MAX)) }
    }
}

/// The places that an instruction names, with the position of the first among its operands.
pub fn places(code: &Code) -> (usize, Vec<Address>) {
    let address = |operand: &Operand| match operand {
        Operand::Memory(address) => Some(*address),
        _ => None,
    };
    let first = code.operands.iter().position(|operand| address(operand).is_some()).unwrap_or(0);
    (first, code.operands.iter().filter_map(address).collect())
}

pub fn register(code: &Code, operand: Option<&Operand>) -> Result<usize, CodeError> {
    match operand {
        Some(Operand::Register(Register(number), _)) => Ok(usize::from(*number)),
        _ => Err(CodeError::Form(code.text.clone())),
    }
}

/// The only place of an instruction, and its position among the operands.
pub fn only_place(code: &Code, space: Space) -> Result<(usize, Place), CodeError> {
    match places(code) {
        (position, places) if places.len() == 1 => Ok((position, Place::new(places[0], space))),
        _ => Err(CodeError::Form(code.text.clone())),
    }
}

fn order(code: &Code) -> Order {
    match () {
        () if code.has(Modifier::Strong) => Order::Strong,
        () if code.has(Modifier::Constant) => Order::NonCoherent,
        () => Order::Weak,
    }
}

struct Load {
    place: Place,
    destination: usize,
    bytes: u32,
    narrowing: Option<Narrowing>,
    order: Order,
}

fn load(code: &Code, space: Space) -> Result<Action, CodeError> {
    let (position, place) = only_place(code, space)?;
    let is_register = |operand: &&Operand| matches!(operand, Operand::Register(..));
    let destination = register(code, code.operands[..position].iter().find(is_register))?;
    if code.operands.len() > position + 1 {
        return Err(CodeError::Form(code.text.clone()));
    }
    if destination == ZERO_REGISTER {
        // It orders the warp's earlier accesses, and reads nothing.
        return Ok(Box::new(Nothing));
    }
    Ok(Box::new(Load { place, destination, bytes: code.bytes(), narrowing: Narrowing::of(code), order: order(code) }))
}

impl Execute for Load {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let addresses = self.place.addresses(warp);
        let mut loaded = [Lanes::ZERO; 4];
        for lane in lanes_of(mask) {
            let access = Access { lane, address: addresses[lane], bytes: self.bytes };
            let words = match self.place.space {
                Space::Shared => context.memory.shared.load(access)?,
                Space::Local => load_local(warp, access)?,
                _ => context.memory.load(access, self.order)?,
            };
            for (place, word) in loaded.iter_mut().zip(words) {
                place.0[lane] = word;
            }
        }
        if let Some(narrowing) = self.narrowing {
            loaded[0] = loaded[0].map(|word| narrowing.apply(word));
        }
        for (distance, words) in loaded.iter().enumerate().take(self.bytes.div_ceil(4) as usize) {
            warp.write(self.destination + distance, mask, words);
        }
        if self.order == Order::Strong {
            context.polls = true;
            context.has_news |= warp.finds_news(seen(mask, &addresses, &loaded));
        }
        Ok(())
    }
}

/// A number that tells apart what lanes have loaded from where (Fowler, Noll and Vo's hash, a word at a time).
fn seen(mask: u32, addresses: &[u64; 32], loaded: &[Lanes; 4]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    lanes_of(mask).fold(0xcbf2_9ce4_8422_2325, |hash, lane| {
        loaded.iter().fold(mix(hash, addresses[lane]), |hash, words| mix(hash, u64::from(words.0[lane])))
    })
}

fn load_local(warp: &Warp, access: Access) -> Result<[u32; 4], FaultKind> {
    let Access { lane, address, bytes } = access;
    let mut words = [0; 4];
    for (distance, word) in words.iter_mut().enumerate().take(bytes.div_ceil(4) as usize) {
        let own = warp.local(lane, (address & !3) as usize + 4 * distance);
        *word = own.ok_or_else(|| outside_local(access))?;
    }
    if bytes < 4 {
        words[0] >>= 8 * (address & 3);
    }
    Ok(words)
}

fn outside_local(access: Access) -> FaultKind {
    FaultKind::Outside(access, Space::Local, Some(("local memory", LOCAL_BYTES as u64)))
}

struct Store {
    place: Place,
    source: usize,
    bytes: u32,
    order: Order,
}

fn store(code: &Code, space: Space) -> Result<Action, CodeError> {
    let (position, place) = only_place(code, space)?;
    let source = register(code, code.operands.get(position + 1))?;
    Ok(Box::new(Store { place, source, bytes: code.bytes(), order: order(code) }))
}

/// The words of registers behind one another; zeros of the register that reads as zero.
fn words_of(warp: &Warp, source: usize, lane: usize, count: usize) -> [u32; 4] {
    let word = |distance| if source == ZERO_REGISTER { 0 } else { warp.register(source + distance).0[lane] };
    std::array::from_fn(|distance| if distance < count { word(distance) } else { 0 })
}

impl Execute for Store {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let addresses = self.place.addresses(warp);
        let count = self.bytes.div_ceil(4) as usize;
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let mut access = Access { lane, address: addresses[lane], bytes: self.bytes };
            let mut words = words_of(warp, self.source, lane, count);
            match self.place.space {
                Space::Shared => context.memory.shared.store(access, words)?,
                Space::Local => store_local(warp, access, &words[..count])?,
                _ => {
                    if self.joins_next(&addresses, rest, access) {
                        words[1] = words_of(warp, self.source, lane + 1, 1)[0];
                        access.bytes = 8;
                        rest &= rest - 1;
                    }
                    context.memory.store(access, words, self.order)?;
                }
            }
        }
        Ok(())
    }
}

impl Store {
    /// Whether the word of the next lane, one of `rest`, leaves together with this one: both lie in eight bytes that are stored
    /// at once.
    fn joins_next(&self, addresses: &[u64; LANES], rest: u32, Access { lane, address, .. }: Access) -> bool {
        let next = addresses.get(lane + 1).filter(|_| rest.trailing_zeros() as usize == lane + 1);
        self.bytes == 4 && address.is_multiple_of(8) && next == Some(&(address + 4))
    }
}

fn store_local(warp: &mut Warp, access: Access, words: &[u32]) -> Result<(), FaultKind> {
    if access.bytes < 4 {
        return store_part(warp, access, words[0]).ok_or_else(|| outside_local(access));
    }
    for (distance, word) in words.iter().enumerate() {
        let is_stored = warp.store_local(access.lane, access.address as usize + 4 * distance, *word);
        is_stored.ok_or_else(|| outside_local(access))?;
    }
    Ok(())
}

/// Stores the lower bytes of a word, and leaves the other bytes of the word in memory as they are.
fn store_part(warp: &mut Warp, Access { lane, address, bytes }: Access, word: u32) -> Option<()> {
    let (byte, shift) = ((address & !3) as usize, 8 * (address & 3));
    let mask = ((1 << (8 * bytes)) - 1) << shift;
    let kept = warp.local(lane, byte)? & !mask;
    warp.store_local(lane, byte, kept | (word << shift) & mask)
}

struct BeginCopy {
    to: Place,
    from: Place,
    bytes: u32,
    order: Order,
    condition: Condition,
    fills: bool,
}

fn copy(code: &Code) -> Result<Action, CodeError> {
    let (first, places) = places(code);
    let (&[to, from], operands) = (places.as_slice(), &code.operands[first..]) else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let condition = match operands {
        [_, _] => Condition::TRUE,
        [_, _, Operand::Predicate(predicate, negated)] => Condition::new(*predicate, *negated),
        _ => return Err(CodeError::Form(code.text.clone())),
    };
    let (to, from) = (Place::new(to, Space::Shared), Place::new(from, Space::Global));
    // What bypasses the first-level cache finds what all blocks see.
    let order = if code.has(Modifier::Bypass) { Order::Strong } else { Order::Weak };
    Ok(Box::new(BeginCopy { to, from, bytes: code.bytes(), order, condition, fills: code.has(Modifier::Zfill) }))
}

impl Execute for BeginCopy {
    /// Lanes whose condition does not hold store zeros. A copy that fills up with zeros tells how many bytes it reads by its
    /// address: as many as lie from there to the next multiple of all bytes. It reads them from the multiple before. So code says
    /// what PTX's `cp.async` says by its number of source bytes.
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let (to, from) = (self.to.addresses(warp), self.from.addresses(warp));
        let condition = self.condition.lanes(warp);
        for lane in lanes_of(mask) {
            let above = if self.fills { from[lane] % u64::from(self.bytes) } else { 0 };
            let from = Access { lane, address: from[lane] - above, bytes: self.bytes };
            let read = if condition >> lane & 1 == 1 { self.bytes - above as u32 } else { 0 };
            let copy = Copy { from, order: self.order, to: to[lane], read };
            context.memory.copy(warp.number, copy)?;
        }
        Ok(())
    }
}

struct CommitCopies;

impl Execute for CommitCopies {
    fn execute(&self, warp: &mut Warp, _: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        context.memory.commit_copies(warp.number);
        Ok(())
    }
}

struct AwaitCopies {
    left: usize,
}

fn await_copies(code: &Code) -> Result<Action, CodeError> {
    let left = code.operands.iter().find_map(|operand| match operand {
        Operand::Integer(left) => usize::try_from(*left).ok(),
        _ => None,
    });
    // Without a number it waits for scoreboards, which results here never need.
    Ok(left.map_or_else(|| Box::new(Nothing) as Action, |left| Box::new(AwaitCopies { left })))
}

impl Execute for AwaitCopies {
    fn execute(&self, warp: &mut Warp, _: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        context.memory.await_copies(warp.number, self.left)
    }
}

struct Fence {
    is_wide: bool,
}

impl Execute for Fence {
    fn execute(&self, _: &mut Warp, _: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        if self.is_wide {
            context.memory.fence();
        }
        Ok(())
    }
}

struct Invalidate;

impl Execute for Invalidate {
    fn execute(&self, _: &mut Warp, _: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        context.memory.invalidate();
        Ok(())
    }
}

struct Nothing;

impl Execute for Nothing {
    fn execute(&self, _: &mut Warp, _: u32, _: &mut Context<'_>) -> Result<(), FaultKind> {
        Ok(())
    }
}

/// Matrices of eight rows of 16 bytes; each row's address is given by a lane.
struct LoadMatrices {
    place: Place,
    destination: usize,
    matrices: usize,
    transposes: bool,
}

fn load_matrices(code: &Code) -> Result<Action, CodeError> {
    let (_, place) = only_place(code, Space::Shared)?;
    let destination = register(code, code.operands.first())?;
    let transposes = code.has(Modifier::Mt88);
    Ok(Box::new(LoadMatrices { place, destination, matrices: code.matrices() as usize, transposes }))
}

impl Execute for LoadMatrices {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        whole_warp(mask)?;
        let addresses = self.place.addresses(warp);
        for matrix in 0..self.matrices {
            let mut rows = [[0; 4]; 8];
            for (row, words) in rows.iter_mut().enumerate() {
                let lane = 8 * matrix + row;
                *words = context.memory.shared.load(Access { lane, address: addresses[lane], bytes: 16 })?;
            }
            let half = |row: usize, column: usize| rows[row][column / 2] >> (16 * (column % 2)) & 0xffff;
            let words = Lanes::of(|lane| match self.transposes {
                false => rows[lane / 4][lane % 4],
                true => half(2 * (lane % 4), lane / 4) | half(2 * (lane % 4) + 1, lane / 4) << 16,
            });
            warp.write(self.destination + matrix, mask, &words);
        }
        Ok(())
    }
}
