/* program.h - the words of `mpitrace publish`, which mpitrace and mpitrace-publish both say. */
#pragma once

#define PUBLISH_PROGRAM "mpitrace-publish"
#define PUBLISH_SUMMARY "job records to the databases that the site runs"
#define PUBLISH_USAGE \
	"publish [PATH...] [--config FILE] [--state FILE] [--follow [--interval S]] [--dry-run] [--check] [--status] " \
	"[--dead] [--revive] [--forget] [--forget-user NAME] [--metrics FILE] [--json] [--sacct] [--query SQL " \
	"[--csv]]"
/* In an outbox: its time is that of the beginning of the last time that all of it was taken; files that are younger
 * have not been (`mpitrace fleet ingest --remove` asks). Belongs to the directory's owner, or does not count. */
#define PUBLISH_STAMP ".published"
#define PUBLISH_STATE "/var/lib/mpitrace/publish.db"
