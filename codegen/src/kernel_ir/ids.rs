//! Ids of what a body declares.

use warpweave_graph::typed_id;

typed_id!(
    /// A scalar variable of a thread.
    LocalId, "v"
);
typed_id!(
    /// A register array of a thread.
    ArrayId, "r"
);
typed_id!(
    /// A shared-memory array of a block.
    SharedId, "s"
);
typed_id!(
    /// An rKernel body of a program.
    KernelId, "k"
);
