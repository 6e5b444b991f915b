/* age.c - what is in age.so: a module of Python has functions in arrays, one behind a call, a class that its type
 * names. Made by aarch64-linux-gnu-gcc -O1 -fPIC -shared -nostdlib -fasynchronous-unwind-tables
 * -Wl,-z,max-page-size=4096 -s; the addresses are in tests/unit/postproc_lines.c. */
struct method_def {
	const char *name;
	int (*function)(int);
	int flags;
	const char *text;
};
volatile int depth __attribute__((visibility("hidden")));
static __attribute__((noinline, noclone)) int shared(int n)
{
	depth += n;
	return depth * 3;
}
static __attribute__((noinline, noclone)) int only_receive(int n)
{
	int rc = shared(n + 1);
	return rc + depth;
}
static __attribute__((noinline, noclone)) int send_it(int n)
{
	return shared(n) + depth;
}
static __attribute__((noinline, noclone)) int receive_it(int n)
{
	return only_receive(n) + depth;
}
static __attribute__((noinline, noclone)) int bcast_it(int n)
{
	return n + depth + 19;
}
__attribute__((visibility("hidden"))) struct method_def methods[] = {
	{"send", send_it, 3, "Comm.send(self, obj)\nSend it"}, {"recv", receive_it, 3, "Comm.recv(self)"}};
__attribute__((visibility("hidden"))) struct method_def zero, of_class[] = {{"Bcast", bcast_it, 3, "Bcast(self, obj)"}};
__attribute__((visibility("hidden"))) struct {
	unsigned long counted[3];
	const char *name;
	unsigned long between[25];
	struct method_def *methods;
} type_object = {.name = "pack.age.Intracomm", .methods = of_class};
