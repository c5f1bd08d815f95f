#!/bin/bash
# links.sh - what stands in the place of a file of a store, of an index, of a secret or of a temporary one: links, pipes, sockets, folders
. "${0%/*}/tap.sh"

# An unrelated file, a filter and a catalog: the target of a link stays as it is, including its time.
victims()
{
	mkdir victims; echo mine > victims/text; : > victims/empty
	bloomery create ./victims/filter -n 1000; seq 500 | bloomery add ./victims/filter
	bloomery create --store ./victims/store mine -n 1000
	cp -a victims kept
}
untouched()
{
	diff -r victims kept; [ ! -e victims/nosuch ]
	diff <(cd victims; find . -printf '%p %s %T@ %i %m\n' | sort) marks
}
mark() { (cd victims; find . -printf '%p %s %T@ %i %m\n' | sort) > marks; }

# In the place of file $1: the file's kind is $2.
put()
{
	rm -rf "$1"
	case $2 in
	fifo) mkfifo "$1" ;;
	folder) mkdir "$1" ;;
	socket)	# another name of one socket, because it starts no Python
		[ -e a-socket ] || python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("a-socket")'
		ln a-socket "$1" ;;
	*) ln -s "$PWD/victims/$2" "$1"
	esac
}
sorts='text empty nosuch filter store/catalog/data.mdb fifo socket folder'

# It ends by itself, with an answer or with words for an error.
ends()
{
	code=0
	timeout -k 1 100 "$@" > out 2> err < keys || code=$?
	case $code in
	0 | 1) ;;
	2) grep -q '^bloomery: .' err || { echo "no words: $*"; return 1; } ;;
	*) echo "exit $code: $*"; cat err; return 1
	esac
}
fails() { ends "$@"; same $code 2; grep -qF -- "$named" err || { echo "no $named in: $(cat err)"; return 1; }; }

a_store_writes_through_no_link() {
	victims; mark; seq 100 > keys
	bloomery create seen -n 1000; bloomery create secret -n 1000 --untrusted; cp -a store whole
	local number=0 step=1
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || step=3	# every third pair of a file and what stands in its place
	uuid=$(json 'j["uuid"]' < <(bloomery info seen --json)); inode=$(stat -c %i store/filters/$uuid.blm)
	for file in catalog/lock catalog/data.mdb catalog/data.mdb.new filters/$uuid.blm filters/.bloomery-over-$inode \
		    keys/$(ls store/keys); do
		for sort in $sorts; do
			number=$((number + 1))
			[ $((number % step)) = 0 ] || continue
			rm -rf store; cp -a whole store
			for command in 'create new -n 1000' 'add seen' 'claim secret' 'clear seen' 'label seen a=b' 'mv seen seen2' \
				       'drop seen2' 'verify --repair'; do
				put store/$file $sort; ends "$BLOOMERY" $command
			done
			untouched || { echo "$file, $sort"; return 1; }
		done
	done
}

the_lock_of_a_catalog_is_a_file() {
	victims; mark; seq 100 > keys; bloomery create seen -n 1000; named=catalog/lock
	for sort in $sorts; do
		put store/catalog/lock $sort
		for command in 'create new -n 1000' 'label seen a=b' 'verify --repair'; do fails "$BLOOMERY" $command; done
		same "$(bloomery ls)" seen	# readers need no lock
		untouched
	done
	rm -r store/catalog/lock; bloomery label seen a=b; [ -f store/catalog/lock ]
}

the_data_of_a_catalog_is_a_file() {
	victims; mark; seq 100 > keys; bloomery create seen -n 1000; named=catalog/data.mdb
	for sort in $sorts; do
		put store/catalog/data.mdb $sort
		for command in ls 'create new -n 1000' 'add seen'; do fails "$BLOOMERY" $command; done
		ends "$BLOOMERY" verify --repair
		[ $sort = folder ] || { [ -f store/catalog/data.mdb ] && [ ! -L store/catalog/data.mdb ]; bloomery ls | grep -q seen; }
		untouched
	done
}

an_index_writes_through_no_link_when_its_table_grows() {
	victims; mark; head -c $((64 * 4000)) /dev/urandom > blocks; head -c 640 blocks > keys
	bloomery dedup --index whole --blocks 64 keys
	for sort in $sorts; do
		rm -rf i; cp -a whole i; put i/hashes.new $sort
		named=i/hashes.new
		if [ $sort = folder ]; then fails "$BLOOMERY" dedup --index i blocks; continue; fi
		ends "$BLOOMERY" dedup --index i blocks; same $code 0
		[ -f i/hashes ] && [ ! -L i/hashes ] && [ ! -e i/hashes.new ]; same "$(ls i)" "$(printf 'filter.blm\nhashes')"
		for file in hashes filter.blm; do
			rm -rf i; cp -a whole i; put i/$file $sort
			named=i/$file; fails "$BLOOMERY" dedup --index i blocks
		done
		rm -rf i; mkdir i; put i/hashes.new $sort; named=i/hashes.new; fails "$BLOOMERY" dedup --index i --blocks 64 blocks
		untouched
	done
	rm -rf i; cp -a whole i; cp -a whole victims/index; cp -a whole kept/index; mark
	for file in hashes hashes.new filter.blm; do put i/$file index/$file; ends "$BLOOMERY" dedup --index i blocks; untouched; done
}

a_secret_of_a_path_is_put_into_no_link() {
	victims; mark; seq 100 > keys
	for sort in $sorts; do
		put f.key $sort; named=f.key
		fails "$BLOOMERY" create ./f -n 1000 --untrusted; [ ! -e f ]; untouched
	done
}

a_created_or_replaced_file_writes_through_no_link() {
	victims; mark; seq 100 > keys; bloomery create ./a -n 1000; bloomery create ./b -n 1000
	for sort in text empty nosuch store/catalog/data.mdb fifo folder; do
		for command in 'create ./x -n 1000' 'copy ./a ./x' 'build ./x keys -p 0.01' 'template ./a ./x' 'bank ./x ./a ./b' \
			       'plan -n 1000 -p 0.01 --svg ./x'; do
			put x $sort; before=$(stat -c %F-%i x); named=x; fails "$BLOOMERY" $command; same "$(stat -c %F-%i x)" "$before"
		done
		bloomery create ./c -n 1000; put .bloomery-over-$(stat -c %i c) $sort; ends "$BLOOMERY" clear ./c; rm -rf .bloomery-over-* c
		untouched
		[ $sort != fifo ] || continue	# which is written to, once it has a reader
		put x $sort; ends "$BLOOMERY" export ./a -o x --format bloomery
		[ $sort = folder ] || { [ -f x ] && [ ! -L x ]; }
		untouched
	done
}

a_run_over_a_corpus_writes_through_no_link() {
	local dedup
	echo '{"text":"a"}' > docs; : > keys
	if not bloomery corpus count --by ngram docs > no-json 2>&1; then
		echo "# SKIP $(< no-json)"
		return
	fi
	victims; mark
	for sort in $sorts; do
		rm -rf f f.claims clean report*; mkdir clean; dedup="corpus dedup -F ./f --create -n 10 -p 0.01 -o clean --report report docs"
		put report.part $sort; ends "$BLOOMERY" $dedup; same $code 0; [ -f report ] && [ ! -L report ]
		put report $sort; named=report; fails "$BLOOMERY" $dedup
		rm -rf f f.claims clean report*; mkdir clean; put clean/.docs.part $sort; named=clean/.docs.part
		if [ $sort = folder ]; then fails "$BLOOMERY" $dedup; continue; fi
		ends "$BLOOMERY" $dedup; same $code 0; [ -f clean/docs ] && [ ! -L clean/docs ] && [ ! -e clean/.docs.part ]
		untouched
	done
	rm -rf f f.claims clean; mkdir clean; ln victims/text clean/.docs.part; ends "$BLOOMERY" $dedup; same $code 0; untouched
}

prove_all
