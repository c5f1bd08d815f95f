/* folder.h - the names in folders: put on the disk, and where the intent of a filter is */
#ifndef BLOOMERY_CORPUS_FOLDER_H
#define BLOOMERY_CORPUS_FOLDER_H

struct blm_info;

/* The folder of a file. Return: an exit code, with a message where it is not DONE; for both. */
int sync_folder(const char *name);
/* ... and all folders above, but for those that this user cannot read. @name: absolute */
int sync_folders(const char *name);
/* The path of FILTER.claims (ledger.h). NULL after a message. */
char *intent_place(const struct blm_info *info);

#endif
