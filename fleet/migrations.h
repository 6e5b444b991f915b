/* migrations.h - private to the database. */
#pragma once

#define FLEET_MIGRATION_PARTS 4

/* SQL that makes version i + 1 of version i; NULL where there are fewer parts. */
struct fleet_migration {
	const char *parts[FLEET_MIGRATION_PARTS];
};

extern const struct fleet_migration fleet_migrations[];
extern const int fleet_version; /* how many there are */
