# on_screen.py - a program that draws a screen again and again, in a terminal: types keys, prints the screen on which it types each
# on_screen.py COLUMNS ROWS KEYS COMMAND ARGUMENT...
# The next key is typed when another screen has come; "." types nothing, "~" sends SIGTERM, "!" runs the command of $BETWEEN,
# and the next key waits for a look that began after it. Each screen ends with a line "---"; the last line has the exit code, and whether the
# terminal is as it was.
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios

columns, rows, keys = int(sys.argv[1]), int(sys.argv[2]), list(sys.argv[3])
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
before = termios.tcgetattr(theirs)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    for fd in (0, 1):
        os.dup2(theirs, fd)
    os.execvp(sys.argv[4], sys.argv[4:])
# Screens that are drawn already or begun when $BETWEEN ends; more than one only if the kernel still holds them.
SKIPPED = 3
seen, due, typed, ended = b"", 0, [], 0
while True:
    if select.select([ours], [], [], 0.05)[0]:
        seen += os.read(ours, 65536)
    elif ended:
        break
    while keys and seen.count(b"\x1b[J") > due:
        typed.append(due)
        due += 1
        key = keys.pop(0)
        if key == "~":
            os.kill(pid, signal.SIGTERM)
        elif key == "!":
            subprocess.run(["bash", "-ec", os.environ["BETWEEN"]], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            while select.select([ours], [], [], 0)[0]:
                seen += os.read(ours, 65536)
            due = seen.count(b"\x1b[J") + SKIPPED
        elif key != ".":
            os.write(ours, key.encode())
    if not ended:
        ended, status = os.waitpid(pid, os.WNOHANG)
text = seen.decode()
begin, end = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
restored = text.startswith(begin) and text.endswith(end) and termios.tcgetattr(theirs) == before
screens = text[len(begin):-len(end)].split("\x1b[H")[1:]
for screen in map(screens.__getitem__, typed):
    screen = screen.removesuffix("\x1b[J")
    for line in screen.split("\r\n")[:-1]:  # a letter in the last column is under the cursor, which would clear it
        full = len(re.sub("\x1b\\[[0-9;]*[mK]", "", line)) == (columns or 80)
        assert line.endswith("\x1b[K") != full, line
    screen = screen.replace("\x1b[K\r\n", "\n").replace("\r\n", "\n")
    assert not re.search("\x1b(?!\\[[0-9;]*m)|\r", screen), screen  # colours are printed as they are
    print(screen + "---")
print(os.waitstatus_to_exitcode(status), "restored" if restored else "not restored")
