// What lasts for a launch: thread 0 of a block keeps it in shared memory before the first barrier, and kernels read it there.

WW_FUNCTION void ww_keep_launch(ww_u32* launch, ww_arguments const& arguments) {
  if (ww_thread() != 0u) return;
  ww_u32 const epoch = ww_load_control(arguments, ww_epoch);
  *(ww_launch*)launch = {arguments.buffers, arguments.control, arguments.status, arguments.time_limit_ns, epoch,
                         arguments.counters, arguments.instructions, arguments.operands};
}

// Of a node, whose kernel neither waits nor exchanges.
WW_FUNCTION void ww_keep_launch(ww_u32* launch, ww_node_arguments const& arguments) {
  if (ww_thread() != 0u) return;
  ((ww_launch*)launch)->buffers = arguments.buffers;
  ((ww_launch*)launch)->operands = arguments.operands;
}

#define WW_KEPT(launch, type, field) ww_kept<type>(launch, (ww_u32)__builtin_offsetof(ww_launch, field))

WW_FUNCTION ww_buffers ww_buffers_of(ww_fetched launch) {
  return {WW_KEPT(launch, unsigned char*, buffers.arena), WW_KEPT(launch, unsigned char const*, buffers.weights)};
}

WW_FUNCTION ww_exchange ww_exchange_of(ww_fetched launch) {
  return {WW_KEPT(launch, int*, control), WW_KEPT(launch, int*, status), WW_KEPT(launch, ww_u64, time_limit_ns),
          WW_KEPT(launch, ww_u32, epoch)};
}

WW_FUNCTION ww_own_waits ww_waits_of(ww_fetched launch, ww_fetched ring, ww_u32 first, ww_u32 count) {
  return {WW_KEPT(launch, int*, counters), ring, first, count, WW_KEPT(launch, int const*, instructions),
          WW_KEPT(launch, int const*, operands)};
}

WW_FUNCTION int const* ww_operands_of(ww_fetched launch, ww_u32 first) {
  return WW_KEPT(launch, int const*, operands) + (int)first;
}
