/*
 * ordered_ip.c - no hash: a key is an address or a network of IPv4 or IPv6
 *
 * The place of an IPv6 address is its upper 64 bits; the lower ones are not looked at. That of an
 * IPv4 address is its 32 bits, so IPv4 is where IPv6 has ::/32, which is not in use. An IPv4
 * address that is mapped into IPv6 (::ffff:0:0/96) is that IPv4 address. A network is an interval
 * of places (ordered.h); the bits of its address behind its length are not looked at.
 *
 * A network of IPv6 that contains all mapped addresses is no key if it is longer than ::/32: its
 * places are not those of IPv4, so it would deny them.
 */
#include "hash/ordered.h"

#include <arpa/inet.h>

enum { TEXT_MOST = 64, NOT_ONE = 0, EVERYTHING = 1, AROUND_IPV4 = 2 };

static uint64_t big(const uint8_t *bytes, unsigned count)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < count; i++)
		x = x << 8 | bytes[i];
	return x;
}

/* The length behind the slash; false: it is none. No slash: `most`. */
static bool length_of(const char *slash, unsigned most, unsigned *ret)
{
	const char *digits = slash ? slash + 1 : NULL;
	uint64_t length = most;
	bool too_large = false;

	if (digits && ordered_digits((const uint8_t *)digits, (const uint8_t *)digits
				     + strlen(digits), &length, &too_large)
	    != (const uint8_t *)digits + strlen(digits))
		return false;
	*ret = (unsigned)length;
	return !(digits && !*digits) && !too_large && length <= most;
}

static struct blm_hash network(const struct blm_hasher *by, uint64_t place, unsigned level)
{
	return level == 64 ? ordered_none(by, EVERYTHING)
		: ordered_place(by, place >> level, level);
}

static bool has_same_bits(const uint8_t *a, const uint8_t *b, unsigned count)
{
	return !memcmp(a, b, count / 8)
		&& (count % 8 == 0 || !((a[count / 8] ^ b[count / 8]) >> (8 - count % 8)));
}

static struct blm_hash of_ipv6(const struct blm_hasher *by, const uint8_t bytes[16],
			       unsigned length)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	if (length >= 96 && !memcmp(bytes, mapped, sizeof(mapped)))
		return network(by, big(bytes + 12, 4), 128 - length);
	if (length > 32 && length < 96 && has_same_bits(bytes, mapped, length))
		return ordered_none(by, AROUND_IPV4);
	return network(by, big(bytes, 8), length < 64 ? 64 - length : 0);
}

/*
 * An address of IPv4, as most questions are: faster than inet_pton(), which says what all other
 * keys are. False: it is no such address.
 */
static bool is_quad(const uint8_t *at, size_t len, uint64_t *ret)
{
	const uint8_t *end = at + len;

	*ret = 0;
	for (int i = 0; i < 4; i++) {
		const uint8_t *first;
		unsigned number = 0;

		if (i && (at == end || *at++ != '.'))
			return false;
		for (first = at; at < end && at - first < 3 && *at >= '0' && *at <= '9'; at++)
			number = 10 * number + (unsigned)(*at - '0');
		if (at == first || number > 255 || (*first == '0' && at - first > 1))
			return false;
		*ret = *ret << 8 | number;
	}
	return at == end;
}

static void hash_text(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	char text[TEXT_MOST] = "", *slash;
	uint8_t bytes[16];
	unsigned length;

	*ret = ordered_none(by, NOT_ONE);
	if (!key->len || key->len >= sizeof(text) || memchr(key->bytes, 0, key->len))
		return;
	memcpy(text, key->bytes, key->len);
	slash = strchr(text, '/');
	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, text, bytes) == 1) {
		if (length_of(slash, 32, &length))
			*ret = network(by, big(bytes, 4), 32 - length);
	} else if (inet_pton(AF_INET6, text, bytes) == 1 && length_of(slash, 128, &length)) {
		*ret = of_ipv6(by, bytes, length);
	}
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t place;

	if (is_quad(key->bytes, key->len, &place))
		*ret = ordered_place(by, place, 0);
	else
		hash_text(by, key, ret);
}

static const char *refuse(const struct blm_hash *hash)
{
	if (!ordered_is_none(hash))
		return NULL;
	return hash->hi == EVERYTHING ? "the network of all addresses, which needs no filter"
		: hash->hi == AROUND_IPV4 ? "a network around all mapped addresses of IPv4, "
		"::ffff:0:0/96; write its parts as networks of their own"
		: "no address and no network (ADDRESS/LENGTH) of IPv4 or IPv6";
}

const struct blm_family blm_family_ordered_ip = {
	.id = 37,
	.name = "ordered-ip",
	.summary = "none: a key is an address or a network of IPv4 or IPv6, for ranges of "
	"addresses",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash, .refuse = refuse,
};
