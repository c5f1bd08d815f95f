#!/bin/bash
# bitmap.sh - numbers that are exact, and tables of signatures that can be full
. "${0%/*}/tap.sh"

numbers_are_exact() {
	bloomery create b --kind bitmap -m 65536; bloomery create c --kind bitmap -m 65536
	bloomery info b --json | holds 'j["data_bytes"] == 8192 and j["rate"] == 0 and j["hash"] == "integer" and j["capacity"] == 65536'
	seq 0 3 65535 | bloomery add b; seq 0 5 65535 | bloomery claim c > claimed
	same "$(wc -l < claimed)" 13108; seq 0 5 65535 | exits 1 bloomery claim c
	same "$(seq 0 70000 | bloomery test b | md5sum)" "$(seq 0 3 65535 | md5sum)"
	bloomery union b c -o u -q; bloomery intersect b c -o i -q
	same "$(seq 0 70000 | bloomery test i | md5sum)" "$(seq 0 15 65535 | md5sum)"
	bloomery info u --json | holds 'j["keys"] == j["estimate"] == 30584 and not j["keys_estimated"] and j["estimate_error"] == 0'
	bloomery compare b c --json | holds 'j["union"] == 30584 and j["intersection"] == 4370 and j["intersection_error"] == 0'
	bloomery info b | grep -q exactly
}

invalid_numbers_are_refused_by_name_and_denied() {
	bloomery create b --kind bitmap -m 100
	printf '5\nx7\n6\n' | exits 2 bloomery add b; says x7
	printf '100\n' | exits 2 bloomery add b; says 100
	printf '8\n7\nx7\n6\n' > keys; exits 2 bloomery add b keys; says 'keys: line 3 is refused: "x7"'; exits 2 bloomery add --count b keys; says 'keys: line 3 '
	seq 100 150 | exits 2 bloomery add b; says 'line 1 '; { may_be_cut yes 1 | head -300000; echo 100; } | exits 2 bloomery add b; says 'line 300001 '
	printf -- '-1\n' | exits 2 bloomery add b; says -1
	same "$(bloomery test b keys | tr '\n' ' ')" '8 7 '
	same "$(printf -- '5\nx7\n-1\n100\n1000\n\n005\n' | bloomery test b | tr '\n' ' ')" '5 005 '
	exits 64 bloomery create d --kind bitmap -m 100 --hash xxh3; says bitmap
	exits 64 bloomery create d --kind classic -n 100 --hash integer; says bitmap
}

a_full_table_refuses_and_keeps() {
	bloomery create h --kind hash-compact -m 1000 --with signature-bits=24
	seq 2000 | exits 2 bloomery add h -q; says full
	bloomery info h --json | holds 'j["keys"] == 1000 and j["facts"]["load"] == 1'
	same "$(seq 1000 | bloomery test -c h)" 1000
	bloomery info h | grep -q 'signature-bits=24'
	bloomery create t -n 100 -p 1e-6 --kind hash-compact; exits 2 bloomery union h t -o x; says 'cannot make a union'
	seq 5000 > keys; bloomery rebuild h --from keys -n 5000
	same "$(bloomery test -c h keys)" 5000
	bloomery info h --json | holds 'j["options"].startswith("signature-bits=24")'
}

a_rebuild_keeps_a_power_of_two() {
	seq 3000 > keys
	bloomery create s --kind split-block -n 1000 -p 0.001 --with power-of-two=1; bloomery rebuild s --from keys -n 3000
	bloomery create o --kind split-block -n 1000 -p 0.001 --power-of-two; same "$(bloomery info o --json | json 'j["options"]')" 'power-of-two=1'
	bloomery build p --kind split-block -p 0.001 --power-of-two keys; bloomery info p --json | holds 'j["m"] & (j["m"] - 1) == 0'
	exits 64 bloomery create x -n 1000 --power-of-two; says power-of-two
	bloomery info s --json | holds 'j["m"] & (j["m"] - 1) == 0 and j["m"] > 40000 and j["hash"] == "xxh64"'
	exits 64 bloomery create x --kind split-block -m 768 --with power-of-two=1; says 'power of two'
	exits 64 bloomery create x --kind split-block -m 768 --with powers=1; says power-of-two
}

prove_all
