/* gate.h - who may take the server's time. A connection comes to libmicrohttpd when the head of its first request is
 * whole, and stays as long as its peer does its part; who has the token is not kept waiting by who has not. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

struct gate;

struct gate_options {
	const char *token;    /* NULL: whoever comes has it */
	unsigned patience_ms; /* as in web.h */
	/* Streams were ended, of which the library hears when there is something to be sent next. Any thread. */
	void (*streams_ended)(void *context);
	void *context;
};

/* 0 or -errno. Nobody is let in yet; listener stays the caller's. */
int gate_create(const struct gate_options *o, int listener, struct gate **ret_gate);
int gate_open(struct gate *g, struct MHD_Daemon *daemon);
/* Nobody more is let in; those that are stay. */
void gate_close(struct gate *g);
/* When the daemon has been stopped. */
void gate_destroy(struct gate *g);

/* A request of it is being answered, which goes on without an end if it is a stream. */
void gate_answers(struct gate *g, struct MHD_Connection *connection, bool stream);
/* For MHD_OPTION_NOTIFY_CONNECTION and MHD_OPTION_NOTIFY_COMPLETED, with the gate. */
void gate_connected(void *gate, struct MHD_Connection *connection, void **peer,
		    enum MHD_ConnectionNotificationCode what);
void gate_completed(void *gate, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why);
