//! Activations with their channels innermost, where products of images in 16 bits read them.
//!
//! A tensor core multiplies what lies side by side along the reduction. The channels of an image in ONNX's order lie a whole plane
//! apart: a load of 16 bytes holds one of them. With channels innermost it holds eight, whatever window is read. Inputs, outputs and
//! states keep their order; what stands between them is turned together, so that element-wise operators, pools and sums of branches
//! read and write in one order. A concat is turned with all of its parts or not at all. Constants that are multiplied with such images
//! follow them.

use std::collections::{BTreeMap, BTreeSet};

use super::rewriting::uses::Uses;
use crate::expr::{Axis, AxisId, AxisKind, BinaryOp, Index, Read, Reducer, Scalar, TensorExpr, substitute};
use crate::program::{Definition, Source, Statement, TensorId, TensorProgram};
use crate::types::{ElementType, Shape};

/// The dimension of channels in ONNX's order.
const CHANNELS: usize = 1;
/// The fewest dimensions of an image: its number, its channels, and one place.
const IMAGE_RANK: usize = 3;
/// Channels that a load brings at once.
const WIDTH: usize = 8;

/// The program with its inner images turned. Sums are taken in another order.
pub fn channels_last(program: &TensorProgram) -> TensorProgram {
    let uses = Uses::of(program);
    let products: Vec<Option<Product>> =
        program.statements.values().map(|statement| Product::of(program, &uses, statement)).collect();
    let turned = turned(program, &uses, &products);
    let mut rewritten = program.clone();
    for &tensor in &turned {
        let shape = &mut rewritten.tensors[tensor].ty.shape;
        *shape = moved_last(shape, CHANNELS);
    }
    for (statement, product) in program.statements.ids().zip(products) {
        let Statement { operands, output, .. } = &program.statements[statement];
        if let (Definition::Concat { axis }, true) =
            (&program.statements[statement].definition, turned.contains(output))
        {
            let axis = turned_dimension(*axis, program.tensors[*output].ty.shape.len());
            rewritten.statements[statement].definition = Definition::Concat { axis };
        }
        let Definition::Compute(expr) = &program.statements[statement].definition else { continue };
        let mut expr = expr.clone();
        for (position, _) in operands.iter().enumerate().filter(|(_, operand)| turned.contains(operand)) {
            turn_operand(&mut expr, position, CHANNELS);
        }
        let product = product.filter(|product| turned.contains(&product.image));
        let channel = expr.parallel().nth(CHANNELS).filter(|_| turned.contains(output));
        let followers = match (&product, channel) {
            (Some(product), _) => vec![product.weight],
            (None, Some(channel)) => followers(program, &uses, &program.statements[statement], channel),
            (None, None) => Vec::new(),
        };
        for Follower { position, dimension } in followers {
            turn_operand(&mut expr, position, dimension);
            let constant = &mut rewritten.tensors[operands[position]];
            let Source::Constant(value) = &constant.source else { continue };
            let value = value.with_dimension_last(dimension);
            (constant.ty, constant.source) = (value.ty().clone(), Source::Constant(value));
        }
        if let Some(channel) = channel {
            expr = substitute::with_axis_last(&expr, channel);
        }
        // Parallel axes come first, so that those which are summed over keep their numbers.
        if let Some(product) = product {
            expr = substitute::with_axis_last(&expr, product.channel);
        }
        rewritten.statements[statement].definition = Definition::Compute(expr);
    }
    rewritten
}

/// A sum of products of an image and a constant.
#[derive(Clone, Copy)]
struct Product {
    image: TensorId,
    /// The axis of the image's channels, which is summed over.
    channel: AxisId,
    weight: Follower,
}

/// A constant whose elements follow the channels along a dimension.
#[derive(Clone, Copy)]
struct Follower {
    /// Its position among the operands.
    position: usize,
    dimension: usize,
}

impl Follower {
    /// A constant that this statement alone reads, once and wherever it is.
    fn of(
        program: &TensorProgram,
        uses: &Uses,
        statement: &Statement,
        position: usize,
        channel: AxisId,
    ) -> Option<Self> {
        let expr = statement.definition.expr()?;
        let constant = statement.operands[position];
        let mut reads = expr.reads.values().filter(|read| read.operand == position);
        let (read, None) = (reads.next()?, reads.next()) else { return None };
        let is_single = uses.readers(constant).len() == 1
            && !uses.is_live_out(constant)
            && statement.operands.iter().filter(|operand| **operand == constant).count() == 1;
        let dimension = read.index.iter().position(|index| index.as_axis() == Some(channel))?;
        let follow = read.index.iter().filter(|index| index.coefficient(channel) != 0).count();
        let is_plain = read.guard.is_always() && follow == 1 && read.index.iter().all(Index::is_affine);
        (is_single && is_plain && program.packable(constant).is_some()).then_some(Self { position, dimension })
    }
}

/// The constants of a statement that follow the channels of its output.
fn followers(program: &TensorProgram, uses: &Uses, statement: &Statement, channel: AxisId) -> Vec<Follower> {
    let of = |position| Follower::of(program, uses, statement, position, channel);
    (0..statement.operands.len()).filter_map(of).collect()
}

impl Product {
    fn of(program: &TensorProgram, uses: &Uses, statement: &Statement) -> Option<Self> {
        let Definition::Compute(expr) = &statement.definition else { return None };
        let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
        let factors = [plain(expr, left)?, plain(expr, right)?];
        let [image, weight] = match expr.reducer {
            Some(Reducer::Sum) if image_channel(expr, factors[0]).is_some() => factors,
            Some(Reducer::Sum) if image_channel(expr, factors[1]).is_some() => [factors[1], factors[0]],
            _ => return None,
        };
        let channel = image_channel(expr, image)?;
        let weight = Follower::of(program, uses, statement, weight.operand, channel)?;
        Some(Self { image: statement.operands[image.operand], channel, weight })
    }
}

/// The read of 16-bit elements that a factor is, widened.
fn plain<'e>(expr: &'e TensorExpr, factor: &Scalar) -> Option<&'e Read> {
    let read = match factor {
        Scalar::Read(read) => read,
        Scalar::Cast(ElementType::F32, inner) => match &**inner {
            Scalar::Read(read) => read,
            _ => return None,
        },
        _ => return None,
    };
    let read = &expr.reads[*read];
    matches!(expr.operands[read.operand].element, ElementType::F16 | ElementType::BF16).then_some(read)
}

/// The axis along which the channels of an image are summed, if they are the read's and as many as a load takes.
fn image_channel(expr: &TensorExpr, read: &Read) -> Option<AxisId> {
    let channel = read.index.get(CHANNELS)?.as_axis()?;
    let Axis { kind, extent } = expr.axes[channel];
    let follow = read.index.iter().filter(|index| index.coefficient(channel) != 0).count();
    let is_whole = expr.operands[read.operand].shape[CHANNELS] == extent && extent.is_multiple_of(WIDTH);
    (read.index.len() >= IMAGE_RANK && kind == AxisKind::Reduced && follow == 1 && is_whole).then_some(channel)
}

/// The tensors to turn: images of products, and what is computed from them or they from, channel by channel.
fn turned(program: &TensorProgram, uses: &Uses, products: &[Option<Product>]) -> BTreeSet<TensorId> {
    let joined = joined(program, uses);
    let can_turn =
        |tensor: &TensorId| joined.get(tensor).copied().unwrap_or_else(|| is_inner_image(program, uses, *tensor));
    let images = products.iter().flatten().map(|product| product.image).filter(can_turn);
    let mut turned: BTreeSet<TensorId> = images.collect();
    let mut open: Vec<TensorId> = turned.iter().copied().collect();
    let links: Vec<[TensorId; 2]> = program
        .statements
        .values()
        .zip(products)
        .flat_map(|(statement, product)| {
            let linked = statement.operands.iter().enumerate().filter(|(position, operand)| {
                product.is_some_and(|product| product.image == **operand)
                    || matches!(statement.definition, Definition::Concat { .. })
                    || has_channels_of(statement, *position)
            });
            linked.map(|(_, &operand)| [operand, statement.output]).collect::<Vec<_>>()
        })
        .collect();
    while let Some(tensor) = open.pop() {
        for link in links.iter().filter(|link| link.contains(&tensor)) {
            for other in link.iter().filter(|other| can_turn(other)) {
                if turned.insert(*other) {
                    open.push(*other);
                }
            }
        }
    }
    turned
}

/// Of each tensor that a concat has, whether all can be turned that concats join with it: parts and wholes, parts of wholes that are
/// parts themselves, and so on.
fn joined(program: &TensorProgram, uses: &Uses) -> BTreeMap<TensorId, bool> {
    let concats: Vec<&Statement> = program
        .statements
        .values()
        .filter(|statement| matches!(statement.definition, Definition::Concat { .. }))
        .collect();
    // A set is named by one of its wholes.
    let mut last: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for concat in concats.iter().rev() {
        let home = *last.entry(concat.output).or_insert(concat.output);
        let others: Vec<TensorId> = concat.operands.iter().filter_map(|part| last.get(part).copied()).collect();
        last.values_mut().filter(|found| others.contains(found)).for_each(|found| *found = home);
        concat.operands.iter().for_each(|part| _ = last.insert(*part, home));
    }
    let can_turn = |tensor: TensorId| {
        let are_whole = program.tensors[tensor].ty.shape.get(CHANNELS).is_some_and(|channels| channels % WIDTH == 0);
        are_whole && is_inner_image(program, uses, tensor)
    };
    let kept: BTreeSet<TensorId> =
        last.iter().filter(|(tensor, _)| !can_turn(**tensor)).map(|(_, home)| *home).collect();
    last.into_iter().map(|(tensor, home)| (tensor, !kept.contains(&home))).collect()
}

/// Where a dimension of an image stands once its channels come last.
fn turned_dimension(dimension: usize, rank: usize) -> usize {
    match dimension {
        CHANNELS => rank - 1,
        behind if behind > CHANNELS => behind - 1,
        before => before,
    }
}

/// Whether the output's channels are those of an operand.
fn has_channels_of(statement: &Statement, position: usize) -> bool {
    let Definition::Compute(expr) = &statement.definition else { return false };
    let Some(channel) = expr.parallel().nth(CHANNELS) else { return false };
    let rank = expr.operands[position].shape.len();
    let mut reads = expr.reads.values().filter(|read| read.operand == position);
    rank == expr.parallel().count()
        && reads.any(|read| read.index.get(CHANNELS).and_then(Index::as_axis) == Some(channel))
}

/// Whether a tensor is an image that statements alone read, each place by place.
fn is_inner_image(program: &TensorProgram, uses: &Uses, tensor: TensorId) -> bool {
    let is_computed = |statement: &Statement| !matches!(statement.definition, Definition::Opaque(_));
    let producer = program.producer(tensor).map(|producer| &program.statements[producer]);
    let reads_places = |statement: &Statement| {
        let expr = match &statement.definition {
            Definition::Compute(expr) => expr,
            Definition::Concat { .. } => return true,
            Definition::Opaque(_) => return false,
        };
        let of_tensor = |read: &&Read| statement.operands[read.operand] == tensor;
        expr.reads.values().filter(of_tensor).all(|read| read.index.iter().all(Index::is_affine))
    };
    let mut readers = uses.readers(tensor).iter().map(|&reader| &program.statements[reader]);
    program.tensors[tensor].ty.shape.len() >= IMAGE_RANK
        && !uses.is_live_out(tensor)
        && producer.is_some_and(is_computed)
        && readers.all(reads_places)
}

/// Moves a dimension of an operand behind its others.
fn turn_operand(expr: &mut TensorExpr, position: usize, dimension: usize) {
    let shape = &mut expr.operands[position].shape;
    *shape = moved_last(shape, dimension);
    for read in expr.reads.values_mut().filter(|read| read.operand == position) {
        let index = read.index.remove(dimension);
        read.index.push(index);
    }
}

/// A shape with a dimension behind all others.
fn moved_last(shape: &Shape, dimension: usize) -> Shape {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != dimension).map(|(_, extent)| *extent);
    others.chain([shape[dimension]]).collect()
}
