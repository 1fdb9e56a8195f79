//! PyTorch's times for the same models, in the same minutes.

use std::fs;
use std::path::PathBuf;

use warpweave_models as models;
use warpweave_runtime::json;

use crate::lab::run::child::{Ended, Exit};
use crate::lab::run::context::{Context, Deadline, Found, Stop, word};
use crate::lab::run::options::Scale;
use crate::lab::run::step::models_of;
use crate::lab::{Findings, PeerTime};

const PROGRAM: &str = include_str!("../../../../../../models/peers/pytorch.py");
const MODELS: &str = include_str!("../../../../../../models/peers/pytorch_models.py");
/// Models that PyTorch measures at most.
const MOST: usize = 8;
/// What the program ends with where there is no PyTorch for GPUs.
const NO_PYTORCH: i32 = 3;
/// Seconds that a model takes which was begun when the time is over.
const LAST_MODEL: f64 = 6.0;

/// PyTorch under CUDA graphs, model after model until the time is over.
pub fn peers(context: &Context, deadline: Deadline) -> Found {
    context.gpu()?;
    if context.options.scale == Scale::Reduced {
        return Err(Stop::Skip("models are reduced, PyTorch's are not".to_owned()));
    }
    let program =
        written(context).map_err(|error| Stop::Skip(format!("PyTorch's program cannot be written: {error}")))?;
    for python in pythons() {
        let seconds = (deadline.left().as_secs_f64() - LAST_MODEL).max(0.0);
        let mut words = vec![word(&program), "--seconds".to_owned(), format!("{seconds:.1}")];
        words.extend(models_of(Scale::Full).iter().filter(|model| !model.is_unrolled).map(|model| {
            let parameters = models::find(&model.name).ok().and_then(|info| info.parameters).unwrap_or(0);
            format!("{}={parameters}", model.name)
        }));
        words.extend(["--most".to_owned(), MOST.to_string()]);
        let ended = context.children.run(&python, &words, deadline.left());
        if !matches!(ended.exit, Exit::Code(NO_PYTORCH) | Exit::Unstarted) {
            return judge(ended);
        }
    }
    Err(Stop::Skip("no Python has PyTorch for GPUs".to_owned()))
}

fn judge(ended: Ended) -> Found {
    let lines = ended.out.lines().filter(|line| line.starts_with('{'));
    let peers: Vec<PeerTime> = lines.filter_map(|line| json::from_str(line).ok()).collect();
    let is_empty = peers.iter().all(|peer| peer.median_ms.is_none());
    let found = Findings::Peers { peers };
    if is_empty { Err(Stop::failed("PyTorch gave no time", ended).with(found)) } else { Ok(found) }
}

/// The program, written where the lab works.
fn written(context: &Context) -> std::io::Result<PathBuf> {
    let folder = context.work.join("peers");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("pytorch_models.py"), MODELS)?;
    let program = folder.join("pytorch.py");
    fs::write(&program, PROGRAM)?;
    Ok(program)
}

/// Pythons that may have PyTorch, the likeliest first.
fn pythons() -> Vec<PathBuf> {
    let active = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin/python3"));
    let entries = fs::read_dir("/opt").into_iter().flatten().flatten();
    let mut others: Vec<PathBuf> = entries.map(|entry| entry.path().join(".venv/bin/python3")).collect();
    others.sort();
    let others = others.into_iter().filter(|python| python.is_file());
    active.into_iter().chain([PathBuf::from("python3")]).chain(others).collect()
}
