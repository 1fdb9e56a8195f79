/* Calls every function of the library, rightly and wrongly: calls FOLDER, where the folder has the bundles of conftest.py. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <warpweave.h>

static int failures;
static const char *folder;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      failures++;                                                               \
    }                                                                           \
  } while (0)

/* Whether there is no error; prints the one that there is. */
static int fine(ww_error *error) {
  if (error == NULL) return 1;
  fprintf(stderr, "%s: %s; %s\n", ww_error_name(error), ww_error_message(error), ww_error_help(error));
  ww_error_free(error);
  return 0;
}

/* Whether it is an error of this sort and name, with a sentence. */
static int fails(ww_error *error, ww_status code, const char *name) {
  int right = error != NULL && ww_error_code(error) == code && strcmp(ww_error_name(error), name) == 0 && *ww_error_message(error) != 0;
  if (!right) fprintf(stderr, "not %s: %s: %s\n", name, ww_error_name(error), ww_error_message(error));
  ww_error_free(error);
  return right;
}

static const char *path(const char *name) {
  static char text[4096];
  snprintf(text, sizeof text, "%s/%s.weave", folder, name);
  return text;
}

static ww_bundle *open_bundle(const char *name) {
  ww_bundle *bundle = NULL;
  CHECK(fine(ww_bundle_open(path(name), &bundle)));
  return bundle;
}

static ww_session *open_session(const char *name) {
  ww_bundle *bundle = open_bundle(name);
  ww_session *session = NULL;
  CHECK(fine(ww_session_open(bundle, NULL, &session)));
  CHECK(fine(ww_bundle_close(bundle)));
  return session;
}

static void versions_and_devices(void) {
  CHECK(ww_version() == 1000 * WW_VERSION_MAJOR + WW_VERSION_MINOR);
  CHECK(*ww_version_text() != 0);
  size_t count = 0;
  CHECK(fine(ww_device_count(&count)) && count >= 1);
  ww_device device = {.size = sizeof device};
  CHECK(fine(ww_device_at(0, &device)));
  CHECK(strcmp(device.name, "host") == 0 && device.capability == 0 && device.processors > 0);
  CHECK(fails(ww_device_at(count, &device), WW_USAGE, "argument"));
  CHECK(fails(ww_device_count(NULL), WW_USAGE, "argument"));
  ww_device unsized_device = {.size = 0};
  CHECK(fails(ww_device_at(0, &unsized_device), WW_USAGE, "argument"));
}

static void signatures(void) {
  ww_bundle *bundle = open_bundle("nonzero");
  size_t inputs = 0, outputs = 0, states = 9;
  CHECK(fine(ww_bundle_input_count(bundle, &inputs)) && inputs == 1);
  CHECK(fine(ww_bundle_output_count(bundle, &outputs)) && outputs == 1);
  CHECK(fine(ww_bundle_state_count(bundle, &states)) && states == 0);
  ww_port port = {.size = sizeof port};
  CHECK(fine(ww_bundle_input(bundle, 0, &port)));
  CHECK(strcmp(port.name, "x") == 0 && port.element == WW_F32 && port.rank == 2 && port.shape[0] == 2 && port.shape[1] == 3);
  CHECK(port.bytes == 24 && port.open_dimensions == 0 && port.has_default == 0);
  CHECK(fine(ww_bundle_output(bundle, 0, &port)));
  CHECK(port.element == WW_I64 && port.rank == 2 && port.shape[1] == 6 && port.open_dimensions == 2);
  CHECK(fails(ww_bundle_output(bundle, 1, &port), WW_USAGE, "argument"));
  CHECK(fails(ww_bundle_state(bundle, 0, &port), WW_USAGE, "argument"));
  /* An older caller's structure is smaller; what it lacks is left alone. */
  struct {
    size_t size;
    const char *name;
    int64_t guard;
  } old = {.size = 16, .guard = -7};
  CHECK(fine(ww_bundle_input(bundle, 0, (ww_port *)&old)) && strcmp(old.name, "x") == 0 && old.guard == -7);
  CHECK(fine(ww_bundle_close(bundle)));
  bundle = open_bundle("default");
  CHECK(fine(ww_bundle_input(bundle, 1, &port)) && port.has_default == 1);
  CHECK(fine(ww_bundle_close(bundle)));
}

static void bundles_in_memory(void) {
  FILE *file = fopen(path("relu"), "rb");
  CHECK(file != NULL);
  if (file == NULL) return;
  static char data[1 << 20];
  size_t bytes = fread(data, 1, sizeof data, file);
  fclose(file);
  ww_bundle *bundle = NULL;
  CHECK(fine(ww_bundle_open_memory(data, bytes, &bundle)));
  CHECK(fine(ww_bundle_close(bundle)));
  data[bytes / 2] ^= 1;
  ww_error *error = ww_bundle_open_memory(data, bytes, &bundle);
  CHECK(ww_error_code(error) == WW_DAMAGE);
  ww_error_free(error);
  CHECK(fails(ww_bundle_open_memory(data, 10, &bundle), WW_DAMAGE, "bundle-archive"));
  CHECK(fails(ww_bundle_open_memory(NULL, 10, &bundle), WW_USAGE, "argument"));
  CHECK(fails(ww_bundle_open_memory(data, SIZE_MAX, &bundle), WW_USAGE, "argument"));
  error = ww_bundle_open(path("damaged"), &bundle);
  CHECK(ww_error_code(error) == WW_DAMAGE);
  ww_error_free(error);
  CHECK(fails(ww_bundle_open(path("absent"), &bundle), WW_USAGE, "bundle-file"));
  CHECK(fails(ww_bundle_open(path("relu"), NULL), WW_USAGE, "argument"));
  CHECK(fails(ww_bundle_open("\xff", &bundle), WW_USAGE, "argument"));
}

static void runs(void) {
  ww_session *session = open_session("relu");
  ww_tensor y = {.size = sizeof y};
  CHECK(fails(ww_session_output(session, "y", &y), WW_USAGE, "argument"));
  CHECK(fails(ww_session_run(session), WW_USAGE, "input"));
  float x[6] = {-1, 2, -3, 4, -5, 6}, out[6] = {9, 9, 9, 9, 9, 9};
  CHECK(fine(ww_session_bind_input(session, "x", x, sizeof x)));
  CHECK(fine(ww_session_run(session)));
  CHECK(fine(ww_session_output(session, "y", &y)));
  CHECK(y.elements == 6 && y.rank == 2 && y.element == WW_F32 && ((float *)y.data)[1] == 2 && ((float *)y.data)[0] == 0);
  /* Into the caller's memory, and read anew from it. */
  CHECK(fine(ww_session_bind_output(session, "y", out, sizeof out)));
  x[0] = 7;
  CHECK(fine(ww_session_run(session)));
  CHECK(out[0] == 7 && out[2] == 0 && out[5] == 6);
  CHECK(fine(ww_session_output(session, "y", &y)) && y.data == out);
  CHECK(fine(ww_session_bind_output(session, "y", NULL, 0)));
  CHECK(fine(ww_session_reset(session)));
  int64_t shape[2] = {2, 3};
  ww_tensor view = {.size = sizeof view, .element = WW_F32, .rank = 2, .shape = shape, .data = x};
  CHECK(fine(ww_session_bind_input_tensor(session, "x", &view)));
  view.data = out;
  CHECK(fine(ww_session_bind_output_tensor(session, "y", &view)));
  CHECK(fine(ww_session_run(session)) && out[0] == 7);
  CHECK(fine(ww_session_close(session)));
}

static void bad_bindings(void) {
  ww_session *session = open_session("relu");
  float x[13] = {0};
  int64_t shape[2] = {2, 3}, huge[2] = {INT64_MAX, INT64_MAX}, strides[2] = {1, 2}, packed[2] = {3, 1};
  CHECK(fails(ww_session_bind_input(session, "nothing", x, 24), WW_USAGE, "argument"));
  CHECK(fails(ww_session_bind_input(session, NULL, x, 24), WW_USAGE, "argument"));
  CHECK(fails(ww_session_bind_input(session, "x", x, 20), WW_USAGE, "input"));
  CHECK(fails(ww_session_bind_input(session, "x", NULL, 24), WW_USAGE, "input"));
  CHECK(fails(ww_session_bind_input(session, "x", (char *)x + 1, 24), WW_USAGE, "input"));
  ww_tensor view = {.size = sizeof view, .element = WW_I32, .rank = 2, .shape = shape, .data = x};
  CHECK(fails(ww_session_bind_input_tensor(session, "x", &view), WW_USAGE, "input"));
  view.element = WW_F32, view.shape = huge;
  CHECK(fails(ww_session_bind_input_tensor(session, "x", &view), WW_USAGE, "input"));
  view.shape = shape, view.strides = strides;
  CHECK(fails(ww_session_bind_input_tensor(session, "x", &view), WW_USAGE, "input"));
  view.strides = packed;
  CHECK(fine(ww_session_bind_input_tensor(session, "x", &view)));
  view.rank = 1;
  CHECK(fails(ww_session_bind_input_tensor(session, "x", &view), WW_USAGE, "input"));
  CHECK(fails(ww_session_bind_input_tensor(session, "x", NULL), WW_USAGE, "argument"));
  CHECK(fails(ww_session_bind_output(session, "y", x, 24), WW_USAGE, "input"));
  CHECK(fails(ww_session_bind_output(session, "y", x + 5, 24), WW_USAGE, "input"));
  CHECK(fine(ww_session_bind_output(session, "y", x + 6, 24)));
  CHECK(fails(ww_session_bind_input(session, "x", x + 7, 24), WW_USAGE, "input"));
  CHECK(fine(ww_session_run(session)));
  CHECK(fine(ww_session_close(session)));
}

static void handles(void) {
  ww_bundle *bundle = open_bundle("relu");
  ww_session *session = NULL;
  CHECK(fine(ww_session_open(bundle, NULL, &session)));
  CHECK(fine(ww_bundle_close(bundle)));
  CHECK(fails(ww_bundle_close(bundle), WW_USAGE, "handle"));
  CHECK(fails(ww_bundle_close(NULL), WW_USAGE, "handle"));
  CHECK(fails(ww_session_open(bundle, NULL, &session), WW_USAGE, "handle"));
  CHECK(fails(ww_session_run((ww_session *)bundle), WW_USAGE, "handle"));
  CHECK(fine(ww_session_close(session)));
  CHECK(fails(ww_session_run(session), WW_USAGE, "handle"));
  CHECK(fails(ww_session_run(NULL), WW_USAGE, "handle"));
  CHECK(fails(ww_session_reset(session), WW_USAGE, "handle"));
  CHECK(fails(ww_session_advance(session), WW_USAGE, "handle"));
  CHECK(fails(ww_pool_close(NULL), WW_USAGE, "handle"));
  ww_error *error = ww_bundle_close(NULL);
  ww_error_free(error);
  ww_error_free(error);
  ww_error_free(NULL);
  CHECK(ww_error_code(error) == WW_OK && *ww_error_message(error) == 0 && *ww_error_name(NULL) == 0 && *ww_error_help(NULL) == 0);
}

static void devices_that_are_not_there(void) {
  ww_bundle *bundle = open_bundle("relu");
  ww_session *session = NULL;
  ww_session_options options = {.size = sizeof options, .device = "toaster"};
  CHECK(fails(ww_session_open(bundle, &options, &session), WW_USAGE, "argument"));
  options.device = "cuda:4000";
  ww_error *error = ww_session_open(bundle, &options, &session);
  CHECK(ww_error_code(error) == WW_ENVIRONMENT);
  ww_error_free(error);
  struct {
    ww_session_options options;
    int64_t newer;
  } newer = {.options = {.size = sizeof newer}, .newer = 1};
  CHECK(fails(ww_session_open(bundle, &newer.options, &session), WW_USAGE, "argument"));
  CHECK(fine(ww_bundle_close(bundle)));
}

static void indices_and_open_extents(void) {
  ww_session *session = open_session("gather");
  float x[4] = {0, 10, 20, 30};
  int64_t wrong[2] = {1, 4}, right[2] = {3, 1};
  CHECK(fine(ww_session_bind_input(session, "x", x, sizeof x)) && fine(ww_session_bind_input(session, "i", wrong, sizeof wrong)));
  CHECK(fails(ww_session_run(session), WW_INDEX, "index"));
  CHECK(fine(ww_session_bind_input(session, "i", right, sizeof right)) && fine(ww_session_run(session)));
  ww_tensor y = {.size = sizeof y};
  CHECK(fine(ww_session_output(session, "y", &y)) && ((float *)y.data)[0] == 30);
  CHECK(fine(ww_session_close(session)));
  session = open_session("nonzero");
  float few[6] = {0, 1, 0, 0, 0, 5};
  int64_t places[12];
  CHECK(fine(ww_session_bind_input(session, "x", few, sizeof few)) && fine(ww_session_bind_output(session, "y", places, sizeof places)));
  CHECK(fine(ww_session_run(session)) && fine(ww_session_output(session, "y", &y)));
  CHECK(y.rank == 2 && y.shape[0] == 2 && y.shape[1] == 2 && y.elements == 4 && y.data == places);
  CHECK(places[0] == 0 && places[1] == 1 && places[2] == 1 && places[3] == 2);
  CHECK(fine(ww_session_close(session)));
  session = open_session("default");
  float two[2] = {1, 2}, other[2] = {5, 5};
  CHECK(fine(ww_session_bind_input(session, "x", two, sizeof two)) && fine(ww_session_run(session)));
  CHECK(fine(ww_session_output(session, "y", &y)) && ((float *)y.data)[1] == 22);
  CHECK(fine(ww_session_bind_input(session, "b", other, sizeof other)) && fine(ww_session_run(session)));
  CHECK(((float *)y.data)[1] == 7);
  CHECK(fine(ww_session_bind_input(session, "b", NULL, 0)) && fine(ww_session_run(session)) && ((float *)y.data)[1] == 22);
  CHECK(fine(ww_session_close(session)));
}

static void training(void) {
  ww_bundle *bundle = open_bundle("train");
  size_t states = 0, inputs = 0;
  CHECK(fine(ww_bundle_state_count(bundle, &states)) && states >= 1);
  ww_port weight = {.size = sizeof weight}, port = {.size = sizeof port};
  CHECK(fine(ww_bundle_state(bundle, 0, &weight)) && strcmp(weight.name, "w") == 0);
  ww_session *session = NULL;
  CHECK(fine(ww_session_open(bundle, NULL, &session)));
  static float data[8][64];
  CHECK(fine(ww_bundle_input_count(bundle, &inputs)) && inputs <= 8);
  for (size_t i = 0; i < inputs; i++) {
    CHECK(fine(ww_bundle_input(bundle, i, &port)) && port.bytes <= sizeof data[i]);
    for (int j = 0; j < 64; j++) data[i][j] = 0.1f;
    if (port.has_default == 0) CHECK(fine(ww_session_bind_input(session, port.name, data[i], port.bytes)));
  }
  float before[12], after[12];
  CHECK(fine(ww_session_read_state(session, 0, before, sizeof before)));
  CHECK(fine(ww_session_run(session)) && fine(ww_session_advance(session)));
  CHECK(fine(ww_session_read_state(session, 0, after, sizeof after)));
  CHECK(memcmp(before, after, sizeof before) != 0);
  CHECK(fine(ww_session_write_state(session, 0, before, sizeof before)));
  CHECK(fine(ww_session_read_state(session, 0, after, sizeof after)) && memcmp(before, after, sizeof before) == 0);
  CHECK(fails(ww_session_read_state(session, 0, after, 4), WW_USAGE, "input"));
  CHECK(fails(ww_session_read_state(session, 0, NULL, sizeof after), WW_USAGE, "input"));
  CHECK(fails(ww_session_write_state(session, states, after, 4), WW_USAGE, "argument"));
  CHECK(fine(ww_session_close(session)) && fine(ww_bundle_close(bundle)));
}

static void note(ww_log_level level, const char *message, void *user) {
  if (level == WW_LOG_NOTE || (level == WW_LOG_ERROR && *message != 0)) ++*(int *)user;
}

static void logs(void) {
  int messages = 0;
  ww_log_to(note, &messages);
  ww_error_free(ww_bundle_close(NULL));
  CHECK(messages == 1);
  ww_session *session = open_session("relu");
  CHECK(messages > 1);
  ww_log_to(NULL, NULL);
  int before = messages;
  ww_error_free(ww_bundle_close(NULL));
  CHECK(messages == before);
  CHECK(fine(ww_session_close(session)));
}

struct shared {
  ww_session *session;
  size_t ran, busy, other;
};

static void *many_runs(void *argument) {
  struct shared *shared = argument;
  for (int i = 0; i < 200; i++) {
    ww_error *error = ww_session_run(shared->session);
    if (error == NULL) {
      __atomic_fetch_add(&shared->ran, 1, __ATOMIC_RELAXED);
    } else {
      size_t *count = strcmp(ww_error_name(error), "busy") == 0 ? &shared->busy : &shared->other;
      __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    }
    ww_error_free(error);
  }
  return NULL;
}

static void *run_until_closed(void *argument) {
  ww_session *session = argument;
  for (;;) {
    ww_error *error = ww_session_run(session);
    int closed = error != NULL && strcmp(ww_error_name(error), "handle") == 0;
    ww_error_free(error);
    if (closed) return NULL;
  }
}

static void threads(void) {
  static float x[2][64 * 256];
  ww_pool *pool = NULL;
  CHECK(fine(ww_pool_open(2, &pool)));
  ww_bundle *bundle = open_bundle("wide");
  ww_session_options options = {.size = sizeof options, .pool = pool};
  struct shared shared[2] = {{0}};
  pthread_t running[8];
  for (int i = 0; i < 2; i++) {
    CHECK(fine(ww_session_open(bundle, &options, &shared[i].session)));
    CHECK(fine(ww_session_bind_input(shared[i].session, "x", x[i], sizeof x[i])));
  }
  options.threads = 2;
  ww_session *refused = NULL;
  CHECK(fails(ww_session_open(bundle, &options, &refused), WW_USAGE, "argument"));
  CHECK(fine(ww_pool_close(pool)));
  for (int i = 0; i < 8; i++) pthread_create(&running[i], NULL, many_runs, &shared[i % 2]);
  for (int i = 0; i < 8; i++) pthread_join(running[i], NULL);
  for (int i = 0; i < 2; i++) {
    CHECK(shared[i].ran + shared[i].busy == 800 && shared[i].ran > 0 && shared[i].other == 0);
    pthread_create(&running[i], NULL, run_until_closed, shared[i].session);
  }
  struct timespec moment = {.tv_nsec = 2000000};
  nanosleep(&moment, NULL);
  for (int i = 0; i < 2; i++) CHECK(fine(ww_session_close(shared[i].session)));
  for (int i = 0; i < 2; i++) pthread_join(running[i], NULL);
  CHECK(fine(ww_bundle_close(bundle)));
}

static void forks(void) {
  ww_session *session = open_session("wide");
  static float x[64 * 256];
  CHECK(fine(ww_session_bind_input(session, "x", x, sizeof x)) && fine(ww_session_run(session)));
  pid_t child = fork();
  if (child == 0) {
    int right = fails(ww_session_run(session), WW_USAGE, "forked") && fine(ww_session_close(session));
    _exit(right ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(fine(ww_session_run(session)) && fine(ww_session_close(session)));
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  folder = argv[1];
  versions_and_devices();
  signatures();
  bundles_in_memory();
  runs();
  bad_bindings();
  handles();
  devices_that_are_not_there();
  indices_and_open_extents();
  training();
  logs();
  threads();
  if (argc == 2) forks();
  return failures != 0;
}
