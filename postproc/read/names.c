/* names.c - see names.h. C++ is read by libsupc++'s demangler in the form that hands out pieces: it allocates
 * nothing, so it may be left in the middle. Some hundred bytes of a hostile symbol unfold to more than any memory
 * holds (substitutions double it again and again); this stops at the first piece behind the limit. */
#include "postproc/read/names.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_MAX 2048 /* the demangler recurses, and takes 100 bytes of stack a byte */
#define ELLIPSIS "..."

#ifdef MPITRACE_DEMANGLER
/* Rust's older symbols look like C++ and end in a hash: "17h" and 16 digits, "E". */
static bool is_rust(const char *symbol)
{
	size_t n = strlen(symbol);
	return n > 20 && symbol[n - 1] == 'E' && strncmp(symbol + n - 20, "17h", 3) == 0 &&
	       strspn(symbol + n - 17, "0123456789abcdef") == 16;
}

int __gcclibcxx_demangle_callback(const char *mangled, void (*piece)(const char *, size_t, void *), void *context);

struct unfolding {
	char text[NAME_FULL_MAX + sizeof(ELLIPSIS)];
	size_t len;
	jmp_buf enough;
};

static void take_piece(const char *piece, size_t len, void *context)
{
	struct unfolding *u = context;
	size_t room = NAME_FULL_MAX - u->len;
	memcpy(u->text + u->len, piece, len < room ? len : room);
	u->len += len < room ? len : room;
	if (len > room)
		longjmp(u->enough, 1);
}

/* What setjmp's function has on its own stack may be lost; u is its caller's. */
static bool unfold(const char *symbol, struct unfolding *u)
{
	if (setjmp(u->enough) != 0) {
		memcpy(u->text + u->len, ELLIPSIS, sizeof(ELLIPSIS));
		return true;
	}
	if (__gcclibcxx_demangle_callback(symbol, take_piece, u) != 0)
		return false;
	u->text[u->len] = '\0';
	return true;
}

static char *from_cxx(const char *symbol)
{
	struct unfolding u = {.len = 0};
	char clean[SYMBOL_MAX];
	size_t n = strcspn(symbol, "."); /* the compiler's copies: ...isra.0 */
	if (n >= sizeof(clean) || is_rust(symbol))
		return NULL;
	memcpy(clean, symbol, n);
	clean[n] = '\0';
	return unfold(clean, &u) ? strdup(u.text) : NULL;
}
#else
static char *from_cxx(const char *symbol)
{
	(void)symbol;
	return NULL;
}
#endif

/* One enclosing scope of Cython's, "6mpi4py_"; 0 where the last name stands, which may have a number before it too. */
static size_t cython_scope(const char *at, const char **ret_name)
{
	char *name;
	if (!isdigit((unsigned char)*at))
		return 0;
	unsigned long n = strtoul(at, &name, 10);
	*ret_name = name;
	return n < strlen(name) && name[n] == '_' && isalnum((unsigned char)name[n + 1]) ? n : 0;
}

/* "__pyx_pw_6mpi4py_3MPI_4Comm_67send" is mpi4py.MPI.Comm.send. */
static char *from_cython(const char *symbol)
{
	static const char *const prefixes[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_f_", "__pyx_getprop_",
					       "__pyx_setprop_"};
	char text[NAME_FULL_MAX] = "";
	const char *at = NULL, *name;
	size_t len = 0, n;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(symbol, prefixes[i], strlen(prefixes[i])) == 0)
			at = symbol + strlen(prefixes[i]);
	if (at == NULL || !isdigit((unsigned char)*at))
		return NULL;
	for (; (n = cython_scope(at, &name)) > 0; at = name + n + 1) {
		memcpy(text + len, name, n);
		text[len + n] = '.';
		len += n + 1;
	}
	at += strspn(at, "0123456789");
	n = strcspn(at, "."); /* the compiler's copies: send.isra.0 */
	if (len == 0 || n == 0)
		return NULL;
	memcpy(text + len, at, n);
	return strdup(text);
}

char *name_readable(const char *symbol)
{
	char *name = NULL;
	if (strnlen(symbol, SYMBOL_MAX) < SYMBOL_MAX)
		name = strncmp(symbol, "_Z", 2) == 0 ? from_cxx(symbol) : from_cython(symbol);
	return name != NULL ? name : strndup(symbol, NAME_FULL_MAX);
}

bool name_is_cxx(const char *symbol)
{
	char *name = strncmp(symbol, "_Z", 2) == 0 ? from_cxx(symbol) : NULL;
	free(name);
	return name != NULL;
}

/* ---- the short form ---- */

/* Length of an operator's sign where `at` stands behind the word operator, so that it is taken for no bracket. */
static size_t operator_sign(const char *at)
{
	static const char *const signs[] = {
		"()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">", NULL};
	for (int i = 0; signs[i] != NULL; i++)
		if (strncmp(at, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

static bool is_operator(const char *name, const char *at)
{
	return at - name >= 8 && strncmp(at - 8, "operator", 8) == 0 &&
	       (at - name == 8 || (!isalnum((unsigned char)at[-9]) && at[-9] != '_'));
}

/* Behind the bracket that closes the one at `at`, or the end. */
static const char *behind(const char *name, const char *at, char open, char close)
{
	unsigned depth = 0;
	for (; *at != '\0'; at++) {
		size_t sign = is_operator(name, at) ? operator_sign(at) : 0;
		if (sign > 0)
			at += sign - 1;
		else if (*at == open)
			depth++;
		else if (*at == close && --depth == 0)
			return at + 1;
	}
	return at;
}

static const char *skip_qualifiers(const char *at)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", NULL};
	for (int i = 0; words[i] != NULL;)
		if (strncmp(at, words[i], strlen(words[i])) == 0) {
			at += strlen(words[i]);
			i = 0;
		} else
			i++;
	return at;
}

/* Copy without parameters and, at a space outside of brackets, without what stood before it: a return type. */
static size_t without_types(const char *name, char *to, bool fold)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t n = 0;
	for (const char *at = name; *at != '\0';) {
		size_t take = is_operator(name, at) ? operator_sign(at) : 0;
		if (take == 0 && strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
			take = sizeof(anonymous) - 1;
		else if (take == 0 && *at == '<') {
			take = (size_t)(behind(name, at, '<', '>') - at);
			if (fold) {
				memcpy(to + n, "<>", 2);
				n += 2;
				at += take;
				continue;
			}
		} else if (take == 0 && *at == '(') {
			at = skip_qualifiers(behind(name, at, '(', ')'));
			continue;
		} else if (take == 0 && *at == ' ' && !is_operator(name, at) && at[1] != '<') {
			n = 0;
			at++;
			continue;
		}
		if (take == 0)
			take = 1;
		memcpy(to + n, at, take);
		n += take;
		at += take;
	}
	to[n] = '\0';
	return n;
}

char *name_short(const char *name)
{
	char *to = malloc(strlen(name) + 2); /* "<" at the end becomes "<>" */
	if (to == NULL)
		return NULL;
	size_t n = 0;
	if (strpbrk(name, "(<") != NULL) {
		n = without_types(name, to, false);
		if (n > NAME_SHORT_MAX)
			n = without_types(name, to, true);
	}
	if (n == 0) { /* no name of C++'s */
		n = strlen(name);
		memcpy(to, name, n + 1);
	}
	if (n > NAME_SHORT_MAX) {
		size_t keep = NAME_SHORT_MAX - strlen(ELLIPSIS);
		memmove(to + strlen(ELLIPSIS), to + n - keep, keep + 1);
		memcpy(to, ELLIPSIS, strlen(ELLIPSIS));
	}
	if (strcmp(to, name) == 0) {
		free(to);
		return NULL;
	}
	return to;
}
