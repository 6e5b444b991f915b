/* doctor_checks.c - the checks of a host, in the order in which they are said. */
#include "cli/doctor.h"

const struct doctor_check doctor_checks[] = {
	{"tracer", check_front},	{"open mpi", check_openmpi}, {"mpich", check_mpich},
	{"mpi abi", check_abi},		{"preload", check_preload},  {"clock", check_clock},
	{"viewer", check_viewer},	{"slurm", check_slurm},	     {"plugin", check_plugin},
	{"plugstack", check_plugstack}, {"slurmd", check_slurmd},    {"spool", check_spool},
	{"programs", check_programs},	{"pyxis", check_containers}, {"room", check_room},
	{"late", check_late},		{"policy", check_policy},    {NULL, NULL},
};

bool doctor_first_bad(struct verdict *ret_v, const char **ret_name)
{
	for (const struct doctor_check *c = doctor_checks; c->name != NULL; c++) {
		struct verdict v = {0};
		c->check(&v);
		if (v.level != VERDICT_BAD)
			continue;
		*ret_v = v;
		*ret_name = c->name;
		return true;
	}
	return false;
}
