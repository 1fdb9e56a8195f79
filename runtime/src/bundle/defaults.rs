//! What inputs are where the caller gives nothing, as an archive of arrays by the inputs' positions.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use warpweave_graph::{Tensor, npy};

use super::manifest::Signature;
use crate::npz;

/// The archive of a signature's defaults; `None` if it has none.
pub(super) fn encode(signature: &Signature) -> Option<Vec<u8>> {
    let defaults = signature.inputs.iter().enumerate();
    let defaults =
        defaults.filter_map(|(position, port)| Some((position.to_string(), npy::standing_in(port.default.as_ref()?))));
    let arrays: BTreeMap<String, Tensor> = defaults.collect();
    if arrays.is_empty() { None } else { npz::print(arrays.iter().map(|(name, array)| (name.as_str(), array))) }
}

/// Gives the inputs of a signature the defaults of an archive, or says why they are not theirs.
pub(super) fn decode(bytes: &[u8], signature: &mut Signature, path: &Path) -> Result<(), String> {
    let arrays = npz::parse(Cursor::new(bytes), bytes.len() as u64, path).map_err(|error| error.to_string())?;
    for (name, array) in arrays {
        let port = name.parse().ok().and_then(|position: usize| signature.inputs.get_mut(position));
        let port = port.ok_or_else(|| format!("`{name}` is the position of no input"))?;
        let default = npy::stood_for(&array, port.ty.element).filter(|default| *default.ty() == port.ty);
        let default = default
            .ok_or_else(|| format!("the default {} is not of the type of input {name}, {}", array.ty(), port.ty))?;
        port.default = Some(default);
    }
    Ok(())
}
