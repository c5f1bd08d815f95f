# on_terminal.py - prints the bytes that a command writes to a terminal, which is its stdin and stdout
# on_terminal.py [--columns N[,N...]] [--stderr|--both] [--kill SIGNAL WORD] COMMAND ARGUMENT...
# --kill sends SIGNAL to the command once WORD is on the terminal; the exit status is that of the command, as a shell has it.
# With several numbers of columns it runs once for each, and the bytes go into a file whose name is the number.
import fcntl, os, pty, signal, struct, sys, termios, tty

columns = ["0"]  # the terminal does not say
if sys.argv[1] == "--columns":
    columns = sys.argv[2].split(",")
    del sys.argv[1:3]
other = 2  # progress would stand among the answers
if sys.argv[1] in ("--stderr", "--both"):
    other = 1 if sys.argv[1] == "--stderr" else None
    del sys.argv[1]
kill, word = None, b""
if sys.argv[1] == "--kill":
    kill, word = signal.Signals["SIG" + sys.argv[2]], os.fsencode(sys.argv[3])
    del sys.argv[1:4]


# Written after the output, because a terminal that is not open in any process can lose its last bytes.
END = b"\0on_terminal.py: the end\0"


def run_command(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in {0, 1, 2} - {other}:
        os.dup2(slave, fd)
    if other:
        os.dup2(os.open(os.devnull, os.O_WRONLY), other)
    if kill:
        signal.signal(kill, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        if kill:
            signal.signal(kill, signal.SIG_DFL)
        os.execvp(sys.argv[1], [os.fsencode(a) for a in sys.argv[1:]])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(slave, END)
    os._exit(code if code >= 0 else 128 - code)


def run(columns, out):
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        run_command(slave)
    text, sent = b"", not kill
    while not text.endswith(END):
        text += os.read(master, 65536)
        if not sent and word in text:
            os.killpg(pid, kill)
            sent = True
    out.write(text[:-len(END)])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(master)
    os.close(slave)
    return code if kill else 0


if len(columns) == 1:
    code = run(int(columns[0]), sys.stdout.buffer)
    sys.stdout.buffer.flush()
    sys.exit(code)
else:
    for width in columns:
        with open(width, "wb") as out:
            run(int(width), out)
