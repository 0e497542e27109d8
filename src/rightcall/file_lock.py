"""A lock on an open file, held by this process until the file is closed."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt

    def take_lock(handle: int, *, wait: bool) -> bool:
        """Takes the lock of a file descriptor; False where another process has it and `wait` is False."""
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                # LK_LOCK gives up after ten seconds; the other may take longer
            else:
                return True

else:
    import fcntl

    def take_lock(handle: int, *, wait: bool) -> bool:
        """Takes the lock of a file descriptor; False where another process has it and `wait` is False."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
