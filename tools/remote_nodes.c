/*
 * remote_nodes.c - connections to the nodes of a server or a cluster: the address, the login, and
 * commands that a node sends on to another one
 */
#include "remote_nodes.h"

#ifndef REMOTE_SONAME

int nodes_open(struct nodes **ret, const char *url)
{
	(void)ret, (void)url;
	return broken("--redis: this build has no client of Redis; build it with libhiredis-dev");
}

void nodes_close(struct nodes *all)
{
	(void)all;
}

const char *nodes_url(const struct nodes *all)
{
	(void)all;
	return "";
}

bool nodes_lost(const struct nodes *all)
{
	(void)all;
	return false;
}

size_t nodes_run(struct nodes *all, struct order *orders, size_t count, order_taker *take,
		 void *context)
{
	(void)all, (void)orders, (void)take, (void)context;
	return count;
}

#else

#include "dlnote.h"
#include "signals.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

DLNOTE(hiredis_note, "redis", "claims at a server of Redis", REMOTE_SONAME);

enum {
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

struct nodes {
	char *url;			/* as messages show it: without the password */
	const char *user, *password;
	char *text;			/* of the URL, cut into its pieces */
	const char *database;
	struct node *node;
	size_t count;
	bool told, lost;		/* in these orders: an error, a connection */
};

const char *nodes_url(const struct nodes *all)
{
	return all->url;
}

bool nodes_lost(const struct nodes *all)
{
	return all->lost;
}

static struct timeval wait_time(void)
{
	return (struct timeval){ .tv_sec = WAIT_SECONDS };
}

/* Return: DONE, or FAILED with the server's words. */
static int tell(const struct nodes *all, redisContext *c, const char *doing, int count,
		const char *const *words)
{
	redisReply *reply = hiredis.redisCommandArgv(c, count, (const char **)words, NULL);
	int code = DONE;

	/* a server that does not know a command repeats its words, and one may be the password */
	if (reply && reply->type == REDIS_REPLY_ERROR && all->password && *all->password
	    && strstr(reply->str, all->password))
		code = broken("%s: %s: the server refuses it", all->url, doing);
	else if (!reply || reply->type == REDIS_REPLY_ERROR)
		code = broken("%s: %s: %s", all->url, doing, reply ? reply->str : c->errstr);
	if (reply)
		hiredis.freeReplyObject(reply);
	return code;
}

static int connect_node(const struct nodes *all, struct node *n)
{
	const char *const login[] = { "AUTH", all->password }, *const user[] = { "AUTH", all->user,
		all->password }, *const base[] = { "SELECT", all->database };
	redisContext *c = n->port ? hiredis.redisConnectWithTimeout(n->host, n->port, wait_time())
		: hiredis.redisConnectUnixWithTimeout(n->host, wait_time());
	int code = DONE;

	if (!c || c->err)
		code = broken("%s: cannot connect to %s: %s", all->url, n->host, c ? c->errstr
			      : "out of memory");
	if (code == DONE && hiredis.redisSetTimeout(c, wait_time()) != REDIS_OK)
		code = broken("%s: %s", all->url, c->errstr);
	if (code == DONE && all->password)
		code = all->user ? tell(all, c, "log in", 3, user)
			: tell(all, c, "log in", 2, login);
	if (code == DONE && all->database)
		code = tell(all, c, "select the database", 2, base);
	if (code == DONE)
		n->c = c;
	else if (c)
		hiredis.redisFree(c);
	return code;
}

/* Finds it, or makes one that is not connected. */
static int node_at(struct nodes *all, const char *host, int port, size_t *ret)
{
	struct node *larger;
	size_t i = 0;

	while (i < all->count && (strcmp(all->node[i].host, host) || all->node[i].port != port))
		i++;
	if (i == all->count) {
		larger = realloc(all->node, (i + 1) * sizeof(*larger));
		if (!larger)
			return broken("out of memory");
		all->node = larger;
		larger[i] = (struct node){ .port = port };
		snprintf(larger[i].host, HOST, "%s", host);
		all->count++;
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
	size_t bytes = strlen(url) + sizeof("***");
	char *ret = malloc(bytes);

	if (ret && (!at || at < login || !strncmp(url, "unix:", 5)))
		snprintf(ret, bytes, "%s", url);
	else if (ret)
		snprintf(ret, bytes, "%.*s***%s", (int)(login - url), url, at);
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

static int parse_tcp(struct nodes *all, char *text, char **ret_host, int *ret_port)
{
	char *base = cut(text, '/'), *host = cut(text, '@'), *login = host ? text : NULL, *port,
		*end;
	unsigned long number = PORT;

	host = host ? host : text;
	if (*host == '[') {		/* an address of IPv6 */
		port = cut(host, ']');
		if (!port || (*port && *port != ':'))
			return bad_url(all->url);
		port = *port ? port + 1 : NULL;
		host++;
	} else {
		port = cut(host, ':');
	}
	if (port) {
		number = strtoul(port, &end, 10);
		if (!isdigit((unsigned char)*port) || *end || number < 1 || number > 65535)
			return bad_url(all->url);
	}
	if (login) {
		all->password = cut(login, ':');
		all->user = all->password && *login ? login : NULL;
		if (!all->password)
			return bad_url(all->url);
	}
	for (const char *at = base; at && *at; at++)
		if (!isdigit((unsigned char)*at))
			return bad_url(all->url);
	all->database = base && *base && strcmp(base, "0") ? base : NULL;
	*ret_host = host;
	*ret_port = (int)number;
	return *host && strlen(host) < HOST ? DONE : bad_url(all->url);
}

static int connect_first(struct nodes *all)
{
	char *host = NULL;
	int port = 0, code = DONE;
	size_t first;

	all->password = secure_getenv("REDISCLI_AUTH");
	if (!strncmp(all->text, "redis://", 8)) {
		code = parse_tcp(all, all->text + 8, &host, &port);
	} else if (!strncmp(all->text, "unix:", 5)) {
		host = all->text + (strncmp(all->text, "unix://", 7) ? 5 : 7);
		code = *host && strlen(host) < HOST ? DONE : bad_url(all->url);
	} else {
		code = bad_url(all->url);
	}
	if (code == DONE)
		code = node_at(all, host, port, &first);
	return code == DONE ? connect_node(all, &all->node[first]) : code;
}

int nodes_open(struct nodes **ret, const char *url)
{
	struct nodes *all = calloc(1, sizeof(*all));
	const char *reason = need();
	sigset_t signals;
	int code;

	if (all)
		*all = (struct nodes){ .url = without_login(url), .text = strdup(url) };
	code = reason ? broken("--redis: %s", reason)
		: !all || !all->url || !all->text ? broken("out of memory") : DONE;
	signals = hold_sigpipe();
	if (code == DONE)
		code = connect_first(all);
	drop_sigpipe(signals);
	if (code == DONE)
		*ret = all;
	else
		nodes_close(all);
	return code;
}

void nodes_close(struct nodes *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++)
		if (all->node[i].c)
			hiredis.redisFree(all->node[i].c);
	free(all->node);
	free(all->url);
	free(all->text);
	free(all);
}

/* ---- Commands ---- */

enum answer { ANSWERED, AGAIN, AFTER_A_PAUSE, REFUSED, LOST };

/* "MOVED 3999 127.0.0.1:6381", or the same with ASK. Return: AGAIN or REFUSED */
static enum answer follow(struct nodes *all, struct order *o, const char *words, bool asking)
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
		snprintf(host, sizeof(host), "%s", all->node[o->node].host);
	if (node_at(all, host, port, &node) != DONE)
		return REFUSED;
	o->asking = asking;
	if (!asking)
		*o->home = node;
	else
		o->node = node;
	return AGAIN;
}

/* After each of these errors a command was not run. */
static enum answer judge(struct nodes *all, struct order *o, const char *words)
{
	static const char *const pass[] = { "TRYAGAIN ", "CLUSTERDOWN ", "LOADING ",
		"MASTERDOWN " };

	if (!strncmp(words, "MOVED ", 6) || !strncmp(words, "ASK ", 4))
		return follow(all, o, words, *words == 'A');
	for (size_t i = 0; i < ARRAY_LEN(pass); i++)
		if (!strncmp(words, pass[i], strlen(pass[i])))
			return AFTER_A_PAUSE;
	return REFUSED;
}

/* Many orders may fail alike: the first one gets a message. */
static void tell_once(struct nodes *all, const struct order *o, const char *reason)
{
	if (!all->told)
		say("%s: %s: %s", all->url, o->words[1], reason);
	all->told = true;
}

static bool send_order(struct nodes *all, struct order *o)
{
	static const char *const asking[] = { "ASKING" };
	redisContext *c;

	if (!o->asking)
		o->node = *o->home;
	if (!all->node[o->node].c && connect_node(all, &all->node[o->node]) != DONE)
		return false;
	c = all->node[o->node].c;
	if (o->asking)
		hiredis.redisAppendCommandArgv(c, 1, (const char **)asking, NULL);
	return hiredis.redisAppendCommandArgv(c, o->count, o->words, o->lengths) == REDIS_OK;
}

/* Takes the answer of an order that was sent. The reply is the caller's where it is ANSWERED. */
static enum answer take_answer(struct nodes *all, struct order *o, redisReply **ret)
{
	struct node *n = &all->node[o->node];
	enum answer a;

	for (int left = o->asking ? 2 : 1; left > 0; left--) {
		void *reply = NULL;

		if (!n->c || hiredis.redisGetReply(n->c, &reply) != REDIS_OK) {
			tell_once(all, o, !n->c ? "the connection was lost"
				  : n->c->err == REDIS_ERR_IO && errno == EAGAIN
				  ? "there was no answer for 60 seconds" : n->c->errstr);
			if (n->c)
				lose(n);
			all->lost = true;
			return LOST;
		}
		*ret = reply;
		if (left > 1)
			hiredis.freeReplyObject(reply);
	}
	o->asking = false;
	if ((*ret)->type != REDIS_REPLY_ERROR || (o->fine && !strcmp((*ret)->str, o->fine)))
		return ANSWERED;
	a = judge(all, o, (*ret)->str);
	if (a == REFUSED)
		tell_once(all, o, (*ret)->str);
	hiredis.freeReplyObject(*ret);
	return a;
}

size_t nodes_run(struct nodes *all, struct order *orders, size_t count, order_taker *take,
		 void *context)
{
	size_t left = count, failed = 0;
	time_t end = time(NULL) + WAIT_SECONDS;
	sigset_t signals = hold_sigpipe();

	all->told = all->lost = false;
	for (unsigned round = 0; left && !failed && (!round || !stopping()); round++) {
		size_t again = 0, sent = 0;
		bool pause = false;

		while (sent < left && send_order(all, &orders[sent]))
			sent++;
		failed = left - sent;
		for (size_t i = 0; i < sent; i++) {
			redisReply *reply = NULL;
			enum answer a = take_answer(all, &orders[i], &reply);

			if (a == ANSWERED) {
				failed += !take(&orders[i], reply->type == REDIS_REPLY_STRING
						? reply->str : NULL, reply->len, context);
				hiredis.freeReplyObject(reply);
				continue;
			}
			pause |= a == AFTER_A_PAUSE || round >= HOPS;
			if (a <= AFTER_A_PAUSE && time(NULL) < end)
				orders[again++] = orders[i];
			else
				failed++;
			if (a <= AFTER_A_PAUSE && failed)
				tell_once(all, &orders[i], "the server cannot take it for long");
		}
		left = again;
		if (pause && left)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
	}
	drop_sigpipe(signals);
	return failed + left;
}

#endif
