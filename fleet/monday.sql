-- monday.sql - what could be said of the week from ?1 to ?2 (seconds), a row a matter. Columns:
--   place         the row of its kind in monday.c
--   least         of the week's core-hours, for a matter to be named
--   key           the same in every week
--   recipient     a user, or empty: who runs the machine
--   hours         core-hours that could be had back
--   item, letter  the matter in words; a text to send
--   link          the page that it is about, which the recipient may see; or empty
--   covers, mostly  what it is about, and whose more than half of it is: nobody is told the same twice
-- Anybody may have made a name: plain() leaves no line break in it. said() has core-hours as people say them.
WITH v AS MATERIALIZED (
	SELECT j.*, CASE u.name WHEN '' THEN 'somebody who is not named' ELSE plain(u.name) END AS who, plain(u.name) AS recipient,
		plain(p.name) AS path, plain(replace(p.name, rtrim(p.name, replace(p.name, '/', '')), '')) AS base,
		replace(plain(i.name), '_', ' ') AS cause, plain(CASE j.job WHEN '' THEN j.key ELSE j.job END) AS number,
		CASE WHEN u.name='' THEN 'For the user of these jobs, whom their records do not name:' WHEN u.name LIKE 'h:%' THEN 'Hello,'
			ELSE 'Dear ' || plain(u.name) || ',' END || char(10) || char(10) AS dear,
		j.core_hours-j.hung_core_hours-j.idle_core_hours AS ran, 'job-' || j.id || '.html' AS job_page,
		CASE j.user WHEN 0 THEN '' ELSE 'user-' || j.user || '.html' END AS user_page
	FROM jobs j JOIN names u ON u.id=j.user JOIN names p ON p.id=j.program JOIN names i ON i.id=j.issue
	WHERE j.start>=?1 AND j.start<?2),
named AS (SELECT base AS name, count(DISTINCT program) AS programs FROM v GROUP BY base),
w AS MATERIALIZED ( -- where several programs have a name, by their paths
	SELECT v.*, CASE programs WHEN 1 THEN base ELSE path END AS code FROM v JOIN named n ON n.name=v.base),
week AS (SELECT 'from ' || date(?1, 'unixepoch') || ' to ' || date(?2-1, 'unixepoch') AS days), -- letters are read later
hung AS (
	SELECT who, recipient, path, code, dear, number, job_page, count(*) AS n, total(hung_core_hours) AS hours, max(hung_core_hours)
	FROM w WHERE hung_core_hours>0 GROUP BY user, program),
nodes AS (
	SELECT e.*, plain(n.name) AS name, d.hours FROM node_effects e JOIN names n ON n.id=e.node
	JOIN (SELECT node, total(lost) AS hours FROM node_days WHERE day>=?1/86400 AND day<?2/86400 GROUP BY node) d ON d.node=e.node
	WHERE e.suspected),
changed AS (
	SELECT c.*, n.kind, printf('%.0f %%', -c.change*100) AS by_much, date(c.day*86400, 'unixepoch') AS since,
		(SELECT plain(group_concat(x.text, ', ')) FROM change_with x WHERE x.program=c.program AND x.day=c.day) AS with_it
	FROM changes c JOIN names n ON n.id=c.program
	WHERE c.change<0 AND c.day=(SELECT max(day) FROM changes x WHERE x.program=c.program) AND c.day*86400 BETWEEN ?2-56*86400 AND ?2),
changed_by_user AS ( -- of programs, since then
	SELECT c.program, c.by_much, c.since, c.with_it, w.recipient, w.dear, w.path, w.code, w.user_page, -c.change*total(w.ran) AS hours
	FROM changed c JOIN w ON w.program=c.program AND w.start>=c.day*86400 WHERE c.kind=4 GROUP BY c.program, w.user),
changed_programs AS ( -- who runs it most
	SELECT *, total(hours) AS all_hours, max(hours) FROM changed_by_user GROUP BY program),
changed_users AS ( -- with programs that did not change
	SELECT c.by_much, c.since, c.with_it, w.who, w.recipient, w.dear, w.user_page, -c.change*total(w.ran) AS hours
	FROM changed c JOIN w ON w.user=c.program AND w.start>=c.day*86400
	WHERE c.kind=1 AND w.program NOT IN (SELECT program FROM changes) GROUP BY c.program),
users AS ( -- hours: of which it is known how much was useful
	SELECT user, who, recipient, dear, user_page, total(ran) FILTER (WHERE useful IS NOT NULL) AS hours,
		total(core_hours*useful) AS useful,
		total(idle_core_hours) AS idle, total(core_hours) AS whole
	FROM w WHERE user>0 GROUP BY user),
everybody AS (SELECT total(hours) AS hours, total(useful) AS useful, count(*) AS users FROM users),
links_of_week AS (
	SELECT l.*, strftime('%Y-%m-%d %H:%M', l.since, 'unixepoch') AS since_when, d.hours, CASE WHEN l.switch<>'' THEN 'switch ' || plain(l.switch) ELSE
		plain(replace(p.name, rtrim(p.name, replace(p.name, '/', '')), ''))
		|| CASE u.name WHEN '' THEN '' ELSE ' of ' || plain(u.name) END
		|| ' beside ' || plain(replace(o.name, rtrim(o.name, replace(o.name, '/', '')), '')) END AS item
	FROM links l JOIN names p ON p.id=l.program JOIN names u ON u.id=l.user JOIN names o ON o.id=l.other
	JOIN (SELECT place, total(hours) AS hours FROM link_days WHERE day>=?1/86400 AND day<?2/86400 GROUP BY place) d
		ON d.place=l.place),
useful AS ( -- of each user, and of all others: so few that one of them could be told from it are not named in a letter
	SELECT u.*, u.useful/u.hours AS share, (e.useful-u.useful)/(e.hours-u.hours) AS others, e.users>5 AS tells
	FROM users u, everybody e WHERE u.hours>0 AND e.hours>u.hours),
lost AS ( -- by program: to what most, whose most
	SELECT program, path, code, total(core_hours) AS whole, total(loss_core_hours) AS hours
	FROM w WHERE hung_core_hours=0 GROUP BY program),
causes AS (
	SELECT program, cause, max(hours) FROM (
		SELECT program, cause, total(loss_core_hours) AS hours FROM w WHERE hung_core_hours=0 AND issue>0 GROUP BY program, issue)
	GROUP BY program),
losers AS ( -- with the job of theirs that lost most
	SELECT program, who, recipient, dear, number, job_page, max(hours) AS most FROM (
		SELECT program, who, recipient, dear, number, job_page, total(loss_core_hours) AS hours, max(loss_core_hours)
		FROM w WHERE hung_core_hours=0 GROUP BY program, user)
	GROUP BY program)

SELECT 1 AS place, 0 AS least,
	'hung ' || who || ' ' || path AS key, recipient, hours,
	printf('%s of %s (%s, %d job%s)', said(hours), who, code, n, CASE n WHEN 1 THEN '' ELSE 's' END) AS item,
	dear || printf('in the week %s, %d of your jobs of %s hung: from some moment on none of their ranks advanced, until they were ended. '
		|| 'That took %s core-hours. The report of each job says which ranks waited for what; while a job runs, '
		|| '`mpitrace live JOB` shows it. The one that lost most is job %s.',
		(SELECT days FROM week), n, code, said(hours), number) AS letter,
	job_page AS link, 'hung ' || who || ' ' || path AS covers, '' AS mostly
FROM hung
UNION ALL
SELECT 2, 0, 'node ' || name, '', hours,
	printf('%s by %.0f %%', name, effect*100)
		|| CASE WHEN since IS NULL THEN '' ELSE ' since ' || strftime('%Y-%m-%d %H:%M', since, 'unixepoch') END,
	CASE programs WHEN 0 THEN printf('Ranks compute %.1f %% longer on node %s than on others (%.1f to %.1f, %d jobs), whichever program it is',
			effect*100, name, low*100, high*100, jobs)
		ELSE printf('Ranks of %d programs compute longer on node %s than on others, of %d they do not: %.1f %% on the mean of all (%.1f to %.1f, %d jobs)',
			programs, name, others, effect*100, low*100, high*100, jobs) END
		|| CASE WHEN since IS NULL THEN '' ELSE ', since ' || strftime('%Y-%m-%d %H:%M UTC', since, 'unixepoch') END
		|| '. A hot or throttled processor, memory that is missing or in the wrong place, or a process beside the jobs does that'
		|| CASE programs WHEN 0 THEN '.' ELSE '; what do those programs use, or at which hours do they run?' END,
	'nodes.html', 'node ' || name, ''
FROM nodes
UNION ALL
SELECT 3, 0, 'program changed ' || path, recipient, all_hours, printf('%s by %s since %s', code, by_much, since) || ifnull(', with ' || with_it, ''),
	dear || printf('since %s %s is %s less efficient than before, for the same users and numbers of ranks. In the week %s that cost '
		|| '%s core-hours, and you run it most. ', since, code, by_much, (SELECT days FROM week), said(all_hours))
		|| ifnull('What its jobs have since then and had not before: ' || with_it || '.',
			'What was changed then: the program, its input, the MPI library, a module?'), user_page, path, ''
FROM changed_programs
UNION ALL
SELECT 4, 0,
	'user changed ' || who, recipient, hours, printf('%s by %s since %s', who, by_much, since) || ifnull(', with ' || with_it, ''),
	dear || printf('since %s your jobs are %s less efficient than before, with the same programs and numbers of ranks. What have '
		|| 'you changed then?', since, by_much) || ifnull(' They have since then, and had not before: ' || with_it || '.', ''),
	user_page, 'user ' || who, ''
FROM changed_users
UNION ALL
SELECT 5, 0.0002, 'little useful ' || who, recipient,
	hours*others-useful, printf('%s, whose ranks computed in %.0f %% of their %s core-hours', who, share*100, said(hours)),
	dear || printf('of %s core-hours that ranks of yours ran for in the week %s, %.0f %% went into computing%s. '
		|| 'The reports of your jobs say what the ranks waited for. Fewer ranks may do the same work in nearly the same time.',
		said(hours),
		(SELECT days FROM week), share*100, CASE WHEN tells THEN printf('; of those of all other users, %.0f %%', others*100) ELSE '' END), user_page, 'user ' || who, ''
FROM useful WHERE share<others/2
UNION ALL
SELECT 6, 0.0002, 'idle ' || who, recipient, idle,
	printf('%s of %s', said(idle), who),
	dear || printf('in the week %s your jobs held processors for %s core-hours on which none of their ranks ran, %.0f %% of what they '
		|| 'had. More ranks, threads (--cpus-per-task) or a smaller allocation would use them.',
		(SELECT days FROM week), said(idle), idle/whole*100),
	user_page, 'idle ' || who, ''
FROM users WHERE idle>0.05*whole
UNION ALL
SELECT 7, 0.001, 'program lost ' || l.path, o.recipient, l.hours,
	printf('%s lost %s of %s core-hours, most to %s.', l.code, said(l.hours), said(l.whole), k.cause),
	o.dear || printf('in the week %s jobs of %s lost %s of %s core-hours, most to %s; nobody''s lost more than yours. The report of the job '
		|| 'of yours that lost most says where, and what to try: job %s.',
		(SELECT days FROM week), l.code, said(l.hours), said(l.whole), k.cause, o.number),
	o.job_page, l.path, CASE WHEN o.most>l.hours/2 THEN 'user ' || o.who ELSE '' END
FROM lost l JOIN causes k ON k.program=l.program JOIN losers o ON o.program=l.program
UNION ALL
SELECT 8, 0.0002, 'link ' || item, '', hours, printf('%s (%.0f %% more of their time in MPI%s)', item, effect*100, ifnull(' since ' || since_when, '')),
	printf('%s: %sjobs spend %.1f %% more of their time in MPI than others of the same program, user and size in the same quarter of a '
		|| 'day (%d jobs beside %d, on %d days).', item, ifnull('since ' || since_when || ' UTC ', ''), effect*100, jobs, jobs_without, days)
		|| CASE WHEN switch='' THEN ' Can they be kept apart, by --switches, other partitions or times?'
			ELSE ' Are its uplinks slower or fewer than those of other switches?' END,
	'nodes.html', 'link ' || item, ''
FROM links_of_week
ORDER BY 1, hours DESC
