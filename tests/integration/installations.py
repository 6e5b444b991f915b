#!/usr/bin/env python3
"""installations.py: `mpitrace doctor` names what is wrong with a broken installation, in one sentence, and nothing else.

In: MPITRACE, TRACER, PLUGINS (plugins of several kinds, tests/tools/slurm_plugin.c).  Out: TAP. Each kind is a row: what it is, how to
break an installation that is right, the check that says it, and words of what it says. Slurm is a script that prints a version."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

MPITRACE, TRACER, PLUGINS = os.environ["MPITRACE"], os.environ["TRACER"], os.environ["PLUGINS"]
NOBODY = 65534
IS_ROOT = os.geteuid() == 0
# What an ordinary machine may lack; none of the kinds is about these.
NOT_OURS = {"clock", "viewer", "open mpi", "mpich"}


class Installation:
    """An installation that is right, below a directory of its own. Not in /tmp, where a spool is wrong."""

    def __init__(self, top):
        self.top, self.running = top, []
        self.lib, self.bin, self.libexec = top + "/prefix/pmpi", top + "/prefix/bin", top + "/prefix/libexec/mpitrace"
        self.plugin = top + "/prefix/slurm/mpitrace.so"
        self.front, self.openmpi = self.lib + "/libmpitrace.so", self.lib + "/libmpitrace-openmpi.so"
        self.abi = self.lib + "/libmpitrace-abi.so"
        self.warden, self.command = self.libexec + "/mpitrace-warden", self.bin + "/mpitrace"
        self.plugstack, self.conf = top + "/etc/plugstack.conf", top + "/etc/slurm.conf"
        self.spool, self.policy = top + "/spool/mpitrace", top + "/site/mpitrace.conf"
        for path in (self.lib, self.bin, self.libexec, top + "/prefix/slurm", top + "/etc", top + "/spool", top + "/site", top + "/fake"):
            os.makedirs(path)
        shutil.copy(MPITRACE, self.command)
        for name in os.listdir(os.path.dirname(TRACER)):
            if name.startswith("libmpitrace") and name.endswith(".so"):
                shutil.copy(os.path.dirname(TRACER) + "/" + name, self.lib)
        if not os.path.exists(self.openmpi):
            subprocess.run(["cc", "-shared", "-fPIC", "-o", self.openmpi, "-x", "c", "-"], input=b"int mpitrace_bind_openmpi;", check=True)  # where no Open MPI is
        shutil.copy("/bin/true", self.warden)
        self.take_plugin("2205")
        self.slurm("slurm-wlm 22.05.8")
        write(self.conf, "ClusterName=test\n")
        write(self.policy, "")
        self.line()

    def take_plugin(self, kind):
        shutil.copy(f"{PLUGINS}/slurm_{kind}.so", self.plugin)
        os.chmod(self.plugin, 0o755)

    def slurm(self, says):
        for name in ("slurmd", "srun"):
            write(f"{self.top}/fake/{name}", f"#!/bin/sh\necho '{says}'\n", 0o755)

    def arguments(self, **changed):
        keys = {"spool": self.spool, "libdir": self.lib, "bindir": self.bin, "libexecdir": self.libexec, "policy": self.policy, **changed}
        return " ".join(f"{key}={value}" for key, value in keys.items())

    def line(self, word="optional", plugin=None, more="", **changed):
        write(self.plugstack, f"{word} {plugin or self.plugin} {self.arguments(**changed)} {more}\n")

    def nodes(self, *names):
        """What looks like a slurmd of each node."""
        time.sleep(2.1)  # when a process began is known to a second, and the plugin is to be older
        write(self.top + "/fake/slurmd", "#!/bin/sh\ncase $1 in -V) echo slurm-wlm 22.05.8 ;; *) read -r line ;; esac\n", 0o755)
        self.running = [subprocess.Popen([self.top + "/fake/slurmd", "-N", name, "-f", self.conf], stdin=subprocess.PIPE) for name in names]


    def end(self):
        for process in self.running:
            process.communicate()

    def doctor(self, *words, as_nobody=False):
        environment = {"PATH": f"{self.top}/fake:/usr/bin:/bin", "SLURM_CONF": self.conf}
        identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody else {}
        return subprocess.run([self.command, "doctor", *words], env=environment, text=True,
                              capture_output=True, check=False, timeout=60, cwd="/", **identity)


def write(path, text, mode=0o644):
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def cut(path, length):
    with open(path, "r+b") as f:
        f.truncate(length)


def patch(path, offset, data):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(data)


def moved_library(i):
    """The libraries below libdir=, elsewhere."""
    elsewhere = i.top + "/elsewhere"
    shutil.copytree(i.lib, elsewhere)
    i.line(libdir=elsewhere)
    return elsewhere


def late(i):
    os.makedirs(i.spool + "/late")
    for n in range(21):
        write(f"{i.spool}/late/{n}.0.step-0", "")


def in_circles(i):
    """40 files that include all 40."""
    os.mkdir(i.top + "/circles")
    for n in range(40):
        with open(f"{i.top}/circles/{n}.conf", "w", encoding="utf-8") as f:
            f.write(f"include {i.top}/circles/*.conf\n")
    with open(i.plugstack, "a", encoding="utf-8") as f:
        f.write(f"include {i.top}/circles/*.conf\n")


def included(i, text="", mode=0o644):
    write(i.plugstack, f"include {i.top}/etc/conf.d/*.conf\n")
    os.mkdir(i.top + "/etc/conf.d")
    write(i.top + "/etc/conf.d/a.conf", text or f"optional {i.plugin} {i.arguments()}\n", mode)


def rename(path):
    os.rename(path, path + ".away")


# what it is; how to break it; which check says so, how badly, and words of it
KINDS = [
    # plugstack.conf, each word
    ("no plugstack.conf", lambda i: os.remove(i.plugstack), "plugstack", "warn", "plugstack.conf is not there"),
    ("an empty plugstack.conf", lambda i: write(i.plugstack, ""), "plugstack", "warn", "does not name mpitrace.so"),
    ("a misspelt optional", lambda i: i.line("optinal"), "plugstack", "bad", 'plugstack.conf:1: "optinal" is not optional, required or include'),
    ("a capital Optional", lambda i: i.line("Optional"), "plugstack", "bad", '"Optional" is not optional'),
    ("required", lambda i: i.line("required"), "plugstack", "bad", "plugstack.conf:1: required: a failing plugin would stop jobs"),
    ("a word alone", lambda i: open(i.plugstack, "a", encoding="utf-8").write("optional\n"), "plugstack", "warn", "plugstack.conf:2: the path is missing"),
    ("an unknown word in another's line", lambda i: open(i.plugstack, "a", encoding="utf-8").write("\n#x\nrequird /x.so\n"), "plugstack", "warn",
     'plugstack.conf:4: "requird" is not optional'),
    ("the plugin twice", lambda i: open(i.plugstack, "a", encoding="utf-8").write(f"optional {i.plugin}\n"), "plugstack", "warn", "names mpitrace.so 2 times"),
    ("an unknown key", lambda i: i.line(more="spol=/x"), "plugstack", "warn", '"spol=/x" is unknown'),
    ("a value that is none", lambda i: i.line(more="spool_fs=ramdisk"), "plugstack", "warn",
     '"spool_fs=ramdisk" has no valid value and is ignored -> spool_fs=tmpfs|none'),
    ("a spool that is no whole path", lambda i: i.line(spool="mpitrace"), "plugstack", "warn", '"spool=mpitrace" has no valid value'),
    ("a word behind a blank", lambda i: i.line(more="= /x"), "plugstack", "warn", '"=" is unknown'),
    ("a line that is too long", lambda i: i.line(more="x" * 4096), "plugstack", "bad", "longer than 4,094 bytes"),
    ("a line that ends as on Windows", lambda i: i.line(more="\r"), "plugstack", "warn", "plugstack.conf:1: ends in a carriage return"),
    ("an argument that ends so", lambda i: write(i.plugstack, f"# as is\noptional {i.plugin} {i.arguments()}\r\n"), "plugstack", "warn",
     "plugstack.conf:2: ends in a carriage return, which Slurm takes for a part of the last word"),
    ("a path that ends so", lambda i: write(i.plugstack, f"optional {i.plugin} {i.arguments()}\noptional /x/spank_y.so\r\n"), "plugstack", "bad",
     "plugstack.conf:2: ends in a carriage return"),
    ("an include that is not there", lambda i: open(i.plugstack, "a", encoding="utf-8").write("include more.conf\n"), "plugstack", "warn",
     "include more.conf: there is no such file"),
    ("includes in a circle", lambda i: open(i.plugstack, "a", encoding="utf-8").write("include plugstack.con[f]\n"), "plugstack", "bad", "include each other without end"),
    ("files that include them all", lambda i: in_circles(i), "plugstack", "bad", "include each other without end"),
    ("a FIFO for a file", lambda i: (os.remove(i.plugstack), os.mkfifo(i.plugstack)), "plugstack", "bad", "plugstack.conf is not a regular file"),
    ("required in an included file", lambda i: included(i, f"required {i.plugin} {i.arguments()}\n"), "plugstack", "bad", "a.conf:1: required"),
    ("a plugstack.conf that users cannot read", lambda i: os.chmod(i.plugstack, 0o600), "plugstack", "bad", "plugstack.conf (mode 0600) cannot be read"),
    ("an included file that users cannot read", lambda i: included(i, mode=0o600), "plugstack", "bad", "a.conf (mode 0600) cannot be read"),
    ("the plugin under another name", lambda i: (shutil.copy(i.plugin, i.top + "/prefix/slurm/spank_mpitrace.so"), i.line(plugin=i.top + "/prefix/slurm/spank_mpitrace.so")),
     "plugstack", "bad", "the plugin's file is mpitrace.so"),
    ("SLURM_CONF that is not there", lambda i: rename(i.conf), "slurm", "warn", "SLURM_CONF names"),
    ("a slurm.conf that users cannot read", lambda i: os.chmod(i.conf, 0o600), "slurm", "bad", "slurm.conf (mode 0600) cannot be read"),
    ("pyxis behind it", lambda i: open(i.plugstack, "a", encoding="utf-8").write("optional /x/spank_pyxis.so\n"), "pyxis", "warn", "pyxis comes after mpitrace"),
    # the plugin
    ("a plugin without its directory", lambda i: i.line(plugin="mpitrace.so"), "plugin", "warn", "without its directory"),
    ("no plugin", lambda i: os.remove(i.plugin), "plugin", "bad", "slurm/mpitrace.so is not there: Slurm ignores it"),
    ("an empty plugin", lambda i: cut(i.plugin, 0), "plugin", "bad", "mpitrace.so is empty"),
    ("a plugin of garbage", lambda i: write(i.plugin, "no plugin\n" * 50), "plugin", "bad", "mpitrace.so is not an ELF file"),
    ("a plugin that is cut", lambda i: cut(i.plugin, os.path.getsize(i.plugin) // 2), "plugin", "bad", "mpitrace.so is truncated"),
    ("a plugin that is a directory", lambda i: (os.remove(i.plugin), os.mkdir(i.plugin)), "plugin", "bad", "mpitrace.so is not a regular file"),
    ("a plugin that only root reads", lambda i: os.chmod(i.plugin, 0o600), "plugin", "bad", "mpitrace.so (mode 0600) cannot be read"),
    ("a plugin's directory that only root enters", lambda i: os.chmod(i.top + "/prefix/slurm", 0o700), "plugin", "bad", "prefix/slurm (mode 0700) cannot be entered"),
    ("a plugin for another Slurm", lambda i: i.take_plugin("2311"), "plugin", "bad", "is for Slurm 23.11, but this host runs slurm-wlm 22.05.8"),
    ("another Slurm than the plugin's", lambda i: i.slurm("slurm 24.05.3"), "plugin", "bad", "is for Slurm 22.05, but this host runs slurm 24.05.3"),
    ("a plugin for no Slurm", lambda i: i.take_plugin("unversioned"), "plugin", "bad", "does not name its Slurm version"),
    ("a plugin for another processor", lambda i: patch(i.plugin, 18, b"\xb7\0"), "plugin", "bad", "is for another processor"),
    ("the tracer in the plugin's place", lambda i: shutil.copy(i.front, i.plugin), "plugin", "bad", "is not a SPANK plugin"),
    ("a plugin of another kind", lambda i: i.take_plugin("auth"), "plugin", "bad", "is not a SPANK plugin"),
    ("another SPANK plugin of that name", lambda i: i.take_plugin("other"), "plugin", "bad", "is not the plugin of mpitrace"),
    ("a plugin that others may write", lambda i: os.chmod(i.plugin, 0o777), "plugin", "bad", "mpitrace.so (mode 0777) is writable by others"),
    ("a plugin's directory that others may write", lambda i: os.chmod(i.top + "/prefix/slurm", 0o777), "plugin", "bad", "prefix/slurm (mode 0777) is writable by others"),
    ("a plugin that is not root's", lambda i: os.chown(i.plugin, NOBODY, NOBODY), "plugin", "bad", "mpitrace.so is not owned by root"),
    # the tracer
    ("no tracer", lambda i: os.remove(i.front), "tracer", "bad", "libmpitrace.so is not there"),
    ("an empty tracer", lambda i: cut(i.front, 0), "tracer", "bad", "libmpitrace.so is empty"),
    ("a tracer of garbage", lambda i: write(i.front, "no library"), "tracer", "bad", "libmpitrace.so is not an ELF file"),
    ("a tracer that is cut", lambda i: cut(i.front, 5000), "tracer", "bad", "libmpitrace.so is truncated"),
    ("a library that is no tracer", lambda i: shutil.copy(i.plugin, i.front), "tracer", "bad", "has no MPI_Init"),
    ("a tracer that only root reads", lambda i: os.chmod(i.front, 0o600), "tracer", "bad", "libmpitrace.so (mode 0600) cannot be read by ordinary users"),
    ("a library directory that only root enters", lambda i: os.chmod(i.lib, 0o700), "tracer", "bad", "pmpi (mode 0700) cannot be entered"),
    ("a library directory for a group", lambda i: (os.chown(i.lib, 0, NOBODY), os.chmod(i.lib, 0o750)), "tracer", "warn", "cannot be entered by users outside of its group"),
    ("a tracer that others may write", lambda i: os.chmod(i.front, 0o777), "tracer", "bad", "is writable by others"),
    ("a tracer that is not root's", lambda i: os.chown(i.front, NOBODY, NOBODY), "tracer", "bad", "libmpitrace.so is not owned by root"),
    ("the tracer of Open MPI that only root reads", lambda i: os.chmod(i.openmpi, 0o600), "open mpi", "bad", "libmpitrace-openmpi.so (mode 0600) cannot be read"),
    ("the tracer of Open MPI that is empty", lambda i: cut(i.openmpi, 0), "open mpi", "bad", "libmpitrace-openmpi.so is empty"),
    ("the tracer of Open MPI that is another MPI's", lambda i: shutil.copy(i.abi, i.openmpi), "open mpi", "bad", "libmpitrace-openmpi.so is not a tracer for this MPI library"),
    ("no tracer of the standard's ABI", lambda i: os.remove(i.abi), "mpi abi", "warn", "libmpitrace-abi.so is missing"),
    ("the tracer of the standard's ABI that only root reads", lambda i: os.chmod(i.abi, 0o600), "mpi abi", "bad", "libmpitrace-abi.so (mode 0600) cannot be read"),
    ("the tracer of the standard's ABI that is none", lambda i: shutil.copy(i.front, i.abi), "mpi abi", "bad", "libmpitrace-abi.so is not a tracer for this MPI library"),
    ("libdir= without the tracer of the standard's ABI", lambda i: os.remove(moved_library(i) + "/libmpitrace-abi.so"), "programs", "bad", "libmpitrace-abi.so is not there"),
    ("libdir= that is not there", lambda i: i.line(libdir=i.top + "/absent"), "programs", "bad", "absent/libmpitrace.so is not there"),
    ("libdir= without a tracer", lambda i: i.line(libdir=i.bin), "programs", "bad", "bin/libmpitrace.so is not there"),
    ("libdir= with a tracer that only root reads", lambda i: os.chmod(moved_library(i) + "/libmpitrace.so", 0o600), "programs", "bad", "(mode 0600) cannot be read"),
    ("libdir= without the tracer of Open MPI", lambda i: os.remove(moved_library(i) + "/libmpitrace-openmpi.so"), "programs", "bad", "libmpitrace-openmpi.so is not there"),
    ("libdir= of another build", lambda i: patch(moved_library(i) + "/libmpitrace-openmpi.so", 9, b"x"), "programs", "warn", "is not of the build of this mpitrace"),
    ("libdir= that ends LD_PRELOAD", lambda i: os.rename(moved_library(i), i.top + "/a:b") or i.line(libdir=i.top + "/a:b"), "programs", "bad", "LD_PRELOAD ends at a colon"),
    # programs
    ("no mpitrace", lambda i: i.line(bindir=i.lib), "programs", "bad", "pmpi/mpitrace is not there"),
    ("no warden", lambda i: os.remove(i.warden), "programs", "bad", "mpitrace-warden is not there"),
    ("an empty warden", lambda i: cut(i.warden, 0), "programs", "bad", "mpitrace-warden is empty"),
    ("a warden that nobody may run", lambda i: os.chmod(i.warden, 0o644), "programs", "bad", "mpitrace-warden (mode 0644) cannot be run"),
    ("a warden that others may write", lambda i: os.chmod(i.warden, 0o777), "programs", "bad", "mpitrace-warden (mode 0777) is writable by others"),
    ("a warden that is not root's", lambda i: os.chown(i.warden, NOBODY, NOBODY), "programs", "bad", "mpitrace-warden is not root's"),
    ("a directory of programs that others may write", lambda i: os.chmod(i.libexec, 0o777), "programs", "bad", "who could replace what is in it"),
    ("a directory of programs that only root enters", lambda i: os.chmod(i.bin, 0o700), "programs", "bad", "bin (mode 0700) cannot be entered"),
    # the spool
    ("a spool below /tmp, which jobs have of their own", lambda i: (i.line(spool="/tmp/mpitrace"), write(i.conf, "JobContainerType=job_container/tmpfs\n")), "spool", "bad",
     "/tmp/mpitrace: Slurm's job_container/tmpfs hides"),
    ("a spool in what jobs have of their own", lambda i: (write(i.conf, "JobContainerType = job_container/tmpfs\n"),
     write(i.top + "/etc/job_container.conf", f"AutoBasePath=true\nNodeName=n[1-9] BasePath=/x Dirs=/tmp,{i.top}/spool\n")), "spool", "bad", "job_container/tmpfs hides"),
    ("a spool that is a link", lambda i: (os.mkdir(i.top + "/real"), os.symlink(i.top + "/real", i.spool)), "spool", "bad",
     "spool/mpitrace is a symbolic link to "),
    ("a spool that is a link to nothing", lambda i: os.symlink(i.top + "/absent", i.spool), "spool", "bad", "spool/mpitrace is a symbolic link, and the plugin follows none -> remove it"),
    ("a directory in the spool that is another's", lambda i: (os.mkdir(i.spool), os.mkdir(i.spool + "/live"), os.chown(i.spool + "/live", NOBODY, NOBODY)), "spool", "bad",
     "mpitrace/live: owner 65534, mode 0755: the plugin refuses it"),
    ("two nodes with one spool", lambda i: i.nodes("n1", "n2"), "spool", "warn", "is the spool of two nodes of this host"),
    ("two nodes with one spool, which is named by their host", lambda i: (i.line(spool=i.spool + "-%n"), i.nodes("n1", "n2")), "spool", "warn",
     "is the spool of two nodes of this host"),
    ("a spool below what is not there", lambda i: i.line(spool=i.top + "/absent/mpitrace"), "spool", "bad", "absent, the parent of the spool, does not exist"),
    ("a spool that is another's", lambda i: (os.mkdir(i.spool), os.chown(i.spool, NOBODY, NOBODY)), "spool", "bad", "owner 65534, mode 0755: the plugin refuses it"),
    ("a spool that others may write", lambda i: (os.mkdir(i.spool), os.chmod(i.spool, 0o777)), "spool", "bad", "mode 0777: the plugin refuses it"),
    ("a spool that is a file", lambda i: write(i.spool, ""), "spool", "bad", "spool/mpitrace: owner 0, mode 0644: the plugin refuses it"),
    ("a spool that only root enters", lambda i: (os.mkdir(i.spool), os.chmod(i.spool, 0o700)), "spool", "bad", "spool/mpitrace (mode 0700) cannot be entered"),
    ("a directory above the spool that only root enters", lambda i: os.chmod(i.top + "/spool", 0o700), "spool", "bad", "/spool (mode 0700) cannot be entered"),
    ("a spool where slurmd keeps its own", lambda i: (i.line(more="spool_fs=none"), write(i.conf, f"SlurmdSpoolDir={i.top}/slurmd\n")), "room", "bad",
     "is on the file system of SlurmdSpoolDir"),
    ("the same, in a file that slurm.conf includes", lambda i: (i.line(more="spool_fs=none"), write(i.conf, "Include more.conf\n"),
     write(i.top + "/etc/more.conf", f"SlurmdSpoolDir = {i.top}/slurmd\n")), "room", "bad", "is on the file system of SlurmdSpoolDir"),
    ("reports that wait", late, "late", "warn", "21 reports on this node are not made yet"),
    # the policy
    ("a policy with a mistake", lambda i: write(i.policy, "[rule x]\npartitoin = a\n"), "policy", "bad", 'mpitrace.conf:2: unknown key "partitoin"'),
    ("a policy that is named and not there", lambda i: os.remove(i.policy), "policy", "bad", "mpitrace.conf: No such file or directory"),
    ("a policy that is a link to nothing", lambda i: (os.remove(i.policy), os.symlink(i.top + "/nowhere", i.policy)), "policy", "bad",
     "is a link to what is not there"),
    ("a policy that others may write", lambda i: write(i.policy, "", 0o666), "policy", "bad", "others than root may write it"),
]

# That an installation is behind a link, or is told in another way, is nothing that is wrong.
RIGHT = [
    ("as it is made", lambda i: None),
    ("told by an included file", included),
    ("told by PlugStackConfig", lambda i: (os.rename(i.plugstack, i.top + "/etc/other.conf"), write(i.conf, f"PlugStackConfig = {i.top}/etc/other.conf\n"))),
    ("told by PlugStackConfig in quotes", lambda i: (os.rename(i.plugstack, i.top + "/etc/other.conf"), write(i.conf, f'PlugStackConfig="{i.top}/etc/other.conf"\n'))),
    ("behind a link", lambda i: (os.symlink(i.top + "/prefix", i.top + "/link"), i.line(plugin=i.top + "/link/slurm/mpitrace.so", libdir=i.top + "/link/pmpi"))),
    ("with the tracer copied elsewhere", moved_library),
    ("with a spool below /tmp, which all have", lambda i: i.line(spool="/tmp/mpitrace")),
    ("with a spool that jobs see", lambda i: (i.line(spool="/tmp/mpitrace"), write(i.conf, "JobContainerType=job_container/tmpfs\n"),
     write(i.top + "/etc/job_container.conf", "BasePath=/x # Dirs=/tmp\nDirs=/dev/shm,/tmp/x\n"))),
    ("with one node", lambda i: i.nodes("n1", "n1")),
    ("with a spool of its own", lambda i: (os.mkdir(i.spool), os.chmod(i.spool, 0o711))),
    ("with a comment behind the line", lambda i: i.line(more="# spol=/x")),
    ("of another patch level of Slurm", lambda i: i.slurm("slurm 22.05.11")),
]

# The same of an ordinary user, for whom the kernel answers.
AS_NOBODY = ["a plugin that only root reads", "a plugin's directory that only root enters", "a tracer that only root reads", "a warden that nobody may run",
             "libdir= with a tracer that only root reads", "a directory above the spool that only root enters", "a plugstack.conf that users cannot read",
             "a plugin for another Slurm", "an empty plugin"]


def new(top):
    os.chmod(top, 0o755)
    return Installation(top)


def rows(done):
    said = json.loads(done.stdout)
    return {check["check"]: check for check in said["checks"]}


def text(check):
    return check["what"] + (" -> " + check["next"] if check["next"] else "")


def differs(checks, usual):
    """Checks that are not as in an installation that is right."""
    return {name: check for name, check in checks.items() if check["status"] != "ok" and not (name in NOT_OURS and check["status"] == usual[name]["status"])}


def broken(kind, usual, as_nobody=False):
    _, breaks, name, status, words = kind
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        breaks(i)
        done = i.doctor("--json", as_nobody=as_nobody)
        i.end()
        checks = rows(done)
    wrong = differs(checks, usual)
    check = checks[name]
    if check["status"] != status or words not in text(check):
        return f"{name} is {check['status']}: {text(check)}; wrong is {[(n, text(c)) for n, c in wrong.items()]}"
    if status == "bad" and done.returncode != 1:
        return f"exit code {done.returncode}"
    if as_nobody:
        return None
    others = {other for other in wrong if other != name}
    if name == "plugstack":  # where none is named, that of the build is looked for
        others -= {other for other in others if other == "plugin" and wrong[other]["status"] == "warn"}
    return f"besides: {[(other, text(wrong[other])) for other in others]}" if others else None


def right(breaks, usual):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        breaks(i)
        done = i.doctor("--json")
        i.end()
        wrong = differs(rows(done), usual or rows(done))
    if wrong or done.returncode != 0:
        return f"exit code {done.returncode}: {[(name, text(check)) for name, check in wrong.items()]}"
    return None


# What srun says, and what `doctor --try` makes of it. One that runs the words behind its options is a node without the plugin.
SRUNS = [
    ("an srun without the plugin", "echo \"srun: unrecognized option '--mpitrace=report=none'\" >&2; exit 1", "srun has no --mpitrace here"),
    ("a node that is not to be had", "echo 'srun: error: Unable to allocate resources: n1 is drained' >&2; exit 1", "no step: srun: error: Unable to allocate resources: n1 is drained"),
    ("an srun that dies in silence", "exit 3", "no step ran: srun exited with 3 and printed nothing"),
    ("a node where nothing is prepared", 'while [ "${1#-}" != "$1" ] || [ "$1" = n1 ]; do shift; done; exec "$@"', "the step was not prepared for tracing"),
    ("a node whose plugin says why", 'while [ "${1#-}" != "$1" ] || [ "$1" = n1 ]; do shift; done; echo "mpitrace: the spool is full" >&2; exec "$@"',
     "the step was not prepared for tracing: mpitrace: the spool is full"),
]


def tried(script, words):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        write(top + "/fake/srun", "#!/bin/sh\n" + script + "\n", 0o755)
        done = i.doctor("--json", "--try", "n1", as_nobody=True)
        check = rows(done)["try n1"]
    if check["status"] != "bad" or words not in check["what"] or not check["next"]:
        return f"{check['status']}: {text(check)}"
    return None if done.returncode == 1 else f"exit code {done.returncode}"


def without_slurm(_):
    """No Slurm, no configuration: nothing is wrong, and it is said."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        shutil.rmtree(top + "/fake")
        os.mkdir(top + "/fake")
        for name in ("slurmd", "srun"):
            write(f"{top}/fake/{name}", "#!/bin/sh\nexit 1\n", 0o755)
        done = subprocess.run([i.command, "doctor", "--json"], env={"PATH": f"{top}/fake:/usr/bin:/bin", "SLURM_CONF": ""}, text=True, capture_output=True, check=False)
        checks = rows(done)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {checks}"
    if os.path.exists("/etc/slurm"):
        return None if "no Slurm on this host" in checks["slurm"]["what"] else text(checks["slurm"])
    return None if "no Slurm configuration" in checks["plugstack"]["what"] else text(checks["plugstack"])


def on_noexec(usual):
    """A file system from which nothing may be loaded. In a mount namespace of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        script = 'mount -t tmpfs -o noexec,mode=755 t "$2" && cp -r "$1"/. "$2" && exec "$3" doctor --json'
        elsewhere = top + "/noexec"
        os.mkdir(elsewhere)
        i.line(libdir=elsewhere)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", i.lib, elsewhere, i.command], text=True, capture_output=True, check=False,
                              env={"PATH": f"{top}/fake:/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": i.conf})
        if "mount" in done.stderr or "unshare" in done.stderr:
            return "SKIP no mount namespace here"
        check = rows(done)["programs"]
    return None if check["status"] == "bad" and "mounted noexec" in check["what"] else text(check)


def late_of_root(_):
    """What a user cannot see is not said to be nothing."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        late(i)
        os.chmod(i.spool + "/late", 0o711)
        check = rows(i.doctor("--json", as_nobody=True))["late"]
    return None if check["status"] == "ok" and "only root can see" in check["what"] else text(check)


def rootless(_):
    """Who is root only in a container of his own can be nobody else: the self-test is not made, and nothing is wrong with the build."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        i = new(top)
        done = subprocess.run(["unshare", "-Ur", i.command, "doctor", "--json"], text=True, capture_output=True, check=False,
                              env={"PATH": f"{top}/fake:/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": i.conf})
        if "unshare" in done.stderr:
            return "SKIP no user namespace here"
        check = rows(done)["preload"]
    return None if check["status"] == "warn" and "not checked" in check["what"] else text(check)


def main():
    if not IS_ROOT:
        print("1..0 # SKIP files of an installation are root's")
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        usual = rows(new(top).doctor("--json"))
    claims = [(f"right: {name}", lambda b=breaks: right(b, usual)) for name, breaks in RIGHT]
    claims += [(f"{kind[0]} is named", lambda k=kind: broken(k, usual)) for kind in KINDS]
    claims += [(f"{kind[0]} is named to a user", lambda k=kind: broken(k, usual, True)) for kind in KINDS if kind[0] in AS_NOBODY]
    claims += [(f"{name} is named by --try", lambda s=script, w=words: tried(s, w)) for name, script, words in SRUNS]
    claims += [("without Slurm nothing is wrong", lambda: without_slurm(usual)), ("a tracer on noexec is named", lambda: on_noexec(usual)),
               ("reports that only root sees are not said to be none", lambda: late_of_root(usual)), ("a root without privileges is no broken build", lambda: rootless(usual))]
    print(f"1..{len(claims)}", flush=True)
    failed = 0
    for number, (claim, holds) in enumerate(claims, 1):
        why = holds()
        skipped = why is not None and why.startswith("SKIP")
        failed += why is not None and not skipped
        print("ok" if why is None or skipped else "not ok", number, "-", claim, f"# {why}" if why else "", flush=True)
    return 1 if failed else 0


sys.exit(main())
