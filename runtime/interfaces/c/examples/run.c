/* Runs a bundle with an input `x` and an output `y` on ones: cc run.c $(pkg-config --cflags --libs warpweave) */
#include <stdio.h>
#include <warpweave.h>

int main(int argc, char **argv) {
  static float x[1 << 20];
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 1;
  ww_bundle *bundle = NULL;
  ww_session *session = NULL;
  ww_port port = {.size = sizeof port};
  ww_tensor y = {.size = sizeof y};
  ww_error *error = NULL;
  if (argc != 2 || (error = ww_bundle_open(argv[1], &bundle)) || (error = ww_session_open(bundle, NULL, &session)) ||
      (error = ww_bundle_input(bundle, 0, &port)) || (error = ww_session_bind_input(session, "x", x, port.bytes)) ||
      (error = ww_session_run(session)) || (error = ww_session_output(session, "y", &y)))
    return fprintf(stderr, "%s: %s\n%s\n", ww_error_name(error), ww_error_message(error), ww_error_help(error)), 1;
  for (size_t i = 0; i < y.elements; i++) printf("%g\n", ((float *)y.data)[i]);
  ww_session_close(session), ww_bundle_close(bundle);
}
