/* folder.h - the names in folders, put on the disk */
#ifndef BLOOMERY_CORPUS_FOLDER_H
#define BLOOMERY_CORPUS_FOLDER_H

/* The folder of a file. Return: an exit code, with a message where it is not DONE; for both. */
int sync_folder(const char *name);
/* ... and all folders above, but for those that this user cannot read. @name: absolute */
int sync_folders(const char *name);

#endif
