#!/bin/bash
# secrets.sh - where the secrets of keyed filters are, and where not
. "${0%/*}/tap.sh"

# Of a command that reads the FIFO "keys": how many copies of the secret in $1, raw or in hexadecimal digits, a core dump would
# have, as the kernel makes it by default, and whether the command has it at all.
copies_in_a_dump()
{
	rm -f keys; mkfifo keys
	python3 - "$@" <<'P'
import re, subprocess, sys
hexadecimal = open(sys.argv[1]).read().strip()
forms = [bytes.fromhex(hexadecimal), hexadecimal.encode()]
process = subprocess.Popen(sys.argv[2:])
with open('keys', 'w') as keys:		# returns when the command has opened it, so it has opened its filter
	dumped = kept = 0
	area = None
	with open(f'/proc/{process.pid}/mem', 'rb', 0) as memory, open(f'/proc/{process.pid}/smaps') as smaps:
		for line in smaps:
			head = re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)', line)
			if head:
				area = (int(head[1], 16), int(head[2], 16), head[3], int(head[4]))
			if not line.startswith('VmFlags:') or area[2][0] != 'r' or area[3] or area[1] - area[0] > 1 << 28:
				continue
			try:
				memory.seek(area[0])
				found = memory.read(area[1] - area[0])
			except OSError:
				continue
			copies = sum(found.count(form) for form in forms)
			if 'dd' in line.split():
				kept += copies
			else:
				dumped += copies
	keys.write('key\n')
assert process.wait() == 0
assert kept > 0
print(dumped)
P
}

no_secret_is_in_a_core_dump() {
	head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > secret; head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > other
	bloomery create ./f -n 1000 --untrusted --key-file secret
	same "$(copies_in_a_dump secret "$BLOOMERY" add ./f keys)" 0
	same "$(copies_in_a_dump secret "$BLOOMERY" add ./f keys --key-file secret)" 0
	same "$(copies_in_a_dump secret "$BLOOMERY" rebuild ./f --from keys)" 0
	same "$(copies_in_a_dump other "$BLOOMERY" rebuild ./f --from keys --key-file other)" 0
	same "$(copies_in_a_dump secret "$BLOOMERY" claim ./g --create -n 100 --untrusted --key-file secret keys)" 'key
0'
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
