#!/bin/bash
# secrets.sh - where the secrets of keyed filters are, and where not
. "${0%/*}/tap.sh"

# For a command that reads the FIFO "keys", after it has hashed many: how many pieces of the secret in $1 a core dump would have outside of
# the registers, if the kernel made one as it does by default, and whether the command has it at all. A piece is any 8 bytes of it that
# follow one another, forwards or backwards, their digits, and the words that SipHash begins with.
pieces_in_a_dump()
{
	rm -f keys; mkfifo keys
	python3 - "$@" <<'P'
import fcntl, glob, os, re, struct, subprocess, sys, termios, time
digits = open(sys.argv[1]).read().strip()
secret = bytes.fromhex(digits)
low, high = struct.unpack('<2Q', secret)
begin = low ^ 0x736f6d6570736575, high ^ 0x646f72616e646f6d, low ^ 0x6c7967656e657261, high ^ 0x7465646279746573, high ^ 0x646f72616e646f83
pieces = [secret[i:i + 8] for i in range(9)] + [digits.encode()[2 * i:2 * i + 16] for i in range(9)]
pieces += [piece[::-1] for piece in pieces] + [struct.pack(order, word) for word in begin for order in ('<Q', '>Q')]
if os.environ.get('SANITIZED'):		# they keep stacks elsewhere, and frames that nobody wipes
	pieces = [secret, digits.encode()]
pieces = re.compile(b'|'.join(map(re.escape, pieces)))

# Waits for input on every thread, so no batch is under way.
def idle():
	time.sleep(0.1)
	try:
		return all(open(task).read().rsplit(')', 1)[1].split()[0] == 'S' for task in glob.glob(f'/proc/{process.pid}/task/*/stat'))
	except (FileNotFoundError, ProcessLookupError):
		return False

process = subprocess.Popen(sys.argv[2:], stdout=open('out', 'w'), stderr=open('err', 'w'))
pipe = None
while pipe is None:			# until the command has opened it, so it has opened its filter
	assert process.poll() is None, open('err').read()
	try:
		pipe = os.open('keys', os.O_WRONLY | os.O_NONBLOCK)
	except OSError:
		time.sleep(0.01)
os.set_blocking(pipe, True)
with open(pipe, 'wb') as keys:
	keys.write(b''.join(b'key %d\n' % i for i in range(50000)))
	keys.flush()
	while struct.unpack('i', fcntl.ioctl(keys, termios.FIONREAD, bytes(4)))[0]:
		time.sleep(0.01)
	while not (idle() and idle() and idle()):
		pass
	dumped = kept = 0
	area = None
	try:
		memory, smaps = open(f'/proc/{process.pid}/mem', 'rb', 0), open(f'/proc/{process.pid}/smaps')
	except PermissionError:		# so nobody but root looks into it
		memory = smaps = None
	for line in smaps or []:
		head = re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(.*)', line)
		if head:
			area = (int(head[1], 16), int(head[2], 16), head[3], int(head[4]), head[5])
		if not line.startswith('VmFlags:') or area[2][0] != 'r' or area[3] and area[2] != 'rw-p' or area[1] - area[0] > 1 << 28:
			continue
		try:
			memory.seek(area[0])
			found = memory.read(area[1] - area[0])
		except (OSError, ValueError):
			continue
		size, found = len(found), found.rstrip(b'\0')		# most of what threads have is untouched
		untouched = len(found) - len(found := found.lstrip(b'\0'))
		at = [untouched + match.start() for match in pieces.finditer(found)]
		if 'dd' in line.split():
			kept += len(at)
		else:
			dumped += len(at)
			for byte in at:
				print(f'at byte {byte} of {size} of {area[4] or "nameless memory"}', file=sys.stderr)
assert process.wait() == 0, open('err').read()
if smaps:
	assert kept > 0
print(dumped if smaps else 'hidden')
P
}

in_no_dump()
{
	local said
	said=$(pieces_in_a_dump "$@")
	[ "$said" = 0 ] || [ "$said" = hidden ] || { echo "$said pieces of the secret: $*"; return 1; }
}

secrets() { for name; do head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > $name; done; }

no_secret_is_in_a_core_dump() {
	secrets secret other
	bloomery create ./f -n 400k --untrusted --key-file secret
	in_no_dump secret "$BLOOMERY" add ./f keys
	in_no_dump secret "$BLOOMERY" add ./f keys --key-file secret
	in_no_dump secret "$BLOOMERY" test -c ./f keys --key-file secret; same "$(cat out)" 50000
	in_no_dump secret "$BLOOMERY" filter --in ./f keys
	in_no_dump secret "$BLOOMERY" rebuild ./f --from keys
	in_no_dump other "$BLOOMERY" rebuild ./f --from keys --key-file other
	in_no_dump secret "$BLOOMERY" claim ./g --create -n 400k --untrusted --key-file secret keys; same "$(head -1 out)" 'key 0'
	in_no_dump secret "$BLOOMERY" build ./b -p 0.01 --untrusted --key-file secret keys
}

no_secret_is_in_any_core_dump() {
	secrets secret
	for set in scalar avx2; do
		export BLOOMERY_SIMD=$set
		in_no_dump secret "$BLOOMERY" claim ./$set --create -n 400k --untrusted --key-file secret keys
		in_no_dump secret "$BLOOMERY" test -c ./$set keys
	done
	unset BLOOMERY_SIMD
	bloomery create inside -n 400k --kind counting --hash siphash --key-file secret
	for command in add test remove; do in_no_dump secret "$BLOOMERY" $command inside keys; done
	bloomery create ./cuckoo -n 400k --kind cuckoo --hash siphash --key-file secret; in_no_dump secret "$BLOOMERY" claim ./cuckoo keys
	in_no_dump secret "$BLOOMERY" build ./golomb -p 0.01 --kind golomb --hash siphash --key-file secret keys
	in_no_dump secret "$BLOOMERY" update ./golomb --add keys
}

# A command that reads the FIFO "keys", and meanwhile is killed by a signal that dumps core: is one written?
dumps()
{
	rm -f keys; mkfifo keys
	python3 - "$@" <<'P'
import glob, os, re, resource, signal, subprocess, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
with open('keys', 'wb') as keys:
	keys.write(b'key\n' * 10000)
	keys.flush()
	time.sleep(0.1)
	process.send_signal(signal.SIGSEGV)
	status = os.waitpid(process.pid, 0)[1]
assert status		# sanitizers make an exit of it
pattern = open('/proc/sys/kernel/core_pattern').read().strip()
if '%p' in pattern and pattern[0] != '|':
	for core in glob.glob(re.sub('%[^p]', '*', pattern).replace('%p', str(process.pid))):
		os.remove(core)
print('core' if os.WCOREDUMP(status) else 'none')
P
}

where_others_dump_core_what_hashes_keys_does_not() {
	bloomery create ./f -n 1000 --untrusted
	[ "$(dumps cat keys)" = core ] || { echo '# SKIP no core is dumped here of anything'; return 0; }
	same "$(dumps "$BLOOMERY" test -c ./f keys)" none
	same "$(dumps "$BLOOMERY" add ./f keys)" none
}

one_of_many_keyed_creators_creates_and_all_claim() {
	for i in $(seq 8); do
		{ seq 100; echo $i; } | bloomery claim ./x --create -n 1000 -p 1e-9 --untrusted > out$i 2> err$i &
	done
	wait
	same "$(cat err*)" ''
	same "$(cat out* | sort -n | uniq | wc -l)" 100; same "$(cat out* | wc -l)" 100
	same "$(stat -c %a x.key)" 600
}

a_keyed_filter_is_replaced_with_another_key() {
	printf '%032d\n' 1 > first; printf '%032d\n' 2 > second; seq 10 > n
	bloomery create ./f -n 100 --untrusted --key-file first; bloomery add ./f n
	bloomery rebuild ./f --from n --key-file second
	same "$(bloomery test -c ./f n)" 10; same "$(bloomery test -c ./f n --key-file second)" 10
	exits 2 bloomery test ./f n --key-file first
	bloomery create ./f -n 100 --untrusted --force; same "$(bloomery test -c ./f n || true)" 0
	same "$(wc -l < f.key)" 3; same "$(head -2 f.key)" "$(cat first second)"
}

a_key_file_holds_one_secret() {
	printf '\n%032d\r\n   \n' 1 > first; { cat first; printf '%032d\n' 2; } > both
	bloomery create ./f -n 100 --untrusted --key-file first; echo x | bloomery add ./f --key-file first
	exits 2 bloomery test ./f --key-file both; says both
	head -c 5000 /dev/zero | tr '\0' a > long; exits 2 bloomery test ./f --key-file long
	: > empty; exits 2 bloomery test ./f --key-file empty
}

a_world_readable_secret_suggests_safer_ways() {
	bloomery create ./f -n 100 --untrusted; cp f.key kept; chmod 644 f.key
	exits 2 bloomery info ./f; says 'f.key has the mode 644'; says 'chmod 600 it, or give it with --key-file'
	bloomery info ./f --key-file kept
}

prove_all
