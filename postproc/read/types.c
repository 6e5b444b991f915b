/* types.c - see types.h. Types of one basic type have its number however they were made; the others have the number of
 * their sequence. Basic types that are the same by width, or in another language, have one number. */
#include "postproc/read/types.h"

#include <inttypes.h>
#include <stdio.h>

/* Names that stand for the same are neighbours; the first of them has the number. Widths are those of Linux on
 * x86-64. */
static const struct {
	const char *name, *same;
} basics[] = {
	{"MPI_BYTE", "byte"},
	{"MPI_CHAR", "char"},
	{"MPI_CHARACTER", "char"},
	{"MPI_SIGNED_CHAR", "int8"},
	{"MPI_INT8_T", "int8"},
	{"MPI_INTEGER1", "int8"},
	{"MPI_UNSIGNED_CHAR", "uint8"},
	{"MPI_UINT8_T", "uint8"},
	{"MPI_SHORT", "int16"},
	{"MPI_INT16_T", "int16"},
	{"MPI_INTEGER2", "int16"},
	{"MPI_UNSIGNED_SHORT", "uint16"},
	{"MPI_UINT16_T", "uint16"},
	{"MPI_INT", "int32"},
	{"MPI_INT32_T", "int32"},
	{"MPI_INTEGER", "int32"},
	{"MPI_INTEGER4", "int32"},
	{"MPI_UNSIGNED", "uint32"},
	{"MPI_UINT32_T", "uint32"},
	{"MPI_LONG", "int64"},
	{"MPI_LONG_LONG", "int64"},
	{"MPI_LONG_LONG_INT", "int64"},
	{"MPI_INT64_T", "int64"},
	{"MPI_INTEGER8", "int64"},
	{"MPI_AINT", "int64"},
	{"MPI_OFFSET", "int64"},
	{"MPI_COUNT", "int64"},
	{"MPI_UNSIGNED_LONG", "uint64"},
	{"MPI_UNSIGNED_LONG_LONG", "uint64"},
	{"MPI_UINT64_T", "uint64"},
	{"MPI_FLOAT", "float32"},
	{"MPI_REAL", "float32"},
	{"MPI_REAL4", "float32"},
	{"MPI_DOUBLE", "float64"},
	{"MPI_DOUBLE_PRECISION", "float64"},
	{"MPI_REAL8", "float64"},
	{"MPI_LONG_DOUBLE", "float80"},
	{"MPI_REAL16", "float128"},
	{"MPI_COMPLEX", "complex32"},
	{"MPI_COMPLEX8", "complex32"},
	{"MPI_C_COMPLEX", "complex32"},
	{"MPI_C_FLOAT_COMPLEX", "complex32"},
	{"MPI_CXX_FLOAT_COMPLEX", "complex32"},
	{"MPI_DOUBLE_COMPLEX", "complex64"},
	{"MPI_COMPLEX16", "complex64"},
	{"MPI_C_DOUBLE_COMPLEX", "complex64"},
	{"MPI_CXX_DOUBLE_COMPLEX", "complex64"},
	{"MPI_C_LONG_DOUBLE_COMPLEX", "complex80"},
	{"MPI_CXX_LONG_DOUBLE_COMPLEX", "complex80"},
	{"MPI_LOGICAL", "logical"},
	{"MPI_C_BOOL", "bool"},
	{"MPI_CXX_BOOL", "bool"},
	{"MPI_WCHAR", "wchar"},
};

#define NBASICS ((uint32_t)(sizeof(basics) / sizeof(basics[0])))
#define KIND_BYTE 1u /* the first row */

static bool is_basic(uint32_t kind)
{
	return kind > 0 && kind <= NBASICS;
}

static uint32_t number_of_row(uint32_t row)
{
	while (row > 0 && strcmp(basics[row - 1].same, basics[row].same) == 0)
		row--;
	return row + 1;
}

/* Of a type of one basic type: its number; 0 of any other. */
static uint32_t basic_kind(struct typesig sig)
{
	for (uint32_t i = 0; i < NBASICS; i++) {
		struct typesig one = typesig_basic(basics[i].name, strlen(basics[i].name));
		if (typesig_repeat(one, sig.elements).hash == sig.hash)
			return number_of_row(i);
	}
	return 0;
}

struct wanted {
	const struct step *step;
	struct typesig sig;
};

static bool same_sig(const void *context, uint32_t at)
{
	const struct wanted *w = context;
	const struct known_type *k = &w->step->types.at[at];
	return k->sig.hash == w->sig.hash && k->sig.elements == w->sig.elements;
}

static int find_kind(struct step *s, struct typesig sig, uint32_t *ret_kind)
{
	struct wanted w = {s, sig};
	uint64_t hash = index_mix(sig.hash, sig.elements);
	uint32_t at = sig.elements == 0 ? INDEX_NONE : index_find(&s->type_index, hash, same_sig, &w);
	*ret_kind = TYPE_FITS_ALL;
	if (sig.elements == 0)
		return 0;
	if (at == INDEX_NONE) {
		uint32_t kind = basic_kind(sig);
		at = (uint32_t)s->types.n;
		if (vec_push(&s->types, (struct known_type){sig, kind != 0 ? kind : NBASICS + 1 + at}) < 0 ||
		    index_add(&s->type_index, hash, at) < 0)
			return -ENOMEM;
	}
	*ret_kind = s->types.at[at].kind;
	return 0;
}

int types_add(struct step *s, struct process *p, const struct mpic_def *d)
{
	struct datatype t = {.bytes = d->size_bytes, .sig = {d->type_hash, d->type_elements}, .name = d->name};
	int code = budget_reach(&s->kept, &p->types, d->id);
	if (code == 0)
		code = find_kind(s, t.sig, &t.kind);
	if (code == 0)
		p->types.at[d->id] = t;
	return code;
}

void types_done(struct step *s)
{
	vec_done(&s->types);
	index_done(&s->type_index);
}

static const struct datatype *find(const struct process *p, uint32_t datatype)
{
	return datatype < p->types.n ? &p->types.at[datatype] : NULL;
}

uint32_t types_kind(const struct process *p, uint32_t datatype)
{
	const struct datatype *t = find(p, datatype);
	return t != NULL ? t->kind : TYPE_FITS_ALL;
}

uint64_t types_bytes(const struct process *p, uint64_t count, uint32_t datatype)
{
	const struct datatype *t = find(p, datatype);
	uint64_t size = datatype == MPIC_NO_TYPE ? 1 : t != NULL ? t->bytes : 0, bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX >> 1 : bytes;
}

bool types_is_byte(const struct process *p, uint32_t datatype)
{
	return types_kind(p, datatype) == KIND_BYTE;
}

/* Of two different sequences only those are compared of which the beginning of b that is as long as a can be said. */
bool types_match(const struct process *pa, uint32_t a, uint64_t count, const struct process *pb, uint32_t b)
{
	const struct datatype *ta = find(pa, a), *tb = find(pb, b);
	uint64_t elements;
	if (ta == NULL || tb == NULL || ta->kind == TYPE_FITS_ALL || tb->kind == TYPE_FITS_ALL || count == 0)
		return true;
	if (is_basic(ta->kind) && is_basic(tb->kind))
		return ta->kind == tb->kind;
	if (__builtin_mul_overflow(ta->sig.elements, count, &elements) || elements % tb->sig.elements != 0)
		return true;
	return typesig_repeat(ta->sig, count).hash == typesig_repeat(tb->sig, elements / tb->sig.elements).hash;
}

const char *types_text(const struct process *p, uint32_t datatype, char *text, size_t size)
{
	const struct datatype *t = find(p, datatype);
	if (t == NULL)
		snprintf(text, size, "an unknown type");
	else if (t->name.len_bytes > 0)
		snprintf(text, size, "%.*s", (int)(t->name.len_bytes < 48 ? t->name.len_bytes : 48),
			 (const char *)t->name.data);
	else if (is_basic(t->kind))
		snprintf(text, size, "%" PRIu64 " %s", t->sig.elements, basics[t->kind - 1].name);
	else
		snprintf(text, size, "a type of %" PRIu64 " elements", t->sig.elements);
	return text;
}
