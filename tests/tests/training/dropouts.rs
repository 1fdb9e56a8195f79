//! Dropouts draw by the step's seed, alike on every device, and their gradients go through what is kept.

use warpweave::frontend::NameFilter;
use warpweave::graph::text::{Tensors, parse};
use warpweave::graph::training::{LEARNING_RATE, Loss, Objective, Optimizer, SEED, StepOptions, TARGET};
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::runtime::session::{Device, Session};
use warpweave::training::TrainingRequest;
use warpweave::{Build, Model, OpenOptions, Source, open};
use warpweave_tests::suite::Suite;

const DEVICES: [Device; 4] = [Device::Reference, Device::Host, Device::Emulator, Device::Text];
/// Rows and columns of the input, which is 1 everywhere, as the weights of the columns are.
const EXTENTS: [usize; 2] = [128, 8];
const RATIO: f64 = 0.25;
const RATE: f64 = 0.5;

/// A trial a device.
pub fn add(suite: &mut Suite) {
    for device in DEVICES {
        suite.trial(format!("dropouts {device}"), move || check(device));
    }
}

/// What a step gives: the elements behind two dropouts, and the weights after it.
fn step(device: Device, seed: u32) -> [Vec<f64>; 2] {
    let [rows, columns] = EXTENTS;
    let text = format!(
        "graph \"g\"\nv0 \"x\": f32[{rows}x{columns}] = input\nv1 \"w\": f32[{columns}] = variable [{}]\n\
         v2 \"product\": f32[{rows}x{columns}] = Mul \"m\" (v0, v1)\nv3 \"ratio\": f32[] = constant [{RATIO}]\n\
         v4 \"one\": f32[{rows}x{columns}] = Dropout \"d1\" (v2, v3)\n\
         v5 \"two\": f32[{rows}x{columns}] = Dropout \"d2\" (v4, v3)\ninput v0\noutput v5\n",
        vec!["1"; columns].join(", ")
    );
    let graph = parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}"));
    let loss = Objective::Loss(Loss::MeanSquaredError);
    let step = StepOptions { loss, output: None, optimizer: Optimizer::SGD, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: RATE, trainable: NameFilter::default() };
    let (model, _) = Model::step_of(&graph, &request).unwrap_or_else(|error| panic!("{error}"));
    let ty = TensorType::new(ElementType::F32, EXTENTS);
    let full = |value: f64| Tensor::from_f64(ty.clone(), &vec![value; rows * columns]);
    let input = |name: &str| match name {
        SEED => Tensor::scalar(seed),
        LEARNING_RATE => Tensor::scalar(RATE as f32),
        TARGET => full(0.0),
        _ => full(1.0),
    };
    let inputs: Vec<Tensor> = model.signature.inputs.iter().map(|port| input(&port.name)).collect();
    let source = Source::Model(Box::new(Build::new(model).expect("the passes are right")));
    let unavailable = || Err("no device compiler is needed".to_owned());
    let mut session = open(&source, device, &OpenOptions::default(), &unavailable).expect("the device is there");
    let outputs = session.run(&inputs).unwrap_or_else(|error| panic!("{error}"));
    session.advance().expect("the states are there");
    [outputs[1].to_f64(), session.states().expect("the states are there")[0].to_f64()]
}

fn check(device: Device) {
    let [rows, columns] = EXTENTS;
    let elements = rows * columns;
    let [plain, _] = step(device, 0);
    assert_eq!(plain, vec![1.0; elements], "of seed 0 nothing is dropped");
    let [drawn, weights] = step(device, 7);
    let kept = drawn.iter().filter(|element| **element != 0.0).count();
    // Two that draw alike would keep as much as one.
    let (part, wanted) = (kept as f64 / elements as f64, (1.0 - RATIO).powi(2));
    assert!((part - wanted).abs() < 0.06, "{part} is kept, and {wanted} is wanted");
    let scaled = 1.0 / wanted;
    assert!(drawn.iter().all(|element| *element == 0.0 || (element - scaled).abs() < 1e-5), "{drawn:?}");
    for (column, weight) in weights.iter().enumerate() {
        let squares: f64 = drawn.iter().skip(column).step_by(columns).map(|element| element * element).sum();
        let wanted = 1.0 - RATE * 2.0 * squares / elements as f64;
        assert!((weight - wanted).abs() < 1e-5, "weight {column} becomes {weight}, not {wanted}");
    }
    assert_ne!(step(device, 8)[0], drawn, "another seed draws otherwise");
    assert_eq!(
        step(Device::Reference, 7)[0].iter().map(|x| *x != 0.0).collect::<Vec<_>>(),
        drawn.iter().map(|x| *x != 0.0).collect::<Vec<_>>()
    );
}
