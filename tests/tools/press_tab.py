# press_tab.py - what lines become in an interactive shell on a terminal when TAB is pressed at their end
# press_tab.py SHELL COMPLETION PROGRAM LINE...: prints what each is then. The folder of PROGRAM is in the PATH.
import os, pty, select, signal, sys, tempfile, time

shell, completion, program, *lines = sys.argv[1:]
DEADLINE = 240  # seconds; only a shell that hangs gets there

SETUP = {
    "bash": """PS1='ready> '
bind 'set bell-style none' 'set enable-bracketed-paste off' 'set completion-query-items 0' 'set page-completions off'
. {completion}
dump() {{ printf %s "$READLINE_LINE" > "$OUT.new"; mv "$OUT.new" "$OUT"; }}
bind -x '"\\C-t": dump'
""",
    "zsh": """PS1='ready> '; unsetopt prompt_cr; zstyle ':completion:*' list-prompt ''; LISTMAX=10000
fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D
dump() {{ print -rn -- "$BUFFER" > "$OUT.new"; mv "$OUT.new" "$OUT"; }}
zle -N dump; bindkey '^T' dump; bindkey '^I' complete-word; setopt no_beep no_auto_menu
""",
}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}

out = os.path.join(tempfile.mkdtemp(), "line")
env = dict(os.environ, OUT=out, TERM="dumb", HISTFILE="/dev/null", PS1="ready> ", INPUTRC="/dev/null",
           PATH=os.path.dirname(program) + ":" + os.environ["PATH"])
pid, fd = pty.fork()
if pid == 0:
    os.execvpe(shell, START[shell], env)

seen = b""
end = time.monotonic() + DEADLINE


def wait_for(what):
    global seen
    while not what():
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            sys.exit(f"{shell} does not answer; it printed {seen!r}")
        if select.select([fd], [], [], 0.02)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                sys.exit(f"{shell} ended; it printed {seen!r}")


def type_in(text):
    os.write(fd, text.encode())


setup = os.path.join(os.path.dirname(out), "setup")
with open(setup, "w") as f:
    f.write(SETUP[shell].format(completion=completion, folder=os.path.dirname(completion)))
wait_for(lambda: b"ready> " in seen)
type_in(f". {setup}; echo set\\up\n")
wait_for(lambda: b"ready> " in seen.partition(b"setup\r\n")[2])
for line in lines:
    type_in(line + "\t\x14")
    wait_for(lambda: os.path.exists(out))
    with open(out) as f:
        print(f.read())
    os.unlink(out)
    type_in("\x15")  # takes the line away
os.kill(pid, signal.SIGKILL)
