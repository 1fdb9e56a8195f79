/* Calls that cases.txt has no words for: structures of other sizes, messages, errors that are freed twice, many threads. calls FOLDER
 * takes the bundles of conftest.py. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

static void structures_of_other_sizes(void) {
  ww_device unsized_device = {.size = 0};
  CHECK(fails(ww_device_at(0, &unsized_device), WW_USAGE, "argument"));
  ww_bundle *bundle = open_bundle("relu");
  /* An older caller's structure is smaller; what it lacks is left alone. */
  struct {
    size_t size;
    const char *name;
    int64_t guard;
  } old = {.size = 16, .guard = -7};
  CHECK(fine(ww_bundle_input(bundle, 0, (ww_port *)&old)) && strcmp(old.name, "x") == 0 && old.guard == -7);
  struct {
    ww_session_options options;
    int64_t newer;
  } newer = {.options = {.size = sizeof newer}, .newer = 1};
  ww_session *session = NULL;
  CHECK(fails(ww_session_open(bundle, &newer.options, &session), WW_USAGE, "argument"));
  newer.newer = 0;
  CHECK(fine(ww_session_open(bundle, &newer.options, &session)) && fine(ww_session_close(session)));
  CHECK(fine(ww_bundle_close(bundle)));
  CHECK(fails(ww_bundle_open("\xff", &bundle), WW_USAGE, "argument"));
}

static void errors(void) {
  ww_error *error = ww_bundle_close(NULL);
  ww_error_free(error);
  ww_error_free(error);
  ww_error_free(NULL);
  CHECK(ww_error_code(error) == WW_OK && *ww_error_message(error) == 0 && *ww_error_name(NULL) == 0 && *ww_error_help(NULL) == 0);
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

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  folder = argv[1];
  structures_of_other_sizes();
  errors();
  logs();
  threads();
  return failures != 0;
}
