/* Eight threads run two sessions of a bundle, of one input and one output of singles, until so many runs have succeeded; the sessions share
 * a pool, or have threads of their own. Every result is that of the first run: threads MODEL.weave RUNS */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpweave.h>

enum { THREADS = 8, SESSIONS = 2 };

struct turn {
  ww_session *session;
  float *x, *y, *wanted;
  size_t bytes;
  /* Held by whoever binds, runs and reads: what is bound is the session's. */
  pthread_mutex_t lock;
};

static struct turn turns[SESSIONS];
static atomic_long left;
static atomic_int failures;

static void check(ww_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", ww_error_name(error), ww_error_message(error));
  exit(1);
}

static void *work(void *argument) {
  size_t number = (size_t)argument;
  while (atomic_fetch_sub(&left, 1) > 0) {
    struct turn *turn = &turns[number++ % SESSIONS];
    /* Every fourth call meets others without the lock: it runs, or is refused. */
    if (number % 4 == 0) {
      ww_error *error = ww_session_reset(turn->session);
      if (error != NULL && strcmp(ww_error_name(error), "busy") != 0) failures++;
      ww_error_free(error);
    }
    pthread_mutex_lock(&turn->lock);
    ww_error *error;
    do {
      error = ww_session_run(turn->session);
      if (error == NULL) break;
      if (strcmp(ww_error_name(error), "busy") != 0) check(error);
      ww_error_free(error);
    } while (1);
    if (memcmp(turn->y, turn->wanted, turn->bytes) != 0) failures++;
    memset(turn->y, 0, turn->bytes);
    pthread_mutex_unlock(&turn->lock);
  }
  return NULL;
}

static void round_of(ww_bundle *bundle, ww_pool *pool, long runs) {
  ww_port input = {.size = sizeof input}, output = {.size = sizeof output};
  check(ww_bundle_input(bundle, 0, &input));
  check(ww_bundle_output(bundle, 0, &output));
  for (int i = 0; i < SESSIONS; i++) {
    struct turn *turn = &turns[i];
    ww_session_options options = {.size = sizeof options, .threads = pool == NULL ? 3 : 0, .pool = pool};
    check(ww_session_open(bundle, &options, &turn->session));
    turn->bytes = output.bytes;
    turn->x = malloc(input.bytes), turn->y = malloc(output.bytes), turn->wanted = malloc(output.bytes);
    for (size_t k = 0; k < input.bytes / sizeof(float); k++) turn->x[k] = (float)(k % 7) - (float)i;
    check(ww_session_bind_input(turn->session, input.name, turn->x, input.bytes));
    check(ww_session_bind_output(turn->session, output.name, turn->y, output.bytes));
    check(ww_session_run(turn->session));
    memcpy(turn->wanted, turn->y, output.bytes);
    pthread_mutex_init(&turn->lock, NULL);
  }
  atomic_store(&left, runs);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < SESSIONS; i++) {
    check(ww_session_close(turns[i].session));
    pthread_mutex_destroy(&turns[i].lock);
    free(turns[i].x), free(turns[i].y), free(turns[i].wanted);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  ww_bundle *bundle;
  ww_pool *pool;
  check(ww_bundle_open(argv[1], &bundle));
  check(ww_pool_open(3, &pool));
  round_of(bundle, NULL, atol(argv[2]));
  round_of(bundle, pool, atol(argv[2]));
  check(ww_pool_close(pool));
  check(ww_bundle_close(bundle));
  if (failures != 0) fprintf(stderr, "%d results differ, or calls failed\n", failures);
  return failures != 0;
}
