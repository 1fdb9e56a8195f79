/* Runs a bundle with an input `x` and an output `y` so many times in memory of its own, and prints the nanoseconds of a run: repeat
 * MODEL.weave TIMES */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <warpweave.h>

static void check(ww_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", ww_error_message(error));
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  ww_bundle *bundle;
  ww_session *session;
  ww_port input = {.size = sizeof input}, output = {.size = sizeof output};
  check(ww_bundle_open(argv[1], &bundle));
  check(ww_session_open(bundle, NULL, &session));
  check(ww_bundle_input(bundle, 0, &input));
  check(ww_bundle_output(bundle, 0, &output));
  void *x = calloc(1, input.bytes), *y = calloc(1, output.bytes);
  check(ww_session_bind_input(session, "x", x, input.bytes));
  check(ww_session_bind_output(session, "y", y, output.bytes));
  long times = atol(argv[2]);
  struct timespec begin, end;
  check(ww_session_run(session));
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < times; i++) check(ww_session_run(session));
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.0f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / times);
  check(ww_session_close(session));
  check(ww_bundle_close(bundle));
  free(x), free(y);
}
