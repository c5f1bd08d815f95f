#!/usr/bin/env python3
"""walks.py - which files a reader opens to follow a call of the library

usage: walks.py SOURCE

Builds the library so that each function says that it is entered (walks.c). Runs three calls for a blocked filter at a
path and in a store, and lists the files that they enter. Each line of output is a TAP result. A failure means that a
call goes through more files than LIMITS has. Then move a step to where it belongs, or let the caller decide when the
step is needed.

A file is read if the call takes a step there. These do not count:
- An inline function of a header, except in READ_HEADERS. It has a few lines, and decides at the place of the call
  whether the function behind it is entered.
- A function in ANSWERS, with all that it calls. Its name says its answer, so a reader goes on without opening it.
The calls succeed, no other process uses the filter, and no call is the first of its sort.
"""
import pathlib
import subprocess
import sys
import tempfile

LIMITS = {
    ("blm_open", "path"): 12, ("blm_open", "store"): 19,
    ("blm_add_many", "path"): 8, ("blm_add_many", "store"): 9,
    ("blm_sync", "path"): 10, ("blm_sync", "store"): 17,
}

READ_HEADERS = {"handle/handle.h"}

ANSWERS = {
    "what the machine says": "blm_now blm_read_at blm_know_boot blm_boot_number blm_disk_use",
    "an entry of a table": "blm_family_by_id blm_scheme_by_id blm_order_name blm_order_xor blm_hasher_use_scheme blm_kind_known"
                           " blm_kind_by_id blm_kind_can blm_simd_best blm_options_valid blm_one_make valid",
    "a number, or an item that is computed or copied": "blm_check_constant blm_check_part blm_check_sync blm_check_block blm_check_record blm_template_id count_ones"
                " blm_counted_keys blm_count_keys blm_last_sync blm_last_record blm_pages_too_many blm_waits_for_disk"
                " blm_character blm_uuid_file blm_scan_bytes blm_checksum blm_checksum_seeded",
    "how far a call is, for a caller that asked for it": "blm_phase_begin blm_phase_at blm_phase_done blm_phase_end blm_phase_is_writing",
    "a lock of the system, or a list that a signal handler reads": "blm_lock_init blm_ofd_lock blm_ofd_unlock blm_sigbus_note",
}
TAKEN_AT_ITS_WORD = {name for names in ANSWERS.values() for name in names.split()}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Bail out! {' '.join(map(str, command))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def trace(source, folder):
    """The calls, as lists of (function, file), None for a return."""
    build, program, files = folder / "build", folder / "walks", folder / "files"
    run("meson", "setup", build, source, "-Dbuildtype=debug", "-Dtests=disabled", "-Dc_args=-finstrument-functions")
    run("ninja", "-C", build, "lib/libbloomery.a")
    run("cc", "-g", "-D_GNU_SOURCE", f"-I{source}/lib", source / "tests/house/walks.c", "-o", program, build / "lib/libbloomery.a",
        *"-llmdb -lsodium -lz -lzstd -lmd -lm -lpthread -ldl".split())
    files.mkdir()
    walks, walk = {}, None
    for line in run(program, files).splitlines():
        if line.startswith("blm_"):
            walk = walks.setdefault(tuple(line.split()), [])
        else:
            walk.append(line)
    addresses = sorted({at for walk in walks.values() for at in walk} - {"0"})
    (folder / "addresses").write_text("\n".join(addresses))
    found = run("addr2line", "-f", "-e", program, f"@{folder}/addresses").splitlines()
    place = {}
    for at, function, file in zip(addresses, found[::2], found[1::2]):
        place[at] = function, file.split(":")[0].rpartition("/lib/")[2]
    return {name: [place.get(at) for at in walk] for name, walk in walks.items()}


def files_read(walk, lib):
    """The files in the order of the walk, each with its functions; and how many .c files are entered at all."""
    read, entered, depth, skip_from = {}, set(), 0, None
    for step in walk:
        if step is None:
            depth -= 1
            if skip_from == depth:
                skip_from = None
            continue
        function, file = step
        depth += 1
        if file.endswith(".c"):
            entered.add(file)
        if skip_from is None and function in TAKEN_AT_ITS_WORD:
            skip_from = depth - 1
        if skip_from is None and (lib / file).exists() and (file.endswith(".c") or file in READ_HEADERS):
            read.setdefault(file, {})[function] = True
    return read, len(entered)


def judge(calls, lib):
    """Prints a result for each call. Returns: how many go through more files than LIMITS has, or are not in it."""
    failed = 0
    for number, (call, walk) in enumerate(calls.items(), 1):
        read, entered = files_read(walk, lib)
        for file, functions in read.items():
            print(f"# {file}: {' '.join(f for f in functions if not f.startswith('__'))}")
        good = call in LIMITS and len(read) <= LIMITS[call]
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {call[0]}() by {call[1]}: {len(read)} files are read of {entered} entered,"
              f" {LIMITS.get(call)} are the most")
    for call in LIMITS.keys() - calls.keys():
        failed += 1
        print(f"# {call[0]}() by {call[1]} was not recorded")
    return failed


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        calls = trace(source, pathlib.Path(name))
    print(f"1..{len(calls)}")
    return judge(calls, source / "lib") > 0


if __name__ == "__main__":
    sys.exit(main())
