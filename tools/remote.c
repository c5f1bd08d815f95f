/*
 * remote.c - claims at a server: for each batch one command a shard, all sent before the first
 * answer is read; a node of a cluster says which other node has a shard
 */
#include "remote.h"
#include "base/lazylib.h"
#include "signals.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <time.h>

#ifndef REMOTE_SONAME

int remote_open(struct remote **ret, const char *url, const char *name, unsigned shards)
{
	(void)ret, (void)url, (void)name, (void)shards;
	return broken("--redis: this build has no client of Redis; build it with libhiredis-dev");
}

void remote_close(struct remote *r)
{
	(void)r;
}

int remote_create(struct remote *r, const struct blm_params *params)
{
	(void)r, (void)params;
	return FAILED;
}

int remote_claim(struct remote *r, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	(void)r, (void)keys, (void)count, (void)ret_bits;
	return FAILED;
}

#else

#include "dlnote.h"

#include <dlfcn.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>

DLNOTE(hiredis_note, "redis", "claims at a server of Redis", REMOTE_SONAME);

enum {
	KEYS_A_COMMAND = 1000,		/* so that other clients do not wait for long */
	WAIT_SECONDS = 60,		/* for an answer, as a message says, and for a cluster */
	PAUSE_MS = 100,
	HOPS = 8,			/* from node to node without a pause */
	HOST = 256, PORT = 6379,
};

/* ---- The library ---- */

#define CALLS(F) F(redisConnectWithTimeout) F(redisConnectUnixWithTimeout) F(redisSetTimeout) \
	F(redisCommandArgv) F(redisAppendCommandArgv) F(redisGetReply) F(freeReplyObject) \
	F(redisFree)
#define CALL(f) __typeof__(f) *f;
#define NAME(f) #f,

static struct { CALLS(CALL) } hiredis;

static const char *need(void)
{
	static const char *const names[] = { CALLS(NAME) };
	void *handle = dlopen(REMOTE_SONAME, RTLD_NOW | RTLD_LOCAL);	/* stays open */

	for (size_t i = 0; handle && i < ARRAY_LEN(names); i++) {
		void *call = dlsym(handle, names[i]);

		if (!call)
			return dlerror();
		memcpy((char *)&hiredis + i * sizeof(call), &call, sizeof(call));
	}
	return handle ? NULL : dlerror();
}

/* hiredis writes to a server that may be gone: SIGPIPE is for stdout alone. */
static sigset_t hold_sigpipe(void)
{
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	return before;
}

static void drop_sigpipe(sigset_t before)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (!sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Nodes ---- */

struct node {
	char host[HOST];		/* a path, where port is 0 */
	int port;
	redisContext *c;		/* NULL: lost */
};

struct remote {
	char *url;			/* as messages show it: without the password */
	const char *user, *password;
	char *text;			/* of the URL, cut into its pieces */
	const char *database;
	unsigned shards;
	char (*key)[BLM_NAME_MAX + 8];	/* of each shard */
	size_t *node_of;		/* ... which node was the last to have it */
	struct node *nodes;
	size_t node_count;
	bool told, lost;		/* in these orders: an error, a connection */
};

static struct timeval wait_time(void)
{
	return (struct timeval){ .tv_sec = WAIT_SECONDS };
}

/* Return: DONE, or FAILED with the server's words. */
static int tell(const struct remote *r, redisContext *c, const char *doing, int count,
		const char *const *words)
{
	redisReply *reply = hiredis.redisCommandArgv(c, count, (const char **)words, NULL);
	int code = DONE;

	/* a server that does not know a command repeats its words, and one may be the password */
	if (reply && reply->type == REDIS_REPLY_ERROR && r->password && *r->password
	    && strstr(reply->str, r->password))
		code = broken("%s: %s: the server refuses it", r->url, doing);
	else if (!reply || reply->type == REDIS_REPLY_ERROR)
		code = broken("%s: %s: %s", r->url, doing, reply ? reply->str : c->errstr);
	if (reply)
		hiredis.freeReplyObject(reply);
	return code;
}

static int connect_node(const struct remote *r, struct node *n)
{
	const char *const login[] = { "AUTH", r->password }, *const user[] = { "AUTH", r->user,
		r->password }, *const base[] = { "SELECT", r->database };
	redisContext *c = n->port ? hiredis.redisConnectWithTimeout(n->host, n->port, wait_time())
		: hiredis.redisConnectUnixWithTimeout(n->host, wait_time());
	int code = DONE;

	if (!c || c->err)
		code = broken("%s: cannot connect to %s: %s", r->url, n->host, c ? c->errstr
			      : "out of memory");
	if (code == DONE && hiredis.redisSetTimeout(c, wait_time()) != REDIS_OK)
		code = broken("%s: %s", r->url, c->errstr);
	if (code == DONE && r->password)
		code = r->user ? tell(r, c, "log in", 3, user) : tell(r, c, "log in", 2, login);
	if (code == DONE && r->database)
		code = tell(r, c, "select the database", 2, base);
	if (code == DONE)
		n->c = c;
	else if (c)
		hiredis.redisFree(c);
	return code;
}

/* Finds it, or makes one that is not connected. */
static int node_at(struct remote *r, const char *host, int port, size_t *ret)
{
	struct node *larger;
	size_t i = 0;

	while (i < r->node_count && (strcmp(r->nodes[i].host, host) || r->nodes[i].port != port))
		i++;
	if (i == r->node_count) {
		larger = realloc(r->nodes, (i + 1) * sizeof(*larger));
		if (!larger)
			return broken("out of memory");
		r->nodes = larger;
		larger[i] = (struct node){ .port = port };
		snprintf(larger[i].host, HOST, "%s", host);
		r->node_count++;
	}
	*ret = i;
	return DONE;
}

static void lose(struct node *n)
{
	hiredis.redisFree(n->c);
	n->c = NULL;
}

/* ---- The address ---- */

/* All that is before the last @, but the scheme, is left out. Return: NULL without memory. */
static char *without_login(const char *url)
{
	const char *scheme = strstr(url, "://"), *at = strrchr(url, '@');
	const char *login = scheme ? scheme + 3 : url;
	size_t room = strlen(url) + sizeof("***");
	char *ret = malloc(room);

	if (ret && (!at || at < login || !strncmp(url, "unix:", 5)))
		snprintf(ret, room, "%s", url);
	else if (ret)
		snprintf(ret, room, "%.*s***%s", (int)(login - url), url, at);
	return ret;
}

static int bad_url(const char *url)
{
	return misuse("--redis: \"%s\" is no address of a server; write redis://HOST:PORT or "
		      "unix:PATH", url);
}

/* Cuts *text at its last `mark`. Return: the rest of it behind the mark; NULL: there is none. */
static char *cut(char *text, char mark)
{
	char *at = strrchr(text, mark);

	if (at)
		*at++ = '\0';
	return at;
}

static int parse_tcp(struct remote *r, char *text, char **ret_host, int *ret_port)
{
	char *base = cut(text, '/'), *host = cut(text, '@'), *login = host ? text : NULL, *port,
		*end;
	unsigned long number = PORT;

	host = host ? host : text;
	if (*host == '[') {		/* an address of IPv6 */
		port = cut(host, ']');
		if (!port || (*port && *port != ':'))
			return bad_url(r->url);
		port = *port ? port + 1 : NULL;
		host++;
	} else {
		port = cut(host, ':');
	}
	if (port) {
		number = strtoul(port, &end, 10);
		if (!isdigit((unsigned char)*port) || *end || number < 1 || number > 65535)
			return bad_url(r->url);
	}
	if (login) {
		r->password = cut(login, ':');
		r->user = r->password && *login ? login : NULL;
		if (!r->password)
			return bad_url(r->url);
	}
	for (const char *at = base; at && *at; at++)
		if (!isdigit((unsigned char)*at))
			return bad_url(r->url);
	r->database = base && *base && strcmp(base, "0") ? base : NULL;
	*ret_host = host;
	*ret_port = (int)number;
	return *host && strlen(host) < HOST ? DONE : bad_url(r->url);
}

static int connect_first(struct remote *r)
{
	char *host = NULL;
	int port = 0, code = DONE;
	size_t first;

	r->password = secure_getenv("REDISCLI_AUTH");
	if (!strncmp(r->text, "redis://", 8)) {
		code = parse_tcp(r, r->text + 8, &host, &port);
	} else if (!strncmp(r->text, "unix:", 5)) {
		host = r->text + (strncmp(r->text, "unix://", 7) ? 5 : 7);
		code = *host && strlen(host) < HOST ? DONE : bad_url(r->url);
	} else {
		code = bad_url(r->url);
	}
	if (code == DONE)
		code = node_at(r, host, port, &first);
	return code == DONE ? connect_node(r, &r->nodes[first]) : code;
}

static int name_shards(struct remote *r, const char *name)
{
	if (strlen(name) > BLM_NAME_MAX || !*name)
		return misuse("%s: the name of a filter has 1 to %d bytes", name, BLM_NAME_MAX);
	if (r->shards > 1 && strchr(name, '{'))
		return misuse("%s: a name with braces would put all shards on one node of a "
			      "cluster", name);
	r->key = calloc(r->shards, sizeof(*r->key));
	r->node_of = calloc(r->shards, sizeof(*r->node_of));
	if (!r->key || !r->node_of)
		return broken("out of memory");
	for (unsigned i = 0; i < r->shards; i++)
		if (r->shards == 1)
			snprintf(r->key[i], sizeof(r->key[i]), "%s", name);
		else
			snprintf(r->key[i], sizeof(r->key[i]), "%s:%u", name, i);
	return DONE;
}

int remote_open(struct remote **ret, const char *url, const char *name, unsigned shards)
{
	struct remote *r = calloc(1, sizeof(*r));
	const char *why = need();
	sigset_t signals;
	int code;

	if (!why)
		why = blm_need(BLM_ZLIB);	/* its CRC-32 */
	if (r)
		*r = (struct remote){ .url = without_login(url), .text = strdup(url),
				      .shards = shards };
	code = why ? broken("--redis: %s", why)
		: !r || !r->url || !r->text ? broken("out of memory") : name_shards(r, name);
	signals = hold_sigpipe();
	if (code == DONE)
		code = connect_first(r);
	drop_sigpipe(signals);
	if (code == DONE)
		*ret = r;
	else
		remote_close(r);
	return code;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->node_count; i++)
		if (r->nodes[i].c)
			hiredis.redisFree(r->nodes[i].c);
	free(r->nodes);
	free(r->node_of);
	free(r->key);
	free(r->url);
	free(r->text);
	free(r);
}

/* ---- Commands ---- */

/* A command for one shard; its words are the caller's. */
struct order {
	unsigned shard;
	int count;
	const char **words;
	size_t *lengths;
	size_t first;			/* of claims: where in `place` its keys begin */
	const char *fine;		/* an error that is none; NULL: each is one */
	bool asking;			/* the node has the shard for this once */
	size_t node;			/* that it was sent to */
};

enum answer { ANSWERED, AGAIN, AFTER_A_PAUSE, REFUSED, LOST };

/* "MOVED 3999 127.0.0.1:6381", or the same with ASK. Return: AGAIN or REFUSED */
static enum answer follow(struct remote *r, struct order *o, const char *words, bool asking)
{
	char host[HOST];
	const char *at = strrchr(words, ' '), *colon = at ? strrchr(at, ':') : NULL;
	size_t node, length = colon ? (size_t)(colon - at - 1) : HOST;
	int port = colon ? atoi(colon + 1) : 0;

	if (length >= HOST || port < 1 || port > 65535)
		return REFUSED;
	memcpy(host, at + 1, length);
	host[length] = '\0';
	if (!length)			/* the node that said so */
		snprintf(host, sizeof(host), "%s", r->nodes[o->node].host);
	if (node_at(r, host, port, &node) != DONE)
		return REFUSED;
	o->asking = asking;
	if (!asking)
		r->node_of[o->shard] = node;
	else
		o->node = node;
	return AGAIN;
}

/* After each of these errors a command was not run. */
static enum answer judge(struct remote *r, struct order *o, const char *words)
{
	static const char *const pass[] = { "TRYAGAIN ", "CLUSTERDOWN ", "LOADING ",
		"MASTERDOWN " };

	if (!strncmp(words, "MOVED ", 6) || !strncmp(words, "ASK ", 4))
		return follow(r, o, words, *words == 'A');
	for (size_t i = 0; i < ARRAY_LEN(pass); i++)
		if (!strncmp(words, pass[i], strlen(pass[i])))
			return AFTER_A_PAUSE;
	return REFUSED;
}

/* Many shards may fail alike: the first one gets a message. */
static void tell_once(struct remote *r, const struct order *o, const char *why)
{
	if (!r->told)
		say("%s: %s: %s", r->url, r->key[o->shard], why);
	r->told = true;
}

static bool send_order(struct remote *r, struct order *o)
{
	static const char *const asking[] = { "ASKING" };
	redisContext *c;

	if (!o->asking)
		o->node = r->node_of[o->shard];
	if (!r->nodes[o->node].c && connect_node(r, &r->nodes[o->node]) != DONE)
		return false;
	c = r->nodes[o->node].c;
	if (o->asking)
		hiredis.redisAppendCommandArgv(c, 1, (const char **)asking, NULL);
	return hiredis.redisAppendCommandArgv(c, o->count, o->words, o->lengths) == REDIS_OK;
}

/* Takes the answer of an order that was sent. The reply is the caller's where it is ANSWERED. */
static enum answer take_answer(struct remote *r, struct order *o, redisReply **ret)
{
	struct node *n = &r->nodes[o->node];
	enum answer a;

	for (int left = o->asking ? 2 : 1; left > 0; left--) {
		void *reply = NULL;

		if (!n->c || hiredis.redisGetReply(n->c, &reply) != REDIS_OK) {
			tell_once(r, o, !n->c ? "the connection was lost"
				  : n->c->err == REDIS_ERR_IO && errno == EAGAIN
				  ? "there was no answer for 60 seconds" : n->c->errstr);
			if (n->c)
				lose(n);
			r->lost = true;
			return LOST;
		}
		*ret = reply;
		if (left > 1)
			hiredis.freeReplyObject(reply);
	}
	o->asking = false;
	if ((*ret)->type != REDIS_REPLY_ERROR || (o->fine && !strcmp((*ret)->str, o->fine)))
		return ANSWERED;
	a = judge(r, o, (*ret)->str);
	if (a == REFUSED)
		tell_once(r, o, (*ret)->str);
	hiredis.freeReplyObject(*ret);
	return a;
}

/* Uses a reply. Return: false if it is not as it should be. */
typedef bool taking(const struct order *o, const redisReply *reply, void *context);

/*
 * All orders, and those again that another node has or that a cluster cannot take yet. Return: how
 * many were not answered, after a message.
 */
static size_t run_orders(struct remote *r, struct order *orders, size_t count, taking *take,
			 void *context)
{
	size_t left = count, failed = 0;
	time_t end = time(NULL) + WAIT_SECONDS;
	sigset_t signals = hold_sigpipe();

	r->told = r->lost = false;
	for (unsigned round = 0; left && !failed && (!round || !stopping()); round++) {
		size_t again = 0, sent = 0;
		bool pause = false;

		while (sent < left && send_order(r, &orders[sent]))
			sent++;
		failed = left - sent;
		for (size_t i = 0; i < sent; i++) {
			redisReply *reply = NULL;
			enum answer a = take_answer(r, &orders[i], &reply);

			if (a == ANSWERED) {
				failed += !take(&orders[i], reply, context);
				hiredis.freeReplyObject(reply);
				continue;
			}
			pause |= a == AFTER_A_PAUSE || round >= HOPS;
			if (a <= AFTER_A_PAUSE && time(NULL) < end)
				orders[again++] = orders[i];
			else
				failed++;
			if (a <= AFTER_A_PAUSE && failed)
				tell_once(r, &orders[i], "the server cannot take it for long");
		}
		left = again;
		if (pause && left)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
	}
	drop_sigpipe(signals);
	return failed + left;
}

/* ---- Creating ---- */

static bool take_nothing(const struct order *o, const redisReply *reply, void *context)
{
	(void)o, (void)reply, (void)context;
	return true;
}

/* Keys fall into shards as chance has it: four standard deviations more than a part. */
static uint64_t part_of(uint64_t capacity, unsigned shards)
{
	uint64_t part = (capacity + shards - 1) / shards;

	return shards == 1 ? part : part + (uint64_t)(4 * sqrt((double)part)) + 1;
}

int remote_create(struct remote *r, const struct blm_params *params)
{
	char capacity[24], rate[32];
	const char *words[12] = { "BLM.CREATE", NULL, "CAPACITY", capacity, "RATE", rate };
	int count = 6;

	snprintf(capacity, sizeof(capacity), "%llu",
		 (unsigned long long)part_of(params->capacity, r->shards));
	snprintf(rate, sizeof(rate), "%.17g", params->rate > 0 ? params->rate : 0.01);
	if (params->kind) {
		words[count++] = "KIND";
		words[count++] = params->kind;
	}
	if (params->options) {
		words[count++] = "OPTIONS";
		words[count++] = params->options;
	}
	for (unsigned i = 0; i < r->shards; i++) {
		struct order make = { .shard = i, .count = count, .words = words,
				      .fine = "ERR item exists" };

		words[1] = r->key[i];
		if (run_orders(r, &make, 1, take_nothing, NULL))
			return FAILED;
	}
	return DONE;
}

/* ---- Claiming ---- */

/* The keys of a batch, sorted by shard, and the words of their commands. */
struct sorted {
	uint32_t *shard, *place;	/* of each key; which key is at each place */
	size_t *begin;			/* of each shard, and the end */
	const char **words;
	size_t *lengths;
	struct order *orders;
	size_t order_count;
};

struct answers {
	const struct sorted *s;
	uint64_t *bits;
};

static void sorted_free(struct sorted *s)
{
	free(s->shard);
	free(s->place);
	free(s->begin);
	free(s->words);
	free(s->lengths);
	free(s->orders);
}

static bool sorted_room(struct sorted *s, size_t count, unsigned shards)
{
	size_t commands = count / KEYS_A_COMMAND + (count < shards ? count : shards) + 1;

	*s = (struct sorted){
		.shard = malloc((count + 1) * sizeof(*s->shard)),
		.place = malloc((count + 1) * sizeof(*s->place)),
		.begin = calloc(shards + 1, sizeof(*s->begin)),
		.words = malloc((count + 2 * commands) * sizeof(*s->words)),
		.lengths = malloc((count + 2 * commands) * sizeof(*s->lengths)),
		.orders = malloc(commands * sizeof(*s->orders)),
	};
	return s->shard && s->place && s->begin && s->words && s->lengths && s->orders;
}

static void sort_keys(struct sorted *s, const struct blm_key *keys, size_t count, unsigned shards)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t crc = shards == 1 ? 0 : blm_zlib.crc32_z(0, keys[i].bytes, keys[i].len);

		s->shard[i] = (uint32_t)(crc * shards >> 32);
		s->begin[s->shard[i] + 1]++;
	}
	for (unsigned i = 0; i < shards; i++)
		s->begin[i + 1] += s->begin[i];
	for (size_t i = 0; i < count; i++)		/* begin[i] is the end of i then */
		s->place[s->begin[s->shard[i]]++] = (uint32_t)i;
	memmove(s->begin + 1, s->begin, shards * sizeof(*s->begin));
	s->begin[0] = 0;
}

static void write_orders(struct sorted *s, const struct remote *r, const struct blm_key *keys)
{
	size_t at = 0;

	for (unsigned i = 0; i < r->shards; i++)
		for (size_t from = s->begin[i]; from < s->begin[i + 1]; from += KEYS_A_COMMAND) {
			size_t to = s->begin[i + 1] - from < KEYS_A_COMMAND ? s->begin[i + 1]
				: from + KEYS_A_COMMAND;

			s->orders[s->order_count++] = (struct order){
				.shard = i, .first = from, .count = (int)(to - from + 2),
				.words = s->words + at, .lengths = s->lengths + at };
			s->words[at] = "BLM.CLAIM";
			s->lengths[at++] = strlen("BLM.CLAIM");
			s->words[at] = r->key[i];
			s->lengths[at++] = strlen(r->key[i]);
			for (size_t j = from; j < to; j++) {
				s->words[at] = keys[s->place[j]].bytes;
				s->lengths[at++] = keys[s->place[j]].len;
			}
		}
}

static bool take_bits(const struct order *o, const redisReply *reply, void *context)
{
	const struct answers *a = context;
	size_t count = (size_t)o->count - 2;

	if (reply->type != REDIS_REPLY_STRING || reply->len != (count + 7) / 8) {
		say("%s: the server gave no answers to BLM.CLAIM", o->words[1]);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		if ((uint8_t)reply->str[i / 8] >> i % 8 & 1) {
			size_t key = a->s->place[o->first + i];

			a->bits[key / 64] |= UINT64_C(1) << key % 64;
		}
	return true;
}

int remote_claim(struct remote *r, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	struct sorted s;
	struct answers a = { .s = &s, .bits = ret_bits };
	size_t failed;
	int code = DONE;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	if (!sorted_room(&s, count, r->shards)) {
		code = broken("out of memory");
	} else {
		sort_keys(&s, keys, count, r->shards);
		write_orders(&s, r, keys);
		failed = run_orders(r, s.orders, s.order_count, take_bits, &a);
		if (failed)
			code = broken("%s: %zu of %zu commands of this batch have no answer%s",
				      r->url, failed, s.order_count, r->lost ? "; some of their "
				      "keys may be claimed that were not printed" : "");
	}
	sorted_free(&s);
	return code;
}

#endif
