# shellcheck shell=bash disable=SC2034,SC2154
# cases_doctor.sh - what `mpitrace doctor --try` says of nodes: a traced step on each. Sourced by run.sh.

doctor_tries() { # EXPECTED-CODE NODE...: its rows come to the case's file "said"
	local code=$1 got
	shift
	as_user mpitrace doctor --try "$@" >"$CASE_DIR/all" 2>&1
	got=$?
	grep -A 1 ' try n' "$CASE_DIR/all" >"$CASE_DIR/said"
	same "exit code of doctor --try $*" "$code" "$got" || fails "$(cat "$CASE_DIR/all")"
}

said_of() { # NODE PATTERN
	grep -Eq "try $1 +$2" "$CASE_DIR/said" || fails "of $1 not \"$2\" but: $(cat "$CASE_DIR/said")"
}

the_doctor_runs_a_traced_step_on_each_node_that_is_idle() {
	local node
	as_admin install -d -m 0755 "$STATE/head" # where its spool would be
	doctor_tries 0 || return
	for node in n1 n2 n3 n4; do
		said_of "$node" "a step is traced" || return
	done
	doctor_tries 0 'n[2-3]' || return
	same "nodes that were tried" 2 "$(grep -c ' try n' "$CASE_DIR/said")" || return
	same "what is left" "" "$(find "$CASE_DIR" -name 'mpitrace-*')"
}

# Each node has another defect, of the same files: mounts are its own.
the_doctor_names_why_a_node_traces_nothing() {
	local tracer warden rc=0
	tracer=$(find "$PREFIX" -name libmpitrace.so) warden=$(find "$PREFIX" -name mpitrace-warden)
	as_admin chmod 0777 "$STATE/n1/mpitrace"
	with_node n2 mount --bind /etc/hostname "$tracer"
	with_node n3 mount --bind "$STATE/plugstack.conf" "$warden"
	as_admin scontrol update NodeName=n4 State=DRAIN Reason=test
	doctor_tries 1 n1 n2 n3 n4 || rc=1
	said_of n1 "the step was not prepared for tracing: spool: .*n1/mpitrace: owner 0, mode 0777: the plugin refuses it" || rc=1
	said_of n2 ".*: tracer: $tracer is not an ELF file" || rc=1
	said_of n3 "the step was not prepared for tracing: programs: .*mpitrace-warden .*cannot be run" || rc=1
	said_of n4 "no step: .*" || rc=1
	as_admin chmod 0755 "$STATE/n1/mpitrace"
	with_node n2 umount "$tracer"
	with_node n3 umount "$warden"
	as_admin scontrol update NodeName=n4 State=RESUME
	same "BAD rows" 4 "$(grep -c '^BAD  *try n' "$CASE_DIR/said")" || rc=1
	return $rc
}

root_is_told_that_its_steps_are_never_traced() {
	as_admin mpitrace doctor --try >"$CASE_DIR/out" 2>&1
	same "exit code" 2 "$?" || return
	contains "$CASE_DIR/out" "as an ordinary user"
}

one_spool_is_empty() {
	[ -z "$(find "$STATE/one/live" -mindepth 1)" ]
}

on_one_spool() { # what the user gets, and what the doctor says
	as_user srun -N2 -n4 --ntasks-per-node=2 --mpitrace=report=none "$RING" 5 >"$CASE_DIR/out" 2>"$CASE_DIR/err" || fails "exit code $?: $(cat "$CASE_DIR/err")" || return
	contains "$CASE_DIR/out" "rank 0 of 4 got" || return
	[ "$(grep -c mpitrace "$CASE_DIR/err")" -le 1 ] || fails "lines of ours: $(cat "$CASE_DIR/err")" || return
	eventually "an empty spool" one_spool_is_empty || return
	same "nodes that recorded" 1 "$(find "$(step_dir 0)" -name '*.mpic' | wc -l)" || return
	as_user mpitrace finish "$(step_dir 0)" >/dev/null
	same "ranks, nodes without a file, lost events" "(2, 1, 0)" \
		"$(analysis 0 'a["coverage"]["ranks_seen"], len(a["coverage"]["nodes_missing"]), a["coverage"]["events_lost"]')" || return
	as_user srun -N2 -n4 --mpitrace=quiet,report=none,out="$CASE_DIR/quiet" "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || return
	same "lines of ours with quiet" "" "$(grep mpitrace "$CASE_DIR/err")" || return
	SLURM_CONF=$STATE/slurm.conf as_admin mpitrace doctor >"$CASE_DIR/said" # that of the head
	contains "$CASE_DIR/said" "$STATE/one is the spool of two nodes of this host, n"
}

# Each would take the other's directory for one that an earlier job left.
two_nodes_with_one_spool_leave_each_other_alone() {
	local rc
	as_admin install -d -m 0711 "$STATE/one"
	with_plugin_arguments "spool=$STATE/one" on_one_spool
	rc=$?
	as_admin rm -rf "$STATE/one"
	return $rc
}
