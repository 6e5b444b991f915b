/* path.c - see path.h. */
#include "postproc/stream/path.h"
#include "postproc/stream/on_path.h"

#define TRUNK_MAX (1u << 20) /* pieces kept one by one, of all trunks together; of earlier ones only sums are */
#define SITES_MAX (1u << 23) /* sums by call site, of all trunks together; else calls are looked at again later */

/* What is folded of the path that a root stands at the end of. */
struct trunk {
	struct trunk *older, *newer;   /* of all there are */
	VEC(struct path_piece) pieces; /* in order of time */
	VEC(struct path_piece) sums;   /* of those before, by rank */
	uint64_t left_out;
	int64_t *site_ns; /* by call site, or NULL */
};

/* One rank's part of a path, from a jump on. */
struct stretch {
	struct stretch *parent; /* whom it came from, until cut */
	struct snapshot cut;	/* of the parent; its stretch is not held by this */
	struct trunk *trunk;	/* of a root: what came before, or NULL */
	uint64_t child_sum;	/* of the addresses of all children: of one it is the address */
	uint32_t refs, children, rank;
	int64_t from_ns, useful_ns, mpi_ns;
};

struct paths {
	const struct stream *st;
	struct slab stretches;
	uint32_t nranks, nroots;
	size_t nsites, nsite_sums;
	struct trunk *trunks;
};

struct paths *paths_create(const struct stream *st)
{
	struct paths *p = calloc(1, sizeof(*p));
	if (p != NULL)
		*p = (struct paths){.st = st,
				    .stretches = SLAB(struct stretch),
				    .nranks = st->step->nranks,
				    .nsites = st->step->sites.n};
	return p;
}

static struct trunk *trunk_new(struct paths *p)
{
	struct trunk *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->older = p->trunks;
	if (p->trunks != NULL)
		p->trunks->newer = t;
	p->trunks = t;
	return t;
}

static void trunk_free(struct paths *p, struct trunk *t)
{
	if (t == NULL)
		return;
	*(t->newer != NULL ? &t->newer->older : &p->trunks) = t->older;
	if (t->older != NULL)
		t->older->newer = t->newer;
	vec_done(&t->pieces);
	vec_done(&t->sums);
	p->nsite_sums -= t->site_ns != NULL ? p->nsites : 0;
	free(t->site_ns);
	free(t);
}

void paths_destroy(struct paths *p)
{
	if (p == NULL)
		return;
	while (p->trunks != NULL)
		trunk_free(p, p->trunks);
	slab_done(&p->stretches);
	free(p);
}

static int by_rank(const void *a, const void *b)
{
	const struct path_piece *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The older half becomes sums. */
static int shorten(struct trunk *t)
{
	size_t half = t->pieces.n / 2, n = 0;
	for (size_t i = 0; i < half; i++)
		if (vec_push(&t->sums, t->pieces.at[i]) < 0)
			return -ENOMEM;
	vec_sort(&t->sums, by_rank);
	for (size_t i = 0; i < t->sums.n; i++) {
		if (n > 0 && t->sums.at[n - 1].rank == t->sums.at[i].rank) {
			t->sums.at[n - 1].useful_ns += t->sums.at[i].useful_ns;
			t->sums.at[n - 1].mpi_ns += t->sums.at[i].mpi_ns;
		} else {
			t->sums.at[n++] = t->sums.at[i];
		}
	}
	t->sums.n = n;
	t->left_out += half;
	memmove(t->pieces.at, t->pieces.at + half, (t->pieces.n - half) * sizeof(*t->pieces.at));
	t->pieces.n -= half;
	return 0;
}

static int add_piece(struct trunk *t, const struct path_piece *x, size_t max)
{
	struct path_piece *last = t->pieces.n > 0 ? &t->pieces.at[t->pieces.n - 1] : NULL;
	if (last != NULL && last->rank == x->rank && last->sited == x->sited) {
		last->to_ns = x->to_ns;
		last->useful_ns += x->useful_ns;
		last->mpi_ns += x->mpi_ns;
		return 0;
	}
	if (t->pieces.n >= max && shorten(t) < 0)
		return -ENOMEM;
	return vec_push(&t->pieces, *x);
}

static size_t pieces_max(const struct paths *p)
{
	size_t share = TRUNK_MAX / (p->nroots > 0 ? p->nroots : 1);
	return share < 64 ? 64 : share;
}

/* What of a stretch is on the path that goes on at a cut. */
static struct path_piece piece_of(const struct stretch *s, const struct snapshot *cut)
{
	return (struct path_piece){s->rank, false, s->from_ns, cut->at_ns, cut->useful_ns, cut->mpi_ns};
}

/* Its calls to their sites, if they are still at hand. */
static void add_sites(struct paths *p, struct trunk *t, struct path_piece *x)
{
	if (t->site_ns == NULL && p->nsites > 0 && p->nsite_sums + p->nsites <= SITES_MAX) {
		t->site_ns = calloc(p->nsites, sizeof(*t->site_ns));
		p->nsite_sums += t->site_ns != NULL ? p->nsites : 0;
	}
	x->sited = t->site_ns != NULL && on_path_now(p->st, x, t->site_ns);
}

/* A root that has one child and nobody else becomes part of the child's trunk. */
static int fold(struct paths *p, struct stretch *root)
{
	while (root->parent == NULL && root->refs == 0 && root->children == 1) {
		struct stretch *child = (struct stretch *)(uintptr_t)root->child_sum;
		struct path_piece x = piece_of(root, &child->cut);
		if (root->trunk == NULL && (root->trunk = trunk_new(p)) == NULL)
			return -ENOMEM;
		add_sites(p, root->trunk, &x);
		if (add_piece(root->trunk, &x, pieces_max(p)) < 0)
			return -ENOMEM;
		child->trunk = root->trunk;
		child->parent = NULL;
		slab_give(&p->stretches, root);
		root = child;
	}
	return 0;
}

static int drop(struct paths *p, struct stretch *s)
{
	s->refs--;
	while (s->refs == 0 && s->children == 0) {
		struct stretch *parent = s->parent;
		if (parent == NULL) {
			trunk_free(p, s->trunk);
			p->nroots--;
		}
		slab_give(&p->stretches, s);
		if (parent == NULL)
			return 0;
		parent->children--;
		parent->child_sum -= (uint64_t)(uintptr_t)s;
		s = parent;
	}
	return fold(p, s);
}

uint32_t path_rank(const struct snapshot *s)
{
	return s->stretch->rank;
}

void path_release(struct paths *p, struct snapshot *s)
{
	if (s->stretch != NULL)
		drop(p, s->stretch);
	s->stretch = NULL;
}

void path_hold(struct paths *p, struct snapshot *s, const struct path_end *e, int64_t at_ns)
{
	struct stretch *old = s->stretch;
	*s = (struct snapshot){.stretch = e->stretch, .at_ns = at_ns};
	if (e->stretch != NULL && e->at_ns != TIME_ABSENT) {
		e->stretch->refs++;
		s->useful_ns = e->stretch->useful_ns;
		s->mpi_ns = e->stretch->mpi_ns;
	} else {
		s->stretch = NULL;
	}
	if (old != NULL)
		drop(p, old);
}

int path_begin(struct paths *p, struct path_end *e, uint32_t rank, int64_t from_ns, int64_t to_ns)
{
	struct stretch *s = slab_take(&p->stretches);
	if (s == NULL)
		return -ENOMEM;
	*s = (struct stretch){.refs = 1, .rank = rank, .from_ns = from_ns};
	*e = (struct path_end){.stretch = s, .at_ns = TIME_ABSENT, .from_ns = from_ns, .to_ns = to_ns, .rank = rank};
	p->nroots++;
	return 0;
}

void path_until(struct paths *p, struct path_end *e, int64_t at_ns)
{
	(void)p;
	at_ns = at_ns < e->to_ns ? at_ns : e->to_ns;
	if (at_ns < e->from_ns || e->stretch == NULL)
		return;
	if (e->at_ns == TIME_ABSENT)
		e->at_ns = e->from_ns;
	if (at_ns <= e->at_ns)
		return;
	e->stretch->useful_ns += at_ns - e->at_ns;
	e->at_ns = at_ns;
}

int path_call(struct paths *p, struct path_end *e, int64_t start_ns, int64_t end_ns, int64_t began_ns,
	      const struct snapshot *causer)
{
	if (e->stretch == NULL || start_ns < e->from_ns || start_ns >= e->to_ns)
		return 0;
	end_ns = end_ns < e->to_ns ? end_ns : e->to_ns;
	if (began_ns <= start_ns || began_ns >= e->to_ns || causer->stretch == NULL) {
		e->stretch->mpi_ns += end_ns > e->at_ns ? end_ns - e->at_ns : 0;
		e->at_ns = end_ns;
		return 0;
	}
	struct stretch *s = slab_take(&p->stretches), *old = e->stretch;
	if (s == NULL)
		return -ENOMEM;
	*s = (struct stretch){.parent = causer->stretch,
			      .cut = *causer,
			      .refs = 1,
			      .rank = e->rank,
			      .from_ns = began_ns,
			      .mpi_ns = end_ns > began_ns ? end_ns - began_ns : 0};
	causer->stretch->children++;
	causer->stretch->child_sum += (uint64_t)(uintptr_t)s;
	e->stretch = s;
	e->at_ns = end_ns > began_ns ? end_ns : began_ns;
	return drop(p, old);
}

static void sum_up(struct sweep_result *r, const struct path_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		r->useful_ns[pieces[i].rank] += pieces[i].useful_ns;
		r->mpi_ns[pieces[i].rank] += pieces[i].mpi_ns;
	}
}

static int take_piece(struct sweep_result *r, struct path_piece x, struct trunk *whole)
{
	if (!x.sited && vec_push(&r->unsited, x) < 0)
		return -ENOMEM;
	x.sited = true;
	return add_piece(whole, &x, SIZE_MAX);
}

static int take_trunk(struct sweep_result *r, struct trunk *t, struct trunk *whole)
{
	if (t == NULL)
		return 0;
	sum_up(r, t->sums.at, t->sums.n);
	r->pieces_left_out = t->left_out;
	r->site_ns = t->site_ns;
	t->site_ns = NULL;
	for (size_t i = 0; i < t->pieces.n; i++)
		if (take_piece(r, t->pieces.at[i], whole) < 0)
			return -ENOMEM;
	return 0;
}

int path_result(struct paths *p, const struct path_end *e, struct sweep_result *r)
{
	struct trunk whole = {0};
	VEC(const struct stretch *) chain = {0};
	struct snapshot end = {.at_ns = e->at_ns, .useful_ns = e->stretch->useful_ns, .mpi_ns = e->stretch->mpi_ns};
	int code = 0;
	r->useful_ns = calloc(p->nranks, sizeof(int64_t));
	r->mpi_ns = calloc(p->nranks, sizeof(int64_t));
	if (r->useful_ns == NULL || r->mpi_ns == NULL)
		return -ENOMEM;
	for (const struct stretch *s = e->stretch; s != NULL && code == 0; s = s->parent)
		code = vec_push(&chain, s);
	if (code == 0)
		code = take_trunk(r, chain.at[chain.n - 1]->trunk, &whole);
	for (size_t i = chain.n; i-- > 0 && code == 0;)
		code = take_piece(r, piece_of(chain.at[i], i > 0 ? &chain.at[i - 1]->cut : &end), &whole);
	vec_done(&chain);
	memcpy(&r->path, &whole.pieces, sizeof(r->path));
	sum_up(r, r->path.at, r->path.n);
	return code;
}
