/* Runs the cases of cases.txt, which describes them, through the C interface: conformance CASES FOLDER. The folder has the bundles. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warpweave.h>

enum { LINE = 1024, WORDS = 128, NAMES = 16, RANK = 8, SHOWN = 512, LARGEST = 1 << 20 };

/* What a case has named: a handle, or memory. */
struct named {
  char name[32];
  void *handle;
  ww_error *(*close)(void *);
  unsigned char *memory;
};

/* A tensor as a step gives it. */
struct tensor {
  ww_tensor view;
  int64_t shape[RANK], strides[RANK];
  size_t bytes;
  char **values;
  size_t given;
};

struct expected {
  const char *sort, *name, *part;
};

static const char *folder;
static struct named names[NAMES];
static void *kept[WORDS * 4];
static size_t kept_count;
/* What a step has found otherwise than it says; empty where all is as it says. */
static _Thread_local char wrong[SHOWN];
static _Thread_local char logged[SHOWN];
static int notes;

static const struct {
  const char *name;
  ww_type type;
  size_t bytes;
} TYPES[] = {{"bool", WW_BOOL, 1}, {"u8", WW_U8, 1},   {"i8", WW_I8, 1},   {"i32", WW_I32, 4},
             {"i64", WW_I64, 8},   {"f32", WW_F32, 4}, {"f64", WW_F64, 8}};

static const struct {
  const char *name;
  ww_status status;
} SORTS[] = {{"check", WW_CHECK},       {"usage", WW_USAGE}, {"environment", WW_ENVIRONMENT}, {"device-fault", WW_DEVICE_FAULT},
             {"time-out", WW_TIME_OUT}, {"index", WW_INDEX}, {"damage", WW_DAMAGE}};

static void differ(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(wrong, sizeof wrong, format, values);
  va_end(values);
}

static void *keep(size_t bytes) {
  void *memory = NULL;
  if (kept_count == sizeof kept / sizeof *kept || posix_memalign(&memory, 64, bytes + 64) != 0) abort();
  memset(memory, 0, bytes + 64);
  return kept[kept_count++] = memory;
}

static int is(const char *word, const char *text) { return strcmp(word, text) == 0; }

/* The word, or null for `null`. */
static const char *text(const char *word) { return is(word, "null") ? NULL : word; }

/* The value of an option `name=value`; null where it is not given. */
static const char *option(char **words, const char *name) {
  size_t length = strlen(name);
  for (; *words != NULL; words++)
    if (strncmp(*words, name, length) == 0 && (*words)[length] == '=') return *words + length + 1;
  return NULL;
}

static struct named *find(const char *name) {
  for (int i = 0; i < NAMES; i++)
    if (is(names[i].name, name)) return &names[i];
  return NULL;
}

static void *handle(const char *name) {
  struct named *found = find(name);
  return found == NULL ? NULL : found->handle;
}

/* Where a handle of this name goes; null for `null`. */
static struct named *target(const char *name, ww_error *(*close)(void *)) {
  if (is(name, "null")) return NULL;
  struct named *found = find(name);
  if (found == NULL) found = find("");
  if (found == NULL) abort();
  snprintf(found->name, sizeof found->name, "%s", name);
  found->close = close;
  return found;
}

static ww_error *close_bundle(void *bundle) { return ww_bundle_close(bundle); }
static ww_error *close_pool(void *pool) { return ww_pool_close(pool); }
static ww_error *close_session(void *session) { return ww_session_close(session); }

/* The bytes at `M+N`. */
static unsigned char *address(const char *place) {
  char name[32];
  size_t offset = 0;
  if (sscanf(place, "%31[^+]+%zu", name, &offset) != 2 || find(name) == NULL) abort();
  return find(name)->memory + offset;
}

static void put(ww_type type, unsigned char *out, const char *value) {
  float f32 = strtof(value, NULL);
  double f64 = strtod(value, NULL);
  int64_t i64 = strtoll(value, NULL, 10);
  int32_t i32 = (int32_t)i64;
  switch (type) {
    case WW_F32: memcpy(out, &f32, sizeof f32); break;
    case WW_F64: memcpy(out, &f64, sizeof f64); break;
    case WW_I64: memcpy(out, &i64, sizeof i64); break;
    case WW_I32: memcpy(out, &i32, sizeof i32); break;
    default: *out = (unsigned char)i64;
  }
}

static int same(ww_type type, const unsigned char *left, const unsigned char *right, size_t bytes) {
  float f32[2];
  if (type != WW_F32) return memcmp(left, right, bytes) == 0;
  memcpy(&f32[0], left, bytes), memcpy(&f32[1], right, bytes);
  return f32[0] == f32[1];
}

static size_t element_bytes(ww_type type) {
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
    if (TYPES[i].type == type) return TYPES[i].bytes;
  return 0;
}

/* Reads `f32[2x3] OPTIONS VALUES`. */
static void read_tensor(char **words, struct tensor *tensor) {
  memset(tensor, 0, sizeof *tensor);
  char type[16], *at = strchr(*words, '[');
  if (at == NULL || sscanf(*words, "%15[^[]", type) != 1) abort();
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
    if (is(TYPES[i].name, type)) tensor->view.element = TYPES[i].type, tensor->bytes = TYPES[i].bytes;
  tensor->view.size = sizeof tensor->view;
  tensor->view.elements = 1;
  for (at++; *at != ']'; at += *at == 'x') {
    if (tensor->view.rank == RANK) abort();
    int64_t extent = strtoll(at, &at, 10);
    tensor->shape[tensor->view.rank++] = extent;
    if (__builtin_mul_overflow(tensor->view.elements, (size_t)extent, &tensor->view.elements)) tensor->view.elements = SIZE_MAX;
  }
  if (__builtin_mul_overflow(tensor->bytes, tensor->view.elements, &tensor->bytes)) tensor->bytes = SIZE_MAX;
  tensor->view.shape = tensor->shape;
  const char *place = option(words, "at"), *strides = option(words, "strides");
  for (size_t i = 0; strides != NULL && i < tensor->view.rank; i++) {
    tensor->strides[i] = strtoll(strides, (char **)&strides, 10);
    strides += *strides == ',';
    tensor->view.strides = tensor->strides;
  }
  for (words++; *words != NULL && strchr(*words, '=') != NULL; words++) continue;
  tensor->values = words;
  while (words[tensor->given] != NULL) tensor->given++;
  if (place != NULL && is(place, "null")) return;
  tensor->view.data = place != NULL ? address(place) : keep(tensor->bytes < LARGEST ? tensor->bytes : LARGEST);
}

static void write_values(const struct tensor *tensor) {
  ww_type type = (ww_type)tensor->view.element;
  for (size_t i = 0; i < tensor->given; i++)
    put(type, (unsigned char *)tensor->view.data + i * element_bytes(type), tensor->values[i]);
}

/* Holds elements against the values of a step. */
static void compare(const struct tensor *tensor, const unsigned char *found) {
  ww_type type = (ww_type)tensor->view.element;
  size_t bytes = element_bytes(type);
  for (size_t i = 0; i < tensor->given; i++) {
    unsigned char wanted[8];
    put(type, wanted, tensor->values[i]);
    if (!same(type, wanted, found + i * bytes, bytes)) return differ("element %zu is not %s", i, tensor->values[i]);
  }
}

static void compare_type(const struct tensor *tensor, int32_t element, size_t rank, const int64_t *shape) {
  if (element != tensor->view.element) return differ("the element type is %d", (int)element);
  if (rank != tensor->view.rank) return differ("the rank is %zu", rank);
  for (size_t i = 0; i < rank; i++)
    if (shape[i] != tensor->shape[i]) differ("extent %zu is %lld", i, (long long)shape[i]);
}

static void note(ww_log_level level, const char *message, void *user) {
  *(int *)user += level == WW_LOG_NOTE;
  if (level == WW_LOG_ERROR) snprintf(logged, sizeof logged, "%s", message);
}

static ww_error *version(char **words) {
  (void)words;
  if (ww_version() != 1000 * WW_VERSION_MAJOR + WW_VERSION_MINOR) differ("the version is %u", (unsigned)ww_version());
  return NULL;
}

static ww_error *version_text(char **words) {
  (void)words;
  if (strspn(ww_version_text(), "0123456789") == 0) differ("the version is %s", ww_version_text());
  return NULL;
}

static ww_error *device_count(char **words) {
  size_t count = 0;
  ww_error *error = ww_device_count(text(words[1]) == NULL ? NULL : &count);
  if (error == NULL && count < strtoul(words[1], NULL, 10)) differ("there are %zu devices", count);
  return error;
}

static ww_error *device_at(char **words) {
  ww_device device = {.size = sizeof device};
  ww_error *error = ww_device_at(strtoul(words[1], NULL, 10), text(words[2]) == NULL ? NULL : &device);
  if (error == NULL && (!is(device.name, words[2]) || *device.description == 0 || device.processors == 0)) differ("it is %s", device.name);
  return error;
}

static ww_error *bundle_open(char **words) {
  char path[LINE];
  snprintf(path, sizeof path, "%s/%s.weave", folder, words[2]);
  struct named *found = target(words[1], close_bundle);
  return ww_bundle_open(text(words[2]) == NULL ? NULL : path, found == NULL ? NULL : (ww_bundle **)&found->handle);
}

static ww_error *bundle_open_memory(char **words) {
  char path[LINE];
  snprintf(path, sizeof path, "%s/%s.weave", folder, words[2]);
  unsigned char *data = text(words[2]) == NULL ? NULL : keep(LARGEST);
  FILE *file = data == NULL ? NULL : fopen(path, "rb");
  size_t bytes = file == NULL ? 0 : fread(data, 1, LARGEST, file);
  if (file != NULL) fclose(file);
  if (option(words, "bytes") != NULL) bytes = strtoull(option(words, "bytes"), NULL, 10);
  struct named *found = target(words[1], close_bundle);
  ww_error *error = ww_bundle_open_memory(data, bytes, found == NULL ? NULL : (ww_bundle **)&found->handle);
  /* The bytes are copied: what becomes of these matters no more. */
  if (data != NULL) memset(data, 0xff, LARGEST);
  return error;
}

static ww_error *bundle_close(char **words) { return ww_bundle_close(handle(words[1])); }

static ww_error *counted(char **words, ww_error *(*count_of)(const ww_bundle *, size_t *)) {
  size_t count = 0;
  ww_error *error = count_of(handle(words[1]), text(words[2]) == NULL ? NULL : &count);
  if (error == NULL && count != strtoul(words[2], NULL, 10)) differ("there are %zu", count);
  return error;
}

static ww_error *bundle_input_count(char **words) { return counted(words, ww_bundle_input_count); }
static ww_error *bundle_output_count(char **words) { return counted(words, ww_bundle_output_count); }
static ww_error *bundle_state_count(char **words) { return counted(words, ww_bundle_state_count); }

static ww_error *described(char **words, ww_error *(*port_of)(const ww_bundle *, size_t, ww_port *)) {
  ww_port port = {.size = sizeof port};
  ww_error *error = port_of(handle(words[1]), strtoul(words[2], NULL, 10), text(words[3]) == NULL ? NULL : &port);
  if (error != NULL || words[4] == NULL) return error;
  struct tensor tensor;
  read_tensor(words + 4, &tensor);
  compare_type(&tensor, port.element, port.rank, port.shape);
  if (!is(port.name, words[3])) differ("it is named %s", port.name);
  if (port.bytes != tensor.bytes) differ("it has %zu bytes", port.bytes);
  const char *open = option(words, "open");
  if (port.open_dimensions != (open == NULL ? 0 : (uint64_t)1 << atoi(open))) differ("other dimensions are open");
  if (port.has_default != (tensor.given != 0 && is(tensor.values[0], "default"))) differ("has_default is %u", (unsigned)port.has_default);
  return NULL;
}

static ww_error *bundle_input(char **words) { return described(words, ww_bundle_input); }
static ww_error *bundle_output(char **words) { return described(words, ww_bundle_output); }
static ww_error *bundle_state(char **words) { return described(words, ww_bundle_state); }

static ww_error *pool_open(char **words) {
  struct named *found = target(words[1], close_pool);
  return ww_pool_open((uint32_t)strtoul(words[2], NULL, 10), found == NULL ? NULL : (ww_pool **)&found->handle);
}

static ww_error *pool_close(char **words) { return ww_pool_close(handle(words[1])); }

static ww_error *session_open(char **words) {
  ww_session_options options = {.size = sizeof options, .device = option(words, "device")};
  const char *threads = option(words, "threads"), *wait = option(words, "wait"), *pool = option(words, "pool");
  if (threads != NULL) options.threads = (uint32_t)strtoul(threads, NULL, 10);
  if (wait != NULL) options.wait_limit = (uint32_t)strtoul(wait, NULL, 10);
  if (pool != NULL) options.pool = handle(pool);
  struct named *found = target(words[1], close_session);
  notes = 0;
  return ww_session_open(handle(words[2]), words[3] == NULL ? NULL : &options, found == NULL ? NULL : (ww_session **)&found->handle);
}

static ww_error *session_notes(char **words) {
  if (notes < atoi(words[2])) differ("there are %d notes", notes);
  return NULL;
}

static ww_error *session_close(char **words) { return ww_session_close(handle(words[1])); }

static ww_error *session_bind_input(char **words) {
  if (is(words[3], "none")) return ww_session_bind_input(handle(words[1]), words[2], NULL, 0);
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  write_values(&tensor);
  return ww_session_bind_input(handle(words[1]), text(words[2]), tensor.view.data, tensor.bytes);
}

static ww_error *session_bind_output(char **words) {
  if (is(words[3], "none")) return ww_session_bind_output(handle(words[1]), words[2], NULL, 0);
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  write_values(&tensor);
  return ww_session_bind_output(handle(words[1]), text(words[2]), tensor.view.data, tensor.bytes);
}

static ww_error *bind_tensor(char **words, ww_error *(*bind)(ww_session *, const char *, const ww_tensor *)) {
  if (text(words[3]) == NULL) return bind(handle(words[1]), words[2], NULL);
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  write_values(&tensor);
  return bind(handle(words[1]), text(words[2]), &tensor.view);
}

static ww_error *session_bind_input_tensor(char **words) { return bind_tensor(words, ww_session_bind_input_tensor); }
static ww_error *session_bind_output_tensor(char **words) { return bind_tensor(words, ww_session_bind_output_tensor); }
static ww_error *session_run(char **words) { return ww_session_run(handle(words[1])); }
static ww_error *session_reset(char **words) { return ww_session_reset(handle(words[1])); }
static ww_error *session_advance(char **words) { return ww_session_advance(handle(words[1])); }

static ww_error *session_step(char **words) {
  ww_error *error = ww_session_run(handle(words[1]));
  return error != NULL ? error : ww_session_advance(handle(words[1]));
}

static ww_error *session_output(char **words) {
  ww_tensor view = {.size = sizeof view};
  ww_error *error = ww_session_output(handle(words[1]), text(words[2]), text(words[3]) == NULL ? NULL : &view);
  if (error != NULL) return error;
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  compare_type(&tensor, view.element, view.rank, view.shape);
  if (wrong[0] == 0) compare(&tensor, view.data);
  if (view.elements != tensor.view.elements) differ("there are %zu elements", view.elements);
  return NULL;
}

static ww_error *session_read_state(char **words) {
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  ww_error *error = ww_session_read_state(handle(words[1]), strtoul(words[2], NULL, 10), tensor.view.data, tensor.bytes);
  if (error == NULL) compare(&tensor, tensor.view.data);
  return error;
}

static ww_error *session_write_state(char **words) {
  struct tensor tensor;
  read_tensor(words + 3, &tensor);
  write_values(&tensor);
  return ww_session_write_state(handle(words[1]), strtoul(words[2], NULL, 10), tensor.view.data, tensor.bytes);
}

static ww_error *memory(char **words) {
  target(words[1], NULL)->memory = keep(strtoul(words[2], NULL, 10));
  return NULL;
}

static ww_error *memory_write(char **words) {
  struct tensor tensor;
  read_tensor(words + 2, &tensor);
  tensor.view.data = address(words[1]);
  write_values(&tensor);
  return NULL;
}

static ww_error *memory_holds(char **words) {
  struct tensor tensor;
  read_tensor(words + 2, &tensor);
  compare(&tensor, address(words[1]));
  return NULL;
}

/* Every verb, with the words that it has at least. */
#define VERB(name, least) {#name, least, name}
static const struct {
  const char *name;
  int least;
  ww_error *(*run)(char **words);
} VERBS[] = {
    VERB(version, 1), VERB(version_text, 1), VERB(device_count, 2), VERB(device_at, 3),
    VERB(bundle_open, 3), VERB(bundle_open_memory, 3), VERB(bundle_close, 2),
    VERB(bundle_input_count, 3), VERB(bundle_output_count, 3), VERB(bundle_state_count, 3),
    VERB(bundle_input, 4), VERB(bundle_output, 4), VERB(bundle_state, 4),
    VERB(pool_open, 3), VERB(pool_close, 2), VERB(session_open, 3), VERB(session_notes, 3), VERB(session_close, 2),
    VERB(session_bind_input, 4), VERB(session_bind_output, 4),
    VERB(session_bind_input_tensor, 4), VERB(session_bind_output_tensor, 4),
    VERB(session_run, 2), VERB(session_reset, 2), VERB(session_advance, 2), VERB(session_step, 2), VERB(session_output, 4),
    VERB(session_read_state, 4), VERB(session_write_state, 4),
    VERB(memory, 3), VERB(memory_write, 3), VERB(memory_holds, 3),
};

static ww_error *perform(char **words) {
  int count = 0;
  while (words[count] != NULL) count++;
  wrong[0] = 0;
  for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
    if (is(VERBS[i].name, words[0]) && count >= VERBS[i].least) return VERBS[i].run(words);
  differ("no step is `%s` with %d words", words[0], count);
  return NULL;
}

/* Whether the error is the expected one, with a sentence and a remedy; it is freed. */
static int check(ww_error *error, const struct expected *expected) {
  char sort[16], name[64], shown[SHOWN];
  ww_status status = ww_error_code(error);
  snprintf(sort, sizeof sort, "%d", (int)status);
  for (size_t i = 0; i < sizeof SORTS / sizeof *SORTS; i++)
    if (SORTS[i].status == status) snprintf(sort, sizeof sort, "%s", SORTS[i].name);
  snprintf(name, sizeof name, "%s", ww_error_name(error));
  snprintf(shown, sizeof shown, "%s", ww_error_message(error));
  int has_help = *ww_error_help(error) != 0;
  ww_error_free(error);
  if (ww_error_code(error) != WW_OK || *ww_error_name(error) != 0) return differ("an error outlives its end"), 0;
  if (error == NULL && expected == NULL) return wrong[0] == 0;
  if (error == NULL) return differ("it does not fail"), 0;
  if (expected == NULL) return differ("it fails with %s %s: %.300s", sort, name, shown), 0;
  if (!is(sort, expected->sort) || !is(name, expected->name)) return differ("it fails with %s %s: %.300s", sort, name, shown), 0;
  if (*shown == 0 || !has_help) return differ("it lacks a sentence or a remedy: %.300s", shown), 0;
  if (expected->part != NULL && strstr(shown, expected->part) == NULL) return differ("it says: %.300s", shown), 0;
  if (!is(logged, shown)) return differ("it is logged as: %.300s", logged), 0;
  return 1;
}

struct repeated {
  char **words;
  const struct expected *expected;
  int ends, others;
};

static void *repeat_in_thread(void *argument) {
  struct repeated *repeated = argument;
  while (!__atomic_load_n(&repeated->ends, __ATOMIC_RELAXED)) {
    ww_error *error = perform(repeated->words);
    if (error != NULL && !check(error, repeated->expected)) repeated->others++;
  }
  return NULL;
}

static int in_two_threads(char **words, const struct expected *expected) {
  struct repeated repeated = {.words = words, .expected = expected};
  pthread_t thread;
  if (pthread_create(&thread, NULL, repeat_in_thread, &repeated) != 0) abort();
  ww_error *error = NULL;
  for (int i = 0; i < 100000 && error == NULL; i++) error = perform(words);
  __atomic_store_n(&repeated.ends, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  if (repeated.others != 0) return differ("it fails otherwise in a thread"), 0;
  return check(error, expected);
}

static int in_child(char **words, const struct expected *expected) {
  pid_t child = fork();
  if (child == 0) _exit(check(perform(words), expected) ? 0 : 1);
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return differ("it does otherwise in the child"), 0;
  return 1;
}

/* Whether a step does what it says. */
static int step(char **words, const struct expected *expected) {
  if (is(words[0], "in_child")) return in_child(words + 1, expected);
  if (is(words[0], "in_two_threads")) return in_two_threads(words + 1, expected);
  if (!is(words[0], "repeat")) return check(perform(words), expected);
  ww_error *error = NULL;
  for (int i = 0; i < atoi(words[1]) && error == NULL; i++) error = perform(words + 2);
  return check(error, expected);
}

/* Cuts ` ! SORT NAME PART` off a line. */
static const struct expected *expectation(char *line, struct expected *expected) {
  char *mark = strstr(line, " ! ");
  if (mark == NULL) return NULL;
  *mark = 0;
  expected->sort = mark + 3;
  char *name = strchr(expected->sort, ' ');
  if (name == NULL) abort();
  *name++ = 0;
  char *part = strchr(name, ' ');
  if (part != NULL) *part++ = 0;
  expected->name = name, expected->part = part;
  return expected;
}

/* What a line holds for C: behind `c:`, or nothing where it is left to others. */
static char *for_c(char *line) {
  size_t length = strspn(line, "cpythonrus,");
  if (line[length] != ':' || line[length + 1] != ' ') return line;
  line[length] = 0;
  int is_meant = 0;
  for (char *rest, *word = strtok_r(line, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) is_meant |= is(word, "c");
  return is_meant ? line + length + 2 : NULL;
}

static void forget(void) {
  /* Those that were opened last first: sessions before what they are of. */
  for (int i = NAMES - 1; i >= 0; i--)
    if (names[i].close != NULL && names[i].handle != NULL) ww_error_free(names[i].close(names[i].handle));
  memset(names, 0, sizeof names);
  while (kept_count > 0) free(kept[--kept_count]);
}

int main(int argc, char **argv) {
  FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
  if (file == NULL) return fprintf(stderr, "usage: conformance CASES FOLDER\n"), 2;
  folder = argv[2];
  const char *driver = getenv("WARPWEAVE_DRIVER") == NULL ? "" : getenv("WARPWEAVE_DRIVER");
  char read[LINE], name[64] = "", wanted[64] = "";
  int number = 0, in_case = 0, has_failed = 0, ran = 0, failures = 0, more = 1;
  ww_log_to(note, &notes);
  while (more) {
    more = fgets(read, sizeof read, file) != NULL;
    number++;
    read[more ? strcspn(read, "\n") : 0] = 0;
    if (read[0] == 0) {
      if (in_case && !has_failed && is(wanted, driver)) printf("ok %s\n", name), ran++;
      in_case = has_failed = 0, wanted[0] = 0;
      forget();
      continue;
    }
    char *line = for_c(read);
    if (line == NULL || line[0] == '#' || has_failed) continue;
    if (sscanf(line, "case %63[^:]", name) == 1) in_case = 1;
    if (strncmp(line, "case ", 5) == 0 || !in_case || sscanf(line, "driver %63s", wanted) == 1 || !is(wanted, driver)) continue;
    struct expected expected;
    const struct expected *failure = expectation(line, &expected);
    char *words[WORDS + 1] = {NULL}, *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " ", &rest); word != NULL && count < WORDS; word = strtok_r(NULL, " ", &rest)) words[count++] = word;
    fflush(stdout);
    if (step(words, failure)) continue;
    printf("FAILED %s line %d: %s\n", name, number, wrong);
    has_failed = 1, ran++, failures++;
  }
  fclose(file);
  ww_log_to(NULL, NULL);
  if (ran == 0) return fprintf(stderr, "no case is for this driver\n"), 2;
  return failures != 0;
}
