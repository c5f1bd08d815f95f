/*
 * powers.h - what only root can do, tried out: in a user namespace the user id 0 says little
 *
 * Each function returns NULL if this process can do it, or else why not, in words for SKIP(). The
 * words are valid until the next call.
 */
#ifndef BLM_POWERS_H
#define BLM_POWERS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline const char *why_no_power(int err)
{
	return err == EINVAL ? "this user namespace does not have it"
		: err == EPERM ? "only root can" : strerror(err);
}

/* Another user, for good. A child tries it. */
static inline const char *cannot_become(uid_t uid, gid_t gid)
{
	static char words[150];
	pid_t pid;
	int status = -1;

	if (uid == getuid())
		return "this process is that user already";
	pid = fork();
	if (pid == 0)
		_exit(setgid(gid) < 0 || setuid(uid) < 0 ? errno & 127 : 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		return NULL;
	snprintf(words, sizeof(words), "this process cannot become the user %u of the group %u: %s",
		 uid, gid, WIFEXITED(status) ? why_no_power(WEXITSTATUS(status)) : "no process");
	return words;
}

/* A file of one's own to another user: one in the working folder is tried. */
static inline const char *cannot_give_away(uid_t uid, gid_t gid)
{
	static char words[150];
	char path[] = "given-XXXXXX";
	int fd, err;

	if (uid == getuid())
		return "this process is that user already";
	fd = mkstemp(path);
	err = fd < 0 || fchown(fd, uid, gid) < 0 ? errno : 0;
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	if (!err)
		return NULL;
	snprintf(words, sizeof(words), "this process cannot give a file to the user %u: %s", uid,
		 why_no_power(err));
	return words;
}

#endif
