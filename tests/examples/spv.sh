#!/bin/bash
# spv.sh - a wallet's filter finds its transactions in a block of Bitcoin's testnet, number 926485, and no others
. "${TAP:?must be tests/tools/tap.sh}"
: "${SPV:?must be the path of the example}" "${BLOCK:?must be the block in hexadecimal digits}"

paid=f56da6d0bb5807561c29093066edd1d505c2fa4ae89bb895c4318481d360fd3f	# both pay 913bcc..., and are signed with its key;
again=32a52be869fc148b6104244859c879f1319cfd86e89e6f7fc1ffaaf518fa14be	# the second spends output 1 of the first

matches()	# KEY...
{
	rm -f wallet load
	bloomery create ./wallet --format bip37 -n 4 -p 0.000001
	printf '%s\n' "$@" | bloomery add --hex ./wallet
	bloomery export ./wallet --format bip37 -o load
	python3 "$SPV" load < "$BLOCK" | xargs
}

refuses()	# BLOCK WORDS
{
	local got=0
	python3 "$SPV" load < "$1" 2> exits.err || got=$?
	same $got 2; says "$2"
}

a_wallet_finds_the_transactions_of_its_address() {
	same "$(matches 913bcc2be49cb534c20474c4dee1e9c4c317e7eb)" "$paid $again"
	same "$(matches 03f7a897e4dbecab2264b21917f90664ea8256189ea725d28740cf7ba5d85b5763)" "$paid $again"
}

an_output_is_found_by_its_spender_and_id() {
	local id=3ffd60d3818431c495b89be84afac205d5d1ed663009291c560758bbd0a66df5	# as it lies
	same "$(matches ${id}01000000)" $again
	same "$(matches $id)" $paid
	same "$(matches 3ebc40e411ed3c76f86711507ab9523008903972)" d06d86bacf88f1f316d4470080b7869f1c298b850e7b219124ae131c0475abb0	# with a witness
}

an_empty_wallet_and_a_changed_block_get_nothing() {
	bloomery create ./w --format bip37 -n 4 -p 0.000001; echo 00 | bloomery add --hex ./w; bloomery export ./w --format bip37 -o load
	exits 1 python3 "$SPV" load < "$BLOCK"
	sed 's/76a914913bcc/76a914913bcd/' "$BLOCK" > bad; refuses bad 'not the transactions'
	head -c 1000 "$BLOCK" > bad; refuses bad 'cut'
	{ head -c 160 "$BLOCK"; echo 00; } > bad; refuses bad 'not the transactions'
	echo "no block" > bad; refuses bad 'hexadecimal'; head -c 999 "$BLOCK" > bad; refuses bad 'hexadecimal'
}

prove_all
