//! Handles: names of what the library keeps for its caller, none of which is an address.

use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Failure;

/// A bundle, from `ww_bundle_open` to `ww_bundle_close`.
pub struct BundleHandle {
    _nowhere: (),
}

/// A session, from `ww_session_open` to `ww_session_close`.
pub struct SessionHandle {
    _nowhere: (),
}

/// A pool of threads, from `ww_pool_open` to `ww_pool_close`.
pub struct PoolHandle {
    _nowhere: (),
}

/// An error that a function has returned, until `ww_error_free`.
pub struct ErrorHandle {
    _nowhere: (),
}

/// What handles name.
static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new() });

/// Bits of a handle that hold the number of its slot. Those above hold the slot's generation.
const SLOT_BITS: u32 = 20;

struct Table {
    slots: Vec<Slot>,
    /// Slots that hold nothing.
    free: Vec<usize>,
}

struct Slot {
    /// How often the slot was filled; never 0, so that no handle is null.
    generation: usize,
    value: Option<Value>,
}

/// What a handle names.
type Value = Arc<dyn Any + Send + Sync>;

/// What one kind of handle names.
pub(crate) trait Named: Any + Send + Sync {
    /// The handle's type.
    type Handle;
    /// What messages call it.
    const WHAT: &'static str;
}

impl Table {
    fn insert(&mut self, value: Value) -> Option<usize> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < 1 << SLOT_BITS => {
                self.slots.push(Slot { generation: 0, value: None });
                self.slots.len() - 1
            }
            None => return None,
        };
        let most = usize::MAX >> SLOT_BITS;
        let Slot { generation, value: place } = &mut self.slots[slot];
        *generation = if *generation < most { *generation + 1 } else { 1 };
        *place = Some(value);
        Some(*generation << SLOT_BITS | slot)
    }

    fn slot(&self, handle: usize) -> Option<usize> {
        let slot = handle & ((1 << SLOT_BITS) - 1);
        let is_current = self.slots.get(slot).is_some_and(|known| known.generation == handle >> SLOT_BITS);
        is_current.then_some(slot)
    }
}

/// A handle of this value; null if there are too many.
pub(crate) fn insert<T: Named>(value: Arc<T>) -> *mut T::Handle {
    let handle = TABLE.write().unwrap_or_else(PoisonError::into_inner).insert(value);
    std::ptr::without_provenance_mut(handle.unwrap_or(0))
}

/// What a handle names.
pub(crate) fn get<T: Named>(handle: *const T::Handle) -> Result<Arc<T>, Failure> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let value = table.slot(handle.addr()).and_then(|slot| table.slots[slot].value.as_ref());
    let known = value.and_then(|value| Arc::downcast(Arc::clone(value)).ok());
    known.ok_or_else(|| Failure::handle(T::WHAT, handle.is_null()))
}

/// Takes what a handle names out of the table; from now on it names nothing.
pub(crate) fn remove<T: Named>(handle: *mut T::Handle) -> Result<Arc<T>, Failure> {
    let known = get::<T>(handle)?;
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been faster.
    let slot = table.slot(handle.addr()).ok_or_else(|| Failure::handle(T::WHAT, false))?;
    let value = table.slots[slot].value.take();
    table.free.push(slot);
    drop(table);
    value.map(|_| known).ok_or_else(|| Failure::handle(T::WHAT, false))
}
