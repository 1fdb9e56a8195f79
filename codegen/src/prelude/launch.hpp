// What lasts for a launch: thread 0 of a block keeps it in shared memory before the first barrier, and kernels read it there.

WW_FUNCTION void ww_keep_launch(ww_u32* launch, ww_arguments const& arguments) {
  if (ww_thread() != 0u) return;
  ww_u32 const epoch = ww_load_control(arguments, ww_epoch);
  ww_buffers const buffers = arguments.buffers;
  *(ww_launch*)launch = {buffers.arena, buffers.weights, arguments.control, arguments.status, arguments.time_limit_ns,
                         epoch, arguments.counters, arguments.instructions, arguments.operands};
}

// Of a node, whose kernel neither waits nor exchanges.
WW_FUNCTION void ww_keep_launch(ww_u32* launch, ww_node_arguments const& arguments) {
  if (ww_thread() != 0u) return;
  ww_launch& kept = *(ww_launch*)launch;
  kept.arena = arguments.buffers.arena, kept.weights = arguments.buffers.weights, kept.operands = arguments.operands;
}

WW_FUNCTION ww_buffers ww_buffers_of(ww_fetched launch) {
  return {ww_kept(launch, &ww_launch::arena), ww_kept(launch, &ww_launch::weights)};
}

WW_FUNCTION ww_exchange ww_exchange_of(ww_fetched launch) {
  return {ww_kept(launch, &ww_launch::control), ww_kept(launch, &ww_launch::status),
          ww_kept(launch, &ww_launch::time_limit_ns), ww_kept(launch, &ww_launch::epoch)};
}

WW_FUNCTION ww_own_waits ww_waits_of(ww_fetched launch, ww_fetched ring, ww_u32 first, ww_u32 count) {
  return {ww_kept(launch, &ww_launch::counters), ring, first, count, ww_kept(launch, &ww_launch::instructions),
          ww_kept(launch, &ww_launch::operands)};
}

WW_FUNCTION int const* ww_operands_of(ww_fetched launch, ww_u32 first) {
  return ww_kept(launch, &ww_launch::operands) + (int)first;
}
