# shellcheck shell=bash disable=SC2034,SC2154
# cases_options.sh - what --mpitrace takes, and how it lives with a user's environment and other plugins. Sourced by run.sh.

# By srun, whose plugin has an agent on every node; the exit code is the program's.
mpitrace_run_in_an_allocation_records_every_node() {
	local out=$CASE_DIR/out
	as_user env SLURM_KILL_BAD_EXIT=0 salloc -N2 -n4 "$PREFIX/bin/mpitrace" run -n 4 --out "$out" --name four -- "$RING" 20 exit=3 >"$CASE_DIR/o" 2>"$CASE_DIR/e"
	same "exit code" 3 $? || return
	same "lines of the ranks" 4 "$(grep -c '^rank' "$CASE_DIR/o")" || return
	contains "$CASE_DIR/e" "mpitrace: report $out/four.html" || return
	same files "2 four.html four.mpix" "$(find "$out" -name 'four.n?.mpic' | wc -l) $(cd "$out" && ls -A | grep -v '[.]mpic$' | xargs)" || return
	same "nodes, ranks, transfers, complete" "2 4 80 True" "$(mpitrace show --json "$out/four.mpix" | python3 -c "import json,sys
a=json.load(sys.stdin)
print(len(a['job']['nodes']), a['coverage']['ranks_seen'], a['summary']['transfers'], a['coverage']['complete'])")" || return
	as_user salloc -N2 -n4 "$PREFIX/bin/mpitrace" run -n 4 --profile --stack 2 --budget 1M --out "$out/deep/er" --name totals -- "$RING" 20 >/dev/null 2>&1 || fails "with options: $?" || return
	same "mode of --profile" profile "$(mpitrace show --json "$out/deep/er/totals.mpix" | python3 -c "import json,sys; print(json.load(sys.stdin)['coverage']['mode'])")" || return
	as_user salloc -N2 -n4 "$PREFIX/bin/mpitrace" run --out "$out" --name one -- "$RING" 20 >/dev/null 2>&1 || fails "one process: $?" || return
	same "ranks of one process" 1 "$(mpitrace show --json "$out/one.mpix" | python3 -c "import json,sys; print(json.load(sys.stdin)['coverage']['ranks_seen'])")"
}

an_unknown_key_is_refused_at_submit_and_named() {
	local command
	for command in "srun hostname" "sbatch --wrap hostname" "salloc hostname"; do
		# shellcheck disable=SC2086  # two words
		set -- $command
		as_user "$1" --mpitrace=frobnicate=1 "${@:2}" >"$CASE_DIR/$1.out" 2>"$CASE_DIR/$1.err" && fails "$1 took it" && return 1
		contains "$CASE_DIR/$1.err" 'unknown key "frobnicate"' || return
		contains "$CASE_DIR/$1.err" 'budget=SIZE' || return
		same "output of $1" "" "$(cat "$CASE_DIR/$1.out")" || return
	done
}

help_shows_the_option() {
	as_user srun --help >"$CASE_DIR/help" 2>&1
	contains "$CASE_DIR/help" --mpitrace
}

profile_records_totals_and_no_events() {
	as_user srun -n2 --mpitrace=profile "$RING" 40 >/dev/null || fails "srun: $?" || return
	has_report 0 || fails "no report" || return
	same "calls of MPI_Sendrecv" 80 "$(analysis 0 'sum(o["calls"] for o in a["operations"] if o["op"] == "MPI_Sendrecv")')" || return
	same "complete, mode" "True profile" "$(analysis 0 'str(a["coverage"]["complete"]) + " " + a["coverage"]["mode"]')" || return
	! grep -q partial "$(step_dir 0)/log.txt" || fails "what was asked for is called partial"
}

off_inside_a_traced_batch_script_leaves_the_step_alone() {
	printf '#!/bin/sh\nsrun -n1 --mpitrace=off env\nsrun -n1 %s 5 2>/dev/null\n' "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait --mpitrace -o out.txt job.sh >/dev/null || fails "sbatch: $?" || return
	contains "$CASE_DIR/out.txt" SLURM_STEP_ID || return
	! grep -E '^(LD_PRELOAD|MPITRACE_)' "$CASE_DIR/out.txt" || fails "the environment holds traces of us" || return
	eventually "the report of the other step" has_report 1
}

an_ld_preload_of_8_kib_is_kept_and_comes_first() {
	local long
	long=$(for i in $(seq 1 220); do printf '/usr/lib/x86_64-linux-gnu/libm.so.6:'; done)
	[ ${#long} -gt 7900 ] || fails "only ${#long} bytes" || return
	as_user env "LONG=$long" sh -c 'exec srun -n1 --export=ALL,LD_PRELOAD="${LONG%:}" --mpitrace printenv LD_PRELOAD' \
		>"$CASE_DIR/out" 2>/dev/null || fails "srun: $?" || return
	as_user env "LONG=$long" sh -c 'exec srun -n1 --export=ALL,LD_PRELOAD="${LONG%:}" --mpitrace "$0" 5' "$RING" >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a trace behind it" eval '[ -s "$(echo "$CASE_DIR"/mpitrace-*/step-0/report.html)" ]' || return
	[[ $(cat "$CASE_DIR/out") == "${long%:}:"*libmpitrace.so ]] || fails "got $(head -c 100 "$CASE_DIR/out") ... $(tail -c 100 "$CASE_DIR/out")"
}

listed_twice_in_plugstack_it_acts_once() {
	cp "$STATE/plugstack.conf" "$CASE_DIR/plugstack.once"
	cat "$CASE_DIR/plugstack.once" "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	as_user srun -N2 -n2 --mpitrace "$RING" 15 >"$CASE_DIR/out" 2>"$CASE_DIR/err"
	local code=$?
	cat "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	same "exit code" 0 $code || return
	same "standard error" "ring done" "$(said "$CASE_DIR/err")" || return
	same "transfers" 30 "$(analysis 0 'a["summary"]["transfers"]')"
}

a_missing_plugin_does_not_stop_jobs() {
	cp "$STATE/plugstack.conf" "$CASE_DIR/plugstack.once"
	echo "optional /nonexistent/mpitrace.so" >"$STATE/plugstack.conf"
	same output n1 "$(as_user srun -w n1 hostname 2>/dev/null)"
	local rc=$?
	cat "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	return $rc
}

# A plugin says which Slurm it was compiled for: SLURM_VERSION_NUMBER, under this name.
of_another_series() { # PLUGIN TO
	python3 - "$@" <<-'END'
		import re, struct, subprocess, sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		names = subprocess.run(['nm', '-D', sys.argv[1]], capture_output=True, text=True, check=True).stdout
		address = int(re.search(r'^(\w+) \w plugin_version$', names, re.M).group(1), 16)
		(first,), (n,) = struct.unpack_from('<Q', data, 32), struct.unpack_from('<H', data, 56) # program headers, elf(5)
		loads = [struct.unpack_from('<IIQQQQ', data, first + 56 * i) for i in range(n)]
		at, = (address - vaddr + offset for kind, _, offset, vaddr, _, size in loads if kind == 1 and vaddr <= address < vaddr + size)
		version, = struct.unpack_from('<I', data, at)
		struct.pack_into('<I', data, at, version + (1 << 16))
		open(sys.argv[2], 'wb').write(data)
	END
}

a_plugin_of_another_series_does_not_stop_jobs() {
	local plugin rc=0
	plugin=$(sed -n 's/^[a-z]* \([^ ]*mpitrace\.so\).*/\1/p' "$STATE/plugstack.conf")
	cp "$STATE/plugstack.conf" "$CASE_DIR/plugstack.once"
	of_another_series "$plugin" "$CASE_DIR/mpitrace.so" || return 1
	chmod 755 "$CASE_DIR" && chmod 644 "$CASE_DIR/mpitrace.so"
	echo "optional $CASE_DIR/mpitrace.so" >"$STATE/plugstack.conf"
	same output n1 "$(as_user srun -w n1 hostname 2>"$CASE_DIR/said")" || rc=1
	grep -q "Incompatible.* plugin" "$CASE_DIR/said" || { echo "not refused: $(cat "$CASE_DIR/said")" && rc=1; }
	cat "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	return $rc
}
