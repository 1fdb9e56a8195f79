/* warpweave's commands, run in the process of a C program: `compile`, `refit`, `bench` and all others.
 *
 * The library contains the compiler. What only opens and runs bundles needs `warpweave.h` alone.
 */

#ifndef WARPWEAVE_COMMANDS_H
#define WARPWEAVE_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

// What a command says.
typedef enum ww_said {
  // The name of a stage that begins.
  WW_SAID_STAGE = 0,
  // A note or a warning.
  WW_SAID_NOTE = 1,
  // The result, or the error, as JSON: what the program prints with `--json`. It comes last, and once.
  WW_SAID_RESULT = 2,
} ww_said;

// Takes what a command says, a text that is the caller's no longer when it returns. It is called on the thread that runs the command.
typedef void (*ww_said_callback)(enum ww_said kind, const char *text, void *user);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Runs a command, such as `refit`, `old.weave`, `new.onnx`, `-o`, `new.weave`, and gives what the program would exit with: 0 is
// success, and `warpweave --help` lists the others. Several threads may run commands at the same time.
//
// # Safety
// `words` are `count` texts that end with a zero, or null where there are none; `said` is null or may be called with `user`.
int32_t ww_command(size_t count,
                   const char *const *words,
                   ww_said_callback said,
                   void *user);

// Ends the search that began last, on whatever thread, with the best plan that it has found, and training with the step at hand. Gives 1, or
// 0 if there is neither.
int32_t ww_command_end_early(void);

// Says where the program `warpweave` is. Commands start it for what they do in processes of their own, such as compiling for GPUs.
// Called before the first command; without it, `warpweave` is looked up in `PATH`.
//
// # Safety
// `path` is null or a text that ends with a zero.
void ww_command_program(const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WARPWEAVE_COMMANDS_H */
