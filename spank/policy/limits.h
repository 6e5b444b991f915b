/* limits.h - how much a policy may hold. It is read by root before every step, so nothing in it is without a bound. */
#pragma once

#define POLICY_FILE_BYTES_MAX (256u << 10) /* one file */
#define POLICY_FILES_MAX 64u		   /* mpitrace.conf and conf.d */
#define POLICY_LINE_MAX 4096u		   /* bytes of one line */
#define POLICY_RULES_MAX 1024u
#define POLICY_RULE_NAME_MAX 64u	   /* bytes of a rule's name */
#define POLICY_ITEMS_MAX 256u		   /* items of one list */
#define POLICY_ERRORS_MAX 20u		   /* that are told; the rest is counted */
#define POLICY_FACT_MAX 4096u		   /* bytes of one fact, but of */
#define POLICY_GROUPS_BYTES_MAX (8u << 20) /* the list of a user's groups, */
#define POLICY_FACTS_BYTES_MAX (64u << 10) /* a job's file of facts */
#define POLICY_GROUPS_MAX 65536u	   /* which are as many as Linux has (NGROUPS_MAX) */
#define POLICY_OUTPUT_MAX 1024u		   /* bytes of a pattern */
#define POLICY_STACK_MAX 32u		   /* callers of a call */
#define POLICY_WHY_MAX 1024u		   /* bytes of the line that says what applied */
#define POLICY_DESTINATION_KEYS_MAX 1024u  /* of all destinations together */
