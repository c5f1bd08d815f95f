#!/bin/bash
# secrets.sh - where the secrets of keyed filters are, and where not
. "${0%/*}/tap.sh"

# Of a command that reads the FIFO "keys", after it has hashed many: how many copies of the secret in $1, raw or in hexadecimal digits, or
# of its halves, a core dump would have beside the registers, if the kernel made one as it does by default, and whether the command has it
# at all. On a stack the loops leave pieces: of that only whole copies count.
copies_in_a_dump()
{
	rm -f keys; mkfifo keys
	python3 - "$@" <<'P'
import fcntl, os, re, struct, subprocess, sys, termios, time
hexadecimal = open(sys.argv[1]).read().strip()
secret = bytes.fromhex(hexadecimal)
whole, halves = [secret, hexadecimal.encode()], [] if os.environ.get('SANITIZED') else [secret[:8], secret[8:]]	# they keep stacks elsewhere
process = subprocess.Popen(sys.argv[2:], stdout=open('out', 'w'), stderr=subprocess.DEVNULL)
with open('keys', 'wb') as keys:		# returns when the command has opened it, so it has opened its filter
	keys.write(b''.join(b'key %d\n' % i for i in range(200000)))
	keys.flush()
	while struct.unpack('i', fcntl.ioctl(keys, termios.FIONREAD, bytes(4)))[0]:
		time.sleep(0.01)
	time.sleep(0.2)
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
		copies = sum(found.count(form) for form in (whole if area[4] == '[stack]' else whole + halves))
		if 'dd' in line.split():
			kept += copies
		else:
			dumped += copies
assert process.wait() == 0
if smaps:
	assert kept > 0
print(dumped if smaps else 'hidden')
P
}

in_no_dump()
{
	local said
	said=$(copies_in_a_dump "$@")
	[ "$said" = 0 ] || [ "$said" = hidden ] || { echo "$said pieces of the secret: $*"; return 1; }
}

no_secret_is_in_a_core_dump() {
	head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > secret; head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > other
	bloomery create ./f -n 400k --untrusted --key-file secret
	in_no_dump secret "$BLOOMERY" add ./f keys
	in_no_dump secret "$BLOOMERY" add ./f keys --key-file secret
	in_no_dump secret "$BLOOMERY" test -c ./f keys --key-file secret; same "$(cat out)" 200000
	in_no_dump secret "$BLOOMERY" rebuild ./f --from keys
	in_no_dump other "$BLOOMERY" rebuild ./f --from keys --key-file other
	in_no_dump secret "$BLOOMERY" claim ./g --create -n 400k --untrusted --key-file secret keys; same "$(head -1 out)" 'key 0'
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

of_many_that_create_a_keyed_filter_at_once_one_does_and_all_claim() {
	for i in $(seq 8); do
		{ seq 100; echo $i; } | bloomery claim ./x --create -n 1000 -p 1e-9 --untrusted > out$i 2> err$i &
	done
	wait
	same "$(cat err*)" ''
	same "$(cat out* | sort -n | uniq | wc -l)" 100; same "$(cat out* | wc -l)" 100
	same "$(stat -c %a x.key)" 600
}

a_keyed_filter_is_created_over_and_rebuilt_with_another_key() {
	printf '%032d\n' 1 > first; printf '%032d\n' 2 > second; seq 10 > n
	bloomery create ./f -n 100 --untrusted --key-file first; bloomery add ./f n
	bloomery rebuild ./f --from n --key-file second
	same "$(bloomery test -c ./f n)" 10; same "$(bloomery test -c ./f n --key-file second)" 10
	exits 2 bloomery test ./f n --key-file first
	bloomery create ./f -n 100 --untrusted --force; same "$(bloomery test -c ./f n || true)" 0
	same "$(wc -l < f.key)" 3; same "$(head -2 f.key)" "$(cat first second)"
}

a_key_file_holds_one_secret_and_blank_lines_at_most() {
	printf '\n%032d\r\n   \n' 1 > first; { cat first; printf '%032d\n' 2; } > both
	bloomery create ./f -n 100 --untrusted --key-file first; echo x | bloomery add ./f --key-file first
	exits 2 bloomery test ./f --key-file both; says both
	head -c 5000 /dev/zero | tr '\0' a > long; exits 2 bloomery test ./f --key-file long
	: > empty; exits 2 bloomery test ./f --key-file empty
}

where_a_secret_may_be_read_by_all_the_message_says_how_else_to_give_it() {
	bloomery create ./f -n 100 --untrusted; cp f.key kept; chmod 644 f.key
	exits 2 bloomery info ./f; says 'f.key has the mode 644'; says 'where the file system keeps no modes, give it with --key-file'
	bloomery info ./f --key-file kept
}

prove_all
