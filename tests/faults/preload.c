/* Lets the file layer under a process fail, and its clock jump, as environment variables say:
   FAULT_CALL  fsync, rename or write; FAULT_AT the first call that fails, from 1; all later do too
   FAULT_IN    only files below this folder
   FAULT_CLOCK seconds that the clock of the wall is ahead */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static int fails(const char *call, const char *path) {
    const char *wanted = getenv("FAULT_CALL"), *folder = getenv("FAULT_IN");
    if (!wanted || !folder || strcmp(wanted, call) || strncmp(path, folder, strlen(folder)))
        return 0;
    return atomic_fetch_add(&calls, 1) + 1 >= atoi(getenv("FAULT_AT"));
}

static int fails_at(const char *call, int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return fails(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) {
    if (fails_at("fsync", fd)) { errno = EIO; return -1; }
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    if (fails_at("fsync", fd)) { errno = EIO; return -1; }
    return REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
    if (fails("rename", from)) { errno = EIO; return -1; }
    return REAL(rename)(from, to);
}

ssize_t write(int fd, const void *data, size_t size) {
    if (fails_at("write", fd)) { errno = ENOSPC; return -1; }
    return REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    if (fails_at("write", fd)) { errno = ENOSPC; return -1; }
    return REAL(pwrite)(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    if (fails_at("write", fd)) { errno = ENOSPC; return -1; }
    return REAL(pwrite64)(fd, data, size, at);
}

int clock_gettime(clockid_t clock, struct timespec *told) {
    int status = REAL(clock_gettime)(clock, told);
    const char *ahead = getenv("FAULT_CLOCK");
    if (ahead && clock == CLOCK_REALTIME && !status)
        told->tv_sec += atol(ahead);
    return status;
}
