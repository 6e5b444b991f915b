/* make_fleet.c - a year of job records of a machine, of which all is known: make_fleet [--jobs N] [--nodes N] [--days
 * N] [--slow N] [--faults N] [--kinds] [--regressions N] [--seasons] [--hung N] [--wasteful N] [--idle N] [--seed S]
 * [--truth FILE]. Records go to standard output, a line each (docs/job.schema.json). Load is diurnal and weekly;
 * programs differ in size, efficiency, evenness, and in whether rank 0 is a master; users have some programs each;
 * nodes of a job stand in a row, as schedulers place them. Planted: slow nodes, and programs (three if not said
 * otherwise) that become less efficient on a day, of those whose jobs can show it (can_show()); --faults: nodes that
 * become a tenth slower on a day, with --kinds by turns for good, until they are repaired, in the afternoon, bit by
 * bit, for half of the programs; --hung: jobs of a week that hang until their limit; --wasteful: users whose jobs are
 * useful for 15 % of their time; --idle: users who leave half of their processors idle. --seasons: nights, weekends
 * and ends of months on which all programs are worse, which is no change. --truth: a JSON object with all that is
 * planted, how many jobs programs have before they became worse and in the four weeks behind that, and of each week
 * the users, made so or not, whose ranks computed for less than half of the share that those of all others did. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAMS 60
#define USERS 400
#define ACCOUNTS 45
#define REGRESSIONS_MAX 8
#define FIRST_DAY 20089 /* 2025-01-01 */
#define SLOW_MAX 1000
#define JOB_NODES_MAX 256
#define FAULT 0.1
#define REPAIR_DAYS 28
#define DRIFT_DAYS 20 /* until it is a tenth slower */
#define WASTE 0.15
#define SHOWN_DAYS 28	 /* in which a change is to be seen */
#define SHOWN_JOBS 35.0	 /* expected on either side: 20 come surely */
#define SHOWN_ERRORS 7.0 /* of the difference; see can_show() */
#define WEEKS_MAX 523

struct program {
	double efficiency, spread, noise, master, hours;
	int largest;	   /* power of two of nodes */
	int regressed_day; /* 0: never */
	double regressed_to;
	int jobs[2]; /* before it, and in SHOWN_DAYS behind it */
	int version_day[3];
};

static struct program programs[PROGRAMS];
static int user_program[USERS][3], user_account[USERS];
static double user_noise[USERS], *slowness;
static double ran[WEEKS_MAX][USERS], computed[WEEKS_MAX][USERS]; /* core-hours of a week */
static uint64_t state;
static long jobs = 10000, nodes = 5000, days = 365, slow = 20, faults, hung, wasteful, idle, regressions = 3;
static int seasons, kinds, *fault_day, *fault_kind;
static const char *const fault_kinds[] = {"since", "repaired", "afternoon", "drift", "some programs"};
static const char *truth;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static int below(int n)
{
	return (int)(uniform() * n);
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* Of a job that it is this user's: put_job() takes the product of two uniform numbers. */
static double share_of(int user)
{
	double low = (double)user / USERS, high = (user + 1.0) / USERS;
	return high - high * log(high) - low + (user > 0 ? low * log(low) : 0);
}

static double jobs_a_day(int program)
{
	double share = 0;
	for (int u = 0; u < USERS; u++)
		for (int k = 0; k < 3; k++)
			share += user_program[u][k] == program ? share_of(u) / 3 : 0;
	return share * (double)jobs / (double)days;
}

/* Whether the jobs of SHOWN_DAYS can tell it from chance: who knew the day and all levels would have a difference of
 * means that is SHOWN_ERRORS times as large as its error. To be sure of a new build, among 400 of which one may look so
 * in one report of a hundred, takes 4.2; half of one more if the noise has to be learned from these jobs; and of those
 * with 2.3 more than that, one in a hundred is missed. */
static bool can_show(int program, int day, double to)
{
	const struct program *p = &programs[program];
	double a_day = jobs_a_day(program), before = a_day * day, after = a_day * SHOWN_DAYS;
	double error = sqrt((p->spread * p->spread + p->noise * p->noise) * (1 / before + 1 / after));
	return before >= SHOWN_JOBS && after >= SHOWN_JOBS && -log(to) >= SHOWN_ERRORS * error;
}

/* The one at its place, or else the next one that is run more and can show it; if none can, the next that is free. */
static void plant_regression(int i, int day)
{
	double to = 0.93 - 0.03 * (i % 3);
	int at = -1;
	for (int k = 0; k < PROGRAMS; k++) {
		int other = (3 + 7 * i - k + PROGRAMS) % PROGRAMS;
		bool shows = can_show(other, day, to);
		if (programs[other].regressed_day > 0 || (at >= 0 && !shows))
			continue;
		at = other;
		if (shows)
			break;
	}
	programs[at].regressed_day = programs[at].version_day[0] = day;
	programs[at].regressed_to = to;
}

static void make_programs(void)
{
	int regressed[REGRESSIONS_MAX];
	for (int i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];
		p->efficiency = 0.55 + 0.4 * uniform();
		p->spread = 0.02 + 0.06 * uniform();
		p->noise = 0.004 + 0.05 * uniform() * uniform();
		p->master = i % 4 == 0 ? 0.05 + 0.15 * uniform() : 0;
		p->hours = exp(normal());
		p->largest = 2 + below(6);
		for (int k = 0; k < 3; k++)
			p->version_day[k] = below((int)days);
	}
	for (int i = 0; i < regressions; i++)
		regressed[i] = (int)days / 4 + below((int)days / 2);
	for (int u = 0; u < USERS; u++) {
		user_account[u] = below(ACCOUNTS);
		user_noise[u] = 0.7 + 0.6 * uniform();
		for (int k = 0; k < 3; k++)
			user_program[u][k] = (int)(PROGRAMS * uniform() * uniform());
	}
	for (int i = 0; i < regressions; i++)
		plant_regression(i, regressed[i]);
}

static void make_nodes(void)
{
	slowness = calloc((size_t)nodes, sizeof(*slowness));
	fault_day = calloc((size_t)nodes, sizeof(*fault_day));
	fault_kind = calloc((size_t)nodes, sizeof(*fault_kind));
	for (long i = 0; fault_day != NULL && fault_kind != NULL && i < faults;) {
		long n = below((int)nodes);
		if (fault_day[n] != 0)
			continue;
		fault_kind[n] = kinds ? (int)i % 5 : 0;
		fault_day[n] = (int)(days * (0.3 + (kinds ? 0.3 : 0.6) * (double)i++ / (double)faults));
	}
	for (long i = 0; slowness != NULL && fault_day != NULL && i < slow;) {
		long n = below((int)nodes);
		if (slowness[n] == 0 && fault_day[n] == 0)
			slowness[n] = 0.04 + 0.16 * (double)i++ / (double)slow;
	}
}

static void put_regressions(FILE *out)
{
	const char *comma = "";
	for (int i = 0; i < PROGRAMS; i++) {
		const struct program *p = &programs[i];
		if (p->regressed_day == 0)
			continue;
		fprintf(out,
			"%s\"/apps/code%02d/bin/code%02d\": {\"day\": %d, \"to\": %.3f, \"before\": %d, \"after\": %d}",
			comma, i, i, FIRST_DAY + p->regressed_day, p->regressed_to, p->jobs[0], p->jobs[1]);
		comma = ", ";
	}
}

/* 1970 began on a Thursday. */
static int week_of(int day)
{
	return (FIRST_DAY + day + 3) / 7 - (FIRST_DAY + 3) / 7;
}

/* Who, and on which Mondays it could be said of the week before. */
static void put_little_useful(FILE *out)
{
	for (int u = 0, users = 0; u < USERS; u++) {
		int said = 0;
		for (int week = 0; week <= week_of((int)days); week++) {
			double all = 0, useful = 0, mine = ran[week][u];
			for (int k = 0; k < USERS; k++) {
				all += ran[week][k];
				useful += computed[week][k];
			}
			if (mine <= 0 || computed[week][u] / mine >= (useful - computed[week][u]) / (all - mine) / 2)
				continue;
			if (said++ == 0)
				fprintf(out, "%s\"user%03d\": [", users++ > 0 ? ", " : "", u);
			fprintf(out, said > 1 ? ", %d" : "%d", ((FIRST_DAY + 3) / 7 + week + 1) * 7 - 3);
		}
		if (said > 0)
			fputs("]", out);
	}
}

static void put_truth(void)
{
	FILE *out = fopen(truth, "w");
	const char *comma = "";
	if (out == NULL)
		exit(3);
	fputs("{\"slow\": {", out);
	for (long i = 0; i < nodes; i++)
		if (slowness[i] > 0) {
			fprintf(out, "%s\"n%05ld\": %.3f", comma, i, slowness[i]);
			comma = ", ";
		}
	fputs("}, \"regressions\": {", out);
	put_regressions(out);
	fputs("}, \"faults\": {", out);
	comma = "";
	for (long i = 0; i < nodes; i++)
		if (fault_day[i] > 0) {
			fprintf(out, "%s\"n%05ld\": %d", comma, i, FIRST_DAY + fault_day[i]);
			comma = ", ";
		}
	fputs("}, \"kinds\": {", out);
	comma = "";
	for (long i = 0; i < nodes; i++)
		if (fault_day[i] > 0) {
			fprintf(out, "%s\"n%05ld\": \"%s\"", comma, i, fault_kinds[fault_kind[i]]);
			comma = ", ";
		}
	fputs("}, \"wasteful\": [", out);
	for (long i = 0; i < wasteful; i++)
		fprintf(out, "%s\"user%03ld\"", i > 0 ? ", " : "", 2 + 3 * i);
	fputs("], \"idle\": [", out);
	for (long i = 0; i < idle; i++)
		fprintf(out, "%s\"user%03ld\"", i > 0 ? ", " : "", 3 + 3 * i);
	fputs("], \"little useful\": {", out);
	put_little_useful(out);
	fputs("}}\n", out);
	fclose(out);
}

/* The job's place in the year: nights and weekends are quieter. */
static time_t start_of(long i)
{
	double at = ((double)i + uniform()) / (double)jobs * (double)days;
	double hour = fmod(at, 1) * 24;
	if (uniform() > 0.55 + 0.45 * sin((hour - 8) / 24 * 6.283185307179586) || ((long)at + 4) % 7 >= 5)
		at = floor(at) + (8 + 10 * uniform()) / 24;
	return (time_t)((FIRST_DAY + at) * 86400);
}

struct run {
	int nodes, first;
	double useful[JOB_NODES_MAX], mean, most;
};

static double fault(int node, const struct program *p, int day, int hour)
{
	int since = day - fault_day[node];
	if (fault_day[node] == 0 || since < 0)
		return 0;
	switch (fault_kind[node]) {
	case 1:
		return since < REPAIR_DAYS ? FAULT : 0;
	case 2:
		return hour >= 12 && hour < 18 ? FAULT : 0;
	case 3:
		return FAULT * fmin(1, (double)since / DRIFT_DAYS);
	case 4:
		return (p - programs) % 2 == 0 ? 2 * FAULT : 0;
	default:
		return FAULT;
	}
}

static void run_nodes(struct run *r, const struct program *p, int user, int day, int hour)
{
	double sum = 0;
	r->nodes = 1 << below(p->largest + 1);
	if (r->nodes > JOB_NODES_MAX || r->nodes > nodes)
		r->nodes = 2;
	r->first = below((int)nodes - r->nodes + 1);
	r->most = 0;
	for (int i = 0; i < r->nodes; i++) {
		double noise = p->noise * user_noise[user] * (uniform() < 0.01 ? 5 : 1);
		r->useful[i] = exp(noise * normal()) *
			       (1 + slowness[r->first + i] + fault(r->first + i, p, day, hour)) *
			       (i == 0 ? 1 + p->master : 1);
		sum += r->useful[i];
		r->most = fmax(r->most, r->useful[i]);
	}
	r->mean = sum / r->nodes;
}

static void put_nodes(const struct run *r)
{
	if (r->nodes < 2)
		return;
	printf(",\"nodelist\":\"n[%05d-%05d]\",\"deviation\":[", r->first, r->first + r->nodes - 1);
	for (int i = 0; i < r->nodes; i++)
		printf(i > 0 ? ",%.4g" : "%.4g", round((r->useful[i] / r->mean - 1) * 1e4) / 1e4);
	printf("],\"nodes_left_out\":0");
}

static void put_rest(const struct program *p, double hours, double wait, int ranks, double elapsed)
{
	static const char *const issues[] = {"late_sender", "barrier_imbalance", "load_imbalance", "delay",
					     "serialization"};
	static const char *const ops[] = {"MPI_Waitall", "MPI_Allreduce", "MPI_Isend",
					  "MPI_Irecv",	 "MPI_Barrier",	  "MPI_Bcast"};
	double loss = hours * wait * 0.8;
	int which = (int)(p - programs) % 5;
	printf(",\"coverage\":{\"complete\":true,\"ranks_seen\":%d,\"nodes_missing\":0,\"events\":%d,\"events_lost\":"
	       "0}",
	       ranks, ranks * 1000);
	printf(",\"wait_s\":{\"late_sender\":%.6g,\"wait_at_barrier\":%.6g}", hours * wait * 2000, hours * wait * 1600);
	printf(",\"issues\":[");
	if (wait > 0.05)
		printf("{\"issue\":\"%s\",\"severity\":\"%s\",\"loss_s\":%.6g,\"gain\":null,\"loss_core_hours\":%.6g,"
		       "\"what\":\"Ranks waited %.3g s "
		       "in all, "
		       "because others were later.\"}",
		       issues[which], wait > 0.15 ? "high" : "medium", loss * 3600, loss, hours * wait * 3600);
	printf("],\"operations\":[");
	for (int i = 0; i < 6; i++)
		printf("%s{\"op\":\"%s\",\"calls\":%d,\"time_s\":%.6g,\"bytes\":%d}", i > 0 ? "," : "", ops[i],
		       ranks * 500, hours * 3600 * (wait + 0.04) / (i + 2), ranks * 4096);
	printf("],\"callsites\":[");
	for (int i = 0; i < 3; i++)
		printf("%s{\"op\":\"%s\",\"function\":\"exchange_%d\",\"file\":\"src/"
		       "halo.c\",\"line\":%d,\"time_s\":%.6g,"
		       "\"wait_s\":%.6g}",
		       i > 0 ? "," : "", ops[i], i, 40 + i * 17, hours * 3600 * (wait + 0.04) / (i + 2),
		       hours * 3600 * wait / (i + 2));
	printf("],\"io\":{\"read_bytes\":null,\"written_bytes\":null,\"time_s\":null},\"bytes\":{\"point_to_point\":%."
	       "0f,\"collective\":%.0f},\"overhead\":{\"ns_per_call\":25,\"share\":0."
	       "001}",
	       elapsed * ranks * 1e6, elapsed * ranks * 1e4);
}

static bool is_wasteful(int user)
{
	return user >= 2 && user < 2 + 3 * wasteful && (user - 2) % 3 == 0;
}

static bool is_idle(int user)
{
	return user >= 3 && user < 3 + 3 * idle && user % 3 == 0;
}

/* Nights, weekends, and (with kinds) the last days of a month, when all write their results. */
static double season_of(time_t start, int day)
{
	struct tm tm;
	double season = ((day + 2) % 7 >= 5 ? 0.96 : 1) * (start % 86400 < 6 * 3600 ? 0.97 : 1);
	return kinds && gmtime_r(&start, &tm) != NULL && tm.tm_mday >= 28 ? season * 0.96 : season;
}

static void put_job(long i)
{
	int user = (int)(USERS * uniform() * uniform()), which = user_program[user][below(3)];
	struct program *p = &programs[which];
	struct run r;
	char when[32], until[32];
	time_t start = start_of(i);
	int day = (int)(start / 86400) - FIRST_DAY, version = 0, ranks, mpi = day > days / 3 ? 5 : 4;
	run_nodes(&r, p, user, day, (int)(start % 86400 / 3600));
	ranks = r.nodes * 64;
	for (int k = 0; k < 3; k++)
		version += day >= p->version_day[k];
	double hours = p->hours * exp(0.5 * normal()) * ranks, elapsed = hours / ranks * 3600;
	double balance = r.mean / r.most;
	double level = is_wasteful(user) ? WASTE / balance : p->efficiency * pow(0.985, log2(r.nodes));
	double communication = fmin(0.99, level * exp(p->spread * normal()) * (seasons ? season_of(start, day) : 1));
	if (p->regressed_day > 0 && day >= p->regressed_day)
		communication *= p->regressed_to;
	if (p->regressed_day > 0 && day < p->regressed_day + SHOWN_DAYS)
		p->jobs[day >= p->regressed_day]++;
	double useful = communication * balance, wait = (1 - useful) * 0.6;
	double hung_share = hung > 0 && uniform() < (double)hung * (double)days / 7 / (double)jobs ? 0.6 : 0;
	double unused = is_idle(user) ? hours : 0, all = hours; /* as many processors again */
	hours *= 1 - hung_share;				/* the rest of it hung */
	ran[week_of(day)][user] += hours;
	computed[week_of(day)][user] += hours * useful;
	time_t end = start + (time_t)elapsed;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&start));
	strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", gmtime(&end));
	printf("{\"schema\":\"mpitrace/job/"
	       "2\",\"id\":\"synth:%ld.0:0\",\"cluster\":\"synth\",\"job_id\":\"%ld\",\"step_id\":\"0\","
	       "\"restart\":\"0\",\"user\":\"user%03d\",\"account\":\"acct%02d\",\"partition\":\"%s\",\"program\":\"/"
	       "apps/code%02d/bin/"
	       "code%02d\",\"build_id\":\"%08x%032x\",\"report\":null,",
	       i + 1, i + 1, user, user_account[user], r.nodes > 16 ? "large" : "normal", which, which,
	       (unsigned)which * 2654435761u + (unsigned)version * 0x9e3779b1u, (unsigned)version);
	printf("\"nodes\":%d,\"ranks\":%d,\"start\":\"%s\",\"elapsed_s\":%.6g,\"hung_s\":%.6g,\"core_hours\":%.6g,"
	       "\"hung_core_hours\":%.6g,\"state\":\"%s\",\"exit_code\":0,\"signal\":0,\"end\":\"%s\",\"submit\":\"%"
	       "s\",\"tasks\":%d,"
	       "\"alloc_cpus\":%d,"
	       "\"cpus_per_rank\":1,\"name\":\"run%02d\",\"qos\":\"%s\",\"array_job_id\":null,\"array_task_id\":null,"
	       "\"het_job_id\":null,"
	       "\"het_offset\":null,\"gpus\":0,\"req_mem_bytes\":%.0f,\"max_rss_bytes\":%.0f,\"energy_j\":null",
	       r.nodes, ranks, when, elapsed, elapsed * hung_share, all + unused, all * hung_share,
	       hung_share > 0 ? "TIMEOUT" : "COMPLETED", until, when, ranks, unused > 0 ? 2 * ranks : ranks, which,
	       r.nodes > 16 ? "large" : "normal", r.nodes * 256e9, 2e9);
	printf(",\"hours\":{\"useful\":%.6g,\"transfer\":%.6g,\"hung\":%.6g,\"idle\":%.6g,\"wait\":{\"late_sender\":%."
	       "6g,"
	       "\"wait_at_barrier\":%.6g}}",
	       hours * useful, hours * (1 - useful - wait), all * hung_share, unused, hours * wait * 2 / 3.6,
	       hours * wait * 1.6 / 3.6);
	put_rest(p, hours, wait, ranks, elapsed);
	printf(",\"efficiency\":{\"load_balance\":%.6g,\"communication\":%.6g,\"parallel\":%.6g,\"serialization\":null,"
	       "\"transfer\":null}"
	       ",\"share\":{\"useful\":%.6g,\"mpi\":%.6g,\"wait\":%.6g},\"versions\":{\"mpi\":\"Open MPI "
	       "v4.1.%d\",\"slurm\":\"22.05.8\","
	       "\"mpitrace\":\"0.1.0\"}",
	       balance, communication, useful, useful, 1 - useful, wait, mpi);
	put_nodes(&r);
	puts("}");
}

static long number(const char *text, long most)
{
	long n = strtol(text, NULL, 10);
	if (n < 0 || n > most)
		exit(2);
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"jobs", required_argument, NULL, 'j'},	       {"nodes", required_argument, NULL, 'n'},
		{"days", required_argument, NULL, 'd'},	       {"slow", required_argument, NULL, 's'},
		{"faults", required_argument, NULL, 'f'},      {"hung", required_argument, NULL, 'h'},
		{"wasteful", required_argument, NULL, 'w'},    {"idle", required_argument, NULL, 'i'},
		{"regressions", required_argument, NULL, 'R'}, {"kinds", no_argument, NULL, 'k'},
		{"seasons", no_argument, NULL, 'S'},	       {"seed", required_argument, NULL, 'r'},
		{"truth", required_argument, NULL, 't'},       {NULL, 0, NULL, 0}};
	int c;
	state = 88172645463325252ull;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			jobs = number(optarg, 100000000);
		else if (c == 'n')
			nodes = number(optarg, 100000);
		else if (c == 'd')
			days = number(optarg, 3650);
		else if (c == 's')
			slow = number(optarg, SLOW_MAX);
		else if (c == 'f')
			faults = number(optarg, SLOW_MAX);
		else if (c == 'h')
			hung = number(optarg, 100000);
		else if (c == 'w')
			wasteful = number(optarg, 100);
		else if (c == 'i')
			idle = number(optarg, 100);
		else if (c == 'R')
			regressions = number(optarg, REGRESSIONS_MAX);
		else if (c == 'k')
			kinds = 1;
		else if (c == 'S')
			seasons = 1;
		else if (c == 'r')
			state ^= (uint64_t)number(optarg, 1000000) * 0x9e3779b97f4a7c15ull;
		else if (c == 't')
			truth = optarg;
		else
			return 2;
	}
	if (slow + faults > nodes / 2 || jobs < 1 || nodes < 1 || days < 1)
		return 2;
	make_programs();
	make_nodes();
	if (slowness == NULL || fault_day == NULL || fault_kind == NULL)
		return 3;
	for (long i = 0; i < jobs; i++)
		put_job(i);
	if (truth != NULL)
		put_truth();
	free(slowness);
	free(fault_day);
	free(fault_kind);
	return fflush(stdout) != 0;
}
