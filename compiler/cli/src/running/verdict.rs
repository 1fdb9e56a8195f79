//! Whether outputs are what was expected.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use warpweave::graph::legible::legible;
use warpweave::graph::{ElementType, Tensor, TensorType, npy};
use warpweave::precision::{Fit, largest};
use warpweave::runtime::bundle::Port;
use warpweave::runtime::json::{Value, json};

/// What passes as equal.
#[derive(Args, Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// The relative error that passes
    #[arg(long, default_value_t = 1e-3, value_parser = tolerance, allow_negative_numbers = true)]
    pub rtol: f64,
    /// The absolute error that passes, beside the relative one
    #[arg(long, default_value_t = 1e-5, value_parser = tolerance, allow_negative_numbers = true)]
    pub atol: f64,
    /// The largest error that passes, over the output's largest value, in the place of --rtol and --atol
    #[arg(long, value_name = "ERROR", value_parser = tolerance, allow_negative_numbers = true, conflicts_with_all = ["rtol", "atol"])]
    pub scaled_error: Option<f64>,
    /// The least Pearson correlation with what is stored that passes, of outputs in floating point
    #[arg(long, value_name = "R", value_parser = correlation, allow_negative_numbers = true)]
    pub min_correlation: Option<f64>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(error) if error >= 0.0 => Ok(error),
        _ => Err("a tolerance is a number of 0 or more, such as 1e-3".to_owned()),
    }
}

fn correlation(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(least) if (-1.0..=1.0).contains(&least) => Ok(least),
        _ => Err("a correlation is a number from -1 to 1, such as 0.9999".to_owned()),
    }
}

impl Tolerance {
    /// The options of the command line that give this tolerance.
    pub fn options(self) -> Vec<(&'static str, f64)> {
        let errors = match self.scaled_error {
            Some(error) => vec![("scaled-error", error)],
            None => vec![("rtol", self.rtol), ("atol", self.atol)],
        };
        errors.into_iter().chain(self.min_correlation.map(|least| ("min-correlation", least))).collect()
    }

    /// The same for an output of these stored values: what passes of an error over the largest one is an absolute error.
    fn of_output(self, stored: &[f64]) -> Self {
        match self.scaled_error {
            Some(error) => Self { rtol: 0.0, atol: error * largest(stored), ..self },
            None => self,
        }
    }

    /// What a line says of a fit, where a person judges by it.
    fn told(self, fit: Fit) -> String {
        if self.scaled_error.is_none() && self.min_correlation.is_none() {
            return String::new();
        }
        let Fit { error, correlation } = fit;
        let below = self.min_correlation.filter(|least| correlation < *least);
        let below = below.map_or_else(String::new, |least| format!(", below {least}"));
        format!(", error {error:.3e} of the largest value, correlation {correlation:.6}{below}")
    }

    /// The error of a floating-point element in multiples of what passes; infinite where no tolerance applies.
    fn excess(self, found: f64, expected: f64) -> f64 {
        let error = (found - expected).abs();
        if found == expected || (found.is_nan() && expected.is_nan()) {
            0.0
        } else if !error.is_finite() {
            f64::INFINITY
        } else {
            error / (self.atol + self.rtol * expected.abs()).max(f64::MIN_POSITIVE)
        }
    }
}

/// What was found of an output.
pub struct Verdict {
    /// Whether it passes.
    pub passed: bool,
    /// A line of text.
    pub line: String,
    /// The same as JSON.
    pub record: Value,
}

impl Verdict {
    /// That of an output whose stored type is another than the program's, or which is stored and not computed, or the reverse.
    fn mismatch(head: &str, name: &str, position: Option<usize>, types: Types<'_>, reason: &str) -> Self {
        let Types { stored, computed } = types;
        let [stored, computed] = [stored, computed].map(|ty| ty.map(ToString::to_string));
        let record = json!({
            "index": position, "name": name, "type": computed, "stored_type": stored, "passed": false, "reason": reason
        });
        Self { passed: false, line: format!("{head}: differs, {reason}"), record }
    }
}

/// The types of an output as it is stored and as the program gives it.
struct Types<'t> {
    stored: Option<&'t TensorType>,
    computed: Option<&'t TensorType>,
}

/// Compares the outputs of a program with those that are stored in the archive or folder `io`, by position, and refuses the
/// `unknown` ones, which the program does not have.
pub fn judge_all(
    io: &Path,
    ports: &[Port],
    found: &[Tensor],
    (stored, unknown): (&BTreeMap<usize, Tensor>, &BTreeMap<String, Tensor>),
    tolerance: Tolerance,
) -> Vec<Verdict> {
    let of_port = |((position, port), found): ((usize, &Port), &Tensor)| match stored.get(&position) {
        Some(expected) => judge(position, port, found, expected, tolerance),
        None => {
            let types = Types { stored: None, computed: Some(found.ty()) };
            let reason = format!("{} does not hold it", io.display());
            Verdict::mismatch(&head(position, port, found.ty()), &port.name, Some(position), types, &reason)
        }
    };
    let outputs: Vec<_> = ports.iter().map(|port| legible(&port.name)).collect();
    let of_unknown = |(name, stored): (&String, &Tensor)| {
        let reason = format!(
            "{} holds it as {}, and the program has no such output; its outputs are {}",
            io.display(),
            stored.ty(),
            outputs.join(", ")
        );
        let types = Types { stored: Some(stored.ty()), computed: None };
        Verdict::mismatch(&legible(name), name, None, types, &reason)
    };
    let verdicts = ports.iter().enumerate().zip(found).map(of_port);
    verdicts.chain(unknown.iter().map(of_unknown)).collect()
}

fn head(position: usize, port: &Port, ty: &TensorType) -> String {
    format!("out_{position} {} {ty}", legible(&port.name))
}

/// Compares an output with the stored one. Another shape or element type is a difference.
fn judge(position: usize, port: &Port, found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Verdict {
    let stood_for = if found.element().is_storage() { npy::stood_for(expected, found.element()) } else { None };
    let expected = stood_for.as_ref().unwrap_or(expected);
    let stands_in = expected.element() == ElementType::F32 && found.element() == ElementType::BF16;
    let has_element = found.element() == expected.element() || stands_in;
    let differing = match (has_element, found.shape() == expected.shape()) {
        (true, true) => None,
        (true, false) => Some("shape"),
        (false, true) => Some("element type"),
        (false, false) => Some("element type and shape"),
    };
    if let Some(differing) = differing {
        let reason = format!("another {differing} is stored: {}", expected.ty());
        let types = Types { stored: Some(expected.ty()), computed: Some(found.ty()) };
        return Verdict::mismatch(&head(position, port, found.ty()), &port.name, Some(position), types, &reason);
    }
    let (values, wanted) = (found.to_f64(), expected.to_f64());
    let integers = |tensor: &Tensor| if tensor.element().is_float() { Vec::new() } else { tensor.to_i64() };
    let (integers, wanted_integers) = (integers(found), integers(expected));
    let tolerance = tolerance.of_output(&wanted);
    let excess = |at: usize| match found.element().is_float() {
        true => tolerance.excess(values[at], wanted[at]),
        false if integers[at] == wanted_integers[at] => 0.0,
        false => f64::INFINITY,
    };
    let worst = (0..values.len()).max_by(|a, b| excess(*a).total_cmp(&excess(*b)));
    let failures = (0..values.len()).filter(|at| excess(*at) > 1.0).count();
    let fit = found.element().is_float().then(|| Fit::of(&values, &wanted));
    let correlates = tolerance.min_correlation.zip(fit).is_none_or(|(least, fit)| fit.correlation >= least);
    let passed = failures == 0 && correlates;
    let verdict = if passed { "ok" } else { "differs" };
    let head = format!("{}: {verdict}", head(position, port, found.ty()));
    let Some(worst) = worst else {
        let record = json!({"index": position, "name": port.name, "passed": true, "elements": 0});
        return Verdict { passed: true, line: format!("{head}, empty"), record };
    };
    let overflowed = (0..values.len()).filter(|at| wanted[*at].is_finite() && !values[*at].is_finite()).count();
    let (value, wanted) = (values[worst], wanted[worst]);
    let absolute = (value - wanted).abs();
    let relative = if absolute == 0.0 { 0.0 } else { absolute / wanted.abs() };
    let index = coordinates(found, worst);
    let line = format!(
        "{head}, worst at {index:?}: {value:e} instead of {wanted:e}, relative error {relative:.3e}, \
         {failures} of {} elements differ{}{}",
        values.len(),
        overflow(overflowed, values.len()),
        fit.map_or_else(String::new, |fit| tolerance.told(fit))
    );
    let record = json!({
        "index": position, "name": port.name, "type": found.ty().to_string(), "passed": passed,
        "elements": values.len(), "failures": failures, "overflowed": overflowed,
        "scaled_error": fit.map(|fit| fit.error), "correlation": fit.map(|fit| fit.correlation),
        "worst": {
            "index": index, "found": value, "expected": wanted, "absolute": absolute, "relative": relative
        }
    });
    Verdict { passed, line, record }
}

/// How many elements are infinite or not a number and should not be.
fn overflow(overflowed: usize, elements: usize) -> String {
    match overflowed {
        0 => String::new(),
        _ => format!(", {:.2} % overflowed", 100.0 * overflowed as f64 / elements as f64),
    }
}

/// The position of an element in each dimension.
fn coordinates(tensor: &Tensor, mut element: usize) -> Vec<usize> {
    let strides = tensor.shape().strides();
    let coordinate = |stride: usize| {
        let at = element / stride.max(1);
        element %= stride.max(1);
        at
    };
    strides.into_iter().map(coordinate).collect()
}
