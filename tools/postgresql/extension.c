/*
 * extension.c - the entry of the extension: settings, arguments, errors
 */
#include "module.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include <errno.h>

PG_MODULE_MAGIC;

void _PG_init(void);

static char *store_setting;
static bool paths_setting, store_changed = true;

/* ---- Settings ---- */

static bool check_store(char **value, void **extra, GucSource source)
{
	if (!*value || !**value || is_absolute_path(*value))
		return true;
	GUC_check_errdetail("A store is an absolute path.");
	return false;
}

static void assign_store(const char *value, void *extra)
{
	store_changed = true;
}

/* A wait of the library ends if this backend would handle an interrupt now. */
static int is_interrupted(void)
{
	return InterruptPending && InterruptHoldoffCount == 0 && QueryCancelHoldoffCount == 0
		&& CritSectionCount == 0;
}

void _PG_init(void)
{
	DefineCustomStringVariable("bloomery.store", "The folder of the filters.", NULL,
				   &store_setting, "", PGC_SUSET, 0, check_store, assign_store,
				   NULL);
	DefineCustomBoolVariable("bloomery.paths", "Names with a '/' are paths of files.", NULL,
				 &paths_setting, false, PGC_SUSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("bloomery");
	blm_use_threads(1);
	blm_stop_waiting_if(is_interrupted);
	if (blm_survive_truncation() < 0)
		ereport(ERROR, errmsg("%s", blm_error_message()));
}

struct filters *filters_of_backend(void)
{
	static struct filters *filters;

	if (!filters)
		filters = filters_new("bloomery.store", "bloomery.paths");
	if (!filters)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	if (!store_setting || !*store_setting)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("bloomery.store is not set"),
			errhint("A superuser sets it to the folder of a store."));
	if (store_changed && filters_use(filters, store_setting) < 0)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	store_changed = false;
	filters_take_paths(filters, paths_setting);
	return filters;
}

/* ---- Arguments ---- */

const char *name_of(const text *argument)
{
	static char name[BLM_PATH_MAX];
	char *bytes = VARDATA_ANY(argument);
	char *utf8 = pg_server_to_any(bytes, VARSIZE_ANY_EXHDR(argument), PG_UTF8);
	size_t len = utf8 == bytes ? VARSIZE_ANY_EXHDR(argument) : strlen(utf8);

	if (len >= sizeof(name))
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the name of a filter has %zu bytes", len),
			errdetail("It has at most %d bytes.", BLM_NAME_MAX));
	memcpy(name, utf8, len);
	name[len] = 0;
	if (utf8 != bytes)
		pfree(utf8);
	return name;
}

void key_of(FunctionCallInfo fcinfo, int argument, enum key_type type, struct key *ret)
{
	struct varlena *value;
	char *bytes;

	if (type == KEY_NUMBER) {
		ret->key = key_of_number(PG_GETARG_INT64(argument), ret->number);
		return;
	}
	value = PG_GETARG_VARLENA_PP(argument);
	bytes = VARDATA_ANY(value);
	ret->key = (struct blm_key){ bytes, VARSIZE_ANY_EXHDR(value) };
	if (type == KEY_TEXT)
		ret->key.bytes = pg_server_to_any(bytes, (int)ret->key.len, PG_UTF8);
	if (ret->key.bytes != bytes)
		ret->key.len = strlen(ret->key.bytes);
}

/* ---- Errors ---- */

static const struct {
	int r, code;
} codes[] = {
	{ -ENOENT, ERRCODE_UNDEFINED_OBJECT },
	{ -ESTALE, ERRCODE_UNDEFINED_OBJECT },
	{ -EEXIST, ERRCODE_DUPLICATE_OBJECT },
	{ -EINVAL, ERRCODE_INVALID_PARAMETER_VALUE },
	{ -ERANGE, ERRCODE_INVALID_PARAMETER_VALUE },
	{ -ENAMETOOLONG, ERRCODE_NAME_TOO_LONG },
	{ -EOPNOTSUPP, ERRCODE_FEATURE_NOT_SUPPORTED },
	{ -EPROTONOSUPPORT, ERRCODE_FEATURE_NOT_SUPPORTED },
	{ -EACCES, ERRCODE_INSUFFICIENT_PRIVILEGE },
	{ -EPERM, ERRCODE_INSUFFICIENT_PRIVILEGE },
	{ -ENOKEY, ERRCODE_INSUFFICIENT_PRIVILEGE },
	{ -EROFS, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE },
	{ -EBUSY, ERRCODE_LOCK_NOT_AVAILABLE },
	{ -EXFULL, ERRCODE_PROGRAM_LIMIT_EXCEEDED },
	{ -ENOSPC, ERRCODE_DISK_FULL },
	{ -ENOMEM, ERRCODE_OUT_OF_MEMORY },
	{ -EIO, ERRCODE_IO_ERROR },
	{ -EUCLEAN, ERRCODE_DATA_CORRUPTED },
	{ -EBADMSG, ERRCODE_DATA_CORRUPTED },
	{ -ENODATA, ERRCODE_DATA_CORRUPTED },
};

void raise_failure(struct filters *filters, int r)
{
	int code = ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
	char *message;

	if (r == -EINTR) {
		CHECK_FOR_INTERRUPTS();
		return;
	}
	for (size_t i = 0; i < lengthof(codes); i++)
		if (codes[i].r == r)
			code = codes[i].code;
	message = pstrdup(filters_message(filters, r));
	ereport(ERROR, errcode(code), errmsg("%s", pg_any_to_server(message, (int)strlen(message),
								     PG_UTF8)));
}
