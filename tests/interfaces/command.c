/* Runs a command in this process, prints what it says, and exits as the program would: command WORDS... */
#include <stdio.h>
#include <string.h>
#include <warpweave_commands.h>

static void said(ww_said kind, const char *text, void *user) {
  static const char *const names[] = {"stage", "note", "result"};
  ++*(int *)user;
  printf("%s: %s\n", names[kind], text);
}

int main(int argc, char **argv) {
  int count = 0;
  if (ww_command(1, NULL, said, &count) != 2 || ww_command(2, (const char *const[]){"run", NULL}, said, &count) != 2 || count != 2) return 99;
  if (ww_command(0, NULL, NULL, NULL) != 2 || ww_command_end_early() != 0) return 98;
  count = 0;
  int code = ww_command((size_t)argc - 1, (const char *const *)argv + 1, said, &count);
  return count == 0 ? 97 : code;
}
