#!/usr/bin/env python3
"""Disks that are full, or may not be written any more.

    tests/crash/disk_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash [--part a_full_disk]

Small file systems of their own are mounted for it: tmpfs, and ext4 in a file
for the one that turns read-only under a program that writes. Where mounting is
not permitted the part is SKIPPED, and says so.
"""

import json
import os
import threading
import time

import parts
import trial

# The reserve must hold what is written between two looks at the disk, what
# waits for its sync, and what the buffers of the hours hold back.
FLAGS = trial.SMALL_FILES + [
    "--disk-reserve-bytes", "6MiB", "--append-buffer-bytes-max", "1MiB",
    "--unsynced-bytes-max", "2MiB"]
BIG_BODY = 5000


def big_line(made, delay_ms):
    name = next(made.names)
    return json.dumps({"id": name, "body": trial.body_of(name, BIG_BODY),
                       "delay_ms": delay_ms})


def fill_until_refused(made, life, delay_ms):
    """Puts until the program says that its input waits."""
    def feed():
        while life.process.poll() is None:
            if not life.put([big_line(made, delay_ms) for _ in range(20)]):
                return
            time.sleep(0.01)
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    made.wait_until("input waits", lambda: "input waits" in life.said())
    return feeder


def write_ballast(disk):
    """Takes all of the disk's room."""
    path = os.path.join(disk, "ballast")
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(16384))
        except OSError:  # as it must end
            return path


def resize(part, disk, megabytes):
    part.system(["mount", "-o", "remount,size=%dm" % megabytes, disk])


def a_full_disk(part):
    """Puts wait and are told; deliveries go on from the reserve; then room."""
    disk = part.mount_tmpfs(16)
    made = part.trial(disk)
    with made.life(FLAGS) as life:
        due = life.put_new(40, delay_ms=2500)
        made.wait_acked(due)
        feeder = fill_until_refused(made, life, 6000)
        part.demand_said(life.said(), "the disk is full",
                         "disk_reserve_bytes")
        part.demand(not any(m["id"] in due for m in made.shown()),
                    "too slow a machine: delivered before the disk was full")
        made.wait_shown(due)
        acked = len(made.acks())
        resize(part, disk, 256)
        made.wait_until("puts go on", lambda: len(made.acks()) > acked + 100)
        life.kill()
        feeder.join()
    part.finish(made, flags=FLAGS)


def no_room_at_all(part):
    """Not even for deliveries: all waits, and goes on when there is room."""
    disk = part.mount_tmpfs(12)
    made = part.trial(disk)
    with made.life(FLAGS) as life:
        due = life.put_new(2000, delay_ms=1200)
        made.wait_acked(due)
        ballast = write_ballast(disk)
        time.sleep(0.2)  # until it has looked at the disk
        life.put_new(1, delay_ms=0)
        made.wait_until("it is said", lambda: life.said() != "")
        part.demand_said(life.said(), "full")
        # Two seconds of wanting to deliver, and of checkpoints.
        time.sleep(2)
        shown = len(made.shown())
        os.remove(ballast)
        fresh = life.put_new(10, delay_ms=0)
        made.wait_until("all are shown", lambda: (
            set(due) | set(fresh) <= set(m["id"] for m in made.shown())))
        part.demand(life.process.poll() is None, "it stopped: " + life.said())
        life.stop()
    part.finish(made, flags=FLAGS)
    return "%d of 2000 before there was room, the rest after" % shown


def opening_without_room(part):
    """Refused, and nothing lost; also for a store that is to be made."""
    disk = part.mount_tmpfs(12)
    made = part.trial(disk)
    with made.life(FLAGS) as life:
        made.wait_acked(life.put_new(500, delay_ms=500))
        life.kill()
    ballast = write_ballast(disk)
    fresh = os.path.join(disk, "fresh")
    done = made.command("put", "--data", fresh, "--body", "x")
    part.demand(done.returncode == 2, "a store was made without room")
    part.demand_said(done.stderr, fresh, "No space left on device")
    done = made.command("pipe", "--data", made.store, "--until-empty", *FLAGS)
    with open(made.out_path, "a") as file:
        file.write(done.stdout)
    opened = done.returncode == 0
    if not opened:
        part.demand_said(done.stderr, made.store, "No space left on device")
    os.remove(ballast)
    done = made.command("put", "--data", fresh, "--body", "x", *FLAGS)
    part.demand(done.returncode == 0, "with room: " + done.stderr)
    part.finish(made, flags=FLAGS)
    return "an existing store %s" % (
        "went on in the room its files have" if opened else "was refused")


def read_only_under_a_running_store(part):
    """As ext4 does it after an error of its own: every write is refused."""
    image = os.path.join(part.place(), "image")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    part.system(["mkfs.ext4", "-q", "-F", image])
    disk = part.place()
    mount = ["-o", "loop,errors=remount-ro", image, disk]
    part.mount(mount)
    made = part.trial(disk)
    with made.life(FLAGS) as life:
        made.wait_acked(life.put_new(500, delay_ms=1500))
        part.system(["mount", "-o", "remount,abort", disk])
        life.put_new(10, delay_ms=0)
        code = life.wait(10)
        part.demand(code == 2, "pipe ended with %s" % code)
        part.demand_said(life.said(), made.store, "Read-only file system")
    part.system(["umount", disk])
    part.system(["mount"] + mount)
    part.finish(made, flags=FLAGS)


def opening_where_nobody_may_write(part):
    """Refused by name; looking is allowed; whole again afterwards."""
    disk = part.mount_tmpfs(32)
    made = part.trial(disk)
    with made.life(FLAGS) as life:
        made.wait_acked(life.put_new(500, delay_ms=300))
        life.kill()
    part.system(["mount", "-o", "remount,ro", disk])
    for command in (["pipe"], ["put", "--body", "x"], ["stat"]):
        done = made.command(*command, "--data", made.store)
        part.demand(done.returncode == 2, "%s ended with %s" %
                    (command[0], done.returncode))
        part.demand_said(done.stderr, made.store, "Read-only file system")
    for command in (["log", made.store], ["recover", "verify", made.store],
                    ["recover", "list", made.store]):
        done = made.command(*command)
        part.demand(done.returncode == 0, "%s: %s" % (command, done.stderr))
    done = made.command("recover", "repair", made.store, "--in-place")
    part.demand(done.returncode == 2, "repair wrote to a read-only disk")
    part.demand_said(done.stderr, "Read-only file system")
    part.system(["mount", "-o", "remount,rw", disk])
    part.finish(made, flags=FLAGS)


PARTS = [a_full_disk, no_room_at_all, opening_without_room,
         read_only_under_a_running_store, opening_where_nobody_may_write]

if __name__ == "__main__":
    parts.get_a_mount_space()
    parts.main(__doc__, PARTS)
