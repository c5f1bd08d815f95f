# on_terminal.py - prints the bytes that a command writes to a terminal, which is its stdin and stdout
# on_terminal.py COMMAND ARGUMENT...
import os, pty, sys, tty

pid, fd = pty.fork()
if pid == 0:
    tty.setraw(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # progress would stand among the answers
    os.execvp(sys.argv[1], [os.fsencode(a) for a in sys.argv[1:]])
while True:
    try:
        some = os.read(fd, 65536)
    except OSError:  # nobody has the other end any more
        break
    if not some:
        break
    sys.stdout.buffer.write(some)
os.waitpid(pid, 0)
