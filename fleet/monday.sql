-- monday.sql - what could be said of the week from ?1 to ?2 (seconds), a row a matter; ?3 begins links, or is empty. Columns:
--   place         the row of its kind in monday.c
--   least         of the week's core-hours, for a matter to be named
--   key           the same in every week
--   recipient     a user, or empty: who runs the machine
--   hours         core-hours that could be had back
--   item, letter  the matter in words; a text to send
--   covers, mostly  what it is about, and whose more than half of it is: nobody is told the same twice
-- Anybody may have made a name: line breaks in them are none.
WITH w AS MATERIALIZED (
	SELECT j.*, replace(u.name, char(10), '?') AS who, replace(p.name, char(10), '?') AS path,
		replace(replace(p.name, rtrim(p.name, replace(p.name, '/', '')), ''), char(10), '?') AS code,
		replace(i.name, '_', ' ') AS cause,
		'Dear ' || replace(u.name, char(10), '?') || ',' || char(10) || char(10) AS dear,
		CASE WHEN ?3 <> '' THEN char(10) || ?3 || 'job-' || j.id || '.html' ELSE '' END AS job_link,
		CASE WHEN ?3 <> '' THEN char(10) || ?3 || 'user-' || j.user || '.html' ELSE '' END AS user_link
	FROM jobs j JOIN names u ON u.id=j.user JOIN names p ON p.id=j.program JOIN names i ON i.id=j.issue
	WHERE j.start>=?1 AND j.start<?2),
week AS (SELECT total(core_hours) AS hours FROM w),
hung AS (
	SELECT who, path, code, dear, job, job_link, count(*) AS n, total(hung_core_hours) AS hours, max(hung_core_hours)
	FROM w WHERE hung_core_hours>0 GROUP BY user, program),
runs AS ( -- who runs a program most
	SELECT program, who, dear, max(hours), total(hours) AS hours
	FROM (SELECT program, who, dear, total(core_hours) AS hours FROM w GROUP BY program, user) GROUP BY program),
changed AS (
	SELECT c.*, n.kind, n.name AS path, replace(replace(n.name, rtrim(n.name, replace(n.name, '/', '')), ''), char(10), '?') AS code,
		printf('%.0f %%', -c.change*100) AS by_much, date(c.day*86400, 'unixepoch') AS since
	FROM changes c JOIN names n ON n.id=c.program
	WHERE c.change<0 AND c.day=(SELECT max(day) FROM changes x WHERE x.program=c.program) AND c.day*86400 BETWEEN ?2-56*86400 AND ?2),
users AS (
	SELECT user, who, dear, user_link, total(core_hours-hung_core_hours) AS hours, total(core_hours*useful) AS useful,
		total(idle_core_hours) AS idle, total(core_hours) AS whole
	FROM w WHERE user>0 GROUP BY user),
everybody AS (SELECT total(hours) AS hours, total(useful) AS useful FROM users),
useful AS ( -- of each user, and of all others
	SELECT u.*, u.useful/u.hours AS share, (e.useful-u.useful)/(e.hours-u.hours) AS others
	FROM users u, everybody e WHERE u.hours>0 AND e.hours>u.hours),
lost AS ( -- by program: to what most, whose most
	SELECT program, path, code, total(core_hours) AS whole, total(loss_core_hours) AS hours
	FROM w WHERE hung_core_hours=0 GROUP BY program),
causes AS (
	SELECT program, cause, max(hours) FROM (
		SELECT program, cause, total(loss_core_hours) AS hours FROM w WHERE hung_core_hours=0 AND issue>0 GROUP BY program, issue)
	GROUP BY program),
losers AS (
	SELECT program, who, dear, max(hours) AS most FROM (
		SELECT program, who, dear, total(loss_core_hours) AS hours FROM w WHERE hung_core_hours=0 GROUP BY program, user)
	GROUP BY program),
worst AS (SELECT program, job, job_link, max(loss_core_hours) FROM w WHERE hung_core_hours=0 GROUP BY program)

SELECT 1 AS place, 0 AS least,
	'hung ' || who || ' ' || path AS key, who AS recipient, hours,
	printf('%,d of %s (%s, %d job%s)', round(hours), who, code, n, CASE n WHEN 1 THEN '' ELSE 's' END) AS item,
	dear || printf('last week %d of your jobs of %s hung: from some moment on none of their ranks advanced, until they were ended. '
		|| 'That took %,d core-hours. The report of each job says which ranks waited for what; while a job runs, '
		|| '`mpitrace live JOB` shows it. The one that lost most is job %s', n, code, round(hours), job) || job_link AS letter,
	'hung ' || who || ' ' || path AS covers, '' AS mostly
FROM hung
UNION ALL
SELECT 2, 0, 'node ' || n.name, '', e.lost_week,
	printf('%s by %.0f %%', replace(n.name, char(10), '?'), e.effect*100)
		|| CASE WHEN e.since IS NULL THEN '' ELSE ' since ' || strftime('%Y-%m-%d %H:%M', e.since, 'unixepoch') END,
	printf('Ranks compute %.1f %% longer on node %s than on others (%.1f to %.1f, %d jobs), whichever program it is',
		e.effect*100, replace(n.name, char(10), '?'), e.low*100, e.high*100, e.jobs)
		|| CASE WHEN e.since IS NULL THEN '' ELSE ', since ' || strftime('%Y-%m-%d %H:%M UTC', e.since, 'unixepoch') END
		|| '. A hot or throttled processor, memory that is missing or in the wrong place, or a process beside the jobs does that.',
	'node ' || n.name, ''
FROM node_effects e JOIN names n ON n.id=e.node WHERE e.suspected
UNION ALL
SELECT 3, 0, 'program changed ' || c.path, r.who,
	-c.change*r.hours, printf('%s by %s since %s', c.code, c.by_much, c.since),
	r.dear || printf('since %s %s is %s less efficient than before, for the same users and numbers of ranks. Last week that cost '
		|| '%,d core-hours, and you run it most. What was changed then: the program, its input, the MPI library, a module?',
		c.since, c.code, c.by_much, round(-c.change*r.hours)), c.path, ''
FROM changed c JOIN runs r ON r.program=c.program WHERE c.kind=4
UNION ALL
SELECT 4, 0,
	'user changed ' || u.who, u.who, -c.change*u.whole, printf('%s by %s since %s', u.who, c.by_much, c.since),
	u.dear || printf('since %s your jobs are %s less efficient than before, with the same programs and numbers of ranks. What have '
		|| 'you changed then?', c.since, c.by_much) || u.user_link, 'user ' || u.who, ''
FROM changed c JOIN users u ON u.user=c.program WHERE c.kind=1
UNION ALL
SELECT 5, 0.0002, 'little useful ' || who, who,
	hours*others-useful, printf('%s, of whose %,d core-hours %.0f %% were useful', who, round(hours), share*100),
	dear || printf('of %,d core-hours that your jobs had last week, %.0f %% went into computing; of all other users'' jobs, %.0f %%. '
		|| 'The reports of your jobs say what the ranks waited for. Fewer ranks may do the same work in nearly the same time.',
		round(hours), share*100, others*100) || user_link, 'user ' || who, ''
FROM useful WHERE share<others/2
UNION ALL
SELECT 6, 0.001, 'idle ' || who, who, idle,
	printf('%,d of %s', round(idle), who),
	dear || printf('last week your jobs held processors for %,d core-hours on which none of their ranks ran, %.0f %% of what they '
		|| 'had. More ranks, threads (--cpus-per-task) or a smaller allocation would use them.', round(idle), idle/whole*100)
		|| user_link, 'idle ' || who, ''
FROM users WHERE idle>0.05*whole
UNION ALL
SELECT 7, 0.001, 'program lost ' || l.path, o.who, l.hours,
	printf('%s lost %,d of %,d core-hours, most to %s.', l.code, round(l.hours), round(l.whole), k.cause),
	o.dear || printf('last week jobs of %s lost %,d of %,d core-hours, most to %s; nobody''s lost more than yours. The report of the job '
		|| 'that lost most says where, and what to try: job %s', l.code, round(l.hours), round(l.whole), k.cause, b.job) || b.job_link,
	l.path, CASE WHEN o.most>l.hours/2 THEN 'user ' || o.who ELSE '' END
FROM lost l JOIN causes k ON k.program=l.program JOIN losers o ON o.program=l.program JOIN worst b ON b.program=l.program
ORDER BY 1, hours DESC
