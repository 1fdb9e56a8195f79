//! Models whose tensors are stored in 16 bits are partitioned and planned as those of singles, with half the bytes.

use std::collections::BTreeSet;
use warpweave::graph::pipeline::PreparedProgram;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave_tests::pipeline::options;

use warpweave::fusion::cost::traffic;
use warpweave::fusion::partition::build::{Uses, build, build_staged};
use warpweave::fusion::partition::search::{FusionGroup, FusionLevel, Partition, partition};
use warpweave::fusion::schedule::choice::plan;
use warpweave::graph::numerics::{ACCESS_BYTES, WORD_BYTES};
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::{ElementType, Numerics};
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::{BUFFER_ALIGNMENT, EdgeKind, MemoryPlan, TAG_BYTES};
use warpweave::plan::template::contraction::Contraction;
use warpweave::plan::template::contraction::shape::ContractionShape;
use warpweave::plan::template::staged;
use warpweave::plan::verify::verify;
use warpweave_tests::models;
use warpweave_tests::storage::stored_as;
use warpweave_tests::suite::Suite;

const UNITS: usize = 4;

/// Adds a trial a model: it plans and verifies, and its bytes are half of those of singles.
pub fn add_models(suite: &mut Suite) {
    let storages = [ElementType::F16, ElementType::BF16].into_iter().cycle();
    for (model, storage) in models::by_turns_from(1, 2).into_iter().zip(storages) {
        suite.trial(format!("stored as {storage} {}", model.name), move || check(&model.program(), storage));
    }
}

#[track_caller]
fn check(program: &TensorProgram, storage: ElementType) {
    let PreparedProgram { program: single, layouts } = prepare(program);
    let half = stored_as(&single, storage);
    half.verify().unwrap_or_else(|error| panic!("{error}"));
    let (options, half) = (options(UNITS), PreparedProgram { program: half, layouts });
    let found = partition(&half, &*options.cost, FusionLevel::Full);
    let plan = plan(&half, &found, &options).plan;
    let plan = verify(plan).unwrap_or_else(|violations| panic!("the plan has {violations:?}"));
    check_buffers(&single, storage, &plan.plan().memory);
    check_groups(&single, &half.program, &found);
}

/// Tensors take half of what singles take, those with tags as much as ever; what they share takes no more than that.
#[track_caller]
fn check_buffers(single: &TensorProgram, storage: ElementType, memory: &MemoryPlan) {
    let mut halved = 0;
    for (id, planned) in memory.tensors.iter() {
        let elements = planned.ty.shape.elements() as u64;
        let was = single.tensors.get(id).map(|tensor| &tensor.ty);
        let wanted = match (planned.edge, was) {
            (EdgeKind::Tagged, _) => elements * (WORD_BYTES + TAG_BYTES) as u64,
            (EdgeKind::Counter, Some(ty)) if ty.element == ElementType::F32 => ty.bytes() as u64 / 2,
            (EdgeKind::Counter, Some(ty)) => ty.bytes() as u64,
            (EdgeKind::Counter, None) => elements * planned.ty.element.bytes() as u64,
        };
        assert_eq!(planned.bytes(), wanted, "tensor {id:?}");
        halved += usize::from(planned.ty.element == storage && planned.buffer.is_some());
        if let Some(buffer) = planned.buffer.filter(|_| planned.layout.is_own(id, &planned.ty)) {
            assert_eq!(buffer.bytes, wanted, "the buffer of tensor {id:?}");
        }
    }
    assert!(halved > 0, "no tensor is stored as {storage}");
    let of_constant = |&id: &TensorId| memory.tensors[id].bytes().next_multiple_of(BUFFER_ALIGNMENT);
    let weights: u64 = memory.constants.iter().map(of_constant).sum();
    assert!(memory.weights_bytes <= weights, "{} bytes of weights for {weights}", memory.weights_bytes);
}

#[track_caller]
fn check_groups(single: &TensorProgram, half: &TensorProgram, found: &Partition) {
    let uses = Uses::new(half);
    let (mut moved, mut multiplied) = (0, 0);
    for group in &found.groups {
        let [of_single, of_half] = [single, half].map(|program| rebuilt(program, &uses, group));
        moved += usize::from(check_traffic(single, half, &of_single, &of_half));
        multiplied += check_tiles(&of_half);
        check_boxes(&of_single, &of_half, group.kernel.params());
    }
    assert!(
        moved > 0 && multiplied > 0,
        "{moved} groups move singles alone, {multiplied} products are of plain factors"
    );
}

/// What the statements of a group compute together in one of the two programs.
#[track_caller]
fn rebuilt(program: &TensorProgram, uses: &Uses, group: &FusionGroup) -> GroupBody {
    let made = if group.kernel.body().staged.is_empty() { build } else { build_staged };
    made(program, uses, &group.statements).expect("what is a group of one program is one of the other")
}

/// Whether all that a group moves is singles; its traffic is half then.
#[track_caller]
fn check_traffic(single: &TensorProgram, half: &TensorProgram, of_single: &GroupBody, of_half: &GroupBody) -> bool {
    let tensors =
        |body: &GroupBody| -> BTreeSet<TensorId> { body.operands.iter().chain(&body.outputs).copied().collect() };
    assert_eq!(tensors(of_single), tensors(of_half), "the tensors of a group");
    let singles = tensors(of_single).into_iter().all(|tensor| single.tensors[tensor].ty.element == ElementType::F32);
    let [was, is] = [(single, of_single), (half, of_half)].map(|(program, body)| traffic::bytes(program, body));
    assert!(if singles { was == 2 * is } else { was >= is }, "{is} bytes of {was} move");
    singles
}

/// The boxes of staged values are half as large.
#[track_caller]
fn check_boxes(of_single: &GroupBody, of_half: &GroupBody, params: &ScheduleParams) {
    if of_single.staged.is_empty() || params.tile.len() != of_single.tile_rank {
        return;
    }
    let [was, is] = [of_single, of_half].map(|body| {
        let kernel = Kernel::unchecked(body.clone(), params.clone());
        kernel.boxes().map(|boxes| staged::bytes(body, boxes))
    });
    assert_eq!(was, is.map(|bytes| 2 * bytes), "bytes of boxes");
}

/// The products of plain factors of a group. Their tiles in shared memory are half as large as those of singles, but
/// for padding. What is multiplied and summed is singles as ever.
#[track_caller]
fn check_tiles(body: &GroupBody) -> usize {
    let shape = ContractionShape::square(4, 4);
    let padding = 2 * ACCESS_BYTES * shape.k_tile * shape.buffers();
    let unpadded = |numerics: Numerics| shape.tile_bytes(numerics) - padding;
    let products = body.staged.iter().chain(&body.stages).filter_map(|stage| Contraction::of_expression(&stage.expr));
    let plain: Vec<Numerics> =
        products.map(|product| product.numerics()).filter(|found| found.storage.is_half()).collect();
    for numerics in &plain {
        assert_eq!([numerics.compute, numerics.accumulate], [ElementType::F32; 2], "{numerics}");
        assert_eq!(2 * unpadded(*numerics), unpadded(Numerics::SINGLE), "bytes of the factors' tiles");
    }
    plain.len()
}
