/* node_programs.h - nodes that are slow for some programs only.
 *
 * Where most of what is known of a node is by one even program that it does not slow down, its effect on all of them is
 * about 0. So each program is asked alone: z of the mean of what its jobs say, each held to NODE_HUBER standard
 * deviations and measured by the median of all such z, as that of nodes is. Of a program alone it may be an input of
 * its own that always has its largest part there; so p is that of all but the smallest, by their product (Fisher; that
 * two are slow is the partial conjunction of Benjamini and Heller, Biometrics 64, 2008), and again the rate of false
 * discoveries among nodes is held to NODE_RATE. The change is looked for in jobs of the programs that show it.
 *
 * The effect is the mean over all of its jobs then, each program by its median, so that costs are of all of them; its
 * interval is by how programs differ. */
#pragma once

#include "fleet/node_changes.h"

/* Of nodes that are slow for some programs only: programs, others, and with them effect, low, high, jobs, since when.
 * p[]: of each node that is not suspected, that two programs find it slow by chance; NAN: nothing is known of that. 0
 * or -ENOMEM. */
int node_programs_find(struct node_fit *f, const struct node_changing *g, struct node_effect *x, double *p);
