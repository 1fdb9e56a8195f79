
// The host's main: reads a launch from the directory that the command line names, runs it and writes back what changed.

namespace ww_host {

inline std::string directory;

// A file of the launch directory, at an address aligned to 256 bytes and padded to such a multiple.
struct file {
  std::string path;
  unsigned char* start = nullptr;
  size_t bytes = 0;

  explicit file(char const* name) : path(directory + "/" + name) {
    std::FILE* const handle = std::fopen(path.c_str(), "rb");
    if (handle == nullptr) fail(("cannot read " + path).c_str());
    std::fseek(handle, 0, SEEK_END);
    bytes = (size_t)std::ftell(handle);
    std::rewind(handle);
    start = static_cast<unsigned char*>(std::aligned_alloc(256, (bytes / 256 + 1) * 256));
    if (start == nullptr || std::fread(start, 1, bytes, handle) != bytes) fail(("cannot read " + path).c_str());
    std::fclose(handle);
  }

  void write() const {
    std::FILE* const handle = std::fopen(path.c_str(), "wb");
    if (handle == nullptr || std::fwrite(start, 1, bytes, handle) != bytes || std::fclose(handle) != 0) {
      fail(("cannot write " + path).c_str());
    }
  }

  region whole() const { return {start, bytes}; }
  int* words() const { return reinterpret_cast<int*>(start); }
};

// The words of the file `launch`.
struct launch {
  ww_u64 threads, shared_bytes, launches, time_limit_ns, generation;
};

// A launch, as in the file `launches`: of streams from number `first` on, or of kernel `first` as a node.
struct step {
  ww_u32 is_node, first, first_operand, blocks;
};

// Blocks of a node that run at the same time: they do not wait for one another.
constexpr ww_u64 side_by_side = 16;

// The entry function of this name.
template <typename Function>
Function* entry(std::string const& name) {
  void* const found = dlsym(RTLD_DEFAULT, name.c_str());
  if (found == nullptr) fail(("there is no entry " + name).c_str());
  return reinterpret_cast<Function*>(found);
}

// Runs `grid` blocks, all at the same time up to `most`.
inline void run_grid(
    launch const& parameters, ww_u64 number, ww_u64 grid, ww_u64 most, std::function<void()> const& entry) {
  for (ww_u64 first = 0; first < grid; first += most) {
    std::vector<std::thread> threads;
    for (ww_u64 index = first; index < grid && index < first + most; ++index) {
      threads.emplace_back([&parameters, &entry, grid, number, index] {
        block self;
        self.index = (ww_u32)index;
        self.grid = (ww_u32)grid;
        self.threads = (ww_u32)parameters.threads;
        self.entry = entry;
        self.descending = (index + number) % 2 != 0;
        self.shared_bytes = parameters.shared_bytes;
        self.shared = static_cast<unsigned char*>(std::aligned_alloc(256, (self.shared_bytes / 256 + 1) * 256));
        // Floats start as NaN, integers as -1, so that a read before a write shows.
        std::memset(self.shared, 0xff, self.shared_bytes);
        run_block(self);
        std::free(self.shared);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// Every launch of streams has a control block of its own.
inline void run_launch(launch const& parameters, ww_u64 number, ww_arguments const& arguments, file const& launches) {
  ww_arguments next_arguments = arguments;
  for (size_t at = 0; at + sizeof(step) <= launches.bytes; at += sizeof(step)) {
    step next;
    std::memcpy(&next, launches.start + at, sizeof next);
    if (next.is_node == 0) {
      auto* const persistent = entry<void(ww_arguments)>("warpweave_persistent");
      ww_arguments own = next_arguments;
      own.stream_start += 2 * next.first;
      run_grid(parameters, number, next.blocks, next.blocks, [=] { persistent(own); });
      next_arguments.control += ww_control_words;
      continue;
    }
    auto* const entry_of = entry<void(ww_node_arguments)>("warpweave_k" + std::to_string(next.first));
    ww_node_arguments const own = {arguments.buffers, arguments.operands, next.first_operand, arguments.status};
    run_grid(parameters, number, next.blocks, side_by_side, [=] { entry_of(own); });
  }
}

}  // namespace ww_host

int main(int count, char** values) {
  if (count != 2) ww_host::fail("expected the launch directory");
  ww_host::directory = values[1];
  ww_host::file const parameters("launch"), arena("arena"), weights("weights"), stream_start("stream_start"),
      instructions("instructions"), operands("operands"), control("control"), counters("counters"), status("status"),
      launches("launches");
  ww_host::launch launch;
  if (parameters.bytes != sizeof launch) ww_host::fail("the file `launch` has another size");
  std::memcpy(&launch, parameters.start, sizeof launch);
  if (launch.generation >= std::size(ww_host::tensor_cores)) ww_host::fail("the launch names no tensor core");
  ww_host::generation = launch.generation;
  ww_host::arena = arena.whole();
  ww_host::weights = weights.whole();
  ww_host::counters = counters.whole();
  ww_host::tables[0] = stream_start.whole();
  ww_host::tables[1] = instructions.whole();
  ww_host::tables[2] = operands.whole();
  ww_arguments const arguments = {{arena.start, weights.start}, stream_start.words(), instructions.words(),
                                  operands.words(), control.words(), counters.words(), status.words(),
                                  launch.time_limit_ns};
  for (ww_u64 number = 0; number < launch.launches; ++number) {
    ww_host::run_launch(launch, number, arguments, launches);
  }
  arena.write();
  control.write();
  counters.write();
  status.write();
  return 0;
}
