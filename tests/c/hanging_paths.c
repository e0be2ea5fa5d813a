/* A file system that hangs, for tests: loaded into a program with LD_PRELOAD, `realpath` of anything below the
 * folder $HANGING waits for as long as that folder has a FIFO called `gate` which nobody writes to. Without the FIFO,
 * and everywhere else, it is the system's own. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *realpath(const char *restrict path, char *restrict resolved) {
    const char *hanging = getenv("HANGING");
    if (hanging != NULL && strncmp(path, hanging, strlen(hanging)) == 0) {
        char gate[PATH_MAX];
        snprintf(gate, sizeof gate, "%s/gate", hanging);
        int fd = open(gate, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            close(fd);
        }
    }
    char *(*real)(const char *restrict, char *restrict) = dlsym(RTLD_NEXT, "realpath");
    return real == NULL ? NULL : real(path, resolved);
}
