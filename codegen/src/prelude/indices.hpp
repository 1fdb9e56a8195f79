
// Records a faulty index: the complement of where it was read beside each half of its value, of which the largest is kept, so
// that of several the first is, in whatever order they are found.
WW_FUNCTION void ww_record_index(ww_buffers const& buffers, ww_u64 record, ww_u32 element, ww_u64 value) {
  ww_u64 const where = (ww_u64)~element << 32;
  ww_arena_maximum(buffers, record, where | (ww_u32)value);
  ww_arena_maximum(buffers, record + 1, where | value >> 32);
}

// The place that an index names, which counts from the end where it is negative; the nearest one for a faulty index. Places
// from the start are what is expected, and the first that is asked for.
WW_FUNCTION ww_u32 ww_check_index(
    ww_buffers const& buffers, ww_u32 value, ww_u32 extent, ww_u32 element, ww_u64 record) {
  if (value < extent) return value;
  bool const is_negative = (int)value < 0;
  ww_u32 const place = value + extent;
  if (is_negative && place < extent) return place;
  ww_record_index(buffers, record, element, ww_extend(value));
  return is_negative ? 0u : extent - 1u;
}
WW_FUNCTION ww_u32 ww_check_index(
    ww_buffers const& buffers, ww_u64 value, ww_u32 extent, ww_u32 element, ww_u64 record) {
  if (value < extent) return (ww_u32)value;
  bool const is_negative = (long long)value < 0;
  ww_u64 const place = value + extent;
  if (is_negative && place < extent) return (ww_u32)place;
  ww_record_index(buffers, record, element, value);
  return is_negative ? 0u : extent - 1u;
}
