"""Which files and folders programs write through: a library before libc that notes every fsync."""

import subprocess

SOURCE = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int fsync(int fd) {
    char name[32], path[PATH_MAX + 1];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(name, path, PATH_MAX);
    if (bytes < 0) abort();
    path[bytes] = '\n';
    int log = open(getenv("SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(log, path, bytes + 1) != bytes + 1) abort();
    close(log);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


class SyncLog:
    """`environment` is for the programs to be watched; `folder` holds what is noted."""

    def __init__(self, folder):
        source, library, self.log = folder / "note_syncs.c", folder / "note_syncs.so", folder / "syncs"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
        self.environment = {"LD_PRELOAD": str(library), "SYNC_LOG": str(self.log)}

    def take(self):
        """Paths since the last call, one for each fsync."""
        paths = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.write_text("")
        return paths
