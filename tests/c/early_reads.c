/* What libraries read of the environment before `main`, for tests: loaded into a program with LD_PRELOAD, it prints the
 * name of each variable that is asked for until then to standard error, one in a line, and ends the program there. */

#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static char *look_up(const char *name) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s\n", name);
    if (length > 0 && (size_t)length < sizeof line && write(STDERR_FILENO, line, length) != length) {
        _exit(1);
    }
    size_t size = strlen(name);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') {
            return *entry + size + 1;
        }
    }
    return NULL;
}

char *getenv(const char *name) {
    return look_up(name);
}

char *secure_getenv(const char *name) {
    return look_up(name);
}

/* What the program's own start calls once all libraries are ready. */
int __libc_start_main(void) {
    _exit(0);
}
